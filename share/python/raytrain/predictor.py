"""Predictors: a model of a checkpoint, and what it says about rows."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .preprocessors import Preprocessor

__all__ = ["Predictor"]


class Predictor:
    """A base: a subclass defines from_checkpoint(), which passes the checkpoint's
    preprocessors to __init__(), and _predict_numpy().

        class Linear(Predictor):
            def __init__(self, weights, preprocessor=None):
                super().__init__(preprocessor)
                self.weights = weights

            @classmethod
            def from_checkpoint(cls, checkpoint):
                return cls(checkpoint.to_dict()["weights"], checkpoint.get_preprocessor())

            def _predict_numpy(self, batch):
                return {"predictions": batch["features"] @ self.weights}

        Linear.from_checkpoint(result.checkpoint).predict({"age": ages, "city": cities})
    """

    def __init__(self, preprocessor: Preprocessor | None = None) -> None:
        self._preprocessor = preprocessor

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, **settings: Any) -> Predictor:
        """A predictor with the model of a checkpoint."""
        raise NotImplementedError(f"{cls.__name__} has no from_checkpoint()")

    def get_preprocessor(self) -> Preprocessor | None:
        """What is done to rows before the model sees them, or None."""
        return self._preprocessor

    def predict(self, data: Any, **settings: Any) -> Any:
        """What the model says about rows, {column: array}, as such a dict. An array alone
        is given to the model as it is. Rows go through the preprocessors first, as they
        were in the files that the run has read."""
        if not isinstance(data, dict):
            return self._predict_numpy(data, **settings)
        if self._preprocessor is not None:
            data = self._preprocessor.transform_batch(data)
        return self._predict_numpy(data, **settings)

    def _predict_numpy(self, batch: Any, **settings: Any) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has no _predict_numpy()")
