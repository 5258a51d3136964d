"""The base of raytrain.xgboost and raytrain.lightgbm: a trainer whose workers are
raytrain's own processes, so it has parameters in place of a function."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence, cast

from . import _config as configs
from . import _made_rows, _read_config, _records, _worker, data
from ._arguments import check_preprocessor, check_types
from ._fit import Fit, start_of
from .trainer import DataParallelTrainer

if TYPE_CHECKING:
    from ._protocols import CheckpointLike, FunctionTrainer, Path
    from .preprocessors import Preprocessor
    from .result import Result

TRAIN = "train"

# Arguments of the libraries' own train(), and of Ray's trainers, that there are not.
_FUNCTION = ("the workers run no Python; choose one of the library's own by params")
_INSTEAD = {
    "obj": _FUNCTION, "fobj": _FUNCTION, "feval": _FUNCTION, "custom_metric": _FUNCTION,
    "callbacks": "RunConfig(callbacks=...) has callbacks",
    "evals": "all datasets but \"train\" are evaluated",
    "valid_sets": "all datasets but \"train\" are evaluated",
    "valid_names": "all datasets but \"train\" are evaluated, under their names",
    "evals_result": "result.metrics_history has the metrics of all rounds",
    "verbose_eval": "RunConfig(verbose=0) turns the progress off",
    "maximize": "raytrain knows for each metric whether more is better",
    "xgb_model": "resume_from_checkpoint continues from a model",
    "init_model": "resume_from_checkpoint continues from a model",
    "categorical_feature": "it is categorical_features=[...]",
    "feature_name": "features have the names of the columns",
    "metadata": "the workers run no Python that could save it",
    "dataset_config": "the rows of all datasets are divided among the workers",
    "data_config": "the rows of all datasets are divided among the workers",
    "train_loop_config": "it is for a training function, train_loop_per_worker",
    "xgboost_config": "it is for a training function, train_loop_per_worker",
    "lightgbm_config": "it is for a training function, train_loop_per_worker",
}


# ---- Arguments ----

def _plain(what: str, value: Any) -> Any:
    """A value as the configuration can have it; scalars of NumPy become Python's."""
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(what, item) for item in value]
    if callable(value):
        raise TypeError(f"{what} is a function: {_FUNCTION}")
    if isinstance(value, dict):
        for name in value:
            if not configs._is_name(name):
                raise ValueError(f"{what} has the name {name!r}, which no key of "
                                 "raytrain.cfg can have: give a list, in the order of "
                                 "the features")
        return {name: _plain(f"{what}[{name!r}]", item) for name, item in value.items()}
    if not configs.is_storable(value):
        raise ValueError(f"{what} is {value!r}: a parameter is a number, a string, "
                         "True, False, or a list of these")
    return value


def _parameters(what: str, given: dict[str, Any]) -> dict[str, Any]:
    """Without those that are None, which stands for the library's default."""
    made = {}

    for name, value in given.items():
        if value is None or (name == "missing" and value != value):
            continue
        made[name] = _plain(f"{what}[{name!r}]", value)
        if not configs._is_name(name):
            raise ValueError(f"{what}: {name!r} is not a name of a parameter")
    return made


def _dataset(name: str, dataset: Any) -> Any:
    """A path, or a Dataset as it was read; arrays and DataFrames become one."""
    if isinstance(dataset, dict):
        return data.from_numpy(dataset)
    if hasattr(dataset, "columns") and hasattr(dataset, "iloc"):
        return data.from_pandas(dataset)
    if getattr(dataset, "_state", None) or not _made_rows.is_plain(dataset):
        raise TypeError(
            f"datasets[{name!r}] was transformed: give the trainer the Dataset as it "
            "was read, and preprocessor=, which is applied to the rows of all "
            "datasets. Apply functions before, and give it the result: "
            "raytrain.data.from_numpy(rows)")
    return dataset


def _in_c(preprocessor: Any) -> Any:
    """TypeError if a worker without Python cannot apply it."""
    if check_preprocessor(preprocessor) is not None and any(
            "batch_mapper" in item for item in preprocessor._items()):
        raise TypeError(
            "preprocessor has a BatchMapper, a function in Python, and the workers of "
            "this trainer run no Python: apply the function first, and give the "
            "trainer raytrain.data.from_numpy(rows)")
    return preprocessor


def _columns(what: str, columns: Any) -> list[Any] | None:
    if columns is None:
        return None
    names = [columns] if isinstance(columns, str) else list(columns)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} is a list of names of columns, not {columns!r}")
    return names


# ---- Trainer ----

class GBDTTrainer:
    """Trains trees on datasets: the loop is raytrain's own, and no function is needed.
    With a function, train_loop_per_worker, it is a raytrain.DataParallelTrainer, with
    the arguments of that, whose workers can call train() of the library together.

    Args:
        datasets: {"train": ..., others that are evaluated after each round}: paths,
            Datasets of raytrain.data, {column: array}, or DataFrames of pandas.
        label_column: The column of the labels. All other columns of numbers are
            features.
        params: The library's parameters, as it has them.
        num_boost_round: Rounds in all; of a run that is continued, those that it has
            had count.
        dmatrix_params: Parameters of the library's matrices.
        scaling_config: As of other trainers.
        run_config: As of other trainers.
        preprocessor: Learns from the dataset "train", and transforms all of them;
            without a BatchMapper.
        resume_from_checkpoint: As of other trainers.
        early_stopping_rounds: End after this number of rounds without progress, of
            which the model then keeps the best.
        early_stopping_metric: The metric of that, "valid-auc"; None: the last one of
            the last dataset.
        weight_column: The column of the weights of rows, which is not a feature.
        qid_column: The column of the queries: adjacent rows with one number are a
            query.
        group_column: Another name of qid_column.
        base_margin_column: The column of the margins from which the training starts.
        categorical_features: Columns whose numbers are categories.
        train_kwargs: Others are refused, with what to use instead.

    Raises:
        TypeError: An argument has another type, or is not available.
        ValueError: There is no dataset "train", or an argument has a value that it
            cannot have.
    """

    _trainer = ""  # the key `trainer` of raytrain.cfg
    # Made if there is a function.
    _of_function: type[DataParallelTrainer] = DataParallelTrainer
    train_loop_config: dict[str, Any] | None = None

    def __new__(cls, train_loop_per_worker: Any = None, **settings: Any) -> Any:
        if train_loop_per_worker is None:
            return super().__new__(cls)
        for name in _OWN & set(settings):
            raise TypeError(f"{cls.__name__} has a training function, and {name!r} is "
                            "for a training without one: give it to train() of the "
                            "library")
        return cls._of_function(train_loop_per_worker, **settings)

    def __init__(self, *, datasets: Mapping[str, Any], label_column: str | None = None,
                 params: dict[str, Any] | None = None, num_boost_round: int = 10,
                 dmatrix_params: dict[str, Any] | None = None,
                 scaling_config: configs.ScalingConfig | None = None,
                 run_config: configs.RunConfig | None = None,
                 preprocessor: Preprocessor | None = None,
                 resume_from_checkpoint: CheckpointLike | None = None,
                 early_stopping_rounds: int | None = None,
                 early_stopping_metric: str | None = None,
                 weight_column: str | None = None, qid_column: str | None = None,
                 group_column: str | None = None, base_margin_column: str | None = None,
                 categorical_features: Sequence[str] | None = None,
                 **train_kwargs: object) -> None:
        for name in train_kwargs:
            hint = _INSTEAD.get(name)
            raise TypeError(f"{type(self).__name__} has no argument {name!r}"
                            + (f": {hint}" if hint else ""))
        check_types(("scaling_config", scaling_config, configs.ScalingConfig),
                    ("run_config", run_config, configs.RunConfig),
                    ("datasets", datasets, dict), ("params", params, dict),
                    ("dmatrix_params", dmatrix_params, dict))
        if qid_column is not None and group_column is not None:
            raise TypeError("qid_column and group_column are two names for one "
                            "argument")
        self.datasets = {name: _dataset(name, value)
                         for name, value in (datasets or {}).items()}
        if TRAIN not in self.datasets:
            raise ValueError('datasets has no "train" to train on; it has '
                             + (", ".join(map(repr, self.datasets)) or "nothing"))
        self.label_column = label_column
        self.params = _parameters("params", params or {})
        self.dmatrix_params = _parameters("dmatrix_params", dmatrix_params or {})
        self.num_boost_round = configs._integer("num_boost_round", num_boost_round, 1)
        self.early_stopping_rounds = None if early_stopping_rounds is None else \
            configs._integer("early_stopping_rounds", early_stopping_rounds, 0)
        self.early_stopping_metric = early_stopping_metric
        self.weight_column = weight_column
        self.qid_column = qid_column if qid_column is not None else group_column
        self.base_margin_column = base_margin_column
        self.categorical_features = _columns("categorical_features",
                                             categorical_features)
        self.scaling_config = scaling_config or configs.ScalingConfig()
        self.run_config = run_config or configs.RunConfig()
        self.preprocessor = _in_c(preprocessor)
        self.starting_checkpoint = resume_from_checkpoint
        self._restored_from: str | None = None
        self._kept: dict[str, Any] = {}  # keys of the run that it continues

    def fit(self) -> Result:
        """Run the training to its end.

        Returns:
            The Result.

        Raises:
            TrainingFailedError: The training failed.
            TrainingStopped: It was stopped on request; a SystemExit with status 75.
            ValueError: Settings that cannot be.
            RuntimeError: This is a worker.
        """
        # A script that another trainer's workers import.
        if _worker._shipped is not None:
            return _worker._come_by()
        if os.environ.get("RAYTRAIN_SESSION"):
            raise RuntimeError("fit() was called in a worker, which cannot start "
                               "workers")
        return _GBDTFit(cast("FunctionTrainer", self)).run()

    # ---- restore ----

    @classmethod
    def can_restore(cls, path: Path, storage_filesystem: Any = None) -> bool:
        """Is there a run of this trainer in this directory?

        Args:
            path: The directory.
            storage_filesystem: Without effect.

        Returns:
            Whether there is.
        """
        if cls._of_function.can_restore(path):
            return True
        try:
            return bool(_run_cfg(path)[0].get("trainer") == cls._trainer)
        except FileNotFoundError:
            return False

    @classmethod
    def restore(cls, path: Path, train_loop_per_worker: Any = None, *,
                run_config: configs.RunConfig | None = None,
                **changes: Any) -> GBDTTrainer:
        """A trainer whose fit() continues a run, also one that raytrain-run has
        started, from its latest checkpoint. A run with a training function is continued
        as by DataParallelTrainer.restore().

        Args:
            path: The directory of the run.
            train_loop_per_worker: Another function, for a run with one.
            run_config: Another one; the name and storage_path are those of the run.
            changes: Other arguments of the trainer; what is not given is as it was.

        Returns:
            The trainer.

        Raises:
            FileNotFoundError: There is no such run.
            PermissionError: Another user may have written its configuration, which
                names files and commands.
            ValueError: The run is of another trainer.
        """
        import copy

        path = os.path.abspath(configs.local_path(path))
        if cls._of_function.can_restore(path):
            restored: Any = cls._of_function.restore(path, train_loop_per_worker,
                                                     run_config=run_config, **changes)
            return cast(GBDTTrainer, restored)
        keys, foreign = _run_cfg(path)
        if foreign:
            raise PermissionError(f"{foreign}; to continue from a checkpoint of that "
                                  "run, use resume_from_checkpoint")
        if keys.get("trainer") != cls._trainer:
            raise ValueError(f"{path} is not a run of {cls.__name__}: its trainer is "
                             f"{keys.get('trainer')!r}")
        settings = {name: keys.pop(key) for name, key in _KEYS.items() if key in keys}
        if "group_column" in changes:
            settings.pop("qid_column", None)
        settings["datasets"] = {name: data.Dataset(**options)
                                for name, options in keys.pop("datasets").items()}
        run = copy.copy(run_config or configs.RunConfig())
        run.storage_path, run.name = os.path.split(path)
        trainer = cls(run_config=run, **{**settings, **changes})
        trainer._restored_from = path
        keys["resume_from_checkpoint"] = start_of(path, keys)
        changed = {*changes, "trainer", "data_config", "predict"}
        if run_config is not None:
            changed.add("run_config")
        trainer._kept = {key: value for key, value in keys.items()
                         if key not in changed and value is not None}
        return trainer

    # ---- For fit() ----

    def _keys(self) -> dict[str, Any]:
        """Those of raytrain.cfg that other trainers do not have."""
        keys = {"trainer": self._trainer}
        for name, key in _KEYS.items():
            value = getattr(self, name)
            if value is not None:
                keys[key] = value
        return keys

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.params!r} {self.scaling_config!r}>"


# Arguments that are for a training without a function.
_OWN = {"label_column", "params", "num_boost_round", "dmatrix_params",
        "early_stopping_rounds", "early_stopping_metric", "weight_column", "qid_column",
        "group_column", "base_margin_column", "categorical_features"}

# Attributes, and their keys of raytrain.cfg.
_KEYS = {"label_column": "label", "weight_column": "weight", "qid_column": "qid",
         "base_margin_column": "base_margin",
         "categorical_features": "categorical_features", "params": "params",
         "dmatrix_params": "dmatrix_params", "num_boost_round": "num_boost_round",
         "early_stopping_rounds": "early_stopping_rounds",
         "early_stopping_metric": "early_stopping_metric"}


def _run_cfg(path: Path) -> tuple[Any, ...]:
    """The configuration of a run, and why it is not acted upon, which may be None."""
    file = os.path.join(configs.local_path(path), "run.cfg")
    if not os.path.isfile(file):
        raise FileNotFoundError(f"{path} is not the directory of a run: there is no "
                                "run.cfg")
    text, status = _records.read(file)
    return (_read_config.parse(text.decode("utf-8", "surrogateescape"), file),
            _records.foreign(file, status))


class _GBDTFit(Fit):
    """One fit: as of other trainers, but the workers run the loop of
    raytrain-worker."""

    trainer: GBDTTrainer  # type: ignore[assignment]

    def _payload(self) -> dict[str, Any]:
        """No function is sent to the workers."""
        return {}

    def _keys(self) -> dict[str, Any]:
        trainer = self.trainer
        keys = {**trainer._keys(), **self._common_keys()}
        run = keys["run_config"]

        for name, value in trainer._kept.items():  # of the run that it continues
            keys[name] = {**value, "name": run["name"],
                          "storage_path": run["storage_path"]} \
                if name == "run_config" else value
        return keys

    def _workers_command(self) -> list[Any]:
        return []

    def _environment(self, payload: dict[str, Any], keys: dict[str, Any],
                     scratch: str) -> dict[str, Any]:
        """With a sign for raytrain-run that it was not started from a command line."""
        return {**os.environ, "RAYTRAIN_FIT": os.path.join(scratch, "raytrain.cfg")}
