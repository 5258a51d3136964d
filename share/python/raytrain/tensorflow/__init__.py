"""TensorFlow under raytrain, with the names of ray.train.tensorflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._config import _Config
from .._instead import refuse
from ..backend import BackendConfig
from ..trainer import DataParallelTrainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._protocols import Arguments, TrainFunction

__all__ = ["TensorflowTrainer", "TensorflowConfig"]


class TensorflowConfig(_Config, BackendConfig):
    """There is nothing to set: raytrain works out addresses and ports by itself."""

    _runs_as = "tensorflow"


class TensorflowTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, as processes of TensorFlow.

    TF_CONFIG is set, so that tf.distribute.MultiWorkerMirroredStrategy() finds the
    other workers.

    Args:
        train_loop_per_worker: The function; it takes train_loop_config, or nothing.
        tensorflow_config: A TensorflowConfig, or None.
        settings: Those of raytrain.DataParallelTrainer.
    """

    _backend = "tensorflow"
    _config_name = "tensorflow_config"

    def __init__(self, train_loop_per_worker: TrainFunction, *,
                 tensorflow_config: TensorflowConfig | None = None,
                 **settings: Unpack[Arguments]) -> None:
        super().__init__(train_loop_per_worker, backend_config=tensorflow_config,
                         **settings)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Refuse what Ray has here, with what does the same."""
        refuse("tensorflow", name)
