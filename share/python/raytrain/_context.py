"""The calls of a training function: report() and the others, and the ranks of this
worker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _session
from ._session import facts, session
from ._upload import CheckpointUploadMode, Upload, check_dir_name

if TYPE_CHECKING:
    from ._protocols import Facts
    from ._upload import UploadFunction
    from .checkpoint import Checkpoint


def report(metrics: dict[str, Any], checkpoint: Checkpoint | None = None,
           checkpoint_dir_name: str | None = None,
           checkpoint_upload_mode: CheckpointUploadMode = CheckpointUploadMode.SYNC,
           delete_local_checkpoint_after_upload: bool | None = None,
           checkpoint_upload_fn: UploadFunction | None = None,
           validation: object = False) -> None:
    """End one training iteration. COLLECTIVE: every worker calls it.

    If the run should stop and the script never calls should_stop(), this raises
    SystemExit when a checkpoint is durable.

    Args:
        metrics: A dict of values that JSON has; arrays and tensors of one element
            become numbers, others lists. The metrics of the run are those of rank 0,
            with their types. For numbers that all workers report under the same name,
            Result.by_rank has the minimum, mean and maximum. Values of other types are
            not kept, with a warning.
        checkpoint: A Checkpoint, from any of the workers; its data are copied before
            this returns, and written while training continues.
        checkpoint_dir_name: The name of the directory Checkpoint.path, and a name for
            checkpoint_upload_fn; that of the lowest rank with a checkpoint is used. The
            file of a checkpoint is named after its iteration.
        checkpoint_upload_mode: What happens to a directory; see CheckpointUploadMode.
        delete_local_checkpoint_after_upload: Is the directory that was reported removed
            when all workers have copied theirs? None: only in mode ASYNC. In mode
            NO_UPLOAD it always stays.
        checkpoint_upload_fn: Called with the checkpoint and a name; the Checkpoint that
            it returns is reported. Not called in mode NO_UPLOAD.
        validation: Not supported: anything but False is refused.

    Raises:
        RaytrainError: The calls of the workers do not match, an argument is wrong, or
            the checkpoint could not be saved.
        Exception: The exception of checkpoint_upload_fn.
    """
    upload = Upload(checkpoint, checkpoint_dir_name, checkpoint_upload_mode,
                    delete_local_checkpoint_after_upload, checkpoint_upload_fn,
                    validation)
    try:
        session().report(metrics, upload.offer)
    except SystemExit:
        upload.end()
        raise
    upload.end()


def should_stop() -> bool:
    """Was a stop requested, or has the run reached its stop criterion? The same on
    every worker; changes only inside report(). A script that calls this must end when
    it is True."""
    s = session()
    s.asked_stop = True
    return s.should_stop


def set_total(iterations: int) -> None:
    """Set the expected number of iterations over all attempts, for the display of
    progress. The training does not end at this number. Not collective; the number of
    rank 0 is used.

    Args:
        iterations: The number; 0: not known.
    """
    session().call("total", {"iterations": int(iterations)})


def should_checkpoint() -> bool:
    """Is a checkpoint due with the next report? The same on every worker; changes only
    inside report()."""
    s = session()
    s.asked_checkpoint = True
    return s.should_checkpoint


def get_checkpoint() -> Checkpoint | None:
    """The newest checkpoint of the run: the one that was reported last, by any of the
    workers, or the one that this attempt starts from. The same on every worker; not
    collective.

    A checkpoint is saved while training continues. If it is not on the storage of the
    run yet, its first use waits for that.

    Returns:
        A Checkpoint; None if there is none yet.
    """
    s = session()
    if s.newest is None and not s.info["has_checkpoint"]:
        return None
    from .checkpoint import newest, restored

    return restored() if s.newest is None else newest(s.newest)


class Context:
    """This worker and its run, as get_context() returns them.

    Args:
        info: The facts about the worker.
    """

    def __init__(self, info: Facts) -> None:
        self._info = info

    def get_world_rank(self) -> int:
        """0 .. get_world_size() - 1."""
        return self._info["rank"]

    def get_world_size(self) -> int:
        """The number of workers."""
        return self._info["world_size"]

    def get_local_rank(self) -> int:
        """The rank among the workers of this node."""
        return self._info["local_rank"]

    def get_local_world_size(self) -> int:
        """The number of workers on this node."""
        return self._info["local_world_size"]

    def get_node_rank(self) -> int:
        """The rank of this node."""
        return self._info["node_rank"]

    def get_node_count(self) -> int:
        """The number of nodes."""
        return self._info["nodes"]

    def get_experiment_name(self) -> str:
        """The name of the run."""
        return self._info["run_name"]

    get_trial_name = get_trial_id = get_experiment_name

    def get_trial_dir(self) -> str:
        """The directory of the run, which all workers share."""
        return self._info["run_dir"]

    def get_storage(self) -> Storage:
        """Where the run keeps its files."""
        return Storage(self._info)

    def get_attempt(self) -> int:
        """The number of restarts of the run after failures, so far."""
        return self._info["attempt"]

    def get_metadata(self) -> dict[str, Any]:
        """The metadata of the trainer."""
        return dict(_session.metadata)

    def get_config(self) -> dict[str, Any]:
        """The configuration's train_loop_config: ``raytrain.config``."""
        return self._info["config"]


TrainContext = Context  # Ray's name


class Storage:
    """The storage of a run."""

    def __init__(self, info: Facts) -> None:
        self._info = info

    @property
    def storage_path(self) -> str:
        """The directory that holds the run's directory."""
        return os.path.dirname(self._info["run_dir"])

    @property
    def experiment_fs_path(self) -> str:
        """The directory of the run."""
        return self._info["run_dir"]

    @property
    def artifacts_path(self) -> str:
        """A directory for the script's own files, which all workers share."""
        path: str = session().call("artifacts")[0]["path"]
        return path

    def build_checkpoint_path_from_name(self, checkpoint_dir_name: str) -> str:
        """A path in artifacts_path, for a directory that checkpoint_upload_fn makes, or
        that is reported in the mode NO_UPLOAD. The directory is not made."""
        check_dir_name(checkpoint_dir_name)
        return os.path.join(self.artifacts_path, checkpoint_dir_name)


def get_context() -> Context:
    """The ranks of this worker, and its run."""
    return Context(facts())
