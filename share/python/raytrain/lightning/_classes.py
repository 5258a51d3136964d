"""Strategies, the environment and the callback for Lightning's Trainer. Imports
Lightning."""

from __future__ import annotations

import os
from typing import Any

import torch

from .. import _frameworks
from .._context import get_context, report
from ..torch import get_device

_pl: Any = _frameworks.needed("Lightning", ("lightning.pytorch", "pytorch_lightning"),
                              "pip install lightning",
                              ("callbacks", "plugins.environments", "strategies"))


# ---- Where a worker is ----


class RayLightningEnvironment(_pl.plugins.environments.LightningEnvironment):
    """Lightning's processes are the workers of raytrain, with their ranks. Lightning
    starts none itself."""

    @property
    def creates_processes_externally(self) -> bool:
        """True: raytrain has started the processes."""
        return True

    def world_size(self) -> int:
        """The number of workers."""
        return get_context().get_world_size()

    def global_rank(self) -> int:
        """The rank of this worker."""
        return get_context().get_world_rank()

    def local_rank(self) -> int:
        """The rank among the workers of this node."""
        return get_context().get_local_rank()

    def node_rank(self) -> int:
        """The rank of this node."""
        return get_context().get_node_rank()

    def set_world_size(self, size: int) -> None:
        """Lightning's own count, of nodes times devices, does not count here.

        Args:
            size: That count.
        """

    def set_global_rank(self, rank: int) -> None:
        """Lightning's own rank does not count here.

        Args:
            rank: That rank.
        """

    def teardown(self) -> None:
        """The variables of the ranks stay, for what the function does next."""


# ---- Strategies ----


class _OfWorkers:
    """A strategy with one process a worker, on the worker's device."""

    world_size: int
    global_rank: int

    @property
    def root_device(self) -> torch.device:
        return get_device()

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        return {"num_replicas": self.world_size, "rank": self.global_rank}


class RayDDPStrategy(_OfWorkers, _pl.strategies.DDPStrategy):
    """Lightning's DDPStrategy over the workers of raytrain; it takes the same
    arguments."""


class RayFSDPStrategy(_OfWorkers, _pl.strategies.FSDPStrategy):
    """Lightning's FSDPStrategy over the workers of raytrain; it takes the same
    arguments. With state_dict_type="sharded", each worker saves its own part."""


class RayDeepSpeedStrategy(_OfWorkers, _pl.strategies.DeepSpeedStrategy):
    """Lightning's DeepSpeedStrategy over the workers of raytrain; it takes the same
    arguments."""


_STRATEGIES = (RayDDPStrategy, RayFSDPStrategy, RayDeepSpeedStrategy)


def prepare_trainer(trainer: Any) -> Any:
    """Make sure that a Trainer trains over the workers of raytrain.

    Args:
        trainer: A Trainer of Lightning, before fit().

    Returns:
        The same Trainer.

    Raises:
        RuntimeError: Its strategy or its environment are not those of
            raytrain.lightning.
    """
    names = ", ".join(cls.__name__ for cls in _STRATEGIES)
    if not isinstance(trainer.strategy, _STRATEGIES):
        raise RuntimeError(
            f"the Trainer has the strategy {type(trainer.strategy).__name__}, which "
            f"would start processes of its own: pass strategy= one of {names} of "
            "raytrain.lightning, or a subclass")
    environment = getattr(trainer.strategy, "cluster_environment", None)
    if environment is not None and not isinstance(environment, RayLightningEnvironment):
        raise RuntimeError(
            f"the Trainer has the environment {type(environment).__name__}, which does "
            "not know the ranks of raytrain: pass "
            "plugins=[raytrain.lightning.RayLightningEnvironment()]")
    return trainer


# ---- Reports ----


class RayTrainReportCallback(_pl.callbacks.Callback):
    """Reports the metrics that were logged, and a checkpoint of Lightning, at the end
    of each epoch of the training.

    The metrics are `trainer.callback_metrics`, and `epoch` and `step`. The checkpoint
    is a directory with the file `checkpoint.ckpt`, or a directory of that name if the
    strategy saves by parts::

        with raytrain.get_checkpoint().as_directory() as directory:
            trainer.fit(model, ckpt_path=os.path.join(
                directory, RayTrainReportCallback.CHECKPOINT_NAME))
    """

    CHECKPOINT_NAME = "checkpoint.ckpt"

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Save and report. COLLECTIVE.

        Args:
            trainer: The Trainer of Lightning.
            pl_module: The module that it trains.
        """
        metrics = {name: value.item() if hasattr(value, "item") else value
                   for name, value in trainer.callback_metrics.items()}
        metrics["epoch"] = trainer.current_epoch
        metrics["step"] = trainer.global_step
        with _frameworks.common_directory() as saved:
            # It returns on all workers when each has written its part.
            trainer.save_checkpoint(os.path.join(saved.path, self.CHECKPOINT_NAME),
                                    weights_only=False)
            report(metrics, checkpoint=saved.checkpoint())
