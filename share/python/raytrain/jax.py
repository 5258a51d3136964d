"""JAX under raytrain, with the names of ray.train.jax."""

from __future__ import annotations

from ._config import _Config
from .trainer import DataParallelTrainer

__all__ = ["JaxTrainer", "JaxConfig"]


class JaxConfig(_Config):
    """There is nothing to set: raytrain works out addresses and ports by itself."""


class JaxTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, as processes of JAX: see
    raytrain.DataParallelTrainer for the arguments.

    The coordinator's address and the ranks are set, and the function calls
    jax.distributed.initialize() with them: see raytrain-run(1).
    """

    _backend = "jax"
    _config_name = "jax_config"

    def __init__(self, train_loop_per_worker: object, *,
                 jax_config: JaxConfig | None = None, **settings: object) -> None:
        super().__init__(train_loop_per_worker, backend_config=jax_config, **settings)
