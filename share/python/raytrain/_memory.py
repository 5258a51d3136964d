"""Datasets of arrays in memory: a file of their rows, which exists as long as a Dataset
refers to it."""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any

from . import _frame


class _File:
    """A file in a directory of its own."""

    def __init__(self, name: str) -> None:
        folder = tempfile.mkdtemp(prefix="raytrain-")
        self.path = os.path.join(folder, name)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def file_of(arrays: dict[str, Any]) -> Any:
    """The file of {column: array}, for Dataset(); it is removed with the object."""
    _check_dense(arrays)
    columns = {str(name): _frame.array_of(str(name), values)
               for name, values in arrays.items()}
    lengths = {name: len(array) for name, array in columns.items()}
    if not columns or len(set(lengths.values())) > 1:
        raise ValueError("columns with the same number of rows are needed, not "
                         f"{lengths}")
    file = _File("rows.npz")
    _write(file.path, columns)
    return file


def write(path: str, batch: dict[str, Any]) -> None:
    """A file of a batch, synced. ValueError for a column that no file can have."""
    _check_dense(batch)
    _write(path, {name: _frame.plain(name, array) for name, array in batch.items()})
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _check_dense(columns: dict[str, Any]) -> None:
    for name, array in columns.items():
        if hasattr(array, "indptr"):
            raise ValueError(
                f"column {name!r} has sparse vectors, which cannot be kept in files: "
                "leave it out of the Dataset that was read, by drop_columns(), or make "
                "numbers of it")


def _write(path: str, columns: dict[str, Any]) -> None:
    """As numpy.savez(), which takes columns called "file" or "like" for its arguments.
    Columns of str are codes of words (numpy_words.h)."""
    import struct
    import zipfile

    import numpy

    words = bytearray()
    with zipfile.ZipFile(path, "w", allowZip64=True) as out:
        for name, array in columns.items():
            if _frame.is_text(array):
                packed, array = _frame.words_of(name, array)
                key = name.encode("utf-8", "surrogateescape")
                words += struct.pack("=I", len(key)) + key
                words += struct.pack("=Q", len(packed)) + packed
            with out.open(name + ".npy", "w", force_zip64=True) as member:
                write: Any = numpy.lib.format.write_array
                write(member, array, allow_pickle=False)
        if words:
            out.writestr("raytrain-words", bytes(words))


def keep(made: Any, path: str) -> Any:
    """A Dataset of a copy that begins with this path; the Dataset itself if it is one
    of files. Rows in memory are written first."""
    if made._base is not None:
        kept = made._with()
        kept._base = keep(made._base, path)
        return kept
    made._written()
    if made._file is None:
        return made
    target = path + os.path.splitext(made.path)[1]
    temporary = f"{target}.tmp-{os.getpid()}"
    shutil.copyfile(made.path, temporary)
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, target)
    kept = made._with(path=target)
    kept._file = None
    return kept
