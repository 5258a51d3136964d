"""Trainer of Hugging Face's Transformers under raytrain, with the names of
ray.train.huggingface.transformers.

In a training function of raytrain.torch.TorchTrainer::

    import transformers
    from raytrain.huggingface.transformers import (RayTrainReportCallback,
                                                   prepare_trainer)

    trainer = transformers.Trainer(model=model, args=args, train_dataset=rows)
    trainer.add_callback(RayTrainReportCallback())
    trainer = prepare_trainer(trainer)
    trainer.train()

Transformers is imported when one of the names is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this

# Where each public name is, below this package.
_NAMES = {
    "RayTrainReportCallback": "_classes",
    "prepare_trainer": "_classes",
}

__all__ = sorted(_NAMES)

if TYPE_CHECKING:  # what __getattr__() gives
    from ._classes import (
        RayTrainReportCallback as RayTrainReportCallback,
        prepare_trainer as prepare_trainer,
    )
else:

    def __getattr__(name: str) -> object:
        """Load a public name at its first use."""
        if name in _NAMES:
            from ..._lazy import load

            value = globals()[name] = load(f"{__name__}.{_NAMES[name]}", name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
