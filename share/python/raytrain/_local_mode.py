"""Local mode: fit() of a trainer with ScalingConfig(num_workers=0) calls the training
function in this process. Under torchrun, each of torchrun's processes is one rank."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from . import (_assign, _constraint, _metrics, _records, _session, _stored, _worker,
               data, errors)
from ._arguments import call
from ._fit import Fit
from ._records import checkpoint_files, value_of
from .checkpoint import Checkpoint
from .result import Result, ranked

if TYPE_CHECKING:
    from ._config import CheckpointConfig, RunConfig
    from ._protocols import Asks, Buffer, Facts, FunctionTrainer, Offer, Reply

LOCAL = ".local"  # after the name of the run: its directory is not that of a run


class _Reached(SystemExit):
    """The training ends: a metric of RunConfig(stop=) has reached its number."""


# ---- The session ----


class LocalSession(_session.LoneSession):
    """The session of a training function in local mode: it keeps what is reported.

    Args:
        facts: Where this process is, beside what a lone worker is.
        start: The checkpoint file that the function gets, or None.
        run: Which checkpoints are kept, and when the training ends.
    """

    def __init__(self, facts: Facts, start: str | None, run: RunConfig) -> None:
        super().__init__()
        self.info.update(facts)
        self.info["has_checkpoint"] = start is not None
        self.history: list[dict[str, Any]] = []  # as the lines of result.json
        self._start = start
        self._run = run
        self._kept: list[tuple[str, dict[str, Any]]] = []
        self._begun = self._last = time.monotonic()

    def call(self, op: str, args: Mapping[str, Any] = {}, data: Buffer = b"",
             fds: Sequence[int] = (), asks: Asks | None = None) -> Reply:
        """As LoneSession.call(), with the checkpoint to start from; under torchrun
        collective calls go through torch's process group."""
        if op == "checkpoint_open" and "path" not in args and self._start is not None:
            args = {**args, "path": self._start}
        elif op == "artifacts":
            path = os.path.join(self.info["run_dir"], "artifacts")
            os.makedirs(path, exist_ok=True)
            return {"path": path}, b"", []
        elif op in ("barrier", "broadcast") and self.info["world_size"] > 1:
            return {}, _together(op, bytes(data)), []
        elif op == "gather" and self.info["world_size"] > 1:
            return _gathered(bytes(data), self.info["rank"])
        return super().call(op, args, data, fds, asks)

    def report(self, metrics: dict[str, Any], offer: Offer | None = None) -> None:
        """Keep the metrics, and the checkpoint as a file."""
        recorded = _metrics.recorded(metrics)
        for note in recorded.notes:
            self.warn(note)
        number = self.info["iteration"] + 1
        file = None
        if offer is not None:
            file = os.path.join(self.info["run_dir"], f"checkpoint_{number:06d}.h5")
            _stored.save_offered(offer, file)
        self.info["iteration"] = number
        line = self._line(recorded, file)
        self.history.append(line)
        if file is not None:
            self.newest = _session.Newest(file)
            self._kept.append((file, _metrics.of_report(line)))
            self._remove_worst()
        if self._has_reached(line):
            self.should_stop = True
            if not self.asked_stop:
                raise _Reached(0)

    def _line(self, recorded: _metrics.Recorded, file: str | None) -> dict[str, Any]:
        """A report as a line of result.json has it."""
        numbers = {name: float(value) for name, value in recorded.numbers.items()}
        now, last = time.monotonic(), self._last
        self._last = now
        ranks = {name: {"rank0": value, "min": value, "max": value}
                 for name, value in numbers.items() if self.info["world_size"] == 1}
        return {**numbers, **recorded.typed,
                "training_iteration": self.info["iteration"],
                "time_total_s": now - self._begun, "time_this_iter_s": now - last,
                "timestamp": int(time.time()), "pid": self.pid,
                "hostname": self.info["host"], "attempt": 0,
                "world_size": self.info["world_size"],
                "checkpoint": None if file is None else os.path.basename(file),
                "by_rank": ranks, "reported": json.loads(recorded.reported)}

    def _remove_worst(self) -> None:
        """All but num_to_keep and the newest of those that this fit() has saved."""
        config = self._run.checkpoint_config
        most = config.num_to_keep if config else None
        while most is not None and len(self._kept) > most:
            worst = next(pair for pair in ranked(self._kept, *_score_of(config))
                         if pair is not self._kept[-1])
            self._kept.remove(worst)
            os.unlink(worst[0])

    def _has_reached(self, line: dict[str, Any]) -> bool:
        """The same answer on all ranks: that of rank 0."""
        if not self._run.stop:
            return False
        reached = any((value_of(line, name) or 0.0) >= number
                      for name, number in self._run.stop.items()
                      if value_of(line, name) is not None)
        if self.info["world_size"] == 1:
            return reached
        return _together("broadcast", b"y" if reached else b"n") == b"y"


def _together(op: str, data: bytes) -> bytes:
    """A barrier, or the data of rank 0, over the ranks of torchrun."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not _has_group():
        raise errors.NotSupported(
            "calls of all ranks go through torch's process group in local mode under "
            "torchrun, and there is none: use raytrain.torch.TorchTrainer, or call "
            "torch.distributed.init_process_group() first")
    if op == "barrier":
        dist.barrier()
        return b""
    held = [data]
    dist.broadcast_object_list(held, src=0)
    return held[0]


def _gathered(data: bytes, rank: int) -> Reply:
    """On rank 0 the data of all ranks of torchrun."""
    _together("barrier", b"")
    dist = sys.modules["torch.distributed"]
    found: list[bytes] = [b""] * dist.get_world_size()
    dist.all_gather_object(found, data)
    kept = found if rank == 0 else []
    return {"sizes": [len(part) for part in kept]}, b"".join(kept), []


def _has_group() -> bool:
    dist = sys.modules.get("torch.distributed")
    return dist is not None and bool(dist.is_available() and dist.is_initialized())


def _score_of(config: CheckpointConfig | None) -> tuple[str | None, int]:
    """The metric by which checkpoints are kept, and 1 if high is good, else -1."""
    if config is None:
        return None, 1
    return (config.checkpoint_score_attribute,
            -1 if config.checkpoint_score_order == "min" else 1)


# ---- fit ----


def fit(trainer: FunctionTrainer) -> Result:
    """Call the training function of a trainer here.

    Args:
        trainer: What has the function.

    Returns:
        The Result of this rank.

    Raises:
        ValueError: The trainer has what local mode cannot do.
        PermissionError: The directory belongs to another user.
        RuntimeError: The training function has called this.
        Exception: What the function has raised.
    """
    if isinstance(_session._session, LocalSession):
        raise RuntimeError("fit() was called inside a training function in local mode: "
                           "call it after the other fit() has returned")
    place: Facts = _session.torchrun_place() or {"rank": 0, "world_size": 1}
    _check(trainer, place)
    plan = _Plan(trainer, place["rank"])
    iterators = _iterators(trainer)
    iteration, start = plan.begin()
    place.update({"run_name": plan.name, "run_dir": plan.path,
                  "config": trainer.train_loop_config or {}, "iteration": iteration,
                  "datasets": list(iterators)})
    here = LocalSession(place, start, trainer.run_config)
    value = None
    with _opened(here, trainer), data.given(iterators), _own_group():
        with _worker._prepare(trainer._setup, trainer.backend_config):
            with contextlib.suppress(_Reached):
                value = call(trainer.train_loop_per_worker, trainer.train_loop_config)
    return _result(here, trainer, value)


def _iterators(trainer: FunctionTrainer) -> dict[str, data.DataIterator]:
    """Those of the datasets, whole, by their names."""
    given: Mapping[str, Any] = trainer.datasets
    if trainer.data_config._is_custom:
        given = _assign.assigned(trainer.data_config, dict(given), 1).datasets
    return {name: ds if isinstance(ds, data.Dataset) else data.Dataset(ds)
            for name, ds in given.items()}


def _check(trainer: FunctionTrainer, place: Facts) -> None:
    """What would be left out without a word."""
    trainer.scaling_config._resources()
    _constraint.environment(trainer.scaling_config, takes_allocation=False)
    if trainer.preprocessor is not None:
        raise ValueError(
            "preprocessor= is applied by workers, and num_workers is 0: give the "
            "trainer preprocessor.fit_transform(dataset), or set num_workers=1")
    if trainer.datasets and place["world_size"] > 1:
        raise ValueError(
            "datasets= are divided among the workers of raytrain-run, and not among "
            "the processes of torchrun: read them in the training function, or run the "
            "script without torchrun and set num_workers")
    run = trainer.run_config
    for name, value in (("callbacks", run.callbacks),
                        ("failure_config", run.failure_config
                         and run.failure_config.max_failures)):
        if value:
            warnings.warn(f"RunConfig({name}=...) has no effect in local mode "
                          "(num_workers=0): there are no workers to observe or to "
                          "restart", UserWarning, stacklevel=4)


class _Plan(Fit):
    """Where what is reported goes, and what the function starts from."""

    def __init__(self, trainer: FunctionTrainer, rank: int) -> None:
        super().__init__(trainer)
        self.path += LOCAL
        if rank > 0:
            self.path += f"-rank-{rank}"

    def begin(self) -> tuple[int, str | None]:
        """Make the directory. The iteration, and the checkpoint to start from."""
        mode, restored = self._mode(), self.trainer._restored_from
        if os.path.lexists(self.path):
            _records.check_dir(self.path)
        if os.path.isdir(self.path) and (restored or mode != ["--resume"]):
            if not mode:
                raise ValueError(f"{self.path} is there already: choose another name, "
                                 "or RunConfig(on_existing='fresh')")
            self._set_aside()
        files = checkpoint_files(restored or self.path) \
            if restored or os.path.isdir(self.path) else {}
        start = files[max(files)] if files else self._checkpoint()
        os.makedirs(self.path, exist_ok=True)
        return max(files, default=0), start

    def _set_aside(self) -> None:
        number = 1
        while os.path.lexists(f"{self.path}.{number}"):
            number += 1
        os.rename(self.path, f"{self.path}.{number}")


@contextlib.contextmanager
def _opened(here: LocalSession, trainer: FunctionTrainer) -> Iterator[None]:
    """The session of this process, while the function runs."""
    before = _session._session, _session.metadata, _session.uses_gpu
    _session._session = here
    _session.metadata = trainer.metadata or {}
    _session.uses_gpu = bool(trainer.scaling_config.use_gpu)
    try:
        yield
    finally:
        _session._session, _session.metadata, _session.uses_gpu = before


@contextlib.contextmanager
def _own_group() -> Iterator[None]:
    """A process group that was set up meanwhile ends with the training."""
    had = _has_group()
    try:
        yield
    finally:
        if not had and _has_group():
            sys.modules["torch.distributed"].destroy_process_group()


def _result(here: LocalSession, trainer: FunctionTrainer, value: object) -> Result:
    path = here.info["run_dir"]
    files = checkpoint_files(path)
    last = here.history[-1] if here.history else None
    result = Result(metrics=_metrics.of_report(last) if last else None,
                    checkpoint=Checkpoint(files[max(files)]) if files else None,
                    path=path, config=trainer.train_loop_config, return_value=value)
    result._history = here.history
    result._best_checkpoints = [
        (Checkpoint(file), metrics) for file, metrics in
        ranked(result._kept(), *_score_of(trainer.run_config.checkpoint_config))]
    return result
