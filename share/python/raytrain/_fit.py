"""One fit(): from a trainer to the files and the command line of raytrain-run, and back
to a Result."""
from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from . import _config as configs
from . import (_assign, _constraint, _events, _extracted, _failures, _launch,
               _made_rows, _memory, _shipping, _stored)
from ._records import checkpoint_files
from .callback import RunContext, hears_reports
from .checkpoint import Checkpoint
from .errors import (ControllerError, InvalidArgument, RaytrainError, TrainingStopped,
                     WorkerError, WorkerGroupError)
from .result import Result

if TYPE_CHECKING:
    from ._protocols import DatasetLike, FunctionTrainer

STORAGE = "raytrain_results"
START = ".start.h5"  # beside the run directory: a checkpoint that no run has saved

# The runs of fit() in this process, in order. The workers import a script without a
# guard, which then makes the earlier calls of fit() again.
finished: list[str] = []


class Fit:
    """From a trainer to raytrain-run's files and command line, and back to a Result."""

    def __init__(self, trainer: FunctionTrainer) -> None:
        self.trainer = trainer
        self.run_config = trainer.run_config
        self.storage = os.path.abspath(self.run_config.storage_path or STORAGE)
        self.name = self.run_config.name or self._default_name()
        self.path = os.path.join(self.storage, self.name)
        self.datasets: dict[str, Any] = {}  # those of the workers
        self.given: dict[str, Any] = {}  # those of the trainer
        self.assigned: _assign.Assigned | None = None  # by configure()

    def _default_name(self) -> str:
        # A trainer of trees with a function has a class that scripts do not know.
        kind = type(self.trainer).__name__.replace("FunctionTrainer", "Trainer")
        return "{}_{}_{}".format(kind, time.strftime("%Y-%m-%d_%H-%M-%S"),
                                 os.urandom(3).hex())

    def _mode(self) -> list[str]:
        """The option for an existing run of this name."""
        mode = self.run_config.on_existing

        if self.trainer._restored_from:
            mode = "resume"
        elif mode is None:
            mode = "resume" if self.run_config.name else "fresh"
        flags: dict[str, list[str]] = {"resume": ["--resume"], "fresh": ["--fresh"],
                                       "error": []}
        return flags[mode]

    def _checkpoint(self) -> str | None:
        """The file to start from. A run that is restored needs it, too, if it has no
        checkpoint of its own yet."""
        start = self.trainer.starting_checkpoint
        if start is None:
            return None
        if isinstance(start, Checkpoint) and start._stored is None:
            return self._saved(start)
        path = getattr(start, "file", start)
        if isinstance(path, (str, os.PathLike)):
            path = _extracted.file_of(os.fspath(path)) or path
        if not isinstance(path, (str, os.PathLike)) or not (
                os.path.isfile(path) or self._continues()):
            raise ValueError(
                "resume_from_checkpoint is a Checkpoint, such as result.checkpoint, or "
                f"the path of a checkpoint file, not {start!r}")
        return os.path.abspath(path)

    def _continues(self) -> bool:
        """Will an existing run be continued? The checkpoint that it was started from
        may no longer be needed, and is not replaced."""
        return self._mode() == ["--resume"] and os.path.isdir(self.path)

    def _saved(self, start: Checkpoint) -> str:
        """A checkpoint that was made in this process, as a file that stays with the
        run: until the run has a checkpoint of its own, each attempt starts from it."""
        path = self.path + START
        if self._continues():
            return path
        os.makedirs(self.storage, exist_ok=True)
        _stored.save(start, path)
        return path

    def _keys(self) -> dict[str, Any]:
        """The whole of raytrain.cfg."""
        trainer = self.trainer
        keys: dict[str, Any] = {"backend": trainer.backend}
        backend_config = trainer._backend_keys()

        if backend_config:
            keys["backend_config"] = backend_config
        if trainer.train_loop_config:
            keys["train_loop_config"] = self._recorded()
        keys.update(self._common_keys())
        checkpoints = keys["run_config"].get("checkpoint_config", {})
        if checkpoints.pop("checkpoint_at_end", None):
            configs._ignored("CheckpointConfig", {"checkpoint_at_end": True},
                             "pass a checkpoint to the last report() of the training "
                             "function", level=6)
        if self.datasets:
            split = self.assigned.config if self.assigned else trainer.data_config
            keys["data_config"] = _split_keys(split._keys(), keys["datasets"])
        return keys

    def _common_keys(self) -> dict[str, Any]:
        """What all trainers have."""
        trainer = self.trainer
        run = self.run_config._keys()

        run["name"], run["storage_path"] = self.name, self.storage
        keys: dict[str, Any] = {"scaling_config": trainer.scaling_config._keys(),
                                "run_config": run}
        if self.datasets:
            keys["datasets"] = {
                entry: values for name, dataset in self.datasets.items()
                for entry, values in self._dataset_entries(name, dataset).items()}
        if trainer.preprocessor is not None:
            keys["preprocessor"] = trainer.preprocessor._items()
        start = self._checkpoint()
        if start:
            keys["resume_from_checkpoint"] = start
        return keys

    def _kept(self) -> dict[str, Any]:
        """The datasets of the workers. Each fit() applies functions of the script to
        the rows again."""
        trainer = self.trainer
        kept = {name: self._stays(f"{self.path}.data-{name}", dataset)
                for name, dataset in trainer.datasets.items()}
        self.given = kept
        config = getattr(trainer, "data_config", None)
        if config is not None and config._is_custom:
            self.assigned = _assign.assigned(config, kept,
                                             trainer.scaling_config._most_workers)
            kept = {name: self._stays(f"{self.path}.data-{name}.made", dataset)
                    for name, dataset in self.assigned.datasets.items()}
        return {name: self._with_folder(name, dataset)
                for name, dataset in kept.items()}

    def _stays(self, path: str, dataset: Any) -> Any:
        """A dataset; one of arrays in memory as a file that stays with the run."""
        return _memory.keep(dataset, path) if hasattr(dataset, "_file") else dataset

    def _with_folder(self, name: str, dataset: Any) -> Any:
        if not hasattr(dataset, "_file") or _made_rows.is_plain(dataset):
            return dataset
        dataset = dataset._with()
        dataset._folder = f"{self.path}.rows-{name}-{os.urandom(4).hex()}"
        return dataset

    def _dataset_entries(self, name: str, dataset: Any) -> dict[str, Any]:
        """The datasets of raytrain.cfg that one of the trainer needs."""
        if not hasattr(dataset, "_keys") or _made_rows.is_plain(dataset):
            return {name: dataset_keys(name, dataset)}
        if getattr(dataset, "_state", None) or self.trainer.preprocessor is not None:
            raise TypeError(
                f"datasets[{name!r}] has functions of the script, and preprocessors "
                "are applied before those: do what they do in map_batches(), or give "
                "the trainer the Dataset as it was read, and a BatchMapper in "
                "preprocessor=")
        return _made_rows.entries(name, dataset, dataset._folder)

    def _remove_rows(self) -> None:
        """Remove rows that functions have made, also those of a fit() that was
        killed."""
        for name, dataset in self.datasets.items():
            if getattr(dataset, "_folder", ""):
                for folder in glob.glob(f"{glob.escape(self.path)}.rows-{name}-*"):
                    shutil.rmtree(folder, ignore_errors=True)

    def _recorded(self) -> dict[str, Any]:
        """What raytrain.cfg can express of train_loop_config."""
        return {k: v for k, v in (self.trainer.train_loop_config or {}).items()
                if configs.is_storable({k: v})}

    def _payload(self) -> dict[str, Any]:
        trainer = self.trainer
        cwd = os.getcwd()
        return {"function": _shipping.pack(trainer.train_loop_per_worker,
                                           trainer.train_loop_config),
                "summary": _shipping.summary(trainer.train_loop_per_worker,
                                             trainer.train_loop_config),
                "settings": {name: _shipping.wrapped(value)
                             for name, value in trainer._settings().items()},
                "setup": trainer._setup,
                "backend_config": _shipping.wrapped(trainer.backend_config),
                "recorded": self._recorded(),
                "gathers": any(map(hears_reports, self.run_config._user_callbacks())),
                "sys_path": [os.path.abspath(p) if p else cwd for p in sys.path],
                "argv": list(sys.argv), "earlier": list(finished)}

    def _command(self, file: str) -> list[str]:
        run = self.run_config
        command = [_launch.program(), "--json", "--config", file, *self._mode()]
        if run.verbose == 0:
            command.append("--quiet")
        if run.launcher:
            command += ["--launcher", run.launcher]
        return command + [*run.options, *self._workers_command()]

    def _workers_command(self) -> list[str]:
        """What raytrain-run starts on each worker."""
        return ["--", *_launch.interpreter(), "-m", "raytrain._worker"]

    def _environment(self, payload: dict[str, Any], keys: dict[str, Any],
                     scratch: str) -> dict[str, Any]:
        """The environment of raytrain-run and the workers. They find this package
        without it."""
        payload["settings"].update(
            resume_from_checkpoint=keys.get("resume_from_checkpoint"),
            datasets=self.given)
        payload["datasets"] = self.datasets
        payload["shares"] = None if self.assigned is None else self.assigned.shares
        shipped = os.path.join(scratch, _shipping.PAYLOAD)
        _shipping.write(shipped, payload)
        return {**os.environ, "RAYTRAIN_FIT": shipped}

    def _listener(self, environment: dict[str, str]
                  ) -> _events.Listener | _events.NoListener:
        """The object that calls the UserCallbacks during the run, if there are any."""
        callbacks = self.run_config._user_callbacks()
        if not callbacks:
            return _events.NoListener()
        trainer = self.trainer
        listener = _events.Listener(callbacks, RunContext(
            run_config=self.run_config, scaling_config=trainer.scaling_config,
            train_loop_config=trainer.train_loop_config,
            backend_config=getattr(trainer, "backend_config", None),
            datasets=trainer.datasets,
            dataset_config=getattr(trainer, "data_config", None),
            name=self.name, path=self.path))
        environment.update(listener.environment)
        return listener

    def _say_continued(self, payload: dict[str, Any] | None) -> None:
        """Print once that a run of this name exists, before it continues."""
        files = checkpoint_files(self.path) if self._continues() else {}
        if payload is None or not files or self.run_config.on_existing \
                or self.run_config.verbose == 0 or self.trainer._restored_from:
            return
        said = str(_shipping.outline(self.path).get("name") or "")
        before = "".join(c for c in said[:200] if c.isprintable())
        now = payload["summary"]["name"]
        other = f", which {before} has written, with {now}" \
            if before and before != now else ""
        sys.stderr.write(f"raytrain: the run {self.name} exists, and continues from "
                         f"{os.path.basename(files[max(files)])}{other}; "
                         "RunConfig(on_existing='fresh') starts a new run\n")

    def run(self) -> Result:
        """Run it. The files are where all nodes, but only their owner, can read
        them."""
        payload = self._payload()
        constraint = _constraint.environment(self.trainer.scaling_config,
                                             self.run_config._takes_allocation())
        self._say_continued(payload)
        os.makedirs(self.storage, exist_ok=True)
        self.datasets = self._kept()
        keys = self._keys()
        text = configs.render(keys)
        scratch = tempfile.mkdtemp(prefix=".fit-", dir=self.storage)
        try:
            file = os.path.join(scratch, "raytrain.cfg")
            with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)
            environment = {**self._environment(payload, keys, scratch), **constraint}
            finished.append(self.path)
            listener = self._listener(environment)
            ended = self._ended(listener, file, environment, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            self._remove_rows()
        return self._finish(listener, ended)

    def _ended(self, listener: _events.Listener | _events.NoListener, file: str,
               environment: dict[str, str], scratch: str) -> tuple[Any, ...] | None:
        """The result of _launch.run(); None: a callback has failed before."""
        try:
            with listener:
                listener.begin()
                return None if listener.failure else _launch.run(
                    self._command(file), environment, scratch, listener.started)
        except BaseException as error:
            listener.end(None, error)
            raise

    def _finish(self, listener: _events.Listener | _events.NoListener,
                ended: tuple[Any, ...] | None) -> Result:
        """Return the Result or raise, after the last call of the callbacks.

        Args:
            listener: Calls them.
            ended: What _launch.run() has returned; None: raytrain-run was not started.
        """
        result: Result | None = None
        error: BaseException | None = None
        try:
            if ended is not None:
                result = self._conclude(*ended)
        except (RaytrainError, TrainingStopped) as raised:
            error, result = raised, getattr(raised, "result", None)
        listener.end(result, error)
        if listener.failure is not None:
            raise ControllerError(listener.failure, result,
                                  listener.failure_text) from listener.failure
        if error is not None:
            raise error
        assert result is not None
        return result

    def _conclude(self, status: int, record: dict[str, Any] | None,
                  signals: list[int]) -> Result:
        result = None
        refusal = (record.get("error") or {}).get("message") if record else None
        if record and record.get("path"):
            result = Result._from_record(record, self.trainer.train_loop_config)
        if status == 0 and result:
            return result
        if status == 75 or (signals and status < 0):
            raise TrainingStopped(result) from _failures.preemption(result)
        if result and isinstance(result.error, ControllerError):
            raise ControllerError(result.error.controller_failure, result)
        if result and result.error:
            _raise_group_error(result)
        what = f"status {status}" if status >= 0 else f"signal {-status}"
        text = f"raytrain-run ended with {what}, and there is no result" + (
            f": {refusal}" if refusal else "; its messages say why")
        if status in (2, 3):
            raise InvalidArgument(text)
        cause = RaytrainError(text)
        raise ControllerError(cause) from cause


def _raise_group_error(result: Result) -> None:
    """The exception of the worker that failed first is the cause."""
    first = result.error
    assert isinstance(first, WorkerError) and result.path is not None
    failures = _failures.of_attempt(first, result.path, first.attempt)
    cause = failures[first.rank]
    raise WorkerGroupError(str(first), failures, result) from (
        None if cause is first else cause)


def start_of(path: str, settings: dict[str, Any]) -> str | None:
    """The checkpoint that a run to be restored has started from, if it still exists,
    also when both have moved."""
    start: str | None = settings.get("resume_from_checkpoint")

    for file in (path + START, start) if start and start.endswith(START) else (start,):
        if file and os.path.isfile(file):
            return file
    return None


def _split_keys(keys: dict[str, Any], datasets: dict[str, Any]) -> dict[str, Any]:
    """datasets_to_split, with what is made for those that it names. The rows from which
    others are made are always divided."""
    split = keys.get("datasets_to_split", "all")
    if split == "all":
        return keys
    made = [name + _made_rows.MADE for name in split
            if name + _made_rows.MADE in datasets]
    hidden = set(datasets) - set(_made_rows.public_names(list(datasets)))
    return {**keys, "datasets_to_split": [
        *split, *made, *sorted(n for n in hidden if n.endswith(_made_rows.SOURCE))]}


def dataset_keys(name: str, dataset: object) -> dict[str, Any]:
    if isinstance(dataset, (str, os.PathLike)):
        return {"path": configs._path(dataset)}
    if getattr(dataset, "_state", None) or not _made_rows.is_plain(dataset):
        raise TypeError(f"datasets[{name!r}] was transformed: give the Dataset as it "
                        "was read, and preprocessor=")
    if hasattr(dataset, "_keys"):
        keys: dict[str, Any] = dataset._keys()
        return keys
    raise TypeError(f"datasets[{name!r}] is a path or made by raytrain.data, such as "
                    f"raytrain.data.read_hdf5(path), not {type(dataset).__name__}. To "
                    "train on data in memory, load it in the training function")
