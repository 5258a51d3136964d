"""Where this process is among the workers."""

from __future__ import annotations

import os

from .._session import facts, torchrun_place


class Place:
    """The ranks and sizes of this process. Under torchrun, without a companion, they
    are those of its variables."""

    __slots__ = ("rank", "world_size", "local_rank", "local_world_size", "nodes",
                 "has_companion")

    def __init__(self) -> None:
        self.has_companion = bool(os.environ.get("RAYTRAIN_SESSION"))
        info = (None if self.has_companion else torchrun_place()) or facts()
        self.rank = info["rank"]
        self.world_size = info["world_size"]
        self.local_rank = info["local_rank"]
        self.local_world_size = info["local_world_size"]
        self.nodes = info["nodes"]


_place: Place | None = None


def place() -> Place:
    """The place of this process: it does not change."""
    global _place

    if _place is None:
        _place = Place()
    return _place
