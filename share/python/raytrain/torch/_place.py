"""Where this process is among the workers."""

from __future__ import annotations

import os

from .._session import facts


class Place:
    """The ranks and sizes of this process. Under torchrun, without a companion, they
    are those of its variables."""

    __slots__ = ("rank", "world_size", "local_rank", "local_world_size", "nodes",
                 "has_companion")

    def __init__(self) -> None:
        self.has_companion = bool(os.environ.get("RAYTRAIN_SESSION"))
        if self.has_companion or "WORLD_SIZE" not in os.environ:
            info = facts()
            self.rank = info["rank"]
            self.world_size = info["world_size"]
            self.local_rank = info["local_rank"]
            self.local_world_size = info["local_world_size"]
            self.nodes = info["nodes"]
            return
        self.rank = int(os.environ["RANK"])
        self.world_size = int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", 0))
        self.local_world_size = int(os.environ.get("LOCAL_WORLD_SIZE", self.world_size))
        self.nodes = max(1, self.world_size // self.local_world_size)


_place: Place | None = None


def place() -> Place:
    """The place of this process: it does not change."""
    global _place

    if _place is None:
        _place = Place()
    return _place
