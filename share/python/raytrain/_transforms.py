"""Changes of a Dataset before rows are read: each call returns another Dataset, and
reads nothing. The reader of files makes changes that need no Python; functions of the
script are called in the workers, when these read the rows."""

from __future__ import annotations

import random
from typing import Any, Callable, Iterable

from . import _expression, _frame, _mapping, _row_ops
from ._row_ops import Batch, Function

SEED_BITS = 62
STEPS_MAX = 8  # as ROWS_STEPS_MAX in rows_config.h


class Schema(dict[str, Any]):
    """{column: (dtype, shape of a row)}; the dtype of words and texts is "str"."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self)

    @property
    def types(self) -> list[str]:
        """The dtypes of the columns."""
        return [dtype for dtype, _ in self.values()]


class Transforms:
    """The part of Dataset that describes rows that are made from others."""

    _settings: dict[str, Any]
    _functions: list[Any]
    _base: Any
    _order: int | None

    # ---- Functions of the script ----

    def map_batches(
        self, fn: Callable[..., Any], *, batch_size: int | str | None = None,
        batch_format: str | None = "default", fn_args: Iterable[Any] | None = None,
        fn_kwargs: dict[str, Any] | None = None,
        fn_constructor_args: Iterable[Any] | None = None,
        fn_constructor_kwargs: dict[str, Any] | None = None,
        udf_modifying_row_count: bool | None = None, **resources: Any,
    ) -> Any:
        """A Dataset of the batches that a function makes from these.

        Args:
            fn: Takes a batch, {column: array}, and returns another, or yields several.
                Or a class whose objects do this: one is made in each worker.
            batch_size: The maximum number of rows of a batch; "default" is 1024, None
                the rows that are read at a time.
            batch_format: The type of a batch: "numpy", "pandas" or "pyarrow". Any of
                these may be returned.
            fn_args: Passed to fn after the batch.
            fn_kwargs: Passed to fn by name.
            fn_constructor_args: Passed to the class.
            fn_constructor_kwargs: Passed to the class by name.
            udf_modifying_row_count: False: the function keeps the number of rows of
                each batch, and is called in every epoch. True: the workers call it once
                for all rows, before the first epoch, and keep the results in files.
                None: the first rows of rank 0 decide.
            resources: num_cpus, num_gpus, memory, concurrency and compute have no
                effect: the function runs in the workers that train, with their
                resources.

        Returns:
            The Dataset.

        Raises:
            ValueError: An argument has a value that it cannot have.
        """
        check_resources("map_batches", resources)
        function = Function(fn, tuple(fn_args or ()), fn_kwargs,
                            tuple(fn_constructor_args or ()), fn_constructor_kwargs)
        keeps = None if udf_modifying_row_count is None else not udf_modifying_row_count
        size: Any = 1024 if batch_size == "default" else batch_size
        return self._changed_by(_row_ops.MapBatches(function, size, batch_format,
                                                    keeps))

    def map(self, fn: Callable[..., Any], *, fn_args: Iterable[Any] | None = None,
            fn_kwargs: dict[str, Any] | None = None,
            fn_constructor_args: Iterable[Any] | None = None,
            fn_constructor_kwargs: dict[str, Any] | None = None,
            **resources: Any) -> Any:
        """A Dataset of the rows that a function makes, one from each row. map_batches()
        is much faster.

        Args:
            fn: Takes a row, {column: value}, and returns a row.
            fn_args: See map_batches().
            fn_kwargs: See map_batches().
            fn_constructor_args: See map_batches().
            fn_constructor_kwargs: See map_batches().
            resources: See map_batches().

        Returns:
            The Dataset.
        """
        return self._changed_by(_row_ops.MapRows(_function(
            "map", fn, fn_args, fn_kwargs, fn_constructor_args, fn_constructor_kwargs,
            resources)))

    def flat_map(self, fn: Callable[..., Any], *, fn_args: Iterable[Any] | None = None,
                 fn_kwargs: dict[str, Any] | None = None,
                 fn_constructor_args: Iterable[Any] | None = None,
                 fn_constructor_kwargs: dict[str, Any] | None = None,
                 **resources: Any) -> Any:
        """A Dataset of the rows that a function makes, any number from each row.

        Args:
            fn: Takes a row, {column: value}, and returns a list of rows.
            fn_args: See map_batches().
            fn_kwargs: See map_batches().
            fn_constructor_args: See map_batches().
            fn_constructor_kwargs: See map_batches().
            resources: See map_batches().

        Returns:
            The Dataset.
        """
        return self._changed_by(_row_ops.FlatMap(_function(
            "flat_map", fn, fn_args, fn_kwargs, fn_constructor_args,
            fn_constructor_kwargs, resources)))

    def filter(self, fn: Callable[..., Any] | None = None, expr: str | None = None, *,
               fn_args: Iterable[Any] | None = None,
               fn_kwargs: dict[str, Any] | None = None,
               fn_constructor_args: Iterable[Any] | None = None,
               fn_constructor_kwargs: dict[str, Any] | None = None,
               **resources: Any) -> Any:
        """The rows for which a function of a row, or an expression, is true.

        Args:
            fn: Takes a row, {column: value}.
            expr: An expression, such as "age > 40 and city in ['Bonn', 'Ulm']", which
                is much faster.
            fn_args: See map_batches().
            fn_kwargs: See map_batches().
            fn_constructor_args: See map_batches().
            fn_constructor_kwargs: See map_batches().
            resources: See map_batches().

        Returns:
            The Dataset.

        Raises:
            ValueError: Neither or both of fn and expr are given, or expr is not an
                expression.
        """
        if (fn is None) == (expr is None):
            raise ValueError("filter() takes a function or expr=, one of them")
        if fn is not None:
            return self._changed_by(_row_ops.FilterRows(_function(
                "filter", fn, fn_args, fn_kwargs, fn_constructor_args,
                fn_constructor_kwargs, resources)))
        check_resources("filter", resources)
        if fn_args or fn_kwargs or fn_constructor_args or fn_constructor_kwargs:
            raise ValueError("filter: fn_args, fn_kwargs and constructor arguments are "
                             "for a function, not for expr=")
        bound = _expression.bound(_expression.parse(str(expr)))
        if bound and self._is_of_files() and not {"filter", "limit", "rows"} & set(
                self._keys()):
            return self._with(filter=bound)
        return self._changed_by(_row_ops.FilterExpression(str(expr)))

    def add_column(self, col: str, fn: Callable[..., Any], *,
                   batch_format: str | None = "pandas", **resources: Any) -> Any:
        """A Dataset with another column.

        Args:
            col: Its name.
            fn: Takes a batch, and returns the values of the column.
            batch_format: The type of a batch: "pandas", "numpy" or "pyarrow".
            resources: See map_batches().

        Returns:
            The Dataset.

        Raises:
            TypeError: The name is not a str.
        """
        check_resources("add_column", resources)
        if not isinstance(col, str):
            raise TypeError(f"the name of a column is a str, not {type(col).__name__}")
        return self._changed_by(_row_ops.AddColumn(col, Function(fn), batch_format))

    # ---- Columns ----

    def select_columns(self, cols: str | list[str], **resources: Any) -> Any:
        """Only these columns.

        Args:
            cols: A name, or several.
            resources: See map_batches().

        Returns:
            The Dataset.
        """
        check_resources("select_columns", resources)
        names = _names("select_columns", cols)
        if not self._is_of_files():
            return self._changed_by(_row_ops.Columns(kept=names))
        self._check_columns("select_columns", names)
        return self._with(columns=names, exclude=None)

    def drop_columns(self, cols: str | list[str], **resources: Any) -> Any:
        """All columns except these.

        Args:
            cols: A name, or several.
            resources: See map_batches().

        Returns:
            The Dataset.

        Raises:
            ValueError: No column is left.
        """
        check_resources("drop_columns", resources)
        names = _names("drop_columns", cols)
        if not self._is_of_files():
            return self._changed_by(_row_ops.Columns(dropped=names))
        self._check_columns("drop_columns", names)
        kept = self._settings["columns"]
        if kept is not None:
            left = [name for name in kept if name not in names]
            if not left:
                raise ValueError(f"drop_columns: no column is left of {kept}")
            return self._with(columns=left)
        return self._with(exclude=[*(self._settings.get("exclude") or []), *names])

    def rename_columns(self, names: dict[str, str] | list[str],
                       **resources: Any) -> Any:
        """The columns with other names.

        Args:
            names: {old: new}, or a list of all new names.
            resources: See map_batches().

        Returns:
            The Dataset.

        Raises:
            ValueError: Something else is given.
        """
        check_resources("rename_columns", resources)
        if isinstance(names, dict):
            both = [*names, *names.values()]
            if not names or not all(isinstance(name, str) for name in both):
                raise ValueError(f"rename_columns: names are {{old: new}}, not "
                                 f"{names!r}")
            return self._changed_by(_row_ops.Columns(names=dict(names)))
        return self._changed_by(_row_ops.Columns(names=_names("rename_columns", names)))

    # ---- Which rows, and in which order ----

    def random_shuffle(self, *, seed: int | None = None, num_blocks: int | None = None,
                       **resources: Any) -> Any:
        """The same rows in another order.

        Args:
            seed: This seed determines the order, the same in all epochs. None: a new
                order in every epoch, which depends on the seed of the run.
            num_blocks: Without effect.
            resources: See map_batches().

        Returns:
            The Dataset.

        Raises:
            TypeError: The seed is not an int.
        """
        check_resources("random_shuffle", resources)
        ds = self._settled()
        if seed is None:
            changed = ds._with(shuffle=True)
            changed._order = random.getrandbits(SEED_BITS)
            return changed
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise TypeError(f"seed is an int, not {seed!r}")
        return ds._with(shuffle=False, shuffle_window=None)._step(seed=_seed(seed))

    def limit(self, limit: int) -> Any:
        """Only the first rows; after random_shuffle(), this number of random rows, the
        same in all epochs.

        Args:
            limit: The number of rows.

        Returns:
            The Dataset.
        """
        _check_count("limit", limit)
        return self._settled()._step(first=0, count=limit)

    def split_at_indices(self, indices: list[int]) -> list[Any]:
        """Parts of the rows, in their order.

        Args:
            indices: The row numbers at which a new part begins, other than the first.

        Returns:
            The Datasets.

        Raises:
            ValueError: A part would have no rows.
        """
        bounds = [0, *indices]
        for a, b in zip(bounds, bounds[1:]):
            if not isinstance(b, int) or b <= a:
                raise ValueError("split_at_indices: indices are positive and rise, so "
                                 f"that each part has rows, not {indices!r}")
        if not indices:
            raise ValueError("split_at_indices: there are no indices")
        ds = self._settled()
        parts = [ds._step(first=a, count=b - a) for a, b in zip(bounds, bounds[1:])]
        return [*parts, ds._step(first=bounds[-1], count=0)]

    def split_proportionately(self, proportions: list[float]) -> list[Any]:
        """Parts of the rows, in their order.

        Args:
            proportions: The fraction of each part; the remaining rows are the last one.

        Returns:
            The Datasets.
        """
        return self._shares(proportions, None)

    def train_test_split(self, test_size: int | float, *, shuffle: bool = False,
                         seed: int | None = None, stratify: str | None = None
                         ) -> tuple[Any, Any]:
        """Two parts, for training and for a test, which has the last rows.

        Args:
            test_size: The fraction of the test, between 0 and 1, or its number of rows.
                For a number, rows that a function makes are counted in this process.
            shuffle: Divide the rows at random.
            seed: The seed of this division. None: a different one each time.
            stratify: Not available.

        Returns:
            The Datasets for training and for the test.

        Raises:
            ValueError: test_size leaves one of them without rows, or stratify is given.
        """
        if stratify is not None:
            raise ValueError("train_test_split: stratify is not available; "
                             "filter(expr=) for each class, and split that")
        if seed is None and shuffle:
            seed = random.getrandbits(SEED_BITS)
        at = _seed(seed) if shuffle and seed is not None else None
        if isinstance(test_size, float):
            if not 0 < test_size < 1:
                raise ValueError("test_size is between 0 and 1, or a number of rows, "
                                 f"not {test_size}")
            train, test = self._shares([1 - test_size], at)
            return train, test
        ds: Any = self._settled()
        _check_count("train_test_split", test_size)
        rows = ds.count()
        if test_size >= rows:
            raise ValueError(f"test_size is {test_size}, and there are {rows} rows")
        seeded = {} if at is None else {"seed": at}
        return (ds._step(first=0, count=rows - test_size, **seeded),
                ds._step(first=rows - test_size, count=test_size, **seeded))

    def _shares(self, proportions: list[float], seed: int | None) -> list[Any]:
        if not proportions or any(not 0 < p < 1 for p in proportions) \
                or sum(proportions) >= 1:
            raise ValueError("split_proportionately: proportions are greater than 0, "
                             f"and their sum is less than 1, not {proportions!r}")
        ds, bounds = self._settled(), [0.0]
        for share in proportions:
            bounds.append(bounds[-1] + share)
        bounds.append(1.0)
        seeded = {} if seed is None else {"seed": seed}
        return [ds._step(**{"from": a, "to": b}, **seeded)
                for a, b in zip(bounds, bounds[1:])]

    def _step(self, **step: Any) -> Any:
        """Some of the rows, as a step of the option `rows`. If the rows are shuffled,
        these are random rows."""
        steps = list(self._settings.get("rows") or [])
        if self._settings.get("shuffle") and "seed" not in step:
            step["seed"] = self._order or 0
        last = steps[-1] if steps else {}
        if "seed" not in step and "first" in last and "first" in step:
            count = max((last["count"] or step["first"] + 1) - step["first"], 0)
            if not count:
                raise ValueError(f"there are only {last['count']} rows, and none from "
                                 f"row {step['first']} on")
            if last["count"] and step["count"]:
                count = min(count, step["count"])
            elif not last["count"]:
                count = step["count"]
            steps[-1] = {**last, "first": last["first"] + step["first"], "count": count}
        else:
            steps.append(step)
        if len(steps) > STEPS_MAX:
            raise ValueError(f"more than {STEPS_MAX} shuffles, limits and splits "
                             "follow each other: make the rows first, "
                             "from_pandas(ds.to_pandas())")
        return self._with(rows=steps)

    # ---- Helpers ----

    def _check_columns(self, who: str, names: list[str]) -> None:
        """KeyError for columns that an earlier call has left out. Others are checked
        when the file is opened."""
        kept, gone = self._settings["columns"], self._settings.get("exclude") or ()
        for name in names:
            if name in gone or (kept is not None and name not in kept):
                there = f"the columns are {kept}" if kept is not None else \
                    f"{list(gone)} were left out"
                raise KeyError(f"{who}: there is no column {name!r}; {there}")

    def _is_of_files(self) -> bool:
        """Do the rows come from the reader of files without further changes?"""
        return not self._functions and self._base is None

    def _changed_by(self, op: _row_ops.Op) -> Any:
        changed = self._with()
        changed._functions.append(op)
        return changed if op.keeps is not False else changed._followed([])

    def _settled(self) -> Any:
        """A Dataset whose number of rows is known: it follows the last function that
        may change the number. Without such a function, this Dataset."""
        unknown = [i for i, op in enumerate(self._functions)
                   if _row_ops.keeps_rows(op) is None]
        if not unknown:
            return self
        changed = self._with()
        rest = changed._functions[unknown[-1] + 1:]
        del changed._functions[unknown[-1] + 1:]
        return changed._followed(rest)

    # These are Dataset's.

    def _keys(self) -> dict[str, Any]:
        raise NotImplementedError

    def _with(self, **changes: Any) -> Any:
        raise NotImplementedError

    def _followed(self, functions: list[Any]) -> Any:
        raise NotImplementedError


def schema_of(batch: Batch) -> Schema:
    """The schema of a batch that functions have made."""
    return Schema({name: (said.dtype or str(batch[name].dtype),
                          tuple(batch[name].shape[1:]))
                   for name, said in _frame.described(batch).items()})


def frame_of(batches: list[Batch]) -> Any:
    """A DataFrame of pandas."""
    return _mapping._to_pandas(_row_ops.joined(batches) if batches else {})


def _function(who: str, fn: Any, args: Any, kwargs: Any, constructor_args: Any,
              constructor_kwargs: Any, resources: dict[str, Any]) -> Function:
    check_resources(who, resources)
    return Function(fn, tuple(args or ()), kwargs, tuple(constructor_args or ()),
                    constructor_kwargs)


# Of Ray's tasks and actors, as ray.remote() knows them.
_RESOURCES = {"accelerator_type", "allow_out_of_order_execution", "compute",
              "concurrency", "concurrency_groups", "enable_task_events",
              "label_selector", "lifetime", "max_calls", "max_concurrency",
              "max_pending_calls", "max_restarts", "max_retries", "max_task_retries",
              "memory", "name", "namespace", "num_cpus", "num_gpus",
              "object_store_memory", "placement_group", "resources", "retry_exceptions",
              "runtime_env", "scheduling_strategy", "zero_copy_batch"}


def check_resources(who: str, resources: dict[str, Any]) -> None:
    """What Ray's tasks and actors have: it has no effect.

    Args:
        who: The name of the method.
        resources: The arguments that it does not know.

    Raises:
        ValueError: A function would be called for them.
        TypeError: Ray does not have one of them.
    """
    if resources.get("ray_remote_args_fn") is not None:
        raise ValueError(f"{who}: ray_remote_args_fn is not possible: functions run in "
                         "the workers that train")
    unknown = sorted(set(resources) - _RESOURCES - {"ray_remote_args_fn"})
    if unknown:
        raise TypeError(f"{who}() has no argument {unknown[0]!r}")


def _names(who: str, names: Any) -> list[str]:
    made = [names] if isinstance(names, str) else list(names)
    if not made or not all(isinstance(name, str) for name in made):
        raise ValueError(f"{who}: names of columns, not {names!r}")
    if len(set(made)) < len(made):
        raise ValueError(f"{who}: a column is named twice: {made}")
    return made


def _check_count(who: str, n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"{who}: the number of rows is an integer of at least 1, or a "
                         "share between 0 and 1, not "
                         f"{n!r}" if who == "train_test_split" else
                         f"{who}: an integer of at least 1, not {n!r}")


def _seed(seed: int) -> int:
    return seed % (1 << SEED_BITS)
