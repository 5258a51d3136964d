"""What the modules of the client expect of each other's objects, for type checkers."""

from __future__ import annotations

import os
from typing import (TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Protocol,
                    Sequence, Tuple, TypedDict, Union)

if TYPE_CHECKING:
    import pandas

    from ._config import DataConfig, RunConfig, ScalingConfig
    from .checkpoint import Checkpoint
    from .data import Dataset
    from .preprocessors import Preprocessor
    from .result import Result

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
Buffer = Union[bytes, bytearray, memoryview]

# ---- Requests ----

# The members, the data and the descriptors of a reply.
Reply = Tuple[Dict[str, Any], bytes, List[int]]
# What answers a question that the worker asks before it replies: of (question,
# descriptors), the members and the data of the answer.
Answer = Callable[[Dict[str, Any], List[int]], Tuple[Dict[str, Any], Buffer]]
Asks = Mapping[str, Answer]
# Makes the table of a checkpoint that is reported, and the answers about it.
Offer = Callable[[], Tuple[Dict[str, Any], Asks]]


class Server(Protocol):
    """What reads checkpoints and datasets for this process: its worker, or its
    helper."""

    def call(self, op: str, args: Mapping[str, Any] = ..., data: Buffer = ...,
             fds: Sequence[int] = ..., asks: Asks | None = ...) -> Reply:
        """Make a request, and wait for its reply."""


class Facts(TypedDict, total=False):
    """Where a worker is, and what it is a part of."""

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    node_rank: int
    nodes: int
    gpus: int
    host: str
    run_name: str
    run_dir: str
    attempt: int
    iteration: int
    args: list[str]
    config: dict[str, Any]
    has_checkpoint: bool
    datasets: list[str]
    should_stop: bool
    should_checkpoint: bool
    exit_grace_s: float


# ---- Trainers ----

# A training function takes its configuration, or nothing.
TrainFunction = Union[Callable[[], object], Callable[[Any], object]]
# What a trainer reads: a path, a Dataset as it was read, or rows in memory: a
# DataFrame, or {column: array}.
DatasetLike = Union[Path, "Dataset", "pandas.DataFrame", Mapping[str, Any]]
# What a run, or a prediction, starts from.
CheckpointLike = Union[Path, "Checkpoint"]
ModelLike = Union[Path, "Checkpoint", "Result"]


class Keys(Protocol):
    """Settings of a backend."""

    def _keys(self) -> dict[str, Any]:
        """As keys of raytrain.cfg."""


class Trainer(Protocol):
    """What one fit() needs of a trainer."""

    scaling_config: ScalingConfig
    run_config: RunConfig
    preprocessor: Preprocessor | None
    starting_checkpoint: CheckpointLike | None
    _restored_from: str | None

    @property
    def train_loop_config(self) -> dict[str, Any] | None:
        """For the training function."""

    @property
    def datasets(self) -> Mapping[str, DatasetLike]:
        """By their names."""


class Arguments(TypedDict, total=False):
    """Those that all trainers of a training function have, beside it."""

    train_loop_config: dict[str, Any] | None
    scaling_config: ScalingConfig | None
    data_config: DataConfig | None
    dataset_config: DataConfig | None
    run_config: RunConfig | None
    datasets: Mapping[str, DatasetLike] | None
    metadata: dict[str, Any] | None
    resume_from_checkpoint: CheckpointLike | None
    preprocessor: Preprocessor | None
    backend: str | None
    validation_config: object


class FunctionTrainer(Trainer, Protocol):
    """A trainer that runs a training function."""

    train_loop_per_worker: TrainFunction
    backend: str
    backend_config: Any
    data_config: DataConfig
    metadata: dict[str, Any] | None
    _setup: str | None

    def _settings(self) -> dict[str, Any]:
        """What restore() gives to __init__() again."""

    def _backend_keys(self) -> dict[str, Any]:
        """backend_config, as keys of raytrain.cfg."""


# ---- Predictors ----

class PredictorClass(Protocol):
    """A subclass of Predictor, or what is like one."""

    def from_checkpoint(self, checkpoint: Checkpoint, **settings: Any) -> Any:
        """A predictor with the model of a checkpoint."""
