"""The checkpoints that a run has, as its workers see them."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Any

from . import errors
from ._session import LoneSession, session

if TYPE_CHECKING:
    from ._session import Newest, Session
    from .checkpoint import Checkpoint


class CheckpointConsistencyMode(Enum):
    """The state for which get_all_reported_checkpoints() waits.

    COMMITTED: the checkpoints that were reported are on the storage of the run.
    VALIDATED: the same, since checkpoints are not validated during the run.
    """

    COMMITTED = "COMMITTED"
    VALIDATED = "VALIDATED"


class ReportedCheckpointStatus(Enum):
    """The state of a checkpoint.

    COMMITTED: it is saved; all checkpoints that raytrain returns are.
    PENDING_VALIDATION, VALIDATED: states of Ray, for scripts that compare with them.
    """

    COMMITTED = "COMMITTED"
    PENDING_VALIDATION = "PENDING_VALIDATION"
    VALIDATED = "VALIDATED"


class ReportedCheckpoint:
    """A checkpoint of the run.

    Args:
        checkpoint: The Checkpoint.
        metrics: The metrics that rank 0 has reported with it; None: they are read from
            the checkpoint when they are used.
        status: A ReportedCheckpointStatus.
    """

    def __init__(self, checkpoint: Checkpoint, metrics: dict[str, Any] | None = None,
                 status: ReportedCheckpointStatus = ReportedCheckpointStatus.COMMITTED
                 ) -> None:
        self.checkpoint = checkpoint
        self.status = status
        self._metrics = metrics

    @property
    def metrics(self) -> dict[str, Any]:
        """See above."""
        if self._metrics is None:
            self._metrics = self.checkpoint.metrics
        return self._metrics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportedCheckpoint):
            return NotImplemented
        return (self.checkpoint, self.status) == (other.checkpoint, other.status)

    def __hash__(self) -> int:
        return hash((self.checkpoint, self.status))

    def __repr__(self) -> str:
        return f"ReportedCheckpoint({self.checkpoint!r}, status={self.status})"


def get_all_reported_checkpoints(
        consistency_mode: CheckpointConsistencyMode = (
            CheckpointConsistencyMode.VALIDATED),
        timeout_s: float | None = None) -> list[ReportedCheckpoint]:
    """The checkpoints of this run that are kept, including those of earlier attempts,
    the oldest first. It waits until all checkpoints that were reported so far are on
    the storage of the run. Not collective: any worker may call it.

    Args:
        consistency_mode: Both modes wait for the same.
        timeout_s: The seconds to wait; 0: do not wait. None: wait until the storage has
            the checkpoints, or has failed.

    Returns:
        A ReportedCheckpoint for each.

    Raises:
        WrongType: An argument has another type.
        InvalidArgument: timeout_s is negative.
        StorageError: A checkpoint could not be saved.
    """
    _check(consistency_mode, timeout_s)
    s = session()
    if isinstance(s, LoneSession):
        return []
    if s.newest is not None:
        _wait(s.newest, timeout_s)
    from .checkpoint import Checkpoint

    return [ReportedCheckpoint(Checkpoint(path)) for path in _kept(s)]


def _wait(reported: Newest, timeout_s: float | None) -> None:
    from .checkpoint import newest

    stored = newest(reported)._stored
    assert stored is not None
    stored.wait(timeout_s)


def _kept(s: Session) -> list[str]:
    """The files, in the order of the reports. On shared storage a listing may be older
    than what has become of the files, so each is opened, and that of this worker's last
    report is looked for in any case."""
    from ._records import checkpoint_files

    files = checkpoint_files(s.info["run_dir"])
    if s.newest is not None and s.newest.iteration:
        files[s.newest.iteration] = s.newest.path
    return [path for _, path in sorted(files.items()) if _is_there(path)]


def _is_there(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return False
    return True


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
