"""Trainers: a training function, how it is run, and fit(), which runs it and returns the
Result. Names and meaning as in ``ray.train`` 2.x."""
from __future__ import annotations

import os
import sys

from . import _config as configs
from .errors import InvalidArgument, TrainingFailedError, TrainingStopped

__all__ = ["DataParallelTrainer"]

PAYLOAD = "trainer.pkl"  # in the run directory: what restore() and the workers read
STORAGE = "raytrain_results"
START = ".start.h5"  # beside the run directory: a checkpoint that no run has saved

# The runs of fit() in this process, in their order: a script without a guard is imported
# by the workers, and comes by the earlier ones again.
_finished: list = []


class DataParallelTrainer:
    """Runs a function on each of N workers.

    train_loop_per_worker: the function; it takes train_loop_config, or nothing.
    train_loop_config: a dict for the function. What raytrain.cfg can express of it is
        recorded in run.cfg.
    scaling_config, run_config, data_config: see ScalingConfig and the others.
    preprocessor: one of raytrain.preprocessors, or a Chain of them. The workers learn from
        the dataset "train", or the only one, before the training, and transform the
        batches of all datasets; checkpoints have what was learned.
    datasets: {name: path, or raytrain.data.read_hdf5(...)}, for get_dataset_shard().
    resume_from_checkpoint: a Checkpoint of another run, or the path of a checkpoint file,
        which the function gets from get_checkpoint(). One that was made here, by
        Checkpoint.from_dict() or from_directory(), is saved as NAME.start.h5 beside the
        directory of the run.
    metadata: a dict that JSON can hold, for get_context().get_metadata(); it is saved with
        the checkpoints.
    backend: how the workers' frameworks find each other: "command" sets the variables of
        ranks alone; the other trainers choose theirs.
    backend_config: a dict of its settings; see raytrain.cfg(5).
    """

    _backend = "command"
    _setup: str | None = None  # "module:function", called in a worker before the function
    _config_name = "backend_config"  # how __init__ calls it

    def __init__(self, train_loop_per_worker: object, *,
                 train_loop_config: dict | None = None, backend: str | None = None,
                 backend_config: object = None,
                 scaling_config: configs.ScalingConfig | None = None,
                 data_config: configs.DataConfig | None = None,
                 dataset_config: configs.DataConfig | None = None,
                 run_config: configs.RunConfig | None = None,
                 datasets: dict | None = None, metadata: dict | None = None,
                 resume_from_checkpoint: object = None,
                 preprocessor: object = None) -> None:
        if not callable(train_loop_per_worker):
            raise TypeError("train_loop_per_worker is a function, not "
                            f"{type(train_loop_per_worker).__name__}")
        takes_config(train_loop_per_worker)
        check_types(
            ("scaling_config", scaling_config, configs.ScalingConfig),
            ("run_config", run_config, configs.RunConfig),
            ("data_config", data_config or dataset_config, configs.DataConfig),
            ("train_loop_config", train_loop_config, dict),
            ("datasets", datasets, dict), ("metadata", metadata, dict))
        self.train_loop_per_worker = train_loop_per_worker
        self.train_loop_config = train_loop_config
        self.backend = backend or self._backend
        self.backend_config = backend_config
        self.scaling_config = scaling_config or configs.ScalingConfig()
        self.run_config = run_config or configs.RunConfig()
        self.data_config = data_config or dataset_config or configs.DataConfig()
        self.datasets = datasets or {}
        self.metadata = metadata
        self.preprocessor = check_preprocessor(preprocessor)
        self.starting_checkpoint = resume_from_checkpoint
        self._restored_from: str | None = None

    # ---- fit ----

    def fit(self):
        """Run the training to its end, and return its Result.

        Raises TrainingFailedError if it failed, TrainingStopped (a SystemExit with status
        75) if it was stopped on request, ValueError for settings that cannot be.

        In a worker, because the script itself is the command of raytrain-run, it calls the
        function as this worker, and returns the Result so far.
        """
        if os.environ.get("RAYTRAIN_SESSION"):
            from . import _worker

            return _worker.fit(self)
        return _Fit(self).run()

    # ---- restore ----

    @classmethod
    def can_restore(cls, path: str, storage_filesystem: object = None) -> bool:
        """Is there a run that fit() has started in this directory?"""
        return os.path.isfile(os.path.join(os.fspath(path), PAYLOAD))

    @classmethod
    def restore(cls, path: str, train_loop_per_worker: object = None,
                train_loop_config: dict | None = None, datasets: dict | None = None,
                scaling_config: configs.ScalingConfig | None = None,
                run_config: configs.RunConfig | None = None,
                **others: object) -> DataParallelTrainer:
        """A trainer whose fit() continues the run in the directory `path` from its latest
        checkpoint. What is not given is as it was. Reads a file of the run that holds
        the function, pickled: restore only runs that you trust.

        Raises FileNotFoundError if there is no such run.
        """
        import copy

        from . import _shipping

        path = os.path.abspath(os.fspath(path))
        if not cls.can_restore(path):
            raise FileNotFoundError(
                f"{path}: there is no {PAYLOAD}, so fit() has not started this run; "
                "raytrain-run --resume continues runs that it has started itself")
        packed = _shipping.read(os.path.join(path, PAYLOAD))
        settings = dict(packed["settings"])
        settings["resume_from_checkpoint"] = _start_of(path, settings)
        if train_loop_per_worker is None:
            sys.path[:0] = [p for p in packed["sys_path"] if p not in sys.path]
            function, config = _shipping.unpack(packed["function"])
        else:
            function, config = train_loop_per_worker, None
            if train_loop_config is None:
                config = _config_of(packed)
        settings.update({"scaling_config": scaling_config or settings["scaling_config"],
                         "datasets": datasets or settings["datasets"], **others})
        run = copy.copy(run_config or settings["run_config"])
        run.storage_path, run.name = os.path.split(path)
        settings["run_config"] = run
        if train_loop_config is not None:
            config = train_loop_config
        trainer = cls(function, train_loop_config=config, **settings)
        trainer._restored_from = path
        return trainer

    def _settings(self) -> dict:
        """What restore() gives to __init__ again."""
        return {self._config_name: self.backend_config, "data_config": self.data_config,
                "backend": self.backend, "scaling_config": self.scaling_config,
                "run_config": self.run_config._shippable(), "datasets": self.datasets,
                "metadata": self.metadata, "preprocessor": self.preprocessor}

    def _backend_keys(self) -> dict:
        """backend_config, as keys of raytrain.cfg."""
        config = self.backend_config
        if config is None:
            return {}
        if hasattr(config, "_keys"):
            return config._keys()
        if not isinstance(config, dict):
            raise TypeError("backend_config is a dict, not " + type(config).__name__)
        return dict(config)

    def __repr__(self) -> str:
        name = getattr(self.train_loop_per_worker, "__qualname__", "?")
        return f"<{type(self).__name__} {name} {self.scaling_config!r}>"


def check_types(*settings: tuple) -> None:
    """TypeError if one of (name, value, type) is neither None nor of its type."""
    for what, value, kind in settings:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{what} is a {kind.__name__} of raytrain, not "
                            f"{type(value).__module__}.{type(value).__name__}")


def check_preprocessor(preprocessor: object) -> object:
    if preprocessor is not None and not hasattr(preprocessor, "_items"):
        raise TypeError("preprocessor is one of raytrain.preprocessors, not "
                        f"{type(preprocessor).__name__}")
    return preprocessor


def _start_of(path: str, settings: dict) -> str | None:
    """The checkpoint that a run to be restored has started from, if it still exists, also
    when both have moved."""
    start = settings.get("resume_from_checkpoint")

    for file in (path + START, start) if start and start.endswith(START) else (start,):
        if file and os.path.isfile(file):
            return file
    return None


def _config_of(packed: dict) -> object:
    """The configuration of an earlier fit(), if it can be had without the function."""
    import pickle

    function = packed["function"]
    if function["kind"] != "name":
        return pickle.loads(function["data"])[1]
    return pickle.loads(function["data"])


def takes_config(function: object) -> bool:
    """Does it take its configuration? TypeError if it takes more than that."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    needed = [p for p in parameters
              if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY,
                                                     p.POSITIONAL_OR_KEYWORD)]
    keywords = [p.name for p in parameters
                if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
    if len(needed) > 1 or keywords:
        raise TypeError("train_loop_per_worker takes one argument, the configuration, or "
                        f"none; {getattr(function, '__qualname__', function)} takes "
                        + ", ".join([p.name for p in needed] + keywords))
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)
               for p in parameters)


def call(function: object, config: object) -> object:
    """Call a training function as it wants to be called."""
    if takes_config(function):
        return function({} if config is None else config)
    return function()


# ---- One fit ----

class _Fit:
    """From a trainer to raytrain-run's files and command line, and back to a Result."""

    def __init__(self, trainer: DataParallelTrainer) -> None:
        self.trainer = trainer
        self.run_config = trainer.run_config
        self.storage = os.path.abspath(self.run_config.storage_path or STORAGE)
        self.name = self.run_config.name or self._default_name()
        self.path = os.path.join(self.storage, self.name)

    def _default_name(self) -> str:
        import time

        return "{}_{}_{}".format(type(self.trainer).__name__,
                                 time.strftime("%Y-%m-%d_%H-%M-%S"),
                                 os.urandom(3).hex())

    def _mode(self) -> list:
        """What becomes of a run of this name."""
        mode = self.run_config.on_existing

        if self.trainer._restored_from:
            mode = "resume"
        elif mode is None:
            requeued = os.environ.get("SLURM_RESTART_COUNT", "0") not in ("", "0")
            again = requeued or self.run_config.requeue_on_stop
            mode = "resume" if again and self.run_config.name else "fresh"
        return {"resume": ["--resume"], "fresh": ["--fresh"], "error": []}[mode]

    def _checkpoint(self) -> str | None:
        """The file to start from. A run that is restored needs it, too, if it has no
        checkpoint of its own yet."""
        start = self.trainer.starting_checkpoint
        if start is None:
            return None
        if getattr(start, "_stored", self) is None:
            return self._saved(start)
        path = getattr(start, "path", start)
        if not isinstance(path, (str, os.PathLike)) or not (
                os.path.isfile(path) or self._continues()):
            raise ValueError(
                "resume_from_checkpoint is a Checkpoint, such as result.checkpoint, or the "
                f"path of a checkpoint file, not {start!r}")
        return os.path.abspath(path)

    def _continues(self) -> bool:
        """Is there a run that goes on? It was started from a checkpoint, which may not be
        needed any more, and is not replaced."""
        return self._mode() == ["--resume"] and os.path.isdir(self.path)

    def _saved(self, start: object) -> str:
        """A checkpoint that was made in this process, as a file that stays with the run:
        until the run has a checkpoint of its own, each attempt starts from it."""
        from . import _helper

        path = self.path + START
        if self._continues():
            return path
        os.makedirs(self.storage, exist_ok=True)
        _helper.save(start, path)
        return path

    def _keys(self) -> dict:
        """The whole of raytrain.cfg."""
        trainer = self.trainer
        keys = {"backend": trainer.backend}
        backend_config = trainer._backend_keys()

        if backend_config:
            keys["backend_config"] = backend_config
        if trainer.train_loop_config:
            keys["train_loop_config"] = self._recorded()
        keys.update(self._common_keys())
        if keys["run_config"].get("checkpoint_config", {}).pop("checkpoint_at_end", None):
            configs._ignored("CheckpointConfig", {"checkpoint_at_end": True},
                             "pass a checkpoint to the last report() of the training "
                             "function", level=6)
        if self.datasets:
            keys["data_config"] = trainer.data_config._keys()
        return keys

    def _common_keys(self) -> dict:
        """What all trainers have."""
        trainer = self.trainer
        run = self.run_config._keys()

        run["name"], run["storage_path"] = self.name, self.storage
        keys = {"scaling_config": trainer.scaling_config._keys(), "run_config": run}
        if self.datasets:
            keys["datasets"] = {name: _dataset_keys(name, dataset)
                                for name, dataset in self.datasets.items()}
        if trainer.preprocessor is not None:
            keys["preprocessor"] = trainer.preprocessor._items()
        start = self._checkpoint()
        if start:
            keys["resume_from_checkpoint"] = start
        return keys

    def _kept(self) -> dict:
        """The datasets; those of arrays in memory as files that stay with the run."""
        from . import _memory

        return {name: _memory.keep(dataset, f"{self.path}.data-{name}")
                if hasattr(dataset, "_file") else dataset
                for name, dataset in self.trainer.datasets.items()}

    def _recorded(self) -> dict:
        """What raytrain.cfg can express of train_loop_config."""
        return {k: v for k, v in (self.trainer.train_loop_config or {}).items()
                if configs.is_storable({k: v})}

    def _payload(self) -> dict:
        from . import _shipping

        trainer = self.trainer
        cwd = os.getcwd()
        return {"function": _shipping.pack(trainer.train_loop_per_worker,
                                           trainer.train_loop_config),
                "settings": trainer._settings(), "setup": trainer._setup,
                "backend_config": trainer.backend_config, "recorded": self._recorded(),
                "sys_path": [os.path.abspath(p) if p else cwd for p in sys.path],
                "argv": list(sys.argv), "earlier": list(_finished)}

    def _command(self, file: str) -> list:
        from . import _launch

        run = self.run_config
        command = [_launch.program(), "--json", "--config", file, *self._mode()]
        if run.verbose == 0:
            command.append("--quiet")
        if run.launcher:
            command += ["--launcher", run.launcher]
        return command + [*run.options, *self._workers_command()]

    def _workers_command(self) -> list:
        """What raytrain-run starts on each worker."""
        return ["--", *_interpreter(), "-m", "raytrain._worker"]

    def _environment(self, payload: dict, keys: dict, scratch: str) -> dict:
        """That of raytrain-run and the workers, which find this package by themselves."""
        from . import _shipping

        payload["settings"].update(
            resume_from_checkpoint=keys.get("resume_from_checkpoint"),
            datasets=self.datasets)
        shipped = os.path.join(scratch, PAYLOAD)
        _shipping.write(shipped, payload)
        return {**os.environ, "RAYTRAIN_FIT": shipped}

    def _listener(self, environment: dict):
        """What calls the UserCallbacks meanwhile, if there are any."""
        import contextlib

        callbacks = self.run_config._user_callbacks()
        if not callbacks:
            return contextlib.nullcontext()
        from . import _events
        from .callback import RunContext

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

    def run(self) -> object:
        """The files are where all nodes see them, and only their owner."""
        import shutil
        import tempfile

        from . import _launch

        payload = self._payload()
        os.makedirs(self.storage, exist_ok=True)
        self.datasets = self._kept()
        keys = self._keys()
        text = configs.render(keys)
        scratch = tempfile.mkdtemp(prefix=".fit-", dir=self.storage)
        try:
            file = os.path.join(scratch, "raytrain.cfg")
            with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)
            environment = self._environment(payload, keys, scratch)
            _finished.append(self.path)
            with self._listener(environment):
                ended = _launch.run(self._command(file), environment, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return self._conclude(*ended)

    def _conclude(self, status: int, record: dict | None, signals: list) -> object:
        from .result import Result

        result = None
        if record:
            result = Result._from_record(record, self.trainer.train_loop_config)
        if status == 0 and result:
            return result
        if status == 75 or (signals and status < 0):
            raise TrainingStopped(result)
        if result and result.error:
            raise TrainingFailedError(str(result.error), result)
        what = f"status {status}" if status >= 0 else f"signal {-status}"
        error = InvalidArgument if status in (2, 3) else TrainingFailedError
        raise error(f"raytrain-run ended with {what}, and there is no result; its messages "
                    "say why")


def _dataset_keys(name: str, dataset: object) -> dict:
    if isinstance(dataset, (str, os.PathLike)):
        return {"path": configs._path(dataset)}
    if getattr(dataset, "_state", None) or getattr(dataset, "_functions", None):
        raise TypeError(f"datasets[{name!r}] was transformed: give the trainer the Dataset "
                        "as it was read, and preprocessor=; map_batches() in the training "
                        "function")
    if hasattr(dataset, "_keys"):
        return dataset._keys()
    raise TypeError(f"datasets[{name!r}] is a path or made by raytrain.data, such as "
                    f"raytrain.data.read_hdf5(path), not {type(dataset).__name__}. To "
                    "train on data in memory, load it in the training function")


def _interpreter() -> list:
    """The caller's interpreter with its flags, except those that hide this package."""
    import subprocess

    flags = getattr(subprocess, "_args_from_interpreter_flags", list)()
    return [sys.executable or "python3"] + [f for f in flags if f not in ("-I", "-E", "-P")]
