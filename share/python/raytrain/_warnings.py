"""Warnings of the C library about what a script has opened itself."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from . import _session

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_said: set[Any] = set()


def show(about: object, reply: dict[str, Any]) -> None:
    """Show the user the warnings in a reply, each one once for what it is about.

    In a run, rank 0 shows them to the user of the run, and the others, which may have
    opened the same, write them to their logs.
    """
    for text in reply.get("warnings", ()):
        if (about, text) in _said:
            continue
        _said.add((about, text))
        session = _session.session()
        if isinstance(session, _session.Session) and session.info["rank"] == 0:
            session.warn(text)
        else:
            warnings.warn(text, UserWarning, stacklevel=_caller())


def _caller() -> int:
    """The stacklevel, in show(), of the line outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
