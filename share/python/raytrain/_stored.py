"""Checkpoints as files, for programs that are given a path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _extracted, _helper, _offer

if TYPE_CHECKING:
    from ._protocols import Offer
    from .checkpoint import Checkpoint


def save(checkpoint: Checkpoint, path: str) -> None:
    """Make a checkpoint file of a Checkpoint that was never saved, by a helper of its
    own, so that neither process keeps memory of that size."""
    save_offered(lambda: _offer.offer(checkpoint), path)


def save_offered(offer: Offer, path: str) -> None:
    """The same of what report() offers."""
    table, asks = offer()
    saver = _helper.Helper()
    try:
        saver.call("checkpoint_save", {"path": path, "checkpoint": table}, asks=asks)
    finally:
        saver.end()
        _offer.forget_buffers()


def stored(given: Any, scratch: str) -> str:
    """The path of a checkpoint or a run, for a program. given: a Checkpoint, a Result
    or a path; of a Checkpoint that was never saved, a file is made in the directory
    scratch.

    Raises ValueError if it is none of them.
    """
    if getattr(given, "_stored", scratch) is None:
        path = os.path.join(scratch, "checkpoint.h5")
        save(given, path)
        return path
    path = getattr(given, "file", None) or getattr(given, "path", given)
    if isinstance(path, (str, os.PathLike)):
        path = _extracted.file_of(os.fspath(path)) or path
    if not isinstance(path, (str, os.PathLike)) or not os.path.exists(path):
        raise ValueError("checkpoint is a Result, a Checkpoint, such as "
                         "result.checkpoint, or the path of a run or a checkpoint, not "
                         f"{given!r}")
    return os.path.abspath(path)
