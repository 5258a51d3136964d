"""What raytrain.lightning, raytrain.huggingface and raytrain.tensorflow have in common:
names that need another library, and a directory for what it saves."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Iterator

from ._session import facts
from .collective import barrier, broadcast_from_rank_zero


def needed(library: str, names: tuple[str, ...], install: str,
           parts: tuple[str, ...] = ()) -> Any:
    """A module of another library.

    Args:
        library: What the library is called.
        names: Modules that have the same content; one that the script has imported
            comes before the others.
        install: How it is installed, for the message.
        parts: Modules below it, which need not come with it.

    Returns:
        The module.

    Raises:
        ImportError: None of the modules can be imported.
    """
    import sys

    tops = {name: name.partition(".")[0] for name in names}
    first = None
    for name in sorted(names, key=lambda name: tops[name] not in sys.modules):
        try:
            module = import_module(name)
            for part in parts:
                import_module(f"{name}.{part}")
            return module
        except ImportError as error:
            first = first or error
    raise ImportError(f"{library} is needed for this, and cannot be imported "
                      f"({first}): {install}", name=tops[names[0]]) from first


class SavedHere:
    """A directory in which the workers save, the same path on every node.

    Attributes:
        path: The directory.
        mine: This worker reports what is in it: one worker on each node, or a single
            one if the nodes share the directory.
    """

    def __init__(self, path: str, mine: bool) -> None:
        self.path = path
        self.mine = mine

    def checkpoint(self) -> Any:
        """A Checkpoint of the files, or None if another worker reports them or there
        are none."""
        from .checkpoint import Checkpoint

        if not self.mine or not os.listdir(self.path):
            return None
        return Checkpoint.from_directory(self.path)


@contextmanager
def common_directory(parent: str | None = None) -> Iterator[SavedHere]:
    """A new temporary directory on each node, under one name. COLLECTIVE: when a worker
    has it, all have called this.

    Args:
        parent: Where it is made; None: in TMPDIR of rank 0.

    Returns:
        A context with a SavedHere. At the end of it the directory is removed.

    Raises:
        OSError: The directory cannot be created.
    """
    path = ""
    first = facts()["rank"] == 0
    if first:
        path = os.path.join(parent or tempfile.gettempdir(),
                            f".raytrain-{os.urandom(8).hex()}")
        os.mkdir(path, 0o700)
    path = broadcast_from_rank_zero(path)
    mine = first or facts()["local_rank"] == 0 and _make(path)
    barrier()
    try:
        yield SavedHere(path, mine)
    finally:
        if mine:
            shutil.rmtree(path, ignore_errors=True)


def _make(path: str) -> bool:
    """Create the directory; False: it is the one of rank 0, since the nodes share
    it."""
    try:
        os.makedirs(path, 0o700)
        return True
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise
        return False


def link_tree(source: str, target: str) -> None:
    """Make a tree of files in a second place, without a copy of their bytes if the file
    system can."""
    # A client of NFS may have an old list of what other nodes have written there, which
    # it drops when it makes an entry itself.
    os.rmdir(tempfile.mkdtemp(dir=source))
    shutil.copytree(source, target, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
