"""TensorFlow under raytrain, with the names of ray.train.tensorflow."""

from __future__ import annotations

from ._config import _Config
from .trainer import DataParallelTrainer

__all__ = ["TensorflowTrainer", "TensorflowConfig"]


class TensorflowConfig(_Config):
    """There is nothing to set: raytrain works out addresses and ports by itself."""


class TensorflowTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, as processes of TensorFlow: see
    raytrain.DataParallelTrainer for the arguments.

    TF_CONFIG is set, so that tf.distribute.MultiWorkerMirroredStrategy() finds the
    other workers.
    """

    _backend = "tensorflow"
    _config_name = "tensorflow_config"

    def __init__(self, train_loop_per_worker: object, *,
                 tensorflow_config: TensorflowConfig | None = None, **settings: object) -> None:
        super().__init__(train_loop_per_worker, backend_config=tensorflow_config, **settings)
