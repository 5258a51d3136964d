"""The Result of a run: its metrics, checkpoints and error, read from the run directory,
which raytrain-format(5) describes. Reads JSON only; checkpoints are opened when used."""
from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from . import _metrics, _session, _shipping
from ._read_config import score_of
from ._config import local_path
from ._records import checkpoint_files, error_of, last_attempt, read_history, value_of
from .checkpoint import Checkpoint, check_filesystem, local_filesystem

if TYPE_CHECKING:
    import pandas

    from ._protocols import Path

__all__ = ["Result"]


class Result:
    """What a run has left.

    metrics: those of the last report, exactly as rank 0 has reported them (of a training
        function in C: the means over the workers); None if there was none. What the run
        records beside them, such as training_iteration and time_total_s, is found by [].
    checkpoint: the latest Checkpoint, or None.
    error: a WorkerError if the run failed, otherwise None.
    path: the run directory.
    config: the train_loop_config; None if fit() has not started the run.
    best_checkpoints: [(Checkpoint, metrics)] of those that were kept, the worst by the
        score of CheckpointConfig first, or the oldest first if there is none.
    status: "finished", "failed", "stopped" or, if raytrain-run was killed or still runs,
        "interrupted".
    """

    def __init__(self, metrics: dict[str, Any] | None = None,
                 checkpoint: Checkpoint | None = None, error: Exception | None = None,
                 path: str | None = None, config: dict[str, Any] | None = None,
                 status: str = "finished", *,
                 best_checkpoints: list[tuple[Checkpoint, dict[str, Any]]] | None = None
                 ) -> None:
        self.metrics = metrics
        self.checkpoint = checkpoint
        self.error = error
        self.path = path
        self.status = status
        self._best_checkpoints = best_checkpoints
        self._config = config
        self._history: list[dict[str, Any]] | None = None

    # ---- Where one comes from ----

    @classmethod
    def from_path(cls, path: Path, storage_filesystem: object = None) -> Result:
        """The Result of the run in this directory, also of one that is in progress.

        Raises FileNotFoundError if there is no run.
        """
        check_filesystem(storage_filesystem)
        path = os.path.abspath(local_path(path))
        if not os.path.isfile(os.path.join(path, "run.cfg")):
            raise FileNotFoundError(f"{path} is not the directory of a run: there is no "
                                    "run.cfg")
        attempt = last_attempt(path)
        status = attempt.get("outcome") or "interrupted"
        error = None
        if status == "failed":
            error = error_of(attempt, path, attempt)
        history = read_history(path)
        files = checkpoint_files(path)
        result = cls(metrics=_metrics.of_report(history[-1]) if history else None,
                     checkpoint=Checkpoint(files[max(files)]) if files else None, error=error,
                     path=path, status=status)
        result._history = history
        return result

    @classmethod
    def _from_record(cls, record: dict[str, Any],
                     config: dict[str, Any] | None) -> Result:
        """From what raytrain-run --json prints."""
        path, checkpoint = record["path"], record.get("checkpoint")
        error = None

        if record.get("status") == "failed":
            attempt = last_attempt(path)
            error = error_of(record.get("error") or attempt, path, attempt)
        metrics = record.get("metrics")
        return cls(metrics=_metrics.of_report(metrics) if metrics else None,
                   checkpoint=Checkpoint(checkpoint) if checkpoint else None, error=error,
                   path=path, config=config, status=record["status"])

    @classmethod
    def _of_worker(cls, config: dict[str, Any] | None) -> Result:
        """In a worker, after its function: the files lag behind."""
        session = _session.session()
        return cls(metrics=getattr(session, "last_metrics", None), config=config,
                   path=session.info["run_dir"], status="running")

    # ---- What it has ----

    @property
    def config(self) -> dict[str, Any] | None:
        if self._config is None and self.path:
            self._config = _shipping.kept_config(self.path)
        return self._config

    @property
    def metrics_history(self) -> list[_metrics.Metrics]:
        """A dict for each report, in the order of the iterations."""
        if self._history is None:
            self._history = read_history(self.path) if self.path else []
        return [_metrics.of_report(report) for report in self._history]

    @property
    def metrics_dataframe(self) -> pandas.DataFrame:
        """A pandas.DataFrame with a row for each report: the metrics, outer/inner of nested
        ones; NAME/min, NAME/mean and NAME/max over the workers; and what else the run
        records. Needs pandas; metrics_history has the same without."""
        import pandas

        return pandas.DataFrame([row.columns() for row in self.metrics_history])

    @property
    def by_rank(self) -> dict[str, dict[str, Any]]:
        """{metric: {"rank0": ..., "min": ..., "mean": ..., "max": ...}} of the last report:
        the numbers over all workers; outer/inner of nested ones."""
        return _metrics.by_rank(getattr(self.metrics, "report", {}))

    @property
    def filesystem(self) -> Any:
        """Where path is: pyarrow.fs.LocalFileSystem() if pyarrow is there, else an object
        with the same type_name."""
        return local_filesystem()

    @property
    def best_checkpoints(self) -> list[tuple[Checkpoint, dict[str, Any]]]:
        """[(Checkpoint, metrics)] of the checkpoints that were kept, the worst first: by
        checkpoint_score_attribute, or the oldest first if there is none."""
        if self._best_checkpoints is None:
            self._best_checkpoints = [(Checkpoint(file), metrics)
                                      for file, metrics in self._ranked()]
        return list(self._best_checkpoints)

    def _ranked(self) -> list[tuple[str, dict[str, Any]]]:
        return ranked(self._kept(), *(score_of(self.path) if self.path else (None, 1)))

    def get_best_checkpoint(self, metric: str, mode: str) -> Checkpoint | None:
        """The Checkpoint with the highest ("max") or lowest ("min") value of a metric; the
        newer of two equal ones. None if there is none with that metric.

        Raises ValueError for another mode, and if no checkpoint has that metric.
        """
        if mode not in ("max", "min"):
            raise ValueError(f"mode is 'max' or 'min', not {mode!r}")
        kept = self._kept()
        sign = 1 if mode == "max" else -1
        scored = []
        for place, (file, metrics) in enumerate(kept):
            value = value_of(metrics, metric)
            if value is not None and value == value:
                scored.append((sign * value, place, file))
        if scored:
            return Checkpoint(max(scored)[2])
        if not kept:
            return None
        known = sorted({k for _, m in kept for k, v in _metrics.flattened(m).items()
                        if isinstance(v, (int, float))})
        raise ValueError(f"no checkpoint has a number for the metric {metric!r}; the "
                         "metrics are " + ", ".join(known))

    def _kept(self) -> list[tuple[str, dict[str, Any]]]:
        if not self.path:
            return []
        files = checkpoint_files(self.path)
        by_iteration = {m.get("training_iteration"): m for m in self.metrics_history}
        return [(files[i], by_iteration.get(i, {})) for i in sorted(files)]

    def __repr__(self) -> str:
        return (f"Result(status={self.status!r}, metrics={self.metrics!r}, "
                f"path={self.path!r}, checkpoint={self.checkpoint!r}, "
                f"error={self.error.__class__.__name__ if self.error else None})")


def ranked(kept: list[tuple[str, dict[str, Any]]], name: str | None,
           sign: int) -> list[tuple[str, dict[str, Any]]]:
    """(file, metrics) of checkpoints, the worst first.

    Args:
        kept: Those that there are, the oldest first.
        name: The metric of the score; None: the order is that of their age.
        sign: 1 if a high value is good, else -1.

    Returns:
        The same in their order. Checkpoints without a number for the score are worse than
        all others; of equal ones the older is.
    """
    if name is None:
        return kept

    def rank(place: int) -> tuple[float, int]:
        value = value_of(kept[place][1], name)
        return (-math.inf if value is None or value != value else sign * value, place)

    return [kept[place] for place in sorted(range(len(kept)), key=rank)]
