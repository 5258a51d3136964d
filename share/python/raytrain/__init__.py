"""raytrain - distributed training under Slurm, with the names of ray.train.

In a script that raytrain-run starts (``raytrain-run --workers 4 -- python3
train.py``)::

    import raytrain as train

    checkpoint = train.get_checkpoint()
    rank = train.get_context().get_world_rank()
    ...
    train.report({"loss": loss}, checkpoint=train.Checkpoint.from_directory(path))

Outside raytrain-run the same script runs as one worker. To start workers from Python,
see ``raytrain.torch.TorchTrainer`` and the other trainers.

This module needs Python 3.9 and its standard library; NumPy and torch are used if the
script has imported them. Names are loaded when they are first used. A session belongs
to the process that uses it first: its children, forked or spawned, can read
get_context() and config, and cannot report.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this

__version__ = "0.1.0"

# Where each public name is, without "raytrain.".
_NAMES = {
    "Backend": "backend",
    "BackendConfig": "backend",
    "BatchPredictor": "batch_predictor",
    "Checkpoint": "checkpoint",
    "CheckpointConfig": "_config",
    "CheckpointConsistencyMode": "_reported",
    "CheckpointUploadMode": "_upload",
    "Context": "_context",
    "ControllerError": "errors",
    "DataConfig": "_config",
    "DataIterator": "data",
    "DataParallelTrainer": "trainer",
    "FailureConfig": "_config",
    "Predictor": "predictor",
    "PreemptionError": "errors",
    "PreemptionInfo": "_preemption",
    "RaytrainError": "errors",
    "ReportedCheckpoint": "_reported",
    "ReportedCheckpointStatus": "_reported",
    "Result": "result",
    "RunConfig": "_config",
    "RunContext": "callback",
    "ScalingConfig": "_config",
    "Shard": "checkpoint",
    "SyncConfig": "_config",
    "TrainContext": "_context",
    "TrainingFailedError": "errors",
    "TrainingStopped": "errors",
    "UserCallback": "callback",
    "WorkerError": "errors",
    "WorkerGroupError": "errors",
    "WorkerGroupContext": "callback",
    "get_all_reported_checkpoints": "_reported",
    "get_checkpoint": "_context",
    "get_context": "_context",
    "get_dataset_shard": "data",
    "get_preemption_info": "_preemption",
    "report": "_context",
    "set_total": "_context",
    "should_checkpoint": "_context",
    "should_stop": "_context",
    "barrier": "collective",
    "broadcast_from_rank_zero": "collective",
}

__all__ = sorted(_NAMES)

if TYPE_CHECKING:  # what __getattr__() gives
    from typing import Any

    from ._config import (
        CheckpointConfig as CheckpointConfig,
        DataConfig as DataConfig,
        FailureConfig as FailureConfig,
        RunConfig as RunConfig,
        ScalingConfig as ScalingConfig,
        SyncConfig as SyncConfig,
    )
    from ._context import (
        Context as Context,
        TrainContext as TrainContext,
        get_checkpoint as get_checkpoint,
        get_context as get_context,
        report as report,
        set_total as set_total,
        should_checkpoint as should_checkpoint,
        should_stop as should_stop,
    )
    from ._preemption import (
        PreemptionInfo as PreemptionInfo,
        get_preemption_info as get_preemption_info,
    )
    from ._reported import (
        CheckpointConsistencyMode as CheckpointConsistencyMode,
        ReportedCheckpoint as ReportedCheckpoint,
        ReportedCheckpointStatus as ReportedCheckpointStatus,
        get_all_reported_checkpoints as get_all_reported_checkpoints,
    )
    from ._upload import CheckpointUploadMode as CheckpointUploadMode
    from .backend import Backend as Backend, BackendConfig as BackendConfig
    from .batch_predictor import BatchPredictor as BatchPredictor
    from .callback import (
        RunContext as RunContext,
        UserCallback as UserCallback,
        WorkerGroupContext as WorkerGroupContext,
    )
    from .checkpoint import Checkpoint as Checkpoint, Shard as Shard
    from .collective import (
        barrier as barrier,
        broadcast_from_rank_zero as broadcast_from_rank_zero,
    )
    from .data import (
        DataIterator as DataIterator,
        get_dataset_shard as get_dataset_shard,
    )
    from .errors import (
        ControllerError as ControllerError,
        PreemptionError as PreemptionError,
        RaytrainError as RaytrainError,
        TrainingFailedError as TrainingFailedError,
        TrainingStopped as TrainingStopped,
        WorkerError as WorkerError,
        WorkerGroupError as WorkerGroupError,
    )
    from .predictor import Predictor as Predictor
    from .result import Result as Result
    from .trainer import DataParallelTrainer as DataParallelTrainer

    config: dict[str, Any]
else:

    def __getattr__(name: str) -> object:
        """Load a public name at its first use."""
        if name in _NAMES:
            from ._lazy import load

            value = globals()[name] = load("raytrain." + _NAMES[name], name)
            return value
        if name == "config":
            from ._session import facts

            return facts()["config"]
        from ._instead import refuse

        refuse("", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
