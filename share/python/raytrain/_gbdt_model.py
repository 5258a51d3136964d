"""Models of trees in checkpoints: what a checkpoint says of them, and predictors."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _frame
from .errors import NotFound
from .predictor import Predictor

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .preprocessors import Preprocessor

_TRAINERS = {"xgboost": "raytrain.xgboost", "lightgbm": "raytrain.lightgbm"}


# ---- What a checkpoint has ----

def opened(checkpoint: Any, trainer: str) -> Checkpoint:
    """A Checkpoint, or the path of one, that this trainer has saved."""
    from .checkpoint import Checkpoint

    if checkpoint is None:
        raise ValueError("there is no checkpoint: the run has reported none; "
                         "RayTrainReportCallback of the trainer's module saves models")
    if not hasattr(checkpoint, "names"):
        checkpoint = Checkpoint(checkpoint)
    try:
        found = checkpoint.read("gbdt/trainer")
    except NotFound:
        raise ValueError(f"{checkpoint!r} has no model of trees: no trainer of "
                         f"{_TRAINERS[trainer]} has saved it") from None
    if found != trainer:
        raise ValueError(f"{checkpoint!r} is of the trainer {found!r}: use "
                         f"{_TRAINERS.get(found, 'another module')} for it")
    saved: Checkpoint = checkpoint
    return saved


def text_of(checkpoint: Any, name: str, default: str = "") -> str:
    """A string of the checkpoint, which may lack it."""
    try:
        return checkpoint.read(name)
    except NotFound:
        return default


def library(name: str, package: str, checkpoint: object | None = None) -> Any:
    """The library's own module. ImportError that says what to install."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"the module {name} is needed for this ({package}); without it, "
            "raytrain-predict predicts, and raytrain-inspect CHECKPOINT --export FILE "
            f"gives the model as the library itself loads it: {error}",
            name=name) from error


def feature_names(checkpoint: Any) -> list[Any] | None:
    """The columns of a model's features; None if they have no names."""
    return json.loads(text_of(checkpoint, "gbdt/features", "null"))


def importance(checkpoint: Any, kind: str) -> dict[str, Any]:
    """{feature: importance} of the features that the model uses, the greatest first."""
    if kind not in ("gain", "splits"):
        raise ValueError(f"kind={kind!r}: it is 'gain' or 'splits'")
    values = [float(v) for v in checkpoint.read(f"gbdt/importance/{kind}")]
    names = feature_names(checkpoint) or [f"f{i}" for i in range(len(values))]
    return dict(sorted(((n, v) for n, v in zip(names, values) if v > 0),
                       key=lambda pair: -pair[1]))


# ---- Rows ----

def _numbers(name: str, value: Any) -> Any:
    """A column of numbers, as an array of one or two dimensions; or a sparse matrix."""
    if hasattr(value, "indptr"):
        return value
    array = _frame.plain(name, value)
    if _frame.is_text(array):
        raise TypeError(f"column {name!r} has words: the model was trained on numbers; "
                        "the preprocessor that made them is not in the checkpoint")
    return array.reshape(len(array), -1) if array.ndim > 2 else array


def _feature_names(name: str, array: Any) -> list[Any]:
    """What the features of a column are called."""
    if len(array.shape) == 1:
        return [name]
    return [f"{name}_{i}" for i in range(array.shape[1])]


def _columns(batch: dict[str, Any], names: list[Any] | None) -> dict[str, Any]:
    """{column: array} of those that have features of the model, and maybe others."""
    wanted = None if names is None else set(names)
    columns = {}
    for name, value in batch.items():
        is_vector = hasattr(value, "indptr") or len(getattr(value, "shape", ())) > 1
        if wanted is None or is_vector or name in wanted:
            columns[name] = _numbers(name, value)
    if names is None:
        vectors = {n: a for n, a in columns.items() if len(a.shape) > 1}
        return vectors if len(vectors) == 1 else columns
    return columns


def _picked(columns: dict[str, Any], names: list[Any], dtype: str) -> Any:
    """The features `names` of columns without sparse ones, as a matrix."""
    import numpy

    places = {feature: (array, i) for name, array in columns.items()
              for i, feature in enumerate(_feature_names(name, array))}
    rows = len(next(iter(columns.values())))
    matrix: Any = numpy.empty((rows, len(names)), dtype)
    for k, name in enumerate(names):
        array, i = places[name]
        matrix[:, k] = array if array.ndim == 1 else array[:, i]
    return matrix


def _picked_sparse(columns: dict[str, Any], names: list[Any]) -> Any:
    """The same with sparse columns, as a scipy.sparse.csr_matrix."""
    import numpy
    from scipy import sparse

    features = [f for name, array in columns.items()
                for f in _feature_names(name, array)]
    parts = [array if hasattr(array, "indptr") else
             sparse.csr_matrix(numpy.asarray(array).reshape(array.shape[0], -1))
             for array in columns.values()]
    matrix = sparse.hstack(parts, format="csr") if len(parts) > 1 else parts[0]
    if features == names:
        return matrix
    place = {feature: i for i, feature in enumerate(features)}
    return matrix[:, [place[name] for name in names]]


def matrix_of(batch: dict[str, Any], names: list[Any] | None, dtype: str) -> Any:
    """The features of a model in its order, a row each, from {column: array}. names:
    None if the model does not know them: then they are all columns, or the only one of
    vectors."""
    columns = _columns(batch, names)
    features = [f for name, array in columns.items()
                for f in _feature_names(name, array)]
    if names is None:
        names = features
    missing = [name for name in names if name not in set(features)]
    if missing:
        raise NotFound(f"the model needs {', '.join(missing[:10])}"
                       + (" and others" if missing[10:] else "")
                       + f"; the columns are {', '.join(map(str, batch))}")
    if not columns:
        raise NotFound("there are no columns")
    if any(hasattr(array, "indptr") for array in columns.values()):
        return _picked_sparse(columns, names)
    return _picked(columns, names, dtype)


# ---- Predictors ----

class TreePredictor(Predictor):
    """A model of trees and the preprocessors of its checkpoint.

    Args:
        model: The library's Booster.
        preprocessor: What is done to rows before, or None.
    """

    _trainer = ""
    # Arguments of predict(), and what raytrain-predict calls it.
    _outputs: dict[str, Any] = {}

    def __init__(self, model: Any, preprocessor: Preprocessor | None = None) -> None:
        super().__init__(preprocessor)
        self.model = model

    def predict(self, data: Any, feature_columns: list[Any] | None = None,
                **settings: Any) -> Any:
        """What the model says about rows.

        Args:
            data: {column: array}, a DataFrame of pandas, or a matrix of the model's
                features.
            feature_columns: Those columns only; of a matrix, the numbers of its
                columns. Columns that are no features of the model are left out anyway.
            settings: More arguments for the predict() of the library.

        Returns:
            {"predictions": array}; for a DataFrame, a DataFrame.
        """
        if hasattr(data, "iloc") and hasattr(data, "columns"):
            batch = {str(name): data[name] for name in data.columns}
            made = self._predict(batch, feature_columns, settings)["predictions"]
            return _as_frame(made, data.index)
        return self._predict(data, feature_columns, settings)

    @classmethod
    def _asked(cls, outputs: Any, settings: dict[str, Any]) -> list[Any]:
        """predict.outputs of raytrain.cfg, for arguments of
        BatchPredictor.predict()."""
        made = [outputs] if isinstance(outputs, str) else list(outputs or ())
        for name, value in settings.items():
            if name not in cls._outputs:
                raise TypeError(
                    f"{cls.__name__}: raytrain-predict has no {name!r}; it has "
                    f"{', '.join(cls._outputs)}, and outputs=[\"probability\", ...]")
            if value:
                made.append(cls._outputs[name])
        return made or ["value"]

    def _predict(self, data: Any, columns: list[Any] | None,
                 settings: dict[str, Any]) -> dict[str, Any]:
        data = _frame.plain_dict(data)
        if isinstance(data, dict):
            data = {name: value if hasattr(value, "indptr") else
                    _frame.array_of(name, value) for name, value in data.items()}
            if self._preprocessor is not None:
                data = self._preprocessor.transform_batch(data)
            if columns is not None:
                data = {name: data[name] for name in columns}
        elif columns is not None:
            data = data[:, columns]
        return self._predict_numpy(data, **settings)


def _as_frame(made: Any, index: Any) -> Any:
    import pandas

    made = made.reshape(len(made), -1)
    names = ["predictions"] if made.shape[1] == 1 else \
        [f"predictions_{i}" for i in range(made.shape[1])]
    return pandas.DataFrame(made, columns=names, index=index)
