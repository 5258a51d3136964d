"""The checkpoints that a run has, as its workers see them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from . import errors
from ._session import LoneSession, session
from .collective import broadcast_from_rank_zero

if TYPE_CHECKING:
    from .checkpoint import Checkpoint


class CheckpointConsistencyMode(Enum):
    """What get_all_reported_checkpoints() waits for.

    COMMITTED: the checkpoints that were reported are on the storage of the run.
    VALIDATED: the same, since checkpoints are not validated while the run goes on.
    """

    COMMITTED = "COMMITTED"
    VALIDATED = "VALIDATED"


class ReportedCheckpointStatus(Enum):
    """How far a checkpoint is.

    COMMITTED: it is saved, which all are that raytrain returns.
    PENDING_VALIDATION, VALIDATED: Ray's, for scripts that compare with them.
    """

    COMMITTED = "COMMITTED"
    PENDING_VALIDATION = "PENDING_VALIDATION"
    VALIDATED = "VALIDATED"


@dataclass
class ReportedCheckpoint:
    """A checkpoint of the run.

    checkpoint: the Checkpoint.
    metrics: those that rank 0 has reported with it.
    status: a ReportedCheckpointStatus.
    """

    checkpoint: Checkpoint
    metrics: dict[str, Any]
    status: ReportedCheckpointStatus


def get_all_reported_checkpoints(
        consistency_mode: CheckpointConsistencyMode = (
            CheckpointConsistencyMode.VALIDATED),
        timeout_s: float | None = None) -> list[ReportedCheckpoint]:
    """The checkpoints of this run that are kept, the oldest first, also those of
    earlier attempts. COLLECTIVE: every worker calls it, and gets the same. It waits
    until all that were reported are on the storage of the run.

    Args:
        consistency_mode: Both modes wait for the same.
        timeout_s: 0: it does not wait. Other times do not limit the wait, which ends
            when the storage has the checkpoints, or has failed.

    Returns:
        A ReportedCheckpoint for each.

    Raises:
        WrongType: An argument has another type.
        InvalidArgument: timeout_s is negative.
        RaytrainError: A checkpoint could not be saved, or the workers do not make the
            same calls.
    """
    _check(consistency_mode, timeout_s)
    s = session()
    if isinstance(s, LoneSession):
        return []
    if timeout_s and s.info["rank"] == 0:
        s.warn("get_all_reported_checkpoints(): timeout_s does not limit the wait for "
               "the storage of the run; 0 does not wait")
    if timeout_s is None or timeout_s > 0:
        s.call("checkpoint_wait")
    mine = _read(s.info["run_dir"]) if s.info["rank"] == 0 else None
    found = broadcast_from_rank_zero(mine)
    if isinstance(found, Exception):
        raise found
    from .checkpoint import Checkpoint

    status = ReportedCheckpointStatus.COMMITTED
    return [ReportedCheckpoint(Checkpoint(path), metrics, status)
            for path, metrics in found or ()]


def _check(consistency_mode: Any, timeout_s: Any) -> None:
    if not isinstance(consistency_mode, CheckpointConsistencyMode):
        raise errors.WrongType(
            "consistency_mode is raytrain.CheckpointConsistencyMode.COMMITTED or "
            f"VALIDATED, not {consistency_mode!r}")
    if timeout_s is None:
        return
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)):
        raise errors.WrongType("timeout_s is a number of seconds, or None, not "
                               f"{timeout_s!r}")
    if not timeout_s >= 0:
        raise errors.InvalidArgument(f"timeout_s is 0 or more, not {timeout_s!r}")


_metrics_of: dict[str, dict[str, Any]] = {}  # of files that rank 0 has read already


def _read(run_dir: str) -> list[tuple[str, dict[str, Any]]] | Exception:
    """[(path, metrics)] in the order of the reports. What fails is returned: the other
    workers wait for it."""
    from ._records import checkpoint_files
    from .checkpoint import Checkpoint

    found = []
    try:
        files = checkpoint_files(run_dir)
        for _, path in sorted(files.items()):
            if path not in _metrics_of:
                try:
                    _metrics_of[path] = Checkpoint(path).metrics
                except errors.RaytrainError:
                    if os.path.exists(path):
                        raise
                    continue  # retention has removed it
            found.append((path, _metrics_of[path]))
    except Exception as failure:
        return failure
    return found
