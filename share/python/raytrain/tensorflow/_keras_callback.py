"""ReportCheckpointCallback of raytrain.tensorflow.keras. Imports TensorFlow."""

from __future__ import annotations

import functools
import os
import tempfile
from typing import Any

from .. import _frameworks
from .._context import get_context, report
from ..checkpoint import Checkpoint

_tensorflow: Any = _frameworks.needed("TensorFlow", ("tensorflow",),
                                      "pip install tensorflow")

# When Keras calls a callback. It calls those of batches only if a callback has them.
_EVENTS = ("epoch_begin", "epoch_end", "train_begin", "train_end", "test_begin",
           "test_end", "predict_begin", "predict_end")
_BATCH_EVENTS = ("train_batch_begin", "train_batch_end", "test_batch_begin",
                 "test_batch_end", "predict_batch_begin", "predict_batch_end")


class ReportCheckpointCallback(_tensorflow.keras.callbacks.Callback):
    """Reports the metrics that Keras logs, and a checkpoint with the model.

    Each worker saves the model, as MultiWorkerMirroredStrategy asks for; that of rank 0
    is the file `model.keras` of the checkpoint.

    Args:
        checkpoint_on: The events after which a checkpoint is reported, "epoch_end" or a
            list of such words: the name of a method of Keras' callbacks without "on_".
        report_metrics_on: The events after which metrics alone are reported.
        metrics: Which metrics are reported: a name of Keras', a list of names, or
            {NAME: name of Keras'}. None: all.

    Raises:
        ValueError: There is no such event.
    """

    CHECKPOINT_NAME = "model.keras"

    def __init__(self, checkpoint_on: str | list[str] = "epoch_end",
                 report_metrics_on: str | list[str] = "epoch_end",
                 metrics: str | list[str] | dict[str, str] | None = None) -> None:
        super().__init__()
        self._checkpoint_on = _events("checkpoint_on", checkpoint_on)
        self._on = self._checkpoint_on | _events("report_metrics_on", report_metrics_on)
        self._metrics = [metrics] if isinstance(metrics, str) else metrics
        for event in self._on.intersection(_BATCH_EVENTS):
            setattr(self, "on_" + event, functools.partial(self._on_batch, event))

    def _on_batch(self, event: str, batch: int, logs: Any = None) -> None:
        self._handle(event, logs)

    def _handle(self, event: str, logs: Any) -> None:
        """Report, if that is due with this event. COLLECTIVE."""
        if event not in self._on:
            return
        metrics = self._chosen(logs or {})
        if event not in self._checkpoint_on:
            report(metrics)
            return
        with tempfile.TemporaryDirectory(prefix="raytrain-") as directory:
            self.model.save(os.path.join(directory, self.CHECKPOINT_NAME))
            report(metrics, checkpoint=Checkpoint.from_directory(directory)
                   if get_context().get_world_rank() == 0 else None)

    def _chosen(self, logs: dict[str, Any]) -> dict[str, Any]:
        if self._metrics is None:
            return dict(logs)
        names = self._metrics if isinstance(self._metrics, dict) else \
            {name: name for name in self._metrics}
        missing = [name for name in names.values() if name not in logs]
        if missing:
            raise KeyError(f"metrics: Keras has logged no {', '.join(missing)}, but "
                           + (", ".join(logs) or "nothing"))
        return {name: logs[logged] for name, logged in names.items()}


def _events(what: str, given: str | list[str]) -> set[str]:
    events = {given} if isinstance(given, str) else set(given)
    known = _EVENTS + _BATCH_EVENTS
    for event in sorted(events.difference(known)):
        raise ValueError(f"{what} has {event!r}, which is not one of "
                         f"{', '.join(known)}")
    return events


def _method(event: str) -> Any:
    if event.startswith("epoch"):
        def on_epoch(self: Any, epoch: int, logs: Any = None) -> None:
            self._handle(event, logs)
        return on_epoch

    def on_event(self: Any, logs: Any = None) -> None:
        self._handle(event, logs)
    return on_event


for _event in _EVENTS:
    setattr(ReportCheckpointCallback, "on_" + _event, _method(_event))
