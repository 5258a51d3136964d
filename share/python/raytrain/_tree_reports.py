"""What the callbacks of raytrain.xgboost and raytrain.lightgbm have in common: which
metrics of a round are reported, and the model as a file of a checkpoint."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable

from ._context import get_context, report
from .checkpoint import Checkpoint


class TreeReports:
    """Reports the metrics of each round, and a checkpoint with the model.

    Args:
        metrics: Which metrics are reported, such as "valid-logloss"; a dict gives them
            other names, {"loss": "valid-logloss"}. None: all.
        filename: The file of the model in the checkpoint.
        frequency: A checkpoint after as many rounds; 0: none but the last one.
        checkpoint_at_end: Report a checkpoint after the last round.
        results_postprocessing_fn: Called with the dict of metrics before it is
            reported; returns another one.
    """

    CHECKPOINT_NAME = ""

    def __init__(self, metrics: str | list[str] | dict[str, str] | None = None,
                 filename: str = "", frequency: int = 0, checkpoint_at_end: bool = True,
                 results_postprocessing_fn: Callable[[dict[str, Any]], dict[str, Any]]
                 | None = None) -> None:
        super().__init__()
        self._metrics = [metrics] if isinstance(metrics, str) else metrics
        self._filename = filename or self.CHECKPOINT_NAME
        self._frequency = frequency
        self._checkpoint_at_end = checkpoint_at_end
        self._postprocess = results_postprocessing_fn

    def _is_due(self, rounds: int) -> bool:
        """Whether a checkpoint is due after that number of rounds."""
        return self._frequency > 0 and rounds % self._frequency == 0

    def _chosen(self, found: dict[str, Any]) -> dict[str, Any]:
        """The metrics to be reported, of all that a round has."""
        if self._metrics:
            names = self._metrics if isinstance(self._metrics, dict) else \
                {name: name for name in self._metrics}
            missing = [name for name in names.values() if name not in found]
            if missing:
                raise KeyError(f"metrics: there is no {', '.join(missing)}; this round "
                               "has "
                               + (", ".join(found) or "none: evaluate a dataset"))
            found = {name: found[metric] for name, metric in names.items()}
        return self._postprocess(found) if self._postprocess else found

    def _report(self, metrics: dict[str, Any], model: Any = None) -> None:
        """Report, with the model of rank 0 if there is one: all ranks have the same."""
        if model is None or get_context().get_world_rank() != 0:
            report(metrics)
            return
        with tempfile.TemporaryDirectory(prefix="raytrain-") as directory:
            model.save_model(os.path.join(directory, self._filename))
            report(metrics, checkpoint=Checkpoint.from_directory(directory))
