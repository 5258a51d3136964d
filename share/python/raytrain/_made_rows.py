"""Rows that a function of the script has made, as files: what follows a change of the
number of rows, such as a shuffle, a split or a position to resume at, needs rows with
numbers.

The workers of a run make them once, each from its part of the source, a block at a
time, and then read them as any dataset; so the rows and their order are the same on any
number of workers, and in the next attempt. Outside workers a Dataset does the same for
itself."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any, Callable, Iterator

from . import _memory, _row_ops, _session
from ._row_ops import Batch

BLOCK_BYTES = 16 << 20
BLOCK_ROWS = 1 << 16
# Ends of the names of datasets that belong to another one.
MADE, SOURCE = "-made", "-from"


def block_rows(columns: dict[str, Any], ops: list[Any]) -> int:
    """How many rows are read at a time. It does not depend on the number of workers."""
    size = 0
    for column in columns.values():
        n = 1
        for length in column.shape if column.kind == "numbers" else (32,):
            n *= length
        size += 8 * n
    most = max(1, min(BLOCK_ROWS, BLOCK_BYTES // max(size, 1)))
    sizes: set[int | None] = {getattr(op, "batch_size", None) for op in ops}
    for wanted in [size for size in sizes if size is not None]:
        most = wanted if most < wanted else most // wanted * wanted
    return most


# ---- The datasets of a run ----


def is_plain(ds: Any) -> bool:
    """Is it one of files, with no function of the script?"""
    return not getattr(ds, "_functions", None) and getattr(ds, "_base", None) is None


def entries(name: str, ds: Any, folder: str) -> dict[str, dict[str, Any]]:
    """The datasets of raytrain.cfg that a Dataset needs, by name. folder: how the paths
    of files begin that the workers make."""
    found = _entries(name, ds, folder)
    if ds._settled() is not ds:
        found.update(_entries(name + MADE, ds._settled(), folder + MADE))
    return found


def _entries(name: str, ds: Any, folder: str) -> dict[str, dict[str, Any]]:
    if ds._base is None:
        return {name: ds._keys()}
    keys = {**ds._keys(), "path": folder, "format": "numpy", "made": True}
    return {name: keys, **_entries(name + SOURCE, ds._base, folder + SOURCE)}


def public_names(names: list[str]) -> list[str]:
    """Those that a trainer has given."""
    return [name for name in names
            if not (name.endswith((MADE, SOURCE)) and name[:-len(MADE)] in names)]


# ---- In workers ----


def prepared(name: str, ds: Any, shard: Callable[[str], Any]) -> tuple[str, list[Any]]:
    """The dataset to read, and the functions for its batches. COLLECTIVE. shard: gives
    the shard with a name, of the rows as they are in files."""
    folder = ds._folder
    if ds._settled() is not ds:
        if not _changes(shard(name), ds._functions):
            return name, ds._functions
        name, folder, ds = name + MADE, folder + MADE, ds._settled()
    _make(name, ds, folder, shard)
    return name, ds._functions


def _as_rank_zero_says(answer: bool) -> bool:
    """Rank 0's answer, on all workers. COLLECTIVE"""
    session = _session.session()
    if session.info["rank"] == 0:
        session.call("broadcast", data=b"y" if answer else b"n")
        return answer
    return bytes(session.call("broadcast")[1]) == b"y"


def _changes(source: Any, ops: list[Any]) -> bool:
    """Do functions change the number of rows? Rank 0 tries it on its first ones."""
    changes = False
    rows = block_rows(source._open()["columns"], ops)
    if _session.session().info["rank"] == 0:
        first = source._first(rows)
        made = sum(_row_ops.rows_of(piece) for piece in _row_ops.pieces(ops, first))
        changes = made != _row_ops.rows_of(first)
    return _as_rank_zero_says(changes)


def _make(name: str, ds: Any, folder: str, shard: Callable[[str], Any]) -> None:
    """The files of a dataset, and before those of what it is made from. COLLECTIVE"""
    info = _session.session().info
    first = info["rank"] == 0
    if ds._base is None:
        return
    # Only rank 0 looks: what another node has not found, it may not find again.
    if _as_rank_zero_says(first and os.path.isdir(folder)):
        return
    _make(name + SOURCE, ds._base, folder + SOURCE, shard)
    making = folder + ".making"
    if first:
        shutil.rmtree(making, ignore_errors=True)
        os.mkdir(making, 0o700)
    _session.session().call("barrier")
    source, ops = shard(name + SOURCE), ds._base._functions
    rows = block_rows(source._open()["columns"], ops)
    for step, batch in enumerate(source._source_batches(rows)):
        _write(making, step * info["world_size"] + info["rank"], ops, batch)
    _session.session().call("barrier")
    if not _as_rank_zero_says(first and _publish(making, folder)):
        raise ValueError(f"dataset {name!r}: {ops[-1].name} leaves no row")


def _write(folder: str, number: int, ops: list[Any], batch: Batch) -> None:
    """A file for each batch that is made of a block."""
    for i, piece in enumerate(_row_ops.pieces(ops, batch)):
        if _row_ops.rows_of(piece) > 0:
            _memory.write(os.path.join(folder, f"{number:012}-{i:06}.npz"), piece)


def _publish(making: str, folder: str) -> bool:
    if not os.listdir(making):
        return False
    fd = os.open(making, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(making, folder)
    return True


# ---- Outside workers ----


class Folder:
    """Files that are removed with this object."""

    def __init__(self, batches: Iterator[Batch], who: str) -> None:
        self.path = tempfile.mkdtemp(prefix="raytrain-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        for number, batch in enumerate(batches):
            _write(self.path, number, [], batch)
        if not os.listdir(self.path):
            raise ValueError(f"{who} leaves no row")
