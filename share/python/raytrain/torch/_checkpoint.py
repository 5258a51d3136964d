"""TorchCheckpoint: a model's parameters as a checkpoint."""

from __future__ import annotations

from typing import Any, Mapping

import torch

from .._sharded import is_divided
from ..checkpoint import Checkpoint
from ..errors import NotSupported
from ._state import load_state

_KEY = "model"
_DDP_PREFIX = "module."


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The user's model inside a DistributedDataParallel or DataParallel."""
    from torch.nn.parallel import DataParallel, DistributedDataParallel

    while isinstance(model, (DataParallel, DistributedDataParallel)):
        model = model.module
    return model


def _without_prefix(state: Mapping[str, Any]) -> dict[str, Any]:
    """Names as those of the user's model: DDP adds "module." to all of them."""
    if not state or not all(name.startswith(_DDP_PREFIX) for name in state):
        return dict(state)
    return {name[len(_DDP_PREFIX):]: value for name, value in state.items()}


class TorchCheckpoint(Checkpoint):
    """A Checkpoint with the state_dict of one model, below the key "model".

    Code is never stored: get_model() needs a model to load the parameters into. The
    names are those of the model without DistributedDataParallel.
    """

    @classmethod
    def from_state_dict(cls, state_dict: Mapping[str, Any], *,
                        preprocessor: object = None) -> TorchCheckpoint:
        """A checkpoint to be reported, of the parameters of a model.

        Args:
            state_dict: What state_dict() of the model returns.
            preprocessor: Only None.

        Returns:
            The checkpoint.

        Raises:
            NotSupported: preprocessor is given: the trainer takes it.
        """
        if preprocessor is not None:
            raise NotSupported("TorchCheckpoint(preprocessor=...): give the "
                               "preprocessor to the trainer; each checkpoint of its "
                               "run has what it learned")
        return cls.from_dict({_KEY: _without_prefix(state_dict)})

    @classmethod
    def from_model(cls, model: torch.nn.Module, *,
                   preprocessor: object = None) -> TorchCheckpoint:
        """A checkpoint to be reported, of the parameters and buffers of a model.

        Args:
            model: The model.
            preprocessor: Only None.

        Returns:
            The checkpoint.
        """
        return cls.from_state_dict(unwrapped(model).state_dict(),
                                   preprocessor=preprocessor)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> TorchCheckpoint:
        """A TorchCheckpoint of a checkpoint that was saved as one.

        Args:
            checkpoint: Such as that of get_checkpoint().

        Returns:
            The same checkpoint, of this class.
        """
        made = cls.__new__(cls)
        made.__dict__.update(checkpoint.__dict__)
        return made

    def get_state_dict(self) -> dict[str, Any]:
        """The state_dict. KeyError: the checkpoint has no "model"."""
        return _without_prefix(self.to_dict()[_KEY])

    def get_model(self, model: torch.nn.Module | None = None) -> torch.nn.Module:
        """Load the parameters of this checkpoint into a model.

        Args:
            model: The model; it may be wrapped in DistributedDataParallel, or divided
                by fully_shard().

        Returns:
            The same model.

        Raises:
            TypeError: It is not a model.
        """
        if not isinstance(model, torch.nn.Module):
            raise TypeError("get_model() needs a model to load the parameters into: a "
                            "TorchCheckpoint stores no code")
        inner = unwrapped(model)
        state = inner.state_dict()
        if any(is_divided(value) for value in state.values()):
            load_state({_KEY: state}, self)
        else:
            state = self.get_state_dict()
        inner.load_state_dict(state)
        return model
