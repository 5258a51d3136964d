"""Datasets of arrays in memory: a file of their rows, which exists as long as a Dataset
refers to it."""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref

from . import _frame


class _File:
    """A file in a directory of its own."""

    def __init__(self, name: str) -> None:
        folder = tempfile.mkdtemp(prefix="raytrain-")
        self.path = os.path.join(folder, name)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def dataset(arrays: dict):
    """The Dataset of {column: array}."""
    from .data import Dataset

    columns = {str(name): _frame.plain(str(name), values)
               for name, values in arrays.items()}
    lengths = {name: len(array) for name, array in columns.items()}
    if not columns or len(set(lengths.values())) > 1:
        raise ValueError(f"columns with the same number of rows are needed, not {lengths}")
    if any(_frame.is_text(array) for array in columns.values()):
        file, options = _File("rows.csv"), {"format": "csv", "types": _types(columns)}
        _write_csv(file.path, columns)
    else:
        file, options = _File("rows.npz"), {"format": "numpy"}
        _write_numpy(file.path, columns)
    made = Dataset(file.path, **options)
    made._file = file
    return made


def _write_numpy(path: str, columns: dict) -> None:
    import numpy

    with open(path, "wb") as out:
        numpy.savez(out, **columns)


def _types(columns: dict) -> list:
    """A csv file has all integers as int64."""
    return [{"column": name, "type": "words" if _frame.is_text(array) else
             array.dtype.name if array.dtype.name in ("float32", "float64") else "int64"}
            for name, array in columns.items()]


def _write_csv(path: str, columns: dict) -> None:
    import csv

    for name, array in columns.items():
        if array.ndim != 1 or array.dtype.str[1:] == "u8":
            raise ValueError(f"column {name!r}: beside columns of str there are only columns "
                             "of one number a row, none of uint64")
    values = [array.tolist() for array in columns.values()]
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*values))


def keep(made: object, path: str):
    """A Dataset of a copy that begins with this path; the Dataset itself if it is one of
    files."""
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
