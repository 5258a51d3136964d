"""What a training function hears of a preemption of its nodes."""

from __future__ import annotations

import dataclasses

from ._session import session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PreemptionInfo", "get_preemption_info"]


@dataclasses.dataclass(frozen=True)
class PreemptionInfo:
    """Nodes of the run are about to be taken away.

    Attributes:
        deadline_ms: The Unix time, in milliseconds, at which the workers are killed;
            None if it is not known, or not known yet.
        preempted_node_to_ranks: The ranks on each of these nodes, by the node's name.
    """

    deadline_ms: int | None
    preempted_node_to_ranks: dict[str, list[int]]

    @property
    def preempted_node_ids(self) -> list[str]:
        """The names of the nodes, sorted."""
        return sorted(self.preempted_node_to_ranks)

    @property
    def preempted_ranks(self) -> list[int]:
        """The ranks on all of these nodes, sorted."""
        return sorted({rank for ranks in self.preempted_node_to_ranks.values()
                       for rank in ranks})


def info_of(notice: dict[str, Any]) -> PreemptionInfo:
    """That of a notice: {"deadline_ms": ..., "nodes": [[name, first rank, number]]}."""
    nodes: dict[str, list[int]] = {}
    for name, first, count in notice["nodes"]:
        nodes.setdefault(name, []).extend(range(first, first + count))
    return PreemptionInfo(notice["deadline_ms"], nodes)


_latest: PreemptionInfo | None = None


def get_preemption_info() -> PreemptionInfo | None:
    """Is the run about to lose its nodes?

    COLLECTIVE: every worker calls it equally often, and all get the same answer.

    It is so once raytrain-run has received SIGTERM or SIGUSR1, as from Slurm when it
    preempts or cancels the job, or near the end of the job
    (run_config.stop_before_end_s); or once some workers have received SIGTERM from what
    manages their nodes. The answer stays until the next attempt; deadline_ms may be
    known later.

    A script that calls this decides by itself what to do: report() does not end it for
    a preemption, and if it returns, the training has finished.

    Returns:
        A PreemptionInfo; None if no preemption is known.

    Raises:
        RaytrainError: The calls of the workers do not match.
    """
    global _latest

    reply, _, _ = session().call("preemption")
    if "info" in reply:
        _latest = info_of(reply["info"])
    return _latest
