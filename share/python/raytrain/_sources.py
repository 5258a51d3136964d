"""Rows that the reader of files has no format for: numbers, objects of Python, datasets
of torch, Parquet and JSON files. What is large is read in the workers, as operations
do."""

from __future__ import annotations

import errno
import glob
import gzip
import itertools
import json
import os
import urllib.parse
from typing import Any, Iterator, Sequence

from . import _config, _frame, _memory, _reading, _row_ops
from ._row_ops import Batch, Function

_AT_ONCE = 1 << 20  # numbers that are written at a time
_TORCH_ROWS = 256
_SEEN_LINES = 1000  # of JSON, from which the columns and their types are taken


# ---- Objects of Python ----


def columns_of_items(items: Any) -> Batch:
    """The columns of rows that are dicts, or of values."""
    rows = list(items)
    if not rows:
        raise ValueError("from_items: there are no items")
    if not isinstance(rows[0], dict):
        rows = [{"item": item} for item in rows]
    return _row_ops.of_rows(rows, "from_items")


class Numbers:
    """A file of the numbers 0 .. n - 1 as the column "id", written a part at a time.
    The name of the column is in the file, of which a run keeps a copy with another
    name."""

    def __init__(self, n: int) -> None:
        import zipfile

        import numpy

        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"range() takes a number of rows of at least 1, not {n!r}")
        self._file = _memory._File("rows.npz")
        self.path: str = self._file.path
        described = {"descr": "<i8", "fortran_order": False, "shape": (n,)}
        with zipfile.ZipFile(self.path, "w", allowZip64=True) as out:
            with out.open("id.npy", "w", force_zip64=True) as member:
                write_header: Any = numpy.lib.format.write_array_header_1_0
                write_header(member, described)
                for first in range(0, n, _AT_ONCE):
                    end = min(first + _AT_ONCE, n)
                    part: Any = numpy.arange(first, end, dtype="<i8")
                    member.write(part.tobytes())


# ---- Datasets of torch ----


def torch_op(dataset: Any) -> _row_ops.Op:
    """Of numbers of rows, as the column "id", the rows of a dataset of torch."""
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise TypeError(
            "from_torch() takes a dataset with a length, whose items have numbers, not "
            f"{type(dataset).__name__}; of an iterable one, from_items(list(dataset))")
    op = _row_ops.MapBatches(Function(_torch_rows, (dataset,)), _TORCH_ROWS, "numpy",
                             True)
    op.name = f"from_torch({type(dataset).__name__})"
    return op


def _torch_rows(batch: Batch, dataset: Any) -> Batch:
    rows = []
    for number in batch["id"]:
        item = dataset[int(number)]
        if isinstance(item, dict):
            rows.append({name: _value(value) for name, value in item.items()})
        elif isinstance(item, (tuple, list)):
            rows.append({f"item_{i}": _value(value) for i, value in enumerate(item)})
        else:
            rows.append({"item": _value(item)})
    return _row_ops.of_rows(rows, "from_torch")


def _value(value: Any) -> Any:
    """Tensors and pictures as arrays."""
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    if hasattr(value, "__array_interface__"):
        import numpy

        return numpy.asarray(value)
    return value


# ---- Parquet ----


# Types of Arrow that are numbers, and NumPy's names for them.
_WHOLE = {name: name for name in ("bool", "int8", "int16", "int32", "int64", "uint8",
                                  "uint16", "uint32", "uint64")}
_NUMBERS = {**_WHOLE, "halffloat": "float16", "float": "float32", "double": "float64"}


class ReadGroups(_row_ops.Op):
    """Of the places of row groups, their rows. dtypes: those of columns that not all
    row groups would give the same type. partitions: are names of directories columns?
    paths: is the path of the file one?"""

    keeps = False
    batch_size = 1

    def __init__(self, columns: list[str] | None, total: int, dtypes: dict[str, str],
                 partitions: bool, paths: bool) -> None:
        self.columns = columns
        self.total = total
        self.dtypes = dtypes
        self.partitions = partitions
        self.paths = paths
        self.name = "read_parquet"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        import pyarrow.parquet

        arrow = _row_ops.arrow()
        for path, group in zip(batch["path"], batch["group"]):
            with open(path, "rb") as opened:
                file = pyarrow.parquet.ParquetFile(opened)
                added = self._of_path(path, file.schema_arrow.names)
                read = None if self.columns is None else [
                    name for name in self.columns if name not in added]
                for part in file.iter_batches(row_groups=[int(group)], columns=read):
                    table = arrow.Table.from_batches([part])
                    columns = {name: self._column(name, table.column(name))
                               for name in table.column_names}
                    made = self._with(added, _row_ops.of_format(columns, path), part)
                    order = dict.fromkeys([*(self.columns or ()), *made])
                    yield {name: made[name] for name in order}

    def _of_path(self, path: str, names: list[str]) -> dict[str, str]:
        """The columns that have one value in all rows of a file: those of its
        directories, of which the file itself may have one, and its path."""
        found = partitions_of(path) if self.partitions else {}
        added = {name: value for name, value in found.items() if name not in names
                 and (self.columns is None or name in self.columns)}
        return {**added, "path": path} if self.paths else added

    @staticmethod
    def _with(added: dict[str, str], batch: Batch, part: Any) -> Batch:
        import numpy

        for name, value in added.items():
            batch[name] = numpy.full(part.num_rows, value, "O")
        return batch

    def _column(self, name: str, column: Any) -> Any:
        values = _row_ops.of_arrow(column)
        if name not in self.dtypes:
            return values
        import numpy

        if isinstance(values, list):
            values = [numpy.nan if value is None else value for value in values]
        return numpy.asarray(values).astype(self.dtypes[name])


class _Types:
    """What the columns of Parquet files are, over all their row groups."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}
        self._missing: set[str] = set()  # columns of which some rows are missing

    def add(self, file: Any, columns: list[str]) -> None:
        for name in columns:
            kind = str(file.schema_arrow.field(name).type)
            if kind == "null":  # no row of this file has a value, which is of any type
                self._missing.add(name)
                continue
            self._found.setdefault(name, set()).add(kind)
            if kind in _WHOLE and name not in self._missing and any(
                    _has_nulls(file, group, name)
                    for group in range(file.metadata.num_row_groups)):
                self._missing.add(name)

    def dtypes(self) -> dict[str, str]:
        """Of numbers that are missing somewhere, or have several types: the type that
        holds them all."""
        import numpy

        def holding(name: str, kinds: set[str]) -> str:
            nan = name in self._missing and kinds <= _WHOLE.keys()
            return str(numpy.result_type(*(_NUMBERS[kind] for kind in kinds),
                                         *["float64"] * nan))

        return {name: holding(name, kinds)
                for name, kinds in self._found.items()
                if kinds <= _NUMBERS.keys() and (
                    len(kinds) > 1 or name in self._missing or kinds - _WHOLE.keys())}


def _has_nulls(file: Any, group: int, name: str) -> bool:
    """By the statistics of the file; it need not have them."""
    about = file.metadata.row_group(group)
    for i in range(about.num_columns):
        column = about.column(i)
        if column.path_in_schema == name:
            known = column.statistics
            if known is not None and known.has_null_count:
                return bool(known.null_count > 0)
    read = file.read_row_group(group, columns=[name])
    return bool(read.column(0).null_count > 0)


PARQUET = ("parquet",)  # the ending of files in a directory


def parquet_groups(paths: Any, files: list[str], columns: list[str] | None,
                   partitions: bool
                   ) -> tuple[list[dict[str, Any]], int, dict[str, str]]:
    """(the places of all row groups, the number of rows, the types of ReadGroups), of
    the files of these paths."""
    _row_ops.arrow()
    import pyarrow.parquet

    groups: list[dict[str, Any]] = []
    types = _Types()
    total = 0
    for path in files:
        with open(path, "rb") as opened:
            file = pyarrow.parquet.ParquetFile(opened)
            there = list(file.schema_arrow.names)
            of_path = partitions_of(path) if partitions else {}
            for name in columns or []:
                if name not in there and name not in of_path:
                    raise KeyError(f"{path}: there is no column {name!r}; the columns "
                                   f"are {there + list(of_path)}")
            types.add(file, [name for name in columns or there if name in there])
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                total += rows
                if rows:
                    groups.append({"path": path, "group": group})
    if not groups:
        raise ValueError(f"read_parquet: there are no rows in {paths!r}")
    return groups, total, types.dtypes()


def parquet_files(paths: Any, extensions: Sequence[str] | None,
                  ignore_missing: bool) -> list[str]:
    files: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else list(paths):
        try:
            _reading.check_path(path)
        except FileNotFoundError:
            if ignore_missing:
                continue
            raise
        path = _config.local_path(path)
        if os.path.isdir(path):
            found = [name for name in glob.glob(os.path.join(glob.escape(path), "**"),
                                                recursive=True) if os.path.isfile(name)]
        else:
            found = _reading.files_of(path)
        found = [name for name in found if _reading.has_ending(name, extensions)
                 or (extensions is PARQUET and not os.path.isdir(path))]
        if not found:
            what = "there are no files" if extensions is None else \
                f"no file ends in {list(extensions)}"
            raise FileNotFoundError(errno.ENOENT, what, path)
        files += sorted(os.path.abspath(name) for name in found)
    if not files:
        raise ValueError(f"read_parquet: none of {paths!r} exists")
    return files


def partitions_of(path: str) -> dict[str, str]:
    """The columns that the directories of a path give, such as year=2024."""
    found = {}
    for folder in os.path.dirname(path).split(os.sep):
        if folder.count("=") == 1:
            name, value = folder.split("=")
            found[name] = urllib.parse.unquote(value)
    return found


# ---- Text ----


class DropEmptyLines(_row_ops.Op):
    """Of lines, those that have more than white space."""

    keeps = False
    name = "read_text(drop_empty_lines=True)"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        import numpy

        lines = batch["text"]
        stay = numpy.array([bool(line) and not line.isspace() for line in lines], "?")
        yield batch if stay.all() else {"text": lines[stay]}


# ---- JSON ----


class ParseLines(_row_ops.Op):
    """Of lines of JSON, the column "text", their rows. kinds: {column: the type of its
    numbers, or "str"}; None: as the values are."""

    keeps = False

    def __init__(self, kinds: dict[str, str | None]) -> None:
        self.kinds = kinds
        self.name = "read_json"

    def pieces(self, batch: Batch) -> Iterator[Batch]:
        rows = [_object(line) for line in batch["text"] if line and line.strip()]
        for row in rows:
            for name in row:
                if name not in self.kinds:
                    raise ValueError(
                        f"read_json: a row has {name!r}, which the first {_SEEN_LINES} "
                        "rows have not: name it in dtypes={NAME: \"float64\"}")
        yield {name: _column(name, kind, [row.get(name) for row in rows])
               for name, kind in self.kinds.items()} if rows else {}


def _object(line: str) -> dict[str, Any]:
    text = line.strip()
    hint = ("; leave out lines=True for a file of one array or object, and read it "
            "apart from other files" if text[0] == "[" or text == "{" else "")
    try:
        row = json.loads(text)
    except ValueError as error:
        raise ValueError(f"read_json: {text[:80]!r} is not JSON: {error}{hint}"
                         ) from None
    return _checked(row, hint)


def _checked(row: Any, hint: str = "") -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError("read_json: each row is an object, {...}, and one is "
                         f"{str(row)[:80]!r}{hint}")
    for name, value in row.items():
        if isinstance(value, dict):
            raise ValueError(f"read_json: {name!r} is an object within an object, "
                             "which a column cannot hold")
    made: dict[str, Any] = row
    return made


def _column(name: str, kind: str | None, values: list[Any]) -> Any:
    import numpy

    if kind is None or kind == "str":
        return _frame.array_of(name, values)
    missing = any(value is None for value in values)
    if missing and not kind.startswith("float"):
        raise ValueError(f"read_json: {name!r} is missing in a row, and the first rows "
                         f"were all {kind}: dtypes={{{name!r}: \"float64\"}} has NaN "
                         "for it")
    try:
        return numpy.array([numpy.nan if v is None else v for v in values], kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"read_json: {name!r} is {kind} in the first rows, and later "
                         f"another type: {error}; dtypes={{{name!r}: ...}} sets it"
                         ) from None


def json_kinds(path: Any, dtypes: dict[str, Any] | None) -> dict[str, str | None]:
    """The columns of files of JSON, and their types, from the first lines."""
    return _kinds([_object(line) for line in _first_lines(path, bool(dtypes))], dtypes,
                  path)


def _kinds(rows: list[dict[str, Any]], dtypes: dict[str, Any] | None,
           path: Any) -> dict[str, str | None]:
    kinds: dict[str, str | None] = {
        name: _kind([row.get(name) for row in rows])
        for name in dict.fromkeys(name for row in rows for name in row)}
    for name, dtype in (dtypes or {}).items():
        text = (dtype if isinstance(dtype, str)
                else getattr(dtype, "__name__", str(dtype)))
        kinds[name] = {"int": "int64", "float": "float64"}.get(text, text)
    if not kinds:
        raise ValueError(f"read_json: {path!r} has no rows")
    return kinds


def json_columns(path: Any, dtypes: dict[str, Any] | None) -> Batch | None:
    """The columns of files that are one JSON value each: an array of rows, or a single
    row. None: they have an object in each line."""
    rows: list[dict[str, Any]] = []
    for file in _reading.files_of(path):
        here = _whole_json(file)
        if here is None and not rows:
            return None  # the workers refuse files that are not as the first one
        if here is None:
            raise ValueError(f"read_json: {file} has an object in each line, and other "
                             "files are one array or object each: read them apart")
        rows += map(_checked, here)
    if not rows:
        raise ValueError(f"read_json: {path!r} has no rows")
    kinds = _kinds(rows, dtypes, path)
    return {name: _column(name, kind, [row.get(name) for row in rows])
            for name, kind in kinds.items()}


def _whole_json(file: str) -> list[Any] | None:
    """The rows of a file that is one JSON value, or is empty. None: its first line is
    an object. No more lines are read than it takes to see which, or an error."""
    if _is_zstd(file):
        return None
    with _opened(file) as opened:
        lines = (line for line in opened if line.strip())
        text = ""
        for more in 1, 1, None:
            text += "".join(itertools.islice(lines, more))
            try:
                value = json.loads(text or "[]")
            except ValueError as error:
                # No token of JSON continues on another line.
                if more is None or getattr(error, "pos", 0) < len(text.rstrip()):
                    raise _neither(file, error) from None
                continue
            if isinstance(value, dict) and "\n" not in text.rstrip():
                return None
            if next(lines, None) is not None:
                raise _neither(file, "there are lines after the first value")
            break
    return value if isinstance(value, list) else [value]


def _neither(file: str, why: object) -> ValueError:
    return ValueError(f"read_json: {file} has neither an object in each line nor is it "
                      f"JSON as a whole: {why}")


def _kind(values: list[Any]) -> str | None:
    there = [v for v in values if v is not None]
    if not there or any(isinstance(v, list) for v in there):
        return None
    if all(isinstance(v, bool) for v in there):
        return "bool" if len(there) == len(values) else "float64"
    if all(isinstance(v, (int, float)) for v in there):
        whole = len(there) == len(values) and all(isinstance(v, int) for v in there)
        return "int64" if whole else "float64"
    return "str"


def _first_lines(path: Any, typed: bool) -> list[str]:
    """typed: are there types that are given?"""
    lines: list[str] = []
    for file in _reading.files_of(path):
        if _is_zstd(file):
            if typed:
                continue
            raise ValueError(f"read_json: {file} is compressed with zstd, from which "
                             "the types are not found out: name all columns in dtypes=")
        with _opened(file) as text:
            lines += itertools.islice((line for line in text if line.strip()),
                                      _SEEN_LINES - len(lines))
        if len(lines) >= _SEEN_LINES:
            break
    return lines


def _start_of(file: str) -> bytes:
    with open(file, "rb") as raw:
        return raw.read(4)


def _is_zstd(file: str) -> bool:
    return _start_of(file) == b"\x28\xb5\x2f\xfd"


def _opened(file: str) -> Any:
    opened: Any = gzip.open if _start_of(file)[:2] == b"\x1f\x8b" else open
    return opened(file, "rt", encoding="utf-8", errors="surrogateescape")
