"""LightGBM on many workers; names and arguments as in ``ray.train.lightgbm``.

    trainer = LightGBMTrainer(
        datasets={"train": read_csv("train.csv"), "valid": read_csv("valid.csv")},
        label_column="y", params={"objective": "binary", "num_leaves": 63},
        num_boost_round=100, scaling_config=ScalingConfig(num_workers=4))
    result = trainer.fit()
    model = LightGBMTrainer.get_model(result.checkpoint)

The workers need LightGBM's library, and no Python; get_model() and LightGBMPredictor
its Python module. With a training function they need the module, too::

    def train_func(config):
        rows = raytrain.get_dataset_shard("train").materialize()
        ...
        lightgbm.train({"tree_learner": "data_parallel", "pre_partition": True,
                        **raytrain.lightgbm.get_network_params(), **params},
                       lightgbm.Dataset(x, y), callbacks=[RayTrainReportCallback()])

    result = LightGBMTrainer(train_func, datasets={"train": read_csv("train.csv")},
                             scaling_config=ScalingConfig(num_workers=4)).fit()
    model = RayTrainReportCallback.get_model(result.checkpoint)
"""
from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from . import _gbdt, _gbdt_model
from ._config import _Config
from ._instead import refuse
from .backend import BackendConfig
from ._tree_workers import LightGBMFunctionTrainer

__all__ = ["LightGBMConfig", "LightGBMPredictor", "LightGBMTrainer",
           "RayTrainReportCallback", "get_importance", "get_model",
           "get_network_params", "normalize_pandas_for_lightgbm"]


if TYPE_CHECKING:
    import lightgbm
    import pandas

    from ._protocols import CheckpointLike
    from ._lightgbm_callback import RayTrainReportCallback as RayTrainReportCallback
    from .checkpoint import Checkpoint
else:

    def __getattr__(name: str) -> object:
        """The callback needs LightGBM's module, which is imported with its first
        use."""
        if name != "RayTrainReportCallback":
            refuse("lightgbm", name)
        from ._lightgbm_callback import RayTrainReportCallback

        globals()[name] = RayTrainReportCallback
        return RayTrainReportCallback


class LightGBMConfig(_Config, BackendConfig):
    """There is nothing to set: raytrain works out addresses and ports by itself."""

    _runs_as = "lightgbm"


def get_network_params() -> dict[str, Any]:
    """The parameters by which LightGBM connects the workers of a LightGBMTrainer with a
    training function: num_machines, local_listen_port and machines.

    Returns:
        A dict for the parameters of lightgbm.train(); an empty one, with a warning, in
        a process that is not a worker of such a trainer.
    """
    machines = os.environ.get("RAYTRAIN_LIGHTGBM_MACHINES")
    if not machines:
        warnings.warn("get_network_params(): this process is not a worker of a "
                      "LightGBMTrainer or of raytrain-run --backend lightgbm, so "
                      "LightGBM trains in it alone",
                      stacklevel=2)
        return {}
    return {"num_machines": machines.count(",") + 1,
            "local_listen_port": int(os.environ["RAYTRAIN_LIGHTGBM_PORT"]),
            "machines": machines}


def normalize_pandas_for_lightgbm(df: pandas.DataFrame) -> pandas.DataFrame:
    """A DataFrame with types that LightGBM takes: columns of numbers and bools that
    pyarrow holds become those of pandas. What raytrain.data gives has none of
    pyarrow's.

    Args:
        df: The DataFrame.

    Returns:
        The same, or one with other types.
    """
    names = {"i": "Int", "u": "UInt", "f": "Float"}
    types: dict[Any, str] = {}
    for column, dtype in df.dtypes.items():
        held = getattr(dtype, "numpy_dtype", None) if hasattr(dtype, "pyarrow_dtype") \
            else None
        if held is not None and held.kind in names:
            size = max(8 * held.itemsize, 32 if held.kind == "f" else 8)
            types[column] = f"{names[held.kind]}{size}"
        elif held is not None and held.kind == "b":
            types[column] = "boolean"
    return df.astype(types) if types else df


def get_model(checkpoint: CheckpointLike) -> lightgbm.Booster:
    """The model of a checkpoint. Needs LightGBM's own module.

    Args:
        checkpoint: A Checkpoint, or the path of one.

    Returns:
        The lightgbm.Booster.
    """
    lightgbm = _gbdt_model.library("lightgbm", "pip install lightgbm")
    opened = _gbdt_model.opened(checkpoint, "lightgbm")
    text = bytes(opened.read("files/model.txt")).decode("utf-8", "surrogateescape")
    model = lightgbm.Booster(model_str=text)
    best = int(opened.read("gbdt/best_round"))
    if best >= 0:
        model.best_iteration = best + 1  # as lightgbm.train() counts
    return model


def get_importance(checkpoint: CheckpointLike, kind: str = "gain") -> dict[str, float]:
    """The importance of the features of a model. Needs no module of LightGBM.

    Args:
        checkpoint: A Checkpoint, or the path of one.
        kind: "gain": the total gain of the splits of a feature; "splits": their number.

    Returns:
        {feature: importance}, the greatest first.
    """
    return _gbdt_model.importance(_gbdt_model.opened(checkpoint, "lightgbm"), kind)


class LightGBMTrainer(_gbdt.GBDTTrainer):
    __doc__ = _gbdt.GBDTTrainer.__doc__
    _trainer = "lightgbm"
    _of_function = LightGBMFunctionTrainer

    get_model = staticmethod(get_model)
    get_importance = staticmethod(get_importance)


class LightGBMPredictor(_gbdt_model.TreePredictor):
    """A lightgbm.Booster and the preprocessors of its checkpoint. settings of predict()
    are arguments of Booster.predict(), such as raw_score=True."""

    _trainer = "lightgbm"
    # Of columns: the library has some characters replaced.
    _names: list[Any] | None = None
    _outputs = {"raw_score": "margin", "pred_leaf": "leaf",
                "pred_contrib": "contribution"}

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint,  # type: ignore[override]
                        allow_code: bool = False) -> LightGBMPredictor:
        """A predictor with the model of a checkpoint.

        Args:
            checkpoint: The checkpoint.
            allow_code: As in Checkpoint.get_preprocessor().

        Returns:
            The predictor.
        """
        opened = _gbdt_model.opened(checkpoint, "lightgbm")
        predictor = cls(get_model(opened), opened.get_preprocessor(allow_code))
        predictor._names = _gbdt_model.feature_names(opened)
        return predictor

    def _predict_numpy(self, batch: Any, **settings: Any) -> dict[str, Any]:
        if isinstance(batch, dict):
            names = self._names or self.model.feature_name()
            batch = _gbdt_model.matrix_of(batch, names, "float64")
        settings.setdefault("num_iteration", -1)  # all of them, as raytrain-predict
        return {"predictions": self.model.predict(batch, **settings)}
