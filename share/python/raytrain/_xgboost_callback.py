"""RayTrainReportCallback of raytrain.xgboost. Imports XGBoost."""

from __future__ import annotations

import os
from typing import Any

from . import _frameworks
from ._tree_reports import TreeReports
from .checkpoint import Checkpoint

_xgboost: Any = _frameworks.needed("XGBoost", ("xgboost",),
                                   "Debian: python3-xgboost; pip install xgboost")
if not hasattr(_xgboost.callback, "TrainingCallback"):
    raise ImportError("raytrain.xgboost.RayTrainReportCallback needs XGBoost 1.3 or "
                      f"later, not {_xgboost.__version__}", name="xgboost")


class RayTrainReportCallback(TreeReports, _xgboost.callback.TrainingCallback):
    """A callback of xgboost.train() that reports the metrics of each round as
    "DATA-METRIC", and the model.
    """

    __doc__ += "\n" + (TreeReports.__doc__ or "").partition("\n")[2]
    CHECKPOINT_NAME = "model.ubj"

    _reported = -1  # rounds of the last checkpoint
    _log: dict[str, Any] = {}

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> Any:
        """The model of a checkpoint.

        Args:
            checkpoint: One that this callback, or a trainer without a function, has
                saved.
            filename: As it was given to the callback.

        Returns:
            An xgboost.Booster.
        """
        with checkpoint.as_directory() as directory:
            model = _xgboost.Booster()
            model.load_model(os.path.join(directory, filename))
            return model

    def after_iteration(self, model: Any, epoch: int,
                        evals_log: dict[str, Any]) -> bool:
        """XGBoost calls it after each round. COLLECTIVE."""
        self._log = evals_log
        metrics = self._chosen(_latest(evals_log))
        if self._is_due(epoch + 1):
            self._reported = model.num_boosted_rounds()
            self._report(metrics, model)
        else:
            self._report(metrics)
        return False

    def after_training(self, model: Any) -> Any:
        """XGBoost calls it at the end, also after an early stop. COLLECTIVE."""
        if self._checkpoint_at_end and model.num_boosted_rounds() != self._reported:
            self._report(self._chosen(_latest(self._log)) if self._log else {}, model)
        return model


def _latest(evals_log: dict[str, Any]) -> dict[str, Any]:
    return {f"{data}-{metric}": values[-1] for data, metrics in evals_log.items()
            for metric, values in metrics.items()}
