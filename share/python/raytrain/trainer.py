"""Trainers: a training function, how it is run, and fit(), which runs it and returns
the Result. Names and meaning as in ``ray.train`` 2.x."""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Mapping

from . import _config as configs
from . import _fit, _shipping
from ._arguments import check_preprocessor, check_types, takes_config
from ._shipping import PAYLOAD
from ._instead import VALIDATION
from .backend import BackendConfig
from .data import from_memory
from .errors import NotSupported

if TYPE_CHECKING:
    from ._protocols import CheckpointLike, DatasetLike, Path, TrainFunction
    from .preprocessors import Preprocessor
    from .result import Result

__all__ = ["DataParallelTrainer"]


class DataParallelTrainer:
    """Runs a function on each of N workers.

    Args:
        train_loop_per_worker: The function; it takes train_loop_config, or nothing.
        train_loop_config: A dict for the function. Values that raytrain.cfg can express
            are recorded in run.cfg.
        backend: How the workers' frameworks find each other: "command" sets only the
            variables of ranks; the other trainers choose theirs.
        backend_config: A BackendConfig, such as a TorchConfig, or one with your own
            Backend, see raytrain.backend; or a dict of settings, see raytrain.cfg(5).
        scaling_config: The number of workers, and their resources.
        data_config: How the datasets are divided.
        dataset_config: The same, by Ray's name.
        run_config: The name of the run, where it is stored, when it restarts and stops.
        datasets: {name: path, raytrain.data.read_hdf5(...), a DataFrame of pandas, or
            {column: array}}, for get_dataset_shard().
        metadata: A dict that JSON can hold, for get_context().get_metadata(); it is
            saved with the checkpoints.
        resume_from_checkpoint: A Checkpoint of another run, or the path of a checkpoint
            file, which the function gets from get_checkpoint(). A Checkpoint that was
            made in this process, by from_dict() or from_directory(), is saved as
            NAME.start.h5 beside the directory of the run.
        preprocessor: One of raytrain.preprocessors, or a Chain of them. The workers fit
            it to the dataset "train", or to the only dataset, before the training, and
            transform the batches of all datasets; checkpoints have the fitted one.
        validation_config: Only None.

    Raises:
        TypeError: An argument has another type.
        NotSupported: validation_config is given.
    """

    _backend = "command"
    # "module:function", called in a worker before the function.
    _setup: str | None = None
    _config_name = "backend_config"  # how __init__ calls it

    def __init__(self, train_loop_per_worker: TrainFunction, *,
                 train_loop_config: dict[str, Any] | None = None,
                 backend: str | None = None, backend_config: Any = None,
                 scaling_config: configs.ScalingConfig | None = None,
                 data_config: configs.DataConfig | None = None,
                 dataset_config: configs.DataConfig | None = None,
                 run_config: configs.RunConfig | None = None,
                 datasets: Mapping[str, DatasetLike] | None = None,
                 metadata: dict[str, Any] | None = None,
                 resume_from_checkpoint: CheckpointLike | None = None,
                 preprocessor: Preprocessor | None = None,
                 validation_config: object = None) -> None:
        if validation_config is not None:
            raise NotSupported("a trainer has no validation_config=: " + VALIDATION)
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
        self.backend_config = backend_config
        self.backend = backend or self._backend
        if isinstance(backend_config, BackendConfig):
            runs_as = backend_config._runs_as or "command"
            if self.backend == "command":
                self.backend = runs_as
            if self.backend == runs_as:
                self._setup = self._setup or backend_config._set_up_by
        self.scaling_config = scaling_config or configs.ScalingConfig()
        self.run_config = run_config or configs.RunConfig()
        self.data_config = data_config or dataset_config or configs.DataConfig()
        self.datasets = {name: from_memory(rows)
                         for name, rows in (datasets or {}).items()}
        self.metadata = metadata
        self.preprocessor = check_preprocessor(preprocessor)
        self.starting_checkpoint = resume_from_checkpoint
        self._restored_from: str | None = None

    # ---- fit ----

    def fit(self) -> Result:
        """Run the training to its end.

        In a worker, if the script itself is the command of raytrain-run, it calls the
        function as this worker, and returns the Result so far. With num_workers=0 it
        calls the function in this process, and raises its exceptions unchanged.

        Returns:
            The Result.

        Raises:
            TrainingFailedError: The training failed.
            TrainingStopped: It was stopped on request; a SystemExit with status 75.
            ValueError: Settings are not valid.
        """
        if os.environ.get("RAYTRAIN_SESSION"):
            from . import _worker

            return _worker.fit(self)
        if self.scaling_config._is_local:
            from . import _local_mode

            return _local_mode.fit(self)
        return _fit.Fit(self).run()

    # ---- restore ----

    @classmethod
    def can_restore(cls, path: Path, storage_filesystem: object = None) -> bool:
        """Is there a run that fit() has started in this directory?

        Args:
            path: The directory.
            storage_filesystem: Without effect.

        Returns:
            Whether there is.
        """
        return os.path.isfile(os.path.join(configs.local_path(path), PAYLOAD))

    @classmethod
    def restore(cls, path: str, train_loop_per_worker: TrainFunction | None = None,
                train_loop_config: dict[str, Any] | None = None,
                datasets: Mapping[str, DatasetLike] | None = None,
                scaling_config: configs.ScalingConfig | None = None,
                run_config: configs.RunConfig | None = None,
                **others: Any) -> DataParallelTrainer:
        """A trainer whose fit() continues a run from its latest checkpoint. Arguments
        that are not given have their earlier values. Reads a file of the run that has
        the function, pickled: restore only runs that you trust.

        Args:
            path: The directory of the run.
            train_loop_per_worker: Another function.
            train_loop_config: Another dict for the function.
            datasets: Other datasets.
            scaling_config: Another ScalingConfig.
            run_config: Another RunConfig; name and storage_path are those of the run.
            others: Other arguments of the trainer.

        Returns:
            The trainer.

        Raises:
            FileNotFoundError: There is no such run.
        """
        import copy

        path = os.path.abspath(configs.local_path(path))
        if not cls.can_restore(path):
            raise FileNotFoundError(
                f"{path}: there is no {PAYLOAD}, so fit() has not started this run; "
                "raytrain-run --resume continues runs that it has started itself")
        packed = _shipping.read(os.path.join(path, PAYLOAD))
        settings = dict(packed["settings"])
        settings["resume_from_checkpoint"] = _fit.start_of(path, settings)
        with _shipping.own_main():
            if train_loop_per_worker is None:
                sys.path[:0] = [p for p in packed["sys_path"] if p not in sys.path]
                function, config = _shipping.unpack(packed["function"])
            else:
                function, config = train_loop_per_worker, None
                if train_loop_config is None:
                    config = _shipping.config_of(packed)
            settings = {name: others[name] if name in others
                        else _shipping.opened(value)
                        for name, value in settings.items()}
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

    def _settings(self) -> dict[str, Any]:
        """The arguments that restore() passes to __init__ again."""
        return {self._config_name: self.backend_config, "data_config": self.data_config,
                "backend": self.backend, "scaling_config": self.scaling_config,
                "run_config": self.run_config._shippable(), "datasets": self.datasets,
                "metadata": self.metadata, "preprocessor": self.preprocessor}

    def _backend_keys(self) -> dict[str, Any]:
        """backend_config, as keys of raytrain.cfg."""
        config = self.backend_config
        if config is None:
            return {}
        if hasattr(config, "_keys"):
            keys: dict[str, Any] = config._keys()
            return keys
        if isinstance(config, BackendConfig):
            return {}
        if not isinstance(config, dict):
            raise TypeError("backend_config is a dict, or of a subclass of "
                            "raytrain.BackendConfig, not " + type(config).__name__)
        return dict(config)

    def __repr__(self) -> str:
        name = getattr(self.train_loop_per_worker, "__qualname__", "?")
        return f"<{type(self).__name__} {name} {self.scaling_config!r}>"
