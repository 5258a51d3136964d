"""JAX under raytrain, with the names of ray.train.jax (ray.train.v2.jax)."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ._config import _Config
from .backend import BackendConfig
from .trainer import DataParallelTrainer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._protocols import Arguments, TrainFunction

__all__ = ["JaxTrainer", "JaxConfig"]


class JaxConfig(_Config, BackendConfig):
    """The settings of JAX's processes.

    Addresses and ports are chosen by raytrain, and ``ScalingConfig(use_gpu=True)``
    gives each worker its GPUs; nothing else needs to be set.

    Args:
        use_tpu: Not supported: Slurm does not manage TPUs.
        use_gpu: As in Ray, where the trainer sets it. It has no effect here.

    Raises:
        ValueError: use_tpu is true.
    """

    _runs_as = "jax"
    _set_up_by = "raytrain.jax:_initialize"

    def __init__(self, use_tpu: bool = False, use_gpu: bool = False) -> None:
        if use_tpu:
            raise ValueError("JaxConfig(use_tpu=True): raytrain runs JAX on CPUs and "
                             "GPUs; leave it out, and set ScalingConfig(use_gpu=True) "
                             "for GPUs")
        self.use_tpu = use_tpu
        self.use_gpu = use_gpu


class JaxTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, as processes of JAX.

    With more than one worker ``jax.distributed.initialize()`` is called before the
    function, with the address of the coordinator, the number of processes, the number
    of this one and its devices. If the function calls it again, that call returns at
    once.

    Args:
        train_loop_per_worker: The function; it takes train_loop_config, or nothing.
        jax_config: A JaxConfig, or None.
        settings: Those of raytrain.DataParallelTrainer.
    """

    _backend = "jax"
    _setup = "raytrain.jax:_initialize"
    _config_name = "jax_config"

    def __init__(self, train_loop_per_worker: TrainFunction, *,
                 jax_config: JaxConfig | None = None,
                 **settings: Unpack[Arguments]) -> None:
        super().__init__(train_loop_per_worker, backend_config=jax_config, **settings)


def _initialize(config: object) -> None:
    """Called in a worker before the function. The address to which the coordinator
    binds is in JAX_COORDINATOR_BIND_ADDRESS, which JAX reads by itself."""
    address = os.environ.get("JAX_COORDINATOR_ADDRESS")
    size = int(os.environ.get("WORLD_SIZE", 1))
    if not address or size < 2:
        return
    try:
        import jax.distributed
    except ImportError as error:
        raise ImportError(f"JaxTrainer: {error}: install JAX for the interpreter of "
                          "the workers, which is that of the caller of "
                          "fit()") from error
    devices = os.environ.get("JAX_LOCAL_DEVICE_IDS")
    _keep_first(jax.distributed, size, int(os.environ["RANK"]))
    jax.distributed.initialize(
        coordinator_address=address, num_processes=size,
        process_id=int(os.environ["RANK"]),
        local_device_ids=[int(i) for i in devices.split(",")] if devices else None)


def _keep_first(module: Any, size: int, rank: int) -> None:
    """JAX refuses a second initialize(): from now on it is ignored if it asks for the
    same group, until shutdown()."""
    first, end = module.initialize, module.shutdown
    active = False

    @functools.wraps(first)
    def initialize(coordinator_address: str | None = None,
                   num_processes: int | None = None, process_id: int | None = None,
                   *args: object, **kwargs: object) -> None:
        nonlocal active
        if not active:
            first(coordinator_address, num_processes, process_id, *args, **kwargs)
            active = True
        elif num_processes not in (None, size) or process_id not in (None, rank):
            raise RuntimeError(
                f"JaxTrainer has initialised JAX as process {rank} of {size}, and "
                f"jax.distributed.initialize() asks for process {process_id} of "
                f"{num_processes}; call it without arguments, or leave it out")

    @functools.wraps(end)
    def shutdown() -> None:
        nonlocal active
        active = False
        end()

    module.initialize, module.shutdown = initialize, shutdown
