"""What report() sends of a checkpoint: a table of its contents, and an answer to the
worker's question to copy them into shared memory (see checkpoint_offer.h)."""

from __future__ import annotations

import gc
import json
import mmap
import os
import re
import stat
import warnings
import zlib
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from . import _session, errors
from .checkpoint import DIR_NAME, Checkpoint

# A message has at most 64 MiB, in which the structure is quoted.
STRUCTURE_MAX = 15 << 20
ENTRIES_MAX = 400_000
NAME_MAX = 1000

# Buffers that the worker has given this process: id: (process, memory).
_buffers: dict[int, tuple[int, mmap.mmap]] = {}


# ---- Shared memory ----


def _buffer(question: dict[str, Any], fds: list[int]) -> mmap.mmap:
    number = question["buffer"]
    for known in list(_buffers):
        if known not in question["kept"] or _buffers[known][0] != os.getpid():
            del _buffers[known]
    if fds:
        try:
            populate = getattr(mmap, "MAP_POPULATE", 0x8000)
            memory = mmap.mmap(fds[0], question["bytes"], mmap.MAP_SHARED | populate)
        finally:
            for fd in fds:
                os.close(fd)
        _buffers[number] = (os.getpid(), memory)
    return _buffers[number][1]


def forget_buffers() -> None:
    """The worker that has given them is gone."""
    _buffers.clear()


def _failure(e: BaseException) -> dict[str, Any]:
    """An exception as an answer: the other ranks wait for one."""
    code, text = "EINVAL", f"{type(e).__name__}: {e}"
    if isinstance(e, errors.RaytrainError):
        code, text = e.code, str(e)
    elif isinstance(e, MemoryError):
        code = "ENOMEM"
    elif isinstance(e, OSError):
        code = "ESTORAGE"
        if e.filename is not None:
            text = f"cannot read {os.fspath(e.filename)!r}: {e.strerror}"
    elif isinstance(e, ValueError):
        text = str(e)
    return {"error": {"code": code, "text": text[:2000]}}


def _answers(copy: Callable[[mmap.mmap, bool], None], held: Any) -> dict[str, Any]:
    """The answers for Session.call(); copy(buffer, sharded) puts the bytes in place, as
    long as `held` exists."""

    def answer(question: dict[str, Any], fds: list[int]) -> Any:
        try:
            copy(_buffer(question, fds), question["what"] == "shards")
        except Exception as e:
            return _failure(e), b""
        finally:
            del held[:]
        return {}, b""

    return {"copy": answer}


# ---- Dicts ----


@contextmanager
def _no_collection() -> Iterator[Any]:
    """A walk over many tensors makes many objects, all of which stay for now: looking
    for garbage among them and torch's takes longer than the walk."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _offer_dict(value: dict[str, Any]) -> Any:
    from ._flatten import flatten, lay_out

    with _no_collection():
        entries, structure = flatten(value)
    if len(structure) > STRUCTURE_MAX or len(entries) > ENTRIES_MAX:
        raise ValueError(
            f"the dict of this checkpoint has {len(entries)} arrays, numbers and "
            f"strings, which is too much: put lists of many values into arrays"
        )

    def copy(buffer: mmap.mmap, sharded: bool) -> None:
        for entry, offset in lay_out(entries, sharded):
            write = entry.write
            if callable(write):
                if entry.nbytes > 0:
                    write(buffer, offset)
            else:
                buffer[offset : offset + entry.nbytes] = write

    table = {
        "kind": "dict",
        "structure": structure,
        "entries": [entry.row for entry in entries],
    }
    return table, copy


# ---- Directories ----

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def _file_name(path: str) -> tuple[str, str | None]:
    """The name in a checkpoint of a file with this relative path; and the path in
    hexadecimal, if it is another one."""
    raw = os.fsencode(path)
    if _UNSAFE.search(path) or len(raw) > NAME_MAX:
        return f"%{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}-{len(raw)}", raw.hex()
    return path, None


class _Walk:
    """The files of a directory, and those directories in it that are empty."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.files: list[tuple[str, str, int]] = []  # relative path, path, size
        self.empty: list[str] = []
        self.skipped: list[str] = []  # sockets, FIFOs, devices
        self.visit(self.root, "", (self.root,))

    def target(self, path: str) -> str:
        """Where a symbolic link leads; ValueError if that is not in the directory."""
        try:
            target = os.path.realpath(path, strict=True) if _STRICT else _resolve(path)
        except OSError as e:
            raise ValueError(
                f"the symbolic link {path!r} in the checkpoint's directory cannot be "
                f"followed: {e.strerror}"
            ) from None
        if target != self.root and not target.startswith(self.root.rstrip("/") + "/"):
            raise ValueError(
                f"the symbolic link {path!r} leads out of the checkpoint's directory, "
                f"to {target!r}: copy what it refers to"
            )
        return target

    def visit(self, path: str, relative: str, above: tuple[str, ...]) -> None:
        with os.scandir(path) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        if not entries and relative:
            if _file_name(relative)[1]:
                raise ValueError(
                    f"the empty directory {path!r} has a name that a checkpoint cannot "
                    f"keep: put a file into it"
                )
            self.empty.append(relative)
        for entry in entries:
            name = f"{relative}/{entry.name}" if relative else entry.name
            self.take(entry.path, name, above)

    def take(self, path: str, name: str, above: tuple[str, ...]) -> None:
        real = self.target(path) if os.path.islink(path) else path
        status = os.stat(real)
        if stat.S_ISDIR(status.st_mode):
            if real in above:
                raise ValueError(
                    f"the symbolic link {path!r} leads to a directory that it is in"
                )
            self.visit(real, name, above + (real,))
        elif stat.S_ISREG(status.st_mode):
            self.files.append((name, real, status.st_size))
        else:
            self.skipped.append(path)


_STRICT = "strict" in os.path.realpath.__code__.co_varnames  # Python 3.10


def _resolve(path: str) -> str:
    os.stat(path)
    return os.path.realpath(path)


def _read_into(path: str, view: memoryview) -> None:
    """Fill `view` with the file; ValueError if the file is not as long as it."""
    with open(path, "rb", buffering=0) as file:
        at = 0
        while at < len(view):
            n = file.readinto(view[at : at + (1 << 30)])
            if not n:
                break
            at += n
        if at < len(view) or file.read(1):
            raise ValueError(f"the file {path!r} changed while report() read it")


def _offer_directory(path: str) -> Any:
    from ._tree import ALIGNMENT

    walk = _Walk(path)
    if walk.skipped:
        warnings.warn(
            f"report(): {len(walk.skipped)} in the checkpoint's directory that are "
            "neither files nor directories are left out: "
            f"{', '.join(map(repr, walk.skipped[:3]))}"
            + (", ..." if len(walk.skipped) > 3 else ""), UserWarning, stacklevel=2)
    if len(walk.files) + len(walk.empty) > ENTRIES_MAX // 4:
        raise ValueError(
            f"the checkpoint's directory has {len(walk.files)} files, which is too "
            f"many: put them into an archive"
        )
    rows: list[list[Any]] = []
    for name, _, size in walk.files:
        stored, real = _file_name(name)
        rows.append([stored, size] if real is None else [stored, size, real])

    def copy(buffer: mmap.mmap, sharded: bool) -> None:
        end = 0
        whole = memoryview(buffer)
        for _, file, size in walk.files:
            start = -(-end // ALIGNMENT) * ALIGNMENT
            end = start + size
            _read_into(file, whole[start:end])

    return {"kind": "directory", "entries": rows, "directories": walk.empty}, copy


# ---- Any checkpoint ----


def offer(checkpoint: Any,
          dir_name: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """(table, asks) for the request to report this Checkpoint, whose directory is to
    have this name.

    Raises TypeError for anything else, and for what a checkpoint cannot hold.
    """
    if not isinstance(checkpoint, Checkpoint):
        raise TypeError(
            f"report() takes a Checkpoint, not {type(checkpoint).__name__}: make one "
            f"by Checkpoint.from_dict(...) or Checkpoint.from_directory(path)"
        )
    kind, contents, held = checkpoint._contents()
    metadata = {**_session.metadata, **checkpoint.get_metadata()}
    if dir_name is not None:
        metadata[DIR_NAME] = dir_name
    if kind == "dict":
        table, copy = _offer_dict(contents)
    else:
        table, copy = _offer_directory(contents)
    if metadata:
        table["metadata"] = json.dumps(metadata)
    return table, _answers(copy, [held])
