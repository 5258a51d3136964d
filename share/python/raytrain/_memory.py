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

    columns = {str(name): _frame.array_of(str(name), values)
               for name, values in arrays.items()}
    lengths = {name: len(array) for name, array in columns.items()}
    if not columns or len(set(lengths.values())) > 1:
        raise ValueError(f"columns with the same number of rows are needed, not {lengths}")
    if any(_frame.is_text(array) for array in columns.values()):
        missing = _missing(columns)
        file, options = _File("rows.csv"), {"format": "csv", "missing": [missing],
                                            "types": _types(columns)}
        _write_csv(file.path, columns, missing)
    else:
        file, options = _File("rows.npz"), {"format": "numpy"}
        _write_numpy(file.path, columns)
    made = Dataset(file.path, **options)
    made._file = file
    return made


def _write_numpy(path: str, columns: dict) -> None:
    """As numpy.savez(), which takes columns called "file" or "like" for its arguments."""
    import zipfile

    import numpy

    with zipfile.ZipFile(path, "w", allowZip64=True) as out:
        for name, array in columns.items():
            with out.open(name + ".npy", "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, array, allow_pickle=False)


# ---- A csv file: columns of str, and numbers beside them ----

def _missing(columns: dict) -> str:
    """A text for missing values, which is no word of any column."""
    words = set()
    for array in columns.values():
        if _frame.is_text(array):
            words.update(array.tolist())
    text = "NA"
    while text in words:
        text += "-"
    return text


# Integers of a csv file are int64.
_TYPES = {"bool": "bool", "float16": "float32", "float32": "float32", "float64": "float64",
          "object": "words"}


def _types(columns: dict) -> list:
    return [{"column": name, "type": _TYPES.get(array.dtype.name, "int64")}
            for name, array in columns.items()]


def _fields(name: str, array: object, missing: str) -> list:
    """The rows of a column as they are written."""
    if array.ndim != 1 or array.dtype.str[1:] == "u8":
        raise ValueError(f"column {name!r}: beside columns of str there are only columns "
                         "of one number a row, none of uint64")
    values = array.tolist()
    if array.dtype.kind == "b":
        return ["true" if value else "false" for value in values]
    if array.dtype.kind == "f":
        return [missing if value != value else value for value in values]
    if _frame.is_text(array):
        if any(value is not None and "\0" in value for value in values):
            raise ValueError(f"column {name!r} has a text with a NUL character")
        return [missing if value is None else value for value in values]
    return values


def _write_csv(path: str, columns: dict, missing: str) -> None:
    import csv

    values = [_fields(name, array, missing) for name, array in columns.items()]
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
