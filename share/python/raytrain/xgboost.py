"""XGBoost on many workers; names and arguments as in ``ray.train.xgboost``.

    trainer = XGBoostTrainer(
        datasets={"train": read_csv("train.csv"), "valid": read_csv("valid.csv")},
        label_column="y", params={"objective": "binary:logistic", "eta": 0.1},
        num_boost_round=100, scaling_config=ScalingConfig(num_workers=4))
    result = trainer.fit()
    model = XGBoostTrainer.get_model(result.checkpoint)

The workers need XGBoost's library, and no Python; get_model() and XGBoostPredictor its
Python module. With a training function they need the module, too::

    def train_func(config):
        rows = raytrain.get_dataset_shard("train").materialize()
        ...
        xgboost.train(params, xgboost.DMatrix(x, y),
                      callbacks=[RayTrainReportCallback()])

    result = XGBoostTrainer(train_func, datasets={"train": read_csv("train.csv")},
                            scaling_config=ScalingConfig(num_workers=4)).fit()
    model = RayTrainReportCallback.get_model(result.checkpoint)
"""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _gbdt, _gbdt_model
from ._config import _Config
from ._instead import refuse
from .backend import BackendConfig
from ._tree_workers import XGBoostFunctionTrainer

__all__ = ["RayTrainReportCallback", "XGBoostConfig", "XGBoostPredictor",
           "XGBoostTrainer", "get_importance", "get_model"]


if TYPE_CHECKING:
    import xgboost

    from ._protocols import CheckpointLike
    from ._xgboost_callback import RayTrainReportCallback as RayTrainReportCallback
    from .checkpoint import Checkpoint
else:

    def __getattr__(name: str) -> object:
        """The callback needs XGBoost's module, which is imported with its first use."""
        if name != "RayTrainReportCallback":
            refuse("xgboost", name)
        from ._xgboost_callback import RayTrainReportCallback

        globals()[name] = RayTrainReportCallback
        return RayTrainReportCallback


class XGBoostConfig(_Config, BackendConfig):
    """How the workers of a training function communicate.

    Args:
        xgboost_communicator: "rabit", the communicator of XGBoost; there is no other.

    Raises:
        ValueError: It is another one.
    """

    _runs_as = "xgboost"
    _set_up_by = "raytrain._tree_workers:xgboost_communicator"

    def __init__(self, xgboost_communicator: str = "rabit") -> None:
        if xgboost_communicator != "rabit":
            raise ValueError("XGBoostConfig: xgboost_communicator is "
                             f"{xgboost_communicator!r}, not 'rabit'")
        self.xgboost_communicator = xgboost_communicator


def _module() -> Any:
    return _gbdt_model.library("xgboost", "Debian: python3-xgboost; pip install "
                                          "xgboost")


def get_model(checkpoint: CheckpointLike) -> xgboost.Booster:
    """The model of a checkpoint. Needs XGBoost's own module.

    Args:
        checkpoint: A Checkpoint, or the path of one.

    Returns:
        The xgboost.Booster.

    Raises:
        ValueError: The checkpoint has no model of XGBoost, or XGBoost cannot read it.
    """
    xgboost = _module()
    opened = _gbdt_model.opened(checkpoint, "xgboost")
    model = xgboost.Booster()
    try:
        model.load_model(bytearray(opened.read("files/model.ubj")))
    except xgboost.core.XGBoostError as error:
        made_by = _gbdt_model.text_of(opened, "gbdt/library", "another version")
        raise ValueError(f"XGBoost {xgboost.__version__} cannot read the model, which "
                         f"XGBoost {made_by} has made: {error}") from error
    return model


def get_importance(checkpoint: CheckpointLike, kind: str = "gain") -> dict[str, float]:
    """The importance of the features of a model. Needs no module of XGBoost.

    Args:
        checkpoint: A Checkpoint, or the path of one.
        kind: "gain": the total gain of the splits of a feature; "splits": their number.

    Returns:
        {feature: importance}, the greatest first.
    """
    return _gbdt_model.importance(_gbdt_model.opened(checkpoint, "xgboost"), kind)


class XGBoostTrainer(_gbdt.GBDTTrainer):
    __doc__ = _gbdt.GBDTTrainer.__doc__
    _trainer = "xgboost"
    _of_function = XGBoostFunctionTrainer

    get_model = staticmethod(get_model)
    get_importance = staticmethod(get_importance)


class XGBoostPredictor(_gbdt_model.TreePredictor):
    """An xgboost.Booster and the preprocessors of its checkpoint."""

    _trainer = "xgboost"
    _matrix: dict[str, Any] = {}  # what DMatrix needs to know as in the training
    _outputs = {"output_margin": "margin", "pred_leaf": "leaf",
                "pred_contribs": "contribution"}

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint,  # type: ignore[override]
                        allow_code: bool = False) -> XGBoostPredictor:
        """A predictor with the model of a checkpoint.

        Args:
            checkpoint: The checkpoint.
            allow_code: As in Checkpoint.get_preprocessor().

        Returns:
            The predictor.
        """
        opened = _gbdt_model.opened(checkpoint, "xgboost")
        predictor = cls(get_model(opened), opened.get_preprocessor(allow_code))
        trained = json.loads(_gbdt_model.text_of(opened, "gbdt/dmatrix_params", "{}"))
        predictor._matrix = {k: v for k, v in trained.items() if k == "missing"}
        return predictor

    def predict(self, data: Any, feature_columns: list[Any] | None = None,
                dmatrix_kwargs: dict[str, Any] | None = None, **settings: Any) -> Any:
        """Predict rows.

        Args:
            data: {column: array}, a DataFrame of pandas, or a matrix of the model's
                features.
            feature_columns: Use only these columns; for a matrix, the numbers of its
                columns.
            dmatrix_kwargs: Further arguments for xgboost.DMatrix.
            settings: Further arguments for Booster.predict(), such as
                output_margin=True.

        Returns:
            {"predictions": array}; for a DataFrame, a DataFrame.
        """
        return super().predict(data, feature_columns, dmatrix_kwargs=dmatrix_kwargs,
                               **settings)

    def _predict_numpy(self, batch: Any,
                       dmatrix_kwargs: dict[str, Any] | None = None,
                       **settings: Any) -> dict[str, Any]:
        xgboost = _module()
        names, types = self.model.feature_names, self.model.feature_types
        if isinstance(batch, dict):
            batch = _gbdt_model.matrix_of(batch, names, "float32")
        if names and any(set(name) & set("[]<") for name in names):
            names = None  # XGBoost trains with such names, and a DMatrix refuses them
            settings.setdefault("validate_features", False)
        said = {**self._matrix, "feature_names": names, "feature_types": types,
                "enable_categorical": bool(types) and "c" in types}
        matrix = xgboost.DMatrix(batch, **{**said, **(dmatrix_kwargs or {})})
        return {"predictions": self.model.predict(matrix, **settings)}
