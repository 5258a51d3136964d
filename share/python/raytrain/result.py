"""The Result of a run: its metrics, checkpoints and error, read from the run directory,
which raytrain-format(5) describes. Reads JSON only; checkpoints are opened when used."""
from __future__ import annotations

import json
import math
import os

from . import _record
from .errors import WorkerError

__all__ = ["Result"]

TAIL = 1 << 16  # bytes of a log in which a traceback is looked for

# What a report has that is no number of the training function.
_NOT_METRICS = frozenset(("checkpoint", "by_rank"))
_TIMES = frozenset(("time_total_s", "time_this_iter_s", "time_since_restore",
                    "data_wait_s", "checkpoint_stall_s", "checkpoint_write_s"))


class Result:
    """What a run has left.

    metrics: those of the last report, with its training_iteration, time_total_s and so on;
        None if there was none.
    checkpoint: the latest Checkpoint, or None.
    error: a WorkerError if the run failed, otherwise None.
    path: the run directory.
    config: the train_loop_config; None if fit() has not started the run.
    status: "finished", "failed", "stopped" or, if raytrain-run was killed or still runs,
        "interrupted".
    """

    def __init__(self, metrics: dict | None = None, checkpoint: object = None,
                 error: Exception | None = None, path: str | None = None,
                 config: dict | None = None, status: str = "finished") -> None:
        self.metrics = metrics
        self.checkpoint = checkpoint
        self.error = error
        self.path = path
        self.status = status
        self._config = config
        self._history: list | None = None

    # ---- Where one comes from ----

    @classmethod
    def from_path(cls, path: str, storage_filesystem: object = None) -> Result:
        """The Result of the run in this directory, also of one that is in progress.

        Raises FileNotFoundError if there is no run.
        """
        path = os.path.abspath(os.fspath(path))
        if not os.path.isfile(os.path.join(path, "run.cfg")):
            raise FileNotFoundError(f"{path} is not the directory of a run: there is no "
                                    "run.cfg")
        attempt = _last_attempt(path)
        status = attempt.get("outcome") or "interrupted"
        error = None
        if status == "failed":
            error = _error(attempt, path, attempt)
        history = _read_history(path)
        files = _checkpoint_files(path)
        result = cls(metrics=_metrics_of(history[-1]) if history else None,
                     checkpoint=_open(files[max(files)]) if files else None, error=error,
                     path=path, status=status)
        result._history = history
        return result

    @classmethod
    def _from_record(cls, record: dict, config: dict | None) -> Result:
        """From what raytrain-run --json prints."""
        path, checkpoint = record["path"], record.get("checkpoint")
        error = None

        if record.get("status") == "failed":
            attempt = _last_attempt(path)
            error = _error(record.get("error") or attempt, path, attempt)
        metrics = record.get("metrics")
        return cls(metrics=_metrics_of(metrics) if metrics else None,
                   checkpoint=_open(checkpoint) if checkpoint else None, error=error,
                   path=path, config=config, status=record["status"])

    @classmethod
    def _of_worker(cls, config: dict | None) -> Result:
        """In a worker, after its function: the files lag behind."""
        from . import _session

        session = _session.session()
        return cls(metrics=getattr(session, "last_metrics", None), config=config,
                   path=session.info["run_dir"], status="running")

    # ---- What it has ----

    @property
    def config(self) -> dict | None:
        if self._config is None and self.path:
            self._config = _kept_config(self.path)
        return self._config

    @property
    def metrics_history(self) -> list:
        """A dict for each report, in the order of the iterations."""
        if self._history is None:
            self._history = _read_history(self.path) if self.path else []
        return [_metrics_of(report) for report in self._history]

    @property
    def metrics_dataframe(self):
        """A pandas.DataFrame with a row for each report. Needs pandas; metrics_history has
        the same without."""
        import pandas

        return pandas.DataFrame([{k: v for k, v in row.items() if k != "by_rank"}
                                 for row in self.metrics_history])

    @property
    def best_checkpoints(self) -> list:
        """[(Checkpoint, metrics)] of the checkpoints that were kept, oldest first."""
        return [(_open(file), metrics) for file, metrics in self._kept()]

    def get_best_checkpoint(self, metric: str, mode: str):
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
            value = _value_of(metrics, metric)
            if value is not None and value == value:
                scored.append((sign * value, place, file))
        if scored:
            return _open(max(scored)[2])
        if not kept:
            return None
        known = sorted({k for _, m in kept for k, v in m.items()
                        if isinstance(v, float) and k not in _TIMES})
        raise ValueError(f"no checkpoint has a number for the metric {metric!r}; the "
                         "metrics are " + ", ".join(known))

    def _kept(self) -> list:
        if not self.path:
            return []
        files = _checkpoint_files(self.path)
        by_iteration = {m.get("training_iteration"): m for m in self.metrics_history}
        return [(files[i], by_iteration.get(i, {})) for i in sorted(files)]

    def __repr__(self) -> str:
        return (f"Result(status={self.status!r}, metrics={self.metrics!r}, "
                f"path={self.path!r}, checkpoint={self.checkpoint!r}, "
                f"error={self.error.__class__.__name__ if self.error else None})")


# ---- Files of a run directory ----

def _open(path: str):
    from .checkpoint import Checkpoint

    return Checkpoint(path)


def _checkpoint_files(path: str) -> dict:
    """{iteration: path} of the complete checkpoints."""
    found = {}

    for name in os.listdir(path):
        digits = name[len("checkpoint_"):-len(".h5")]
        if (name.startswith("checkpoint_") and name.endswith(".h5") and digits.isdigit()
                and name == f"checkpoint_{int(digits):06d}.h5"):
            found[int(digits)] = os.path.join(path, name)
    return found


def _read_json(path: str) -> dict:
    try:
        data, _ = _record.read(path, _record.OF_ATTEMPT)
        value = json.loads(data.decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _log_dir(path: str, attempt: int) -> str:
    return os.path.join(path, "logs", f"attempt-{attempt}")


def _last_attempt(path: str) -> dict:
    """attempt.json of the latest attempt; {} if there is none."""
    numbers = []

    try:
        names = os.listdir(os.path.join(path, "logs"))
    except OSError:
        names = []
    for name in names:
        if name.startswith("attempt-") and name[8:].isdigit():
            numbers.append(int(name[8:]))
    if not numbers:
        return {}
    last = max(numbers)
    return {"attempt": last,
            **_read_json(os.path.join(_log_dir(path, last), "attempt.json"))}


def _log_of(path: str, attempt: dict) -> str:
    rank = attempt.get("rank", -1)
    if "attempt" not in attempt or rank is None or rank < 0:
        return ""
    log = os.path.join(_log_dir(path, attempt["attempt"]), f"rank-{rank:05d}.err")
    return log if os.path.exists(log) else ""


TRACEBACK = "Traceback (most recent call last):"


def _error(record: dict, path: str, attempt: dict) -> WorkerError:
    """From the record of a failure. A worker puts the traceback of its script after the
    message, as much as there is room for; its log has all of it."""
    message, at, tail = (record.get("message") or "").partition("\n" + TRACEBACK)
    log = record.get("log") or _log_of(path, attempt)
    traceback = TRACEBACK + tail if at else ""

    if not at and '\n  File "' in message:
        message = message[:message.index('\n  File "')]
        traceback = _traceback_in(log)
    return WorkerError({**record, "log": log, "message": message.strip()},
                       traceback.strip())


def _traceback_in(log: str) -> str:
    """The last traceback in a log. Indented lines are its frames; the first other one is
    the exception, and what follows belongs to its text until a program of raytrain
    speaks."""
    try:
        with open(_record.open_fd(log, _record.OF_ATTEMPT), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    starts = [i for i, line in enumerate(lines) if line == TRACEBACK]
    if not starts:
        return ""
    end = starts[-1] + 1
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    end += 1
    while end < len(lines) and not lines[end].startswith("raytrain"):
        end += 1
    return "\n".join(lines[starts[-1]:end])


def _read_history(path: str) -> list:
    """The valid reports: one of iteration k supersedes all earlier ones of k or later."""
    reports: list = []

    try:
        for line in _record.lines(os.path.join(path, "result.json")):
            try:
                report = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if not isinstance(report, dict):
                continue
            iteration = report.get("training_iteration")
            if not isinstance(iteration, int):
                continue
            while reports and reports[-1]["training_iteration"] >= iteration:
                reports.pop()
            reports.append(report)
    except FileNotFoundError:
        pass
    return reports


def _metrics_of(report: dict) -> dict:
    """JSON has neither NaN nor infinities: raytrain writes null, and says in by_rank if the
    mean, or an element of a vector, is infinite."""
    by_rank = report.get("by_rank") or {}

    def value_of(name: str, value: object) -> object:
        if value is None and name not in _NOT_METRICS:
            return float(by_rank.get(name, {}).get("mean", "nan"))
        if isinstance(value, list):
            return vector_of(by_rank.get(name, {}).get("rank0", value))
        return value

    return {name: value_of(name, value) for name, value in report.items()}


def vector_of(elements: list) -> list:
    """A vector of a report, with NaN and infinities."""
    return [math.nan if e is None else float(e) if isinstance(e, str) else e
            for e in elements]


def _value_of(metrics: dict, name: str) -> float | None:
    """Also of nested ones: "valid/loss" of {"valid": {"loss": ...}}."""
    value: object = metrics.get(name)
    if value is None and "/" in name:
        value = metrics
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
    return float(value) if isinstance(value, (int, float)) else None


def _kept_config(path: str) -> dict | None:
    from . import _shipping
    from .trainer import PAYLOAD, _config_of

    try:
        return _config_of(_shipping.read(os.path.join(path, PAYLOAD)))
    except Exception:
        return None
