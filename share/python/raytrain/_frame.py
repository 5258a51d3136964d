"""Rows of columns as raytrain-worker lays them out (frame_wire.h), as arrays of NumPy,
and back: numbers, words and texts as arrays of str, sparse vectors as a SciPy
matrix."""
from __future__ import annotations

import struct
from typing import Any, Iterator, Mapping

# raytrain_dtype in C, as NumPy and the struct module call them. A bfloat16 is two
# bytes.
NUMPY = {"float32": "f4", "float64": "f8", "float16": "f2", "int8": "i1", "int16": "i2",
         "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4",
         "uint64": "u8", "bytes": "u1", "bfloat16": "u2"}
# A memoryview has no float16 either: two bytes.
_STRUCT = {"float32": "f", "float64": "d", "float16": "H", "int8": "b", "int16": "h",
           "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
           "uint64": "Q", "bytes": "B", "bfloat16": "H"}


def numpy_or_none() -> Any:
    """NumPy, or None if it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


class SparseRows:
    """Sparse vectors of equal length, a row each, as scipy.sparse.csr_matrix has them;
    in its place if SciPy is not installed."""

    def __init__(self, data: Any, indices: Any, indptr: Any,
                 shape: tuple[Any, ...]) -> None:
        self.data = data
        self.indices = indices
        self.indptr = indptr
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: Any) -> SparseRows:
        """A row, or those of an array of their numbers or of bool."""
        if hasattr(row, "dtype") and row.ndim == 1:
            return self._chosen(row)
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        first, end = self.indptr[row % len(self)], self.indptr[row % len(self) + 1]
        return SparseRows(self.data[first:end], self.indices[first:end],
                          [0, end - first], (1, self.shape[1]))

    def _chosen(self, rows: Any) -> SparseRows:
        import numpy

        rows = numpy.arange(len(self))[rows]
        starts = numpy.asarray(self.indptr, "i8")
        sizes = numpy.diff(starts)[rows]
        ends = numpy.concatenate([[0], numpy.cumsum(sizes)])
        at = numpy.arange(ends[-1]) + numpy.repeat(starts[rows] - ends[:-1], sizes)
        return SparseRows(numpy.asarray(self.data)[at], numpy.asarray(self.indices)[at],
                          ends.astype("u8"), (len(rows), self.shape[1]))

    def __repr__(self) -> str:
        return (f"<SparseRows {self.shape[0]} x {self.shape[1]}, "
                f"{len(self.data)} elements>")


def sparse(data: Any, indices: Any, indptr: Any, shape: tuple[Any, ...]) -> Any:
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        return SparseRows(data, indices, indptr, shape)
    # SciPy has signed indices: int32, as it prefers, if they are large enough.
    indices = indices.view("i4") if shape[1] <= 2 ** 31 else indices.astype("i8")
    return csr_matrix((data, indices, indptr.view("i8")), shape=shape)


# ---- Columns ----

class Column:
    """What the rows of a column are.

    kind: "numbers", "words", "text", "word_lists" or "sparse". dtype, shape: of a row;
    for words, texts and lists of words the dtype is "str". words: their list, of which
    the rows are codes.
    """

    def __init__(self, said: dict[str, Any], data: bytes) -> None:
        self.name: str = said["name"]
        self.kind: str = said["kind"]
        self.dtype: str = said.get("dtype", "str")
        self.shape: tuple[Any, ...] = tuple(said.get("shape", ()))
        self.words: Any = _unpacked(data, *said["words"]) if "words" in said else None
        self._table: Any = None

    def table(self, numpy: Any) -> Any:
        """The words as an array, of which the last one, None, is that of the code
        -1."""
        if self._table is None:
            self._table = numpy.empty(len(self.words) + 1, dtype=object)
            self._table[:-1] = self.words
        return self._table


def _unpacked(data: bytes, first: int, size: int) -> list[Any]:
    """The words of dictionary_pack()."""
    words = []
    at, end = first, first + size
    while at < end:
        length, = struct.unpack_from("=I", data, at)
        words.append(_text(data[at + 4:at + 4 + length]))
        at += 4 + length
    return words


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def columns_of(reply: dict[str, Any], data: bytes) -> dict[str, Any]:
    """{name: Column}, in their order."""
    return {said["name"]: Column(said, data) for said in reply["columns"]}


# ---- Rows ----

def _array(block: Any, dtype: str, shape: list[Any], offset: int) -> Any:
    size = int(NUMPY[dtype][1:])
    for n in shape:
        size *= n
    part = block[offset:offset + size]
    if isinstance(part, memoryview):
        items: Any = part  # what mypy knows of cast() is not the same everywhere
        return items.cast(_STRUCT[dtype], shape) if size else part
    return part.view(NUMPY[dtype]).reshape(shape)


def _texts(data: Any, offsets: Any, numpy: Any) -> Any:
    raw = bytes(data)
    texts = [_text(raw[offsets[i]:offsets[i + 1]]) for i in range(len(offsets) - 1)]
    return _objects(texts, numpy)


def _objects(values: list[Any], numpy: Any) -> Any:
    if numpy is None:
        return values
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


def _words(column: Column, codes: Any, numpy: Any) -> Any:
    if numpy is not None:
        return column.table(numpy)[codes]
    return [column.words[code] if code >= 0 else None for code in codes]


def _ragged(column: Column, block: Any, rows: int, place: list[Any], numpy: Any) -> Any:
    data, elements, at, indices = place
    offsets = _array(block, "uint64", [rows + 1], at)
    if column.kind == "text":
        return _texts(block[data:data + elements], offsets.tolist(), numpy)
    if column.kind == "sparse":
        return sparse(_array(block, column.dtype, [elements], data),
                       _array(block, "uint32", [elements], indices), offsets,
                       (rows, column.shape[0]))
    words = _words(column, _array(block, "int32", [elements], data), numpy)
    bounds = offsets.tolist()
    return _objects([list(words[bounds[i]:bounds[i + 1]]) for i in range(rows)], numpy)


def decode(columns: dict[str, Any], block: Any, rows: int, places: list[Any],
           codes: bool = False) -> dict[str, Any]:
    """{name: array} of a block, views of it where that can be. codes: words as the
    int32 codes that they are stored as."""
    numpy = numpy_or_none()
    batch = {}
    for column, place in zip(columns.values(), places):
        if column.kind == "numbers":
            batch[column.name] = _array(block, column.dtype, [rows, *column.shape],
                                        place[0])
        elif column.kind == "words":
            array = _array(block, "int32", [rows], place[0])
            batch[column.name] = array if codes else _words(column, array, numpy)
        else:
            batch[column.name] = _ragged(column, block, rows, place, numpy)
    return batch


def empty(column: Column) -> Any:
    """The array of no rows. Needs NumPy."""
    import numpy

    if column.kind == "sparse":
        return sparse(numpy.empty(0, NUMPY[column.dtype]), numpy.empty(0, "u4"),
                       numpy.zeros(1, "u8"), (0, column.shape[0]))
    dtype = NUMPY[column.dtype] if column.kind == "numbers" else object
    return numpy.empty([0, *column.shape], dtype)


def concatenate(name: str, parts: list[Any]) -> Any:
    """Several batches of a column as one array. ValueError if they have no type in
    common. Needs NumPy."""
    import numpy

    dense = [isinstance(part, numpy.ndarray) for part in parts]
    if all(dense):
        return numpy.concatenate(_alike(name, parts))
    if any(dense):
        raise ValueError(
            f"column {name!r} is sparse in some batches, and not in others")
    if isinstance(parts[0], SparseRows):
        ends = numpy.cumsum([0] + [len(p.data) for p in parts]).astype("u8")
        starts = [numpy.asarray(p.indptr[:-1], "u8") + end
                  for p, end in zip(parts, ends)]
        return SparseRows(numpy.concatenate([p.data for p in parts]),
                          numpy.concatenate([p.indices for p in parts]),
                          numpy.concatenate(starts + [ends[-1:]]),
                          (sum(p.shape[0] for p in parts), parts[0].shape[1]))
    import scipy.sparse

    return scipy.sparse.vstack(parts, format="csr")


def _alike(name: str, parts: list[Any]) -> list[Any]:
    """The parts that have rows, all of them numbers, or all of them texts."""
    import numpy

    parts = [part for part in parts if len(part)] or parts[:1]
    numbers = [part for part in parts if not is_text(part)]
    if numbers and len(numbers) < len(parts):
        dtype = numpy.result_type(*numbers)
        missing = dtype if dtype.kind == "f" else numpy.dtype("f8")
        parts = [_no_numbers(name, part, missing) if is_text(part) else part
                 for part in parts]
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise ValueError(f"column {name!r} has rows of the shapes "
                         f"{', '.join(map(str, sorted(shapes)))}: all have the same")
    return parts


def _no_numbers(name: str, texts: Any, dtype: Any) -> Any:
    """NaN for texts that are all missing, as in a column without any value."""
    import numpy

    if any(text is not None for text in texts):
        raise ValueError(f"column {name!r} has numbers in some batches, and texts in "
                         "others: make one of the other by map_batches()")
    return numpy.full(len(texts), numpy.nan, dtype)


# ---- The other way: rows for raytrain-worker (frame_parse.h). Needs NumPy ----

_DTYPES = {"f4": "float32", "f8": "float64", "f2": "float16", "i1": "int8",
           "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16",
           "u4": "uint32",
           "u8": "uint64"}


class _Made:
    """What Column says of an array that was made here."""

    def __init__(self, array: Any) -> None:
        sparse = hasattr(array, "indptr")
        self.kind = "sparse" if sparse else "text" if is_text(array) else "numbers"
        self.dtype: str | None = "str"
        if self.kind == "numbers":
            self.dtype = _DTYPES.get(array.dtype.str[1:])


def described(batch: dict[str, Any]) -> dict[str, Any]:
    """{name: what the column is} of a batch that was not read but made."""
    return {name: _Made(array) for name, array in batch.items()}


def is_text(array: Any) -> bool:
    """Is it an array of str?"""
    return array.dtype.kind in "OUS"


def plain_dict(data: Any) -> Any:
    """A mapping other than a dict, such as what Dataset.materialize() gives, as one."""
    return dict(data.items()) if isinstance(data, Mapping) else data


def array_of(name: str, values: Any) -> Any:
    """A column as an array of numbers, of bool, or of str and None. Arrays of objects,
    and columns of pandas, become one of these."""
    import numpy

    try:
        array = _from_pandas(values) if _is_of_pandas(values) else numpy.asarray(values)
    except ValueError:  # as NumPy says it, no name is in it
        raise ValueError(f"column {name!r}: rows differ in length; lists of words can "
                         "be a text, for preprocessors.Tokenizer") from None
    if array.ndim == 0:
        raise ValueError(f"column {name!r} is not an array: its first dimension "
                         "are the rows")
    if is_text(array):
        if array.ndim != 1:
            raise ValueError(f"column {name!r}: each row is one str")
        return _of_objects(name, array.tolist(), numpy)
    array = numpy.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype.kind != "b" and array.dtype.str[1:] not in _DTYPES:
        hint = ""
        if array.dtype.kind in "mM":
            hint = "; .astype('int64') makes numbers of it"
        raise ValueError(f"column {name!r} is {array.dtype}, which no column can "
                         f"be{hint}")
    return array


def plain(name: str, values: Any) -> Any:
    """The same, with bool as numbers."""
    array = array_of(name, values)
    return array.astype("u1") if array.dtype.kind == "b" else array


def _is_of_pandas(values: Any) -> bool:
    return type(values).__module__.split(".")[0] == "pandas"


def _from_pandas(series: Any) -> Any:
    """Types of pandas that know missing values are those of NumPy, float64 if there are
    such values."""
    import numpy

    wanted = getattr(series.dtype, "numpy_dtype", None)
    if wanted is None or wanted.kind not in "biuf":
        return numpy.asarray(series)
    if wanted.kind != "f" and series.isna().any():
        wanted = numpy.dtype("f8")
    return series.to_numpy(dtype=wanted, na_value=numpy.nan)


def _is_missing(value: Any, numpy: Any) -> bool:
    if isinstance(value, (float, numpy.floating)):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # of pandas


def _of_objects(name: str, values: list[Any], numpy: Any) -> Any:
    """An array of what all values are, but for those that are missing."""
    import numbers

    there = [v for v in values if not _is_missing(v, numpy)]
    if all(isinstance(v, (str, bytes)) for v in there):
        return _objects([None if _is_missing(v, numpy) else
                         _text(v) if isinstance(v, bytes) else v for v in values],
                        numpy)
    if all(isinstance(v, (bool, numpy.bool_)) for v in there):
        return numpy.array(*_filled(values, there, "?", numpy))
    if all(isinstance(v, numbers.Integral) for v in there):
        return numpy.array(*_filled(values, there, "i8", numpy))
    if all(isinstance(v, numbers.Real) for v in there):
        return numpy.array(*_filled(values, there, "f8", numpy))
    if len(there) == len(values) and all(isinstance(v, (list, tuple, numpy.ndarray))
                                         for v in there):
        if len({numpy.shape(v) for v in there}) == 1:
            return array_of(name, numpy.stack([numpy.asarray(v) for v in there]))
        raise ValueError(f"column {name!r}: rows differ in length; lists of words can "
                         "be a text, for preprocessors.Tokenizer")
    kinds = sorted({type(v).__name__ for v in there})
    raise ValueError(f"column {name!r} has values of type {', '.join(kinds)}: all must "
                     "be numbers, or all str")


def _filled(values: list[Any], there: list[Any], dtype: str,
            numpy: Any) -> tuple[Any, ...]:
    """The arguments of numpy.array(): with NaN for what is missing."""
    if len(there) == len(values):
        return values, dtype
    return [numpy.nan if _is_missing(v, numpy) else v for v in values], "f8"


def words_of(name: str, array: Any) -> tuple[Any, ...]:
    """The words of an array of str and None as dictionary_pack() makes them, and the
    int32 code of each row, -1 for None."""
    import numpy

    values = array.tolist()
    words = sorted({value for value in values if value is not None})
    codes = {word: code for code, word in enumerate(words)}
    codes[None] = -1
    packed = bytearray()
    for word in words:
        raw = _raw(name, word, values)
        packed += struct.pack("=I", len(raw)) + raw
    return bytes(packed), numpy.array([codes[value] for value in values], "i4")


def _raw(name: str, word: str, values: list[Any]) -> bytes:
    """A str as bytes. Those that os.fsdecode() could not decode are as they were."""
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"column {name!r}, row {values.index(word)}: the text has "
            f"{word[error.start]!a}, half of a pair of surrogates, which is not a "
            "character; text.encode('utf-16', 'surrogatepass').decode('utf-16', "
            "'replace') joins pairs and replaces others") from None


def encode(batch: dict[str, Any], limit: int) -> Iterator[Any]:
    """Yields (columns, rows, places, block) of parts of at most about `limit` bytes."""
    arrays = {name: plain(name, values) for name, values in batch.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    rows = next(iter(lengths.values()), 0)
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different numbers of rows: {lengths}")
    size = sum(map(_bytes, arrays.values())) // max(rows, 1)
    step = max(1, limit // max(size, 1))
    for first in range(0, max(rows, 1), step):
        yield _part({name: array[first:first + step] for name, array in arrays.items()})


def _bytes(array: Any) -> int:
    """About the bytes that it takes in a block."""
    if not is_text(array):
        return array.nbytes
    return sum(8 + len(value or "") for value in array.tolist())


def _part(arrays: dict[str, Any]) -> tuple[Any, ...]:
    columns, places, block = [], [], bytearray()
    rows = 0

    def add(part: bytes) -> int:
        at = len(block)
        block.extend(part)
        block.extend(bytes(-len(block) % 64))
        return at

    for name, array in arrays.items():
        rows = len(array)
        said: dict[str, Any] = {"name": name}
        if is_text(array):
            words, array = words_of(name, array)
            said.update(kind="words", words=[add(words), len(words)])
        else:
            said.update(kind="numbers", dtype=_DTYPES[array.dtype.str[1:]],
                        shape=list(array.shape[1:]))
        columns.append(said)
        places.append([add(array.tobytes())])
    return columns, rows, places, bytes(block)


def block(data: bytes) -> Any:
    """A block that came with a reply, which its arrays share."""
    import numpy

    return numpy.frombuffer(bytearray(data), dtype=numpy.uint8)
