"""LightGBM on many workers; names and arguments as in ``ray.train.lightgbm``.

    trainer = LightGBMTrainer(
        datasets={"train": read_csv("train.csv"), "valid": read_csv("valid.csv")},
        label_column="y", params={"objective": "binary", "num_leaves": 63},
        num_boost_round=100, scaling_config=ScalingConfig(num_workers=4))
    result = trainer.fit()
    model = LightGBMTrainer.get_model(result.checkpoint)

The workers need LightGBM's library, and no Python; get_model() and LightGBMPredictor its Python
module.
"""
from __future__ import annotations

from typing import Any

from . import _gbdt, _gbdt_model

__all__ = ["LightGBMTrainer", "LightGBMPredictor", "get_importance", "get_model"]


def get_model(checkpoint: object):
    """The lightgbm.Booster of a Checkpoint, or of the path of one."""
    lightgbm = _gbdt_model.library("lightgbm", "pip install lightgbm")
    checkpoint = _gbdt_model.opened(checkpoint, "lightgbm")
    text = bytes(checkpoint.read("files/model.txt")).decode("utf-8", "surrogateescape")
    model = lightgbm.Booster(model_str=text)
    best = int(checkpoint.read("gbdt/best_round"))
    if best >= 0:
        model.best_iteration = best + 1  # as lightgbm.train() counts
    return model


def get_importance(checkpoint: object, kind: str = "gain") -> dict[str, Any]:
    """{feature: importance}, the greatest first: the total gain of its splits, or, "splits",
    their number. Needs no module of LightGBM."""
    return _gbdt_model.importance(_gbdt_model.opened(checkpoint, "lightgbm"), kind)


class LightGBMTrainer(_gbdt.GBDTTrainer):
    __doc__ = _gbdt.GBDTTrainer.__doc__
    _trainer = "lightgbm"

    get_model = staticmethod(get_model)
    get_importance = staticmethod(get_importance)


class LightGBMPredictor(_gbdt_model.TreePredictor):
    """A lightgbm.Booster and the preprocessors of its checkpoint. settings of predict() are
    arguments of Booster.predict(), such as raw_score=True."""

    _trainer = "lightgbm"
    _names: list[Any] | None = None  # of columns: the library has some characters replaced
    _outputs = {"raw_score": "margin", "pred_leaf": "leaf", "pred_contrib": "contribution"}

    @classmethod
    def from_checkpoint(cls, checkpoint: object,
                        allow_code: bool = False) -> LightGBMPredictor:
        """A predictor with the model of a checkpoint. allow_code: as in get_preprocessor()."""
        checkpoint = _gbdt_model.opened(checkpoint, "lightgbm")
        predictor = cls(get_model(checkpoint), checkpoint.get_preprocessor(allow_code))
        predictor._names = _gbdt_model.feature_names(checkpoint)
        return predictor

    def _predict_numpy(self, batch: object, **settings: object) -> dict[str, Any]:
        if isinstance(batch, dict):
            names = self._names or self.model.feature_name()
            batch = _gbdt_model.matrix_of(batch, names, "float64")
        settings.setdefault("num_iteration", -1)  # all of them, as raytrain-predict
        return {"predictions": self.model.predict(batch, **settings)}
