"""The Result of a run: its metrics, checkpoints and error, read from the run directory,
which raytrain-format(5) describes. It reads only JSON; checkpoints are opened when they
are used."""
from __future__ import annotations

import math
import os
import warnings
from typing import TYPE_CHECKING, Any

from . import _metrics, _returned, _session, _shipping
from ._read_config import score_of
from ._config import local_path
from ._records import checkpoint_files, failure_of, last_attempt, read_history, value_of
from .checkpoint import Checkpoint, check_filesystem, local_filesystem
from .errors import InvalidArgument, NoSuchCheckpoint, NoSuchMetric, NoSuchRun

if TYPE_CHECKING:
    import pandas

    from ._protocols import Path

__all__ = ["Result"]


class Result:
    """The result of a run.

    Values that the run records besides the metrics, such as training_iteration and
    time_total_s, are available as metrics[...].

    Args:
        metrics: The metrics of the last report, exactly as rank 0 has reported them
            (for a training function in C, the means over the workers); None without
            reports.
        checkpoint: The latest Checkpoint, or None.
        error: A WorkerError if the run failed, a ControllerError if a method of a
            UserCallback has ended it, otherwise None.
        path: The run directory.
        metrics_dataframe: A row for each report; None: it is read from the run
            directory.
        best_checkpoints: [(Checkpoint, metrics)] of the checkpoints that were kept, the
            worst by the score of CheckpointConfig first, or the oldest first if there
            is no score.
        return_value: The value that the training function has returned on rank 0, or in
            a worker, on this worker; None if it has not returned, or for a value that
            cannot be pickled.
        config: The train_loop_config; None if fit() has not started the run.
        status: "finished", "failed", "stopped" or, if raytrain-run was killed or still
            runs, "interrupted".
    """

    def __init__(self, metrics: dict[str, Any] | None = None,
                 checkpoint: Checkpoint | None = None, error: Exception | None = None,
                 path: str | None = None,
                 metrics_dataframe: pandas.DataFrame | None = None,
                 best_checkpoints:
                 list[tuple[Checkpoint, dict[str, Any]]] | None = None,
                 _storage_filesystem: object = None, *, return_value: Any = None,
                 config: dict[str, Any] | None = None,
                 status: str = "finished") -> None:
        check_filesystem(_storage_filesystem)
        self.metrics = metrics
        self.checkpoint = checkpoint
        self.error = error
        self.path = path
        self.status = status
        self._best_checkpoints = best_checkpoints
        self._dataframe = metrics_dataframe
        self._return_value = return_value
        self._keeps_value = False  # is the value in the directory of the run?
        self._config = config
        self._history: list[dict[str, Any]] | None = None
        self._warned: set[str] = set()  # metrics of two kinds

    # ---- How it is made ----

    @classmethod
    def from_path(cls, path: Path, storage_filesystem: object = None) -> Result:
        """The Result of a run, which may still be in progress.

        Args:
            path: The directory of the run.
            storage_filesystem: Only that of local paths.

        Returns:
            The Result.

        Raises:
            NoSuchRun: There is no run; a FileNotFoundError and a RuntimeError.
        """
        check_filesystem(storage_filesystem)
        path = os.path.abspath(local_path(path))
        if not os.path.isfile(os.path.join(path, "run.cfg")):
            raise NoSuchRun(f"{path} is not the directory of a run: there is no "
                            "run.cfg")
        attempt = last_attempt(path)
        status = attempt.get("outcome") or "interrupted"
        error = None
        if status == "failed":
            error = failure_of(attempt, path, attempt, attempt.get("cause"))
        history = read_history(path)
        files = checkpoint_files(path)
        result = cls(metrics=_metrics.of_report(history[-1]) if history else None,
                     checkpoint=Checkpoint(files[max(files)]) if files else None,
                     error=error, path=path, status=status)
        result._keeps_value = status == "finished"
        result._history = history
        return result

    @classmethod
    def _from_record(cls, record: dict[str, Any],
                     config: dict[str, Any] | None) -> Result:
        """From the record of raytrain-run --json."""
        path, checkpoint = record["path"], record.get("checkpoint")
        error = None

        if record.get("status") == "failed":
            attempt = last_attempt(path)
            error = failure_of(record.get("error") or attempt, path, attempt,
                               record.get("cause"))
        metrics = record.get("metrics")
        return cls(metrics=_metrics.of_report(metrics) if metrics else None,
                   checkpoint=Checkpoint(checkpoint) if checkpoint else None,
                   error=error, path=path, config=config, status=record["status"],
                   return_value=(_returned.load(path)
                                 if record["status"] == "finished" else None))

    @classmethod
    def _of_worker(cls, config: dict[str, Any] | None, value: object) -> Result:
        """In a worker, after its function. The files may not be up to date."""
        session = _session.session()
        return cls(metrics=getattr(session, "last_metrics", None), config=config,
                   path=session.info["run_dir"], status="running", return_value=value)

    # ---- Its values ----

    @property
    def config(self) -> dict[str, Any] | None:
        """The train_loop_config; None if fit() has not started the run."""
        if self._config is None and self.path:
            self._config = _shipping.outline(self.path).get("config")
        return self._config

    @property
    def return_value(self) -> Any:
        """See above. With from_path() only plain data (numbers, texts, bytes and
        containers of these), so that looking at a run runs no code."""
        if self._keeps_value and self.path:
            self._return_value = _returned.load(self.path, plain=True)
            self._keeps_value = False
        return self._return_value

    @property
    def metrics_history(self) -> list[_metrics.Metrics]:
        """A dict for each report, in the order of the iterations."""
        return [_metrics.of_report(report) for report in self._reports()]

    def _reports(self) -> list[dict[str, Any]]:
        if self._history is None:
            self._history = read_history(self.path) if self.path else []
        return self._history

    @property
    def metrics_dataframe(self) -> pandas.DataFrame:
        """A pandas.DataFrame with a row for each report: the metrics, nested ones as
        outer/inner; NAME/min, NAME/mean and NAME/max over the workers; and other values
        that the run records. Needs pandas; metrics_history has the same without it."""
        if self._dataframe is not None:
            return self._dataframe
        import pandas

        return pandas.DataFrame([row.columns() for row in self.metrics_history])

    @property
    def by_rank(self) -> dict[str, dict[str, Any]]:
        """{metric: {"rank0": ..., "min": ..., "mean": ..., "max": ...}} for the numbers
        of the last report, over all workers; nested ones as outer/inner."""
        return _metrics.by_rank(getattr(self.metrics, "report", {}))

    @property
    def filesystem(self) -> Any:
        """The filesystem of path: pyarrow.fs.LocalFileSystem() if pyarrow is installed,
        else an object with the same type_name."""
        return local_filesystem()

    @property
    def best_checkpoints(self) -> list[tuple[Checkpoint, dict[str, Any]]]:
        """[(Checkpoint, metrics)] of the checkpoints that were kept: the worst first by
        checkpoint_score_attribute, or the oldest first if there is none."""
        if self._best_checkpoints is None:
            self._best_checkpoints = [(Checkpoint(file), metrics)
                                      for file, metrics in self._ranked()]
        return list(self._best_checkpoints)

    def _ranked(self) -> list[tuple[str, dict[str, Any]]]:
        score, sign = score_of(self.path) if self.path else (None, 1)
        if score is not None:
            self._warn_of_kinds(score)
        return ranked(self._kept(), score, sign)

    def _warn_of_kinds(self, metric: str) -> None:
        """Warn once if both means over the workers and values of rank 0 are compared.
        For one worker they are the same."""
        if not self.path or metric in self._warned or not os.path.isdir(self.path):
            return
        files = checkpoint_files(self.path)
        kinds = [
            (report["training_iteration"], isinstance(report.get("reported"), dict))
            for report in self._reports()
            if report["training_iteration"] in files
            and report.get("world_size") != 1
            and metric in (report.get("by_rank") or {})]
        for (_, before), (iteration, now) in zip(kinds, kinds[1:]):
            if before != now:
                self._warned.add(metric)
                words = ["the mean over the workers", "the value of rank 0"]
                warnings.warn(
                    f"{metric} is {words[now]} from the checkpoint of iteration "
                    f"{iteration} on, and {words[before]} before: they are compared as "
                    "they are; metrics_dataframe and h5dump have the means and the "
                    "values of rank 0 of all reports", stacklevel=4)
                return

    def get_best_checkpoint(self, metric: str, mode: str) -> Checkpoint | None:
        """The checkpoint with the best value of a metric; the newer of two equal ones.

        Args:
            metric: Its name.
            mode: "max": the highest value is the best; "min": the lowest.

        Returns:
            The checkpoint.

        Raises:
            ValueError: mode is something else.
            NoSuchCheckpoint: There are no checkpoints; a RuntimeError.
            NoSuchMetric: No checkpoint has a number of that name; a RuntimeError and a
                ValueError.
        """
        if mode not in ("max", "min"):
            raise InvalidArgument(f"mode is 'max' or 'min', not {mode!r}")
        kept = self._by_age()
        self._warn_of_kinds(metric)
        if not kept:
            raise NoSuchCheckpoint(f"{self.path}: there is no checkpoint")
        sign = 1 if mode == "max" else -1
        scored = []
        for place, (_, metrics) in enumerate(kept):
            value = value_of(metrics, metric)
            if value is not None and value == value:
                scored.append((sign * value, place))
        if scored:
            return kept[max(scored)[1]][0]
        known = sorted({k for _, m in kept for k, v in _metrics.flattened(m).items()
                        if isinstance(v, (int, float))})
        raise NoSuchMetric(f"no checkpoint has a number for the metric {metric!r}; the "
                           "metrics are " + ", ".join(known))

    def _by_age(self) -> list[tuple[Checkpoint, dict[str, Any]]]:
        if self._best_checkpoints is not None:
            return self._best_checkpoints
        return [(Checkpoint(file), metrics) for file, metrics in self._kept()]

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
        kept: The checkpoints, the oldest first.
        name: The metric of the score; None: order them by age.
        sign: 1 if a high value is good, else -1.

    Returns:
        The same in that order. Checkpoints without a number for the score are worse
        than all others; of equal ones the older is worse.
    """
    if name is None:
        return kept
    score: str = name

    def rank(place: int) -> tuple[float, int]:
        value = value_of(kept[place][1], score)
        return (-math.inf if value is None or value != value else sign * value, place)

    return [kept[place] for place in sorted(range(len(kept)), key=rank)]
