"""TorchTrainer. Does not import torch in the process that calls fit()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..trainer import DataParallelTrainer
from ._config import TorchConfig

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._protocols import Arguments, TrainFunction


class TorchTrainer(DataParallelTrainer):
    """Runs a function on each of N workers, with torch.distributed set up over them.

    Args:
        train_loop_per_worker: The function; it takes train_loop_config, or nothing.
        torch_config: A TorchConfig, or None.
        settings: Those of raytrain.DataParallelTrainer.

    Raises:
        TypeError: torch_config is something else.
    """

    _backend = "torch"
    _config_name = "torch_config"
    _setup = "raytrain.torch._trainer:set_up"

    def __init__(self, train_loop_per_worker: TrainFunction, *,
                 torch_config: TorchConfig | None = None,
                 **settings: Unpack[Arguments]) -> None:
        if torch_config is not None and not isinstance(torch_config, TorchConfig):
            raise TypeError("torch_config is a raytrain.torch.TorchConfig, not "
                            + type(torch_config).__name__)
        super().__init__(train_loop_per_worker, backend_config=torch_config, **settings)


def set_up(_config: Any) -> None:
    """In a worker, before the training function. COLLECTIVE."""
    from ._process_group import ensure_process_group
    from ._train_loop import get_device, use_device

    device = get_device()
    use_device(device)
    ensure_process_group(device)
