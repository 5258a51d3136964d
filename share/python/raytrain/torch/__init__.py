"""PyTorch under raytrain, with the names of ray.train.torch.

In a training function::

    import raytrain.torch

    model = raytrain.torch.prepare_model(model)
    loader = raytrain.torch.prepare_data_loader(loader)

A script that initialises torch.distributed itself, from the variables that torchrun
sets, runs unchanged; prepare_model() then uses the process group of the script.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this

# Where each public name is, below raytrain.torch. Loaded when it is first used:
# importing torch takes a second, and the caller of fit() may not need it.
_NAMES = {
    "TorchCheckpoint": "_checkpoint",
    "TorchConfig": "_config",
    "TorchPredictor": "_predictor",
    "TorchTrainer": "_trainer",
    "accelerate": "_train_loop",
    "backward": "_train_loop",
    "enable_reproducibility": "_train_loop",
    "get_device": "_train_loop",
    "get_devices": "_train_loop",
    "load_state": "_state",
    "prepare_data_loader": "_data_loader",
    "prepare_model": "_train_loop",
    "prepare_optimizer": "_train_loop",
}

__all__ = sorted(_NAMES)

if TYPE_CHECKING:  # what __getattr__() gives
    from ._checkpoint import TorchCheckpoint as TorchCheckpoint
    from ._config import TorchConfig as TorchConfig
    from ._data_loader import prepare_data_loader as prepare_data_loader
    from ._predictor import TorchPredictor as TorchPredictor
    from ._state import load_state as load_state
    from ._train_loop import (
        accelerate as accelerate,
        backward as backward,
        enable_reproducibility as enable_reproducibility,
        get_device as get_device,
        get_devices as get_devices,
        prepare_model as prepare_model,
        prepare_optimizer as prepare_optimizer,
    )
    from ._trainer import TorchTrainer as TorchTrainer
else:

    def __getattr__(name: str) -> object:
        """Load a public name at its first use."""
        from importlib import import_module

        if name in _NAMES:
            module = import_module("raytrain.torch." + _NAMES[name])
            torch = getattr(module, "torch", None)
            if torch is not None and not hasattr(torch, "frombuffer"):
                raise ImportError(f"raytrain.torch needs torch 1.10 or later, not "
                                  f"{torch.__version__}")
            value = globals()[name] = getattr(module, name)
            return value
        from .._instead import refuse

        refuse("torch", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
