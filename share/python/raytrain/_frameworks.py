"""What raytrain.lightning, raytrain.huggingface and raytrain.tensorflow have in common: names
that need another library, and a directory for what it saves."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Iterator

from ._session import facts
from .collective import barrier, broadcast_from_rank_zero


def needed(library: str, names: tuple[str, ...], install: str) -> Any:
    """A module of another library.

    Args:
        library: What the library is called.
        names: Modules that have the same content; one that the script has imported comes
            before the others.
        install: How it is installed, for the message.

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
            return import_module(name)
        except ImportError as error:
            first = first or error
    raise ImportError(f"{library} is needed for this, and cannot be imported ({first}): "
                      f"{install}", name=tops[names[0]]) from first


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
        """A Checkpoint of the files, or None if another worker reports them or there are
        none."""
        from .checkpoint import Checkpoint

        if not self.mine or not os.listdir(self.path):
            return None
        return Checkpoint.from_directory(self.path)


@contextmanager
def common_directory() -> Iterator[SavedHere]:
    """A new temporary directory on each node, under one name. COLLECTIVE.

    Returns:
        A context with a SavedHere. At the end of it the directory is removed.

    Raises:
        OSError: The directory cannot be created.
    """
    path = broadcast_from_rank_zero(
        os.path.join(tempfile.gettempdir(), f"raytrain-{os.urandom(8).hex()}"))
    mine = facts()["local_rank"] == 0 and _make(path)
    barrier()
    try:
        yield SavedHere(path, mine)
    finally:
        if mine:
            shutil.rmtree(path, ignore_errors=True)


def _make(path: str) -> bool:
    """Create the directory; False: another node has, since the nodes share it."""
    try:
        os.mkdir(path, 0o700)
        return True
    except FileExistsError:
        found = os.lstat(path)
        if not os.path.isdir(path) or os.path.islink(path) or found.st_uid != os.getuid():
            raise
        return False
