"""What is done to the rows of a Dataset in Python: functions of the script, and changes
of columns. An operation takes a batch, {column: array}, and yields batches. It travels
to the workers with the Dataset, and is loaded there at its first use."""

from __future__ import annotations

import pickle
from typing import Any, Callable, Iterator

from . import _frame, _mapping

Batch = dict[str, Any]
FORMATS = ("default", "numpy", "pandas", "pyarrow", None)


# ---- A function of the script ----


class Function:
    """A function and its arguments, or a class that is made once a process and
    called."""

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        constructor_args: tuple[Any, ...] = (),
        constructor_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"fn is a function or a class, not {type(fn).__name__}")
        if (constructor_args or constructor_kwargs) and not isinstance(fn, type):
            raise ValueError(
                "fn_constructor_args and fn_constructor_kwargs are for a class, and "
                f"{getattr(fn, '__qualname__', fn)} is none"
            )
        self._given = (
            fn,
            (tuple(args), dict(kwargs or {}), tuple(constructor_args),
             dict(constructor_kwargs or {})),
        )
        self._packed: bytes | None = None
        self._made: Any = None
        self.name: str = getattr(fn, "__qualname__", type(fn).__qualname__)

    def __call__(self, value: Any) -> Any:
        if self._given is None:
            self._given = _unpacked(self._packed)
        fn, (args, kwargs, constructor_args, constructor_kwargs) = self._given
        if isinstance(fn, type):
            if self._made is None:
                self._made = fn(*constructor_args, **constructor_kwargs)
            fn = self._made
        return fn(value, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        if self._packed is None:
            from . import _shipping

            self._packed = pickle.dumps(_shipping.pack(*self._given))
        return {"_given": None, "_packed": self._packed, "_made": None,
                "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __eq__(self, other: object) -> bool:
        return (type(other) is Function and self._given is not None
                and self._given == other._given)

    __hash__ = None  # type: ignore[assignment]


def _unpacked(packed: bytes | None) -> tuple[Any, Any]:
    assert packed is not None  # __getstate__() has set it
    described = pickle.loads(packed)
    if described["kind"] == "pickle":
        function, arguments = pickle.loads(described["data"])
        return function, arguments
    return _mapping._load(packed), pickle.loads(described["data"])


# ---- Batches ----


def rows_of(batch: Batch) -> int:
    """The number of rows of a batch."""
    return _mapping._rows_of(batch)


def slice_of(batch: Batch, first: int, end: int) -> Batch:
    """Some of its rows."""
    return {name: _mapping._rows_between(array, first, end)
            for name, array in batch.items()}


def joined(batches: list[Batch]) -> Batch:
    """One batch of several with the same columns."""
    if len(batches) == 1:
        return batches[0]
    for batch in batches:
        if list(batch) != list(batches[0]) and set(batch) != set(batches[0]):
            raise ValueError(
                f"batches with different columns: {sorted(batches[0])}, and later "
                f"{sorted(batch)}"
            )
    return {name: _frame.concatenate(name, [batch[name] for batch in batches])
            for name in batches[0]}


def rows(batch: Batch) -> Iterator[dict[str, Any]]:
    """Its rows, as {column: value}."""
    names = list(batch)
    for values in zip(*batch.values()):
        yield dict(zip(names, values))


def of_rows(made: list[dict[str, Any]], who: str) -> Batch:
    """A batch of rows."""
    if not made:
        return {}
    for row in made:
        if not isinstance(row, dict):
            raise TypeError(
                f"{who} returned {type(row).__name__}, and not a row, {{column: "
                f"value}}")
        if row.keys() != made[0].keys():
            raise ValueError(
                f"{who} returned a row with the columns {sorted(map(str, row))}, and "
                f"before one with {sorted(map(str, made[0]))}: all rows have the same"
            )
    return {str(name): _frame.array_of(str(name), [row[name] for row in made])
            for name in made[0]}


def check_format(batch_format: Any) -> None:
    """ValueError if there is no such format."""
    if batch_format not in FORMATS:
        raise ValueError(f"batch_format={batch_format!r}: it is 'numpy', 'pandas' or "
                         "'pyarrow'")


def to_format(batch: Batch, batch_format: str | None) -> Any:
    """As a function wants it."""
    if batch_format == "pandas":
        return _mapping._to_pandas(batch)
    if batch_format == "pyarrow":
        return arrow().table({name: list(array) if array.ndim > 1 else array
                              for name, array in batch.items()})
    return batch


def of_format(made: Any, who: str) -> Batch:
    """What a function has returned, as a batch."""
    if hasattr(made, "column_names") and hasattr(made, "to_pydict"):
        made = {name: of_arrow(made.column(name)) for name in made.column_names}
    elif hasattr(made, "columns") and hasattr(made, "iloc"):
        made = _mapping._of_pandas(made)
    made = _frame.plain_dict(made)
    if not isinstance(made, dict):
        raise TypeError(
            f"{who} returned {type(made).__name__}, and not a batch: {{column: "
            f"array}}, a DataFrame, or an iterator over these")
    batch = {str(name): array if hasattr(array, "indptr")
             else _frame.array_of(str(name), array)
             for name, array in made.items()}
    lengths = {name: array.shape[0] for name, array in batch.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{who} returned columns of different lengths: {lengths}")
    return batch


def arrow() -> Any:
    """pyarrow.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "pyarrow is not installed, which reads Parquet files and has batch_format="
            "\"pyarrow\" (pip install pyarrow); CSV, HDF5, NumPy, text and JSON files "
            "are read without it") from None
    return pyarrow


def of_arrow(column: Any) -> Any:
    """A column of a table of pyarrow."""
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if column.null_count == 0:
        try:
            return column.to_numpy(zero_copy_only=False)
        except (TypeError, ValueError, NotImplementedError):
            pass
    return column.to_pylist()


# ---- Operations ----


class Op:
    """An operation. keeps: are there as many rows afterwards? None: that is seen when
    it is applied. batch_size: rows that it gets at most at a time; None: any number."""

    keeps: bool | None = True
    batch_size: int | None = None
    name = "operation"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        """The batches that it makes of a batch."""
        raise NotImplementedError

    def __call__(self, batch: Batch) -> Batch:
        """The batch that it makes of a batch, with the same number of rows."""
        made = joined(list(self.pieces(batch)) or [{}])
        if rows_of(made) != rows_of(batch):
            raise ValueError(
                f"{self.name} returned {rows_of(made)} rows for a batch of "
                f"{rows_of(batch)}: a function that changes the number of rows is "
                "given to map_batches() with udf_modifying_row_count=True, or to "
                "filter() or flat_map()")
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]


class MapBatches(Op):
    """A function that takes and returns batches."""

    def __init__(self, fn: Function, batch_size: int | None, batch_format: str | None,
                 keeps: bool | None) -> None:
        check_format(batch_format)
        if batch_size is not None and (isinstance(batch_size, bool)
                                       or not isinstance(batch_size, int)
                                       or batch_size < 1):
            raise ValueError(f"batch_size is an integer of at least 1, or None for any "
                             f"number of rows, not {batch_size!r}")
        self.fn = fn
        self.batch_size = batch_size
        self.batch_format = batch_format
        self.keeps = keeps
        self.name = f"map_batches({fn.name})"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        n = rows_of(batch)
        step = min(self.batch_size or n, n) or 1
        for first in range(0, max(n, 1), step):
            part = batch if step >= n else slice_of(batch, first, first + step)
            made = self.fn(to_format(part, self.batch_format))
            if hasattr(made, "__next__"):
                yield from (of_format(piece, self.name) for piece in made)
            else:
                yield of_format(made, self.name)


class MapRows(Op):
    """A function that takes a row, and returns another."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.name = f"map({fn.name})"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        yield of_rows([self.fn(row) for row in rows(batch)], self.name)


class FlatMap(Op):
    """A function that takes a row, and returns any number of rows."""

    keeps = False

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.name = f"flat_map({fn.name})"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        yield of_rows([made for row in rows(batch) for made in self.fn(row)], self.name)


class FilterRows(Op):
    """A function that takes a row, and returns whether it stays."""

    keeps = False

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.name = f"filter({fn.name})"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        import numpy

        n = rows_of(batch)
        stay = numpy.fromiter((bool(self.fn(row)) for row in rows(batch)), "?", n)
        yield _chosen(batch, stay)


class FilterExpression(Op):
    """The rows for which an expression is true."""

    keeps = False

    def __init__(self, text: str) -> None:
        from . import _expression

        self.text = text
        self.name = f"filter(expr={text!r})"
        _expression.parse(text)

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        from . import _expression

        yield _chosen(batch, _expression.value(_expression.parse(self.text), batch))


def _chosen(batch: Batch, stay: Any) -> Batch:
    if stay.all():
        return batch
    return {name: array[stay] for name, array in batch.items()}


class AddColumn(Op):
    """A function that takes a batch, and returns the values of a new column."""

    def __init__(self, column: str, fn: Function, batch_format: str | None) -> None:
        self.column = column
        self.fn = fn
        self.batch_format = batch_format
        self.name = f"add_column({column!r}, {fn.name})"
        check_format(batch_format)

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        n = rows_of(batch)
        values = self.fn(to_format(dict(batch), self.batch_format))
        if hasattr(values, "to_pylist"):
            values = of_arrow(values)
        import numpy

        if numpy.ndim(values) == 0:
            values = [values] * n
        array = _frame.array_of(self.column, values)
        if len(array) != n:
            raise ValueError(f"{self.name} returned {len(array)} values for {n} rows")
        yield {**batch, self.column: array}


class Columns(Op):
    """Columns that are kept, left out or renamed."""

    def __init__(self, kept: list[str] | None = None, dropped: list[str] | None = None,
                 names: dict[str, str] | list[str] | None = None) -> None:
        self.kept, self.dropped, self.names = kept, dropped, names
        self.name = ("select_columns" if kept is not None else
                     "drop_columns" if dropped is not None else "rename_columns")

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        yield self._changed(batch)

    def _changed(self, batch: Batch) -> Batch:
        if self.kept is not None:
            self._check(self.kept, batch)
            return {name: batch[name] for name in self.kept}
        if self.dropped is not None:
            self._check(self.dropped, batch)
            return {name: a for name, a in batch.items() if name not in self.dropped}
        names = self.names or {}
        if isinstance(names, list):
            if len(names) != len(batch):
                raise ValueError(f"rename_columns: {len(names)} names for the "
                                 f"{len(batch)} columns {list(batch)}")
            return dict(zip(names, batch.values()))
        self._check(list(names), batch)
        made = {names.get(name, name): array for name, array in batch.items()}
        if len(made) < len(batch):
            raise ValueError("rename_columns: two columns would have the same name; "
                             f"the columns are {list(batch)}")
        return made

    def _check(self, names: list[str], batch: Batch) -> None:
        for name in names:
            if name not in batch:
                raise KeyError(f"{self.name}: there is no column {name!r}; the columns "
                               f"are {list(batch)}")


# ---- Chains ----


def keeps_rows(op: Any) -> bool | None:
    """Are there as many rows after it?"""
    return getattr(op, "keeps", True)


def pieces(ops: list[Any], batch: Batch) -> Iterator[Batch]:
    """The batches that operations make of a batch, one after the other."""
    if not ops:
        yield batch
        return
    op, rest = ops[0], ops[1:]
    made = op.pieces(batch) if isinstance(op, Op) else iter([op(batch)])
    for piece in made:
        yield from pieces(rest, piece)


def mixed(batches: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """The same rows, this many at a time in a random order."""
    import numpy

    for batch in rebatched(batches, rows, False):
        order = numpy.random.permutation(rows_of(batch))
        yield {name: array[order] for name, array in batch.items()}


def rebatched(batches: Iterator[Batch], size: int, drop_last: bool) -> Iterator[Batch]:
    """The same rows in batches of this size."""
    held: list[Batch] = []
    n = 0
    for batch in batches:
        at, rows_here = 0, rows_of(batch)
        while rows_here - at >= size - n:
            end = at + size - n
            yield joined([*held, slice_of(batch, at, end)])
            held, n, at = [], 0, end
        if at < rows_here:
            held.append(slice_of(batch, at, rows_here))
            n += rows_here - at
    if held and not drop_last:
        yield joined(held)
