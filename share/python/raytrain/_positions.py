"""The positions of data loaders. Each checkpoint keeps them, and the next attempt
continues from them. A loader defines its position: a dict of plain Python values."""

from __future__ import annotations

import ast
import weakref
from typing import Any, Protocol

from ._session import Session, session

TEXT_MAX = 1 << 20


class Positioned(Protocol):
    """A loader, or an object that has its position."""

    def state(self) -> dict[str, Any]:
        """Its position. The member "own" is true if it applies only to this worker."""


# The loaders of this process, by their numbers, which count the calls of add().
loaders: dict[int, weakref.ref[Any]] = {}
_number = 0
_reported = False  # has this attempt reported?
_restored: dict[int, dict[str, Any]] | None = None  # not yet used by a loader


def add(loader: Positioned) -> dict[str, Any] | None:
    """Keep the position of a loader with each checkpoint.

    Args:
        loader: The loader. Loaders are matched by the order of these calls, which must
            be that of the attempt that saved the checkpoint.

    Returns:
        The position that the loader with this number had, with "world_size", the number
        of workers then; or None. A loader that is added after a report starts at the
        beginning: scripts may make a new loader for each epoch.
    """
    global _number

    connection = session()
    assert isinstance(connection, Session)
    if _restored is None:
        _restore()
        connection.positions = text
    number, _number = _number, _number + 1
    loaders[number] = weakref.ref(loader)
    if _reported:
        return None
    assert _restored is not None
    return _restored.pop(number, None)


def _restore() -> None:
    """Read the positions in the checkpoint that this attempt starts from."""
    global _restored

    _restored = {}
    if not session().info["has_checkpoint"]:
        return
    first, own = map(_parsed, session().call("loader_positions")[0]["positions"])
    if own.get("world_size") == session().info["world_size"]:
        first = {**first, "loaders": {**first.get("loaders", {}), **own["loaders"]}}
    for number, state in first.get("loaders", {}).items():
        _restored[number] = {**state, "world_size": first.get("world_size")}


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = ast.literal_eval(text) if text else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("loaders", {}), dict):
        session().warn("the positions of data loaders in the checkpoint cannot be "
                       "read: they start at the beginning of an epoch")
        return {}
    return value


def text() -> str:
    """The positions, as text for a report of this worker; "" if there are none."""
    global _reported

    rank, states = session().info["rank"], {}
    if not _reported:
        _warn_of_others()
        _reported = True
    for number, reference in list(loaders.items()):
        loader = reference()
        if loader is None:
            del loaders[number]
            continue
        state = loader.state()
        if rank == 0 or state.get("own"):
            states[number] = state
    if not states:
        return ""
    said = repr({"world_size": session().info["world_size"], "loaders": states})
    if len(said) > TEXT_MAX:
        session().warn("the positions of data loaders are not kept: with the "
                       f"state_dict() of a dataset they are {len(said) >> 20} MiB, and "
                       "the limit is 1 MiB")
        return ""
    return said


def _warn_of_others() -> None:
    """At the first report, warn of positions that no loader has used."""
    if _restored:
        session().warn(
            "the checkpoint has positions of data loaders that this attempt has not "
            "prepared before its first report: they are matched in the order of "
            "prepare_data_loader()")
        _restored.clear()


def is_plain(state: object) -> bool:
    """Can it be written as text, and read back as an equal value?"""
    try:
        return bool(ast.literal_eval(repr(state)) == state)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False
