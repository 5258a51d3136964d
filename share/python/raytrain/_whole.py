"""Operations on all rows at once: order, groups and statistics. The rows are in the
memory of this process, as {column: array}."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable

from . import _frame, _row_ops, _transforms
from ._instead import INSTEAD
from ._row_ops import Batch

STATISTICS = ("sum", "min", "max", "mean", "std")


# ---- Order ----


def ordered(rows: Batch, keys: list[str], descending: bool | list[bool]) -> Batch:
    """The rows in the order of these columns."""
    import numpy

    falls = ([descending] * len(keys) if isinstance(descending, bool)
             else list(descending))
    if not keys or len(falls) != len(keys):
        raise ValueError("sort: descending is True, False, or one of them for each of "
                         f"the {len(keys)} columns, not {descending!r}")
    codes = []
    for key, falling in zip(keys, falls):
        code, missing = _codes("sort", key, rows)
        code = numpy.where(missing, len(code), -code if falling else code)
        codes.append(code)
    order = numpy.lexsort(codes[::-1])
    return {name: array[order] for name, array in rows.items()}


def _codes(who: str, key: str, rows: Batch) -> tuple[Any, Any]:
    """Of a column, numbers in the order of its values; and where there is none."""
    import numpy

    if key not in rows:
        raise KeyError(f"{who}: there is no column {key!r}; the columns are "
                       f"{list(rows)}")
    array = rows[key]
    if hasattr(array, "indptr") or array.ndim != 1:
        raise ValueError(f"{who}: column {key!r} has vectors, which have no order")
    if _frame.is_text(array):
        missing = numpy.array([value is None for value in array], "?")
        array = numpy.array(["" if value is None else value for value in array], "O")
    else:
        missing = array != array
    return numpy.unique(array, return_inverse=True)[1].reshape(len(array)), missing


def values_of(who: str, key: str, array: Any) -> list[Any]:
    """The values of a column. NaN is the same object in all rows, so that a dict finds
    it again."""
    if hasattr(array, "indptr") or array.ndim != 1:
        raise ValueError(f"{who}: column {key!r} has vectors, and not single values")
    return [math.nan if value != value else value for value in array.tolist()]


# ---- Statistics ----


class _Moments:
    """The count, the sum, the extremes and the squares of the distances from the mean
    of the numbers that are there, batch after batch."""

    def __init__(self) -> None:
        self.n = self.missing = 0
        self.sum: Any = 0
        self.min: Any = None
        self.max: Any = None
        self.mean = self.squares = 0.0

    def add(self, name: str, array: Any) -> None:
        if hasattr(array, "indptr") or array.ndim != 1 or _frame.is_text(array):
            raise ValueError(f"column {name!r} has no single numbers: its sum, "
                             "minimum, maximum, mean and deviation do not exist")
        there = array == array
        self.missing += len(array) - int(there.sum())
        array = array[there]
        if not len(array):
            return
        if array.dtype.kind == "f":  # sums of float16 and float32 would be these, too
            array = array.astype("f8")
        self.sum += _sum_of(array)
        low, high = array.min().item(), array.max().item()
        self.min = low if self.min is None else min(self.min, low)
        self.max = high if self.max is None else max(self.max, high)
        mean, n = float(array.mean(dtype="f8")), len(array)
        away = mean - self.mean
        self.squares += float(((array - mean) ** 2).sum(dtype="f8")) \
            + away * away * self.n * n / (self.n + n)
        self.mean += away * n / (self.n + n)
        self.n += n

    def value(self, name: str, ddof: int) -> Any:
        if not self.n:
            return None
        if name == "std":
            return math.sqrt(self.squares / (self.n - ddof)) if self.n > ddof else None
        return getattr(self, name)


def _sum_of(array: Any) -> Any:
    """The sum of numbers. NumPy's of integers of 64 bits wraps; those of their halves,
    of which there are fewer than 2^31, do not."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8:
        return array.sum().item()
    upper, lower = array >> 32, array & 0xffffffff
    return (int(upper.sum()) << 32) + int(lower.sum())


def statistic(name: str, columns: list[str], batches: Iterable[Batch], ddof: int = 1,
              ignore_missing: bool = True) -> dict[str, Any]:
    """{column: its statistic}, one of STATISTICS; None for a column without numbers.
    Missing numbers do not count, or make it None."""
    moments = {column: _Moments() for column in columns}
    for batch in batches:
        for column, of_column in moments.items():
            of_column.add(column, batch[column])
    return {column: of_column.value(name, ddof)
            if ignore_missing or not of_column.missing else None
            for column, of_column in moments.items()}


# ---- Groups ----


def _in_64_bits(values: list[Any]) -> list[Any]:
    """The same as floats if an int64 does not hold one of them."""
    if all(-1 << 63 <= value < 1 << 63 for value in values if isinstance(value, int)):
        return values
    return [float(value) for value in values]


class Groups:
    """Rows that have the same values in some columns: what Dataset.groupby() returns.
    The Datasets that the methods return have the groups in the order of these values.

    Args:
        rows: {column: array}.
        keys: The columns.
        make: Makes a Dataset of {column: array}.

    Raises:
        ValueError: There are no keys.
    """

    def __init__(self, rows: Batch, keys: list[str],
                 make: Callable[[Batch], Any]) -> None:
        import numpy

        if not keys:
            raise ValueError("groupby: names of columns are needed")
        ordinary = ordered(rows, keys, False)
        self._rows, self._keys, self._make = ordinary, keys, make
        n = _row_ops.rows_of(ordinary)
        begins: Any = numpy.zeros(n, "?")
        begins[:1] = True
        for key in keys:
            code, missing = _codes("groupby", key, ordinary)
            code = numpy.where(missing, -1, code)
            begins[1:] |= code[1:] != code[:-1]
        self._firsts: list[int] = numpy.flatnonzero(begins).tolist()
        self._ends = [*self._firsts[1:], n]

    def _groups(self) -> Iterable[Batch]:
        for first, end in zip(self._firsts, self._ends):
            yield _row_ops.slice_of(self._rows, first, end)

    def _of_keys(self) -> Batch:
        return {key: self._rows[key][self._firsts] for key in self._keys}

    def count(self) -> Any:
        """The number of rows of each group.

        Returns:
            A Dataset of the keys and the column "count()".
        """
        import numpy

        sizes = [end - first for first, end in zip(self._firsts, self._ends)]
        return self._make({**self._of_keys(), "count()": numpy.array(sizes, "i8")})

    def _statistic(self, name: str, on: str | list[str] | None, ignore_nulls: bool,
                   ddof: int = 1) -> Any:
        if on is None:
            on = [column for column, array in self._rows.items()
                  if column not in self._keys and not hasattr(array, "indptr")
                  and array.ndim == 1 and not _frame.is_text(array)]
        columns = [on] if isinstance(on, str) else list(on)
        for column in columns:
            if column not in self._rows:
                raise KeyError(f"groupby: there is no column {column!r}; the columns "
                               f"are {list(self._rows)}")
        values = [statistic(name, columns, [group], ddof, ignore_nulls)
                  for group in self._groups()]
        return self._make({**self._of_keys(), **{
            f"{name}({column})": _frame.array_of(column, _in_64_bits([
                math.nan if v[column] is None else v[column] for v in values]))
            for column in columns}})

    def sum(self, on: str | list[str] | None = None,
            ignore_nulls: bool = True) -> Any:
        """The sums of each group.

        Args:
            on: A column, or several; None: all columns of numbers.
            ignore_nulls: False: a missing number makes the value of its group missing.

        Returns:
            A Dataset of the keys and the columns "sum(COLUMN)".
        """
        return self._statistic("sum", on, ignore_nulls)

    def min(self, on: str | list[str] | None = None,
            ignore_nulls: bool = True) -> Any:
        """The least values of each group.

        Args:
            on: See sum().
            ignore_nulls: See there.

        Returns:
            A Dataset of the keys and the columns "min(COLUMN)".
        """
        return self._statistic("min", on, ignore_nulls)

    def max(self, on: str | list[str] | None = None,
            ignore_nulls: bool = True) -> Any:
        """The greatest values of each group.

        Args:
            on: See sum().
            ignore_nulls: See there.

        Returns:
            A Dataset of the keys and the columns "max(COLUMN)".
        """
        return self._statistic("max", on, ignore_nulls)

    def mean(self, on: str | list[str] | None = None,
             ignore_nulls: bool = True) -> Any:
        """The means of each group.

        Args:
            on: See sum().
            ignore_nulls: See there.

        Returns:
            A Dataset of the keys and the columns "mean(COLUMN)".
        """
        return self._statistic("mean", on, ignore_nulls)

    def std(self, on: str | list[str] | None = None, ddof: int = 1,
            ignore_nulls: bool = True) -> Any:
        """The standard deviations of each group.

        Args:
            on: See sum().
            ddof: See Dataset.std().
            ignore_nulls: See sum().

        Returns:
            A Dataset of the keys and the columns "std(COLUMN)".
        """
        return self._statistic("std", on, ignore_nulls, ddof)

    def map_groups(self, fn: Callable[..., Any], *,
                   batch_format: str | None = "default",
                   fn_args: Iterable[Any] | None = None,
                   fn_kwargs: dict[str, Any] | None = None,
                   fn_constructor_args: Iterable[Any] | None = None,
                   fn_constructor_kwargs: dict[str, Any] | None = None,
                   **resources: Any) -> Any:
        """A Dataset of what a function makes of each group, in this process.

        Args:
            fn: Takes the rows of a group as a batch, and returns a batch, or yields
                several. Or a class whose objects do.
            batch_format: "numpy" or "pandas" or "pyarrow".
            fn_args: Passed to fn after the batch.
            fn_kwargs: Passed to fn by name.
            fn_constructor_args: Passed to the class.
            fn_constructor_kwargs: Passed to the class by name.
            resources: See Dataset.map_batches().

        Returns:
            The Dataset.

        Raises:
            TypeError: fn does not return a batch, or there is no such argument.
        """
        _transforms.check_resources("map_groups", resources)
        op = _row_ops.MapBatches(
            _row_ops.Function(fn, tuple(fn_args or ()), fn_kwargs,
                              tuple(fn_constructor_args or ()), fn_constructor_kwargs),
            None, batch_format, False)
        op.name = f"map_groups({op.fn.name})"
        made = [batch for group in self._groups() for batch in op.pieces(group)]
        return self._make(_row_ops.joined(made) if made else {})

    def __getattr__(self, name: str) -> Any:
        said = INSTEAD["data.GroupedData"].get(name)
        raise AttributeError(
            f"groups have no {name}(), which ray.data has: {said}" if said is not None
            else f"{type(self).__name__!r} object has no attribute {name!r}")
