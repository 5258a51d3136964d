"""PyTorch Lightning under raytrain, with the names of ray.train.lightning.

In a training function of raytrain.torch.TorchTrainer::

    import lightning.pytorch as pl
    import raytrain.lightning

    trainer = pl.Trainer(
        max_epochs=10, accelerator="auto", devices="auto",
        strategy=raytrain.lightning.RayDDPStrategy(),
        plugins=[raytrain.lightning.RayLightningEnvironment()],
        callbacks=[raytrain.lightning.RayTrainReportCallback()],
        enable_checkpointing=False)
    trainer = raytrain.lightning.prepare_trainer(trainer)
    trainer.fit(model, train_dataloaders=loader)

It needs Lightning 2.1 or later, as the package `lightning` or `pytorch_lightning`,
which is imported when one of the names is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this

# Where each public name is, below raytrain.lightning.
_NAMES = {
    "RayDDPStrategy": "_classes",
    "RayDeepSpeedStrategy": "_classes",
    "RayFSDPStrategy": "_classes",
    "RayLightningEnvironment": "_classes",
    "RayTrainReportCallback": "_classes",
    "prepare_trainer": "_classes",
}

__all__ = sorted(_NAMES)

if TYPE_CHECKING:  # what __getattr__() gives
    from ._classes import (
        RayDDPStrategy as RayDDPStrategy,
        RayDeepSpeedStrategy as RayDeepSpeedStrategy,
        RayFSDPStrategy as RayFSDPStrategy,
        RayLightningEnvironment as RayLightningEnvironment,
        RayTrainReportCallback as RayTrainReportCallback,
        prepare_trainer as prepare_trainer,
    )
else:

    def __getattr__(name: str) -> object:
        """Load a public name at its first use."""
        if name in _NAMES:
            from .._lazy import load

            value = globals()[name] = load("raytrain.lightning." + _NAMES[name], name)
            return value
        raise AttributeError(f"module 'raytrain.lightning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
