"""Directories with the files of checkpoints that were saved.

In a process that is no worker, such a directory is in the run, beside the checkpoint
(checkpoint_000012/ of checkpoint_000012.h5, or of the name that was reported with it),
and goes with it. Workers, and processes that cannot write there, share one for each
node, in TMPDIR, which is removed when the last of them does not need it any more.
Nothing is ever restored from either.
"""
from __future__ import annotations

import atexit
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator, Protocol

from . import _records

_OURS = ".extract-"  # directories that are not complete
_CLONE = 0x40049409  # FICLONE
_LOCKED = ".lock"


class Source(Protocol):
    """What is extracted."""

    def file(self) -> str: ...

    def has_files(self) -> bool: ...

    def extract(self, directory: str) -> None: ...

    def dir_name(self) -> str | None: ...


def _copy(source: str, target: str) -> None:
    """A copy that shares its blocks where the file system can do that."""
    with open(source, "rb") as old, open(target, "xb") as new:
        try:
            fcntl.ioctl(new.fileno(), _CLONE, old.fileno())
            return
        except OSError:
            pass
        left = os.fstat(old.fileno()).st_size
        try:
            while left > 0:
                n = os.copy_file_range(old.fileno(), new.fileno(), min(left, 1 << 30))
                if n == 0:
                    break
                left -= n
        except OSError:
            old.seek(0)
            new.seek(0)
            shutil.copyfileobj(old, new, 1 << 20)


def _fill(source: Source, directory: str) -> None:
    if source.has_files():
        source.extract(directory)
    else:
        _copy(source.file(), os.path.join(directory, os.path.basename(source.file())))


def _set_rights(directory: str, mode: int, durable: bool) -> None:
    """Those of the checkpoint, for all that is in the directory."""
    for path, _, names in os.walk(directory, topdown=False):
        for name in names:
            fd = os.open(os.path.join(path, name), os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fchmod(fd, mode & 0o666)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
        os.chmod(path, (mode & 0o666) | (mode & 0o444) >> 2)


# ---- Beside the checkpoint ----


_STAMP = re.compile(r"\.(checkpoint_\d{6,})\.extracted")
# What else is in the directory of a run, by other programs and callbacks as well:
# is_of_run() in run/extracted.c has the same names.
_OF_RUN = re.compile(r"\..*|run\.cfg|result\..*|progress\.csv|events\..*|.*\.h5.*|"
                     r"trainer\.pkl|"
                     r"data|artifacts|logs|serve|checkpoint_\d{6,}", re.DOTALL)


def file_of(directory: str) -> str | None:
    """The checkpoint that this directory was extracted from; None: it was not."""
    base, name = os.path.split(os.path.abspath(directory))
    if not os.path.isfile(os.path.join(base, "run.cfg")):
        return None
    for entry in os.listdir(base):
        match = _STAMP.fullmatch(entry)
        file = os.path.join(base, match[1] + ".h5") if match else ""
        if match and os.path.isfile(file) and _target(file, _stamp(file)) == \
                os.path.join(base, name):
            return file
    return None


def _target(file: str, stamp: object) -> str:
    """The directory of a checkpoint that the record names."""
    name = stamp.get("directory") if isinstance(stamp, dict) else None
    if isinstance(name, str) and "/" not in name and not _OF_RUN.fullmatch(name):
        return os.path.join(os.path.dirname(file), name)
    return file[:-3]


def _wanted(source: Source, file: str) -> str:
    """The directory to make: that of the name that was reported, if nothing else has
    it."""
    name = source.dir_name()
    if name is None or _OF_RUN.fullmatch(name):
        return file[:-3]
    path = os.path.join(os.path.dirname(file), name)
    taken = os.path.lexists(path) or _has_another(file, path)
    return file[:-3] if taken else path


def _stamp_path(file: str) -> str:
    """The record of an extracted directory, which C programs remove with it."""
    base, name = os.path.split(file)
    return os.path.join(base, f".{name[:-3]}.extracted")


def _identity(file: str) -> dict[str, Any]:
    status = os.stat(file)
    return {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def _is_of(stamp: object, identity: dict[str, Any]) -> bool:
    """Is the record about the file as it is?"""
    return isinstance(stamp, dict) and all(stamp.get(key) == value
                                           for key, value in identity.items())


def _is_of_run(file: str) -> bool:
    base, name = os.path.split(file)
    return (re.fullmatch(r"checkpoint_\d{6,}\.h5", name) is not None
            and os.path.isfile(os.path.join(base, "run.cfg")))


def _stamp(file: str) -> object:
    """What the record says; None: there is none."""
    try:
        data, status = _records.read(_stamp_path(file))
        return None if _records.foreign(file, status) else json.loads(data)
    except (OSError, ValueError):
        return None


def _is_file(fd: int, path: str) -> bool:
    """Does the path still lead to the open file?"""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _unfinished(base: str) -> tuple[str, int]:
    """A new directory, and the descriptor that has it locked. Another process may sweep
    it before it is locked; then try again."""
    while True:
        made = tempfile.mkdtemp(prefix=_OURS, dir=base)
        try:
            fd = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError:  # storage without locks: nothing sweeps there, either
            pass
        if _is_file(fd, made):
            return made, fd
        os.close(fd)


def _remove_stale(base: str, target: str) -> None:
    aside, fd = _unfinished(base)
    try:
        os.rename(target, os.path.join(aside, "old"))
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(fd)


def _sweep_unfinished(base: str) -> None:
    """Directories that processes left which were killed; a living one has it locked."""
    for name in os.listdir(base):
        if not name.startswith(_OURS):
            continue
        try:
            fd = os.open(os.path.join(base, name),
                         os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(fd)


def _write_stamp(file: str, target: str, identity: dict[str, Any]) -> None:
    base = os.path.dirname(file)
    if target != file[:-3]:
        identity = {**identity, "directory": os.path.basename(target)}
    fd, path = tempfile.mkstemp(prefix=_OURS, dir=base)
    with os.fdopen(fd, "w") as out:
        json.dump(identity, out)
    os.rename(path, _stamp_path(file))


def _has_another(file: str, target: str) -> bool:
    """Is the directory that of another checkpoint, with the same name?"""
    base = os.path.dirname(file)
    others = [os.path.join(base, match[1] + ".h5")
              for match in map(_STAMP.fullmatch, os.listdir(base)) if match]
    return any(other != file and _target(other, _stamp(other)) == target
               for other in others)


def _extract_beside(source: Source, target: str, identity: dict[str, Any]) -> str:
    file = source.file()
    base = os.path.dirname(file)
    _sweep_unfinished(base)
    made, fd = _unfinished(base)
    try:
        inner = os.path.join(made, "new")
        os.mkdir(inner)
        _fill(source, inner)
        _set_rights(inner, stat.S_IMODE(os.stat(file).st_mode), durable=True)
        if os.path.lexists(target) and not _is_of(_stamp(file), identity):
            _remove_stale(base, target)
        _write_stamp(file, target, identity)
        try:
            os.rename(inner, target)
        except OSError as e:  # another process was faster
            if e.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if _has_another(file, target):
                target = file[:-3]
                _write_stamp(file, target, identity)
                os.rename(inner, target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(fd)
    return target


def _beside(source: Source) -> str | None:
    """None: it cannot be there."""
    file = source.file()
    if not _is_of_run(file):
        return None
    identity, stamp = _identity(file), _stamp(file)
    target = _wanted(source, file) if stamp is None else _target(file, stamp)
    try:
        status = os.lstat(target)
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid in (os.geteuid(), 0)
        if not ours or stamp is None:
            return None
        if _is_of(stamp, identity):
            return target
    except FileNotFoundError:
        pass
    if os.stat(os.path.dirname(file)).st_uid != os.geteuid():
        return None
    try:
        return _extract_beside(source, target, identity)
    except OSError as e:
        if e.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC,
                       errno.EDQUOT):
            return None
        raise


# ---- Once for each node ----


def _node_base() -> str:
    """A directory of this user alone."""
    path = os.path.join(tempfile.gettempdir(), f"raytrain-checkpoints-{os.geteuid()}")
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or \
                status.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="raytrain-checkpoints-")
    return path


def _open_locked(path: str, how: int) -> int | None:
    """The lock file of a directory; None: it was removed meanwhile, or is locked."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, how)
        if _is_file(fd, path):
            return fd
    except BlockingIOError:
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


class _Held:
    """A directory of this node that stays while this exists and is not released."""

    def __init__(self, source: Source) -> None:
        file = os.path.realpath(source.file())
        what = json.dumps([file, _identity(file)]).encode()
        key = hashlib.sha256(what).hexdigest()[:24]
        self.process = os.getpid()
        self.name = source.dir_name() or ""
        while True:
            base = _node_base()
            self.root, lock = os.path.join(base, key), os.path.join(base, key + _LOCKED)
            if self._take(source, lock):
                break
        _sweep_node(base, key)

    def _take(self, source: Source, lock: str) -> bool:
        """False: to be tried again. Those who use the directory have a shared lock, for
        as long as they like: the other kind is asked for only while there is no
        directory."""
        try:
            fd = _open_locked(lock, fcntl.LOCK_SH)
        except FileNotFoundError:  # the base was removed, since it was empty
            return False
        if fd is None:
            return False
        try:
            if not os.path.isdir(self.root):
                # Of several processes the last one gets it, and the others wait above.
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._make(source)
                fcntl.flock(fd, fcntl.LOCK_SH)
            # It is not locked for a moment while the kind of the lock changes.
            if os.path.isdir(self.root) and _is_file(fd, lock):
                self.fd = fd
                return True
        except BlockingIOError:
            pass
        except BaseException:
            _remove_if_last(fd, self.root)
            raise
        os.close(fd)
        return False

    def _make(self, source: Source) -> None:
        made = self.root + ".new"
        shutil.rmtree(made, ignore_errors=True)
        os.mkdir(made, 0o700)
        inner = os.path.join(made, self.name)
        os.makedirs(inner, exist_ok=True)
        _fill(source, inner)
        os.rename(made, self.root)

    @property
    def path(self) -> str:
        """The files; in a directory of the name that was reported."""
        return os.path.join(self.root, self.name) if self.name else self.root

    def release(self) -> None:
        if self.process == os.getpid():
            _remove_if_last(self.fd, self.root)


def _remove_if_last(fd: int, path: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(path + ".new", ignore_errors=True)
        os.unlink(path + _LOCKED)
        os.rmdir(os.path.dirname(path))
    except OSError:  # others use it, or other directories are there
        pass
    finally:
        os.close(fd)


def _sweep_node(base: str, key: str) -> None:
    """What processes left that were killed."""
    for name in os.listdir(base):
        if not name.endswith(_LOCKED) or name == key + _LOCKED:
            continue
        try:
            fd = _open_locked(os.path.join(base, name), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        if fd is not None:
            _remove_if_last(fd, os.path.join(base, name[:-len(_LOCKED)]))


_lasting: dict[str, _Held] = {}  # until this process ends, by file


def _release_deleted() -> None:
    """Of checkpoints that the run does not keep any more."""
    for file in [file for file in _lasting if not os.path.lexists(file)]:
        _lasting.pop(file).release()


def _release_all() -> None:
    while _lasting:
        _lasting.popitem()[1].release()


# ---- For Checkpoint ----


def directory(source: Source, in_worker: bool) -> str:
    """A directory with the files, or with the checkpoint file if none were reported,
    that stays until this process ends, or until the run has deleted the checkpoint."""
    path = None if in_worker else _beside(source)
    if path is not None:
        return path
    file = source.file()
    _release_deleted()
    held = _lasting.get(file)
    if held is None or held.process != os.getpid():
        if not _lasting:
            atexit.register(_release_all)
        held = _lasting[file] = _Held(source)
    return held.path


@contextmanager
def borrowed(source: Source) -> Iterator[str]:
    """A directory of this node with the files, for a while."""
    held = _Held(source)
    try:
        yield held.path
    finally:
        held.release()
