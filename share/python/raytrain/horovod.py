"""Horovod under raytrain, with the names of ray.train.horovod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._config import _Config
from .trainer import DataParallelTrainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._protocols import Arguments, TrainFunction

__all__ = ["HorovodTrainer", "HorovodConfig"]


class HorovodConfig(_Config):
    """There is nothing to set: raytrain works out addresses and ports by itself."""


class HorovodTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, as processes of Horovod: see
    raytrain.DataParallelTrainer for the arguments.

    HOROVOD_* is set and its rendezvous server runs, so that hvd.init() finds the other
    workers, by gloo.
    """

    _backend = "horovod"
    _config_name = "horovod_config"

    def __init__(self, train_loop_per_worker: TrainFunction, *,
                 horovod_config: HorovodConfig | None = None,
                 **settings: Unpack[Arguments]) -> None:
        super().__init__(train_loop_per_worker, backend_config=horovod_config, **settings)
