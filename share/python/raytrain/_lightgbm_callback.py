"""RayTrainReportCallback of raytrain.lightgbm. Imports LightGBM."""

from __future__ import annotations

import os
from typing import Any

from . import _frameworks
from ._tree_reports import TreeReports
from .checkpoint import Checkpoint

_lightgbm: Any = _frameworks.needed("LightGBM", ("lightgbm",), "pip install lightgbm")


class RayTrainReportCallback(TreeReports):
    """A callback of lightgbm.train() that reports the metrics of each round as
    "DATA-METRIC", and the model.
    """

    __doc__ += "\n" + (TreeReports.__doc__ or "").partition("\n")[2]
    CHECKPOINT_NAME = "model.txt"

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> Any:
        """The model of a checkpoint.

        Args:
            checkpoint: One that this callback, or a trainer without a function, has
                saved.
            filename: As it was given to the callback.

        Returns:
            A lightgbm.Booster.
        """
        with checkpoint.as_directory() as directory:
            return _lightgbm.Booster(model_file=os.path.join(directory, filename))

    def __call__(self, env: Any) -> None:
        """LightGBM calls it after each round. COLLECTIVE."""
        rounds = env.iteration + 1
        last = rounds == env.end_iteration and self._checkpoint_at_end
        metrics = self._chosen(_results(env.evaluation_result_list or ()))
        self._report(metrics, env.model if last or self._is_due(rounds) else None)


def _results(rows: Any) -> dict[str, float]:
    """Those of lightgbm.cv() have a mean and a standard deviation."""
    found = {}
    for data, metric, value, *more in rows:
        if len(more) > 1:
            found[f"{data}-{metric}-mean"] = value
            found[f"{data}-{metric}-stdv"] = more[1]
        else:
            found[f"{data}-{metric}"] = value
    return found
