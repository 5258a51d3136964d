"""Predictors: the model of a checkpoint, which predicts rows."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _frame

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .preprocessors import Preprocessor

__all__ = ["Predictor"]


class Predictor:
    """A base class: a subclass defines from_checkpoint(), which passes the checkpoint's
    preprocessors to __init__(), and _predict_numpy().

        class Linear(Predictor):
            def __init__(self, weights, preprocessor=None):
                super().__init__(preprocessor)
                self.weights = weights

            @classmethod
            def from_checkpoint(cls, checkpoint):
                return cls(checkpoint.to_dict()["weights"],
                           checkpoint.get_preprocessor())

            def _predict_numpy(self, batch):
                return {"predictions": batch["features"] @ self.weights}

        Linear.from_checkpoint(result.checkpoint).predict({"features": rows})

    Args:
        preprocessor: Applied to rows before the model gets them; or None.
    """

    def __init__(self, preprocessor: Preprocessor | None = None) -> None:
        self._preprocessor = preprocessor

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, **settings: Any) -> Predictor:
        """A predictor with the model of a checkpoint; subclasses define this.

        Args:
            checkpoint: The checkpoint.
            settings: Further arguments of the subclass.

        Returns:
            The predictor.

        Raises:
            NotImplementedError: The subclass does not define it.
        """
        raise NotImplementedError(f"{cls.__name__} has no from_checkpoint()")

    def get_preprocessor(self) -> Preprocessor | None:
        """The preprocessors that are applied to rows before the model; or None."""
        return self._preprocessor

    def predict(self, data: Any, **settings: Any) -> Any:
        """Predict rows. The preprocessors are applied first, so give the rows as they
        are in the files that the run has read.

        Args:
            data: {column: array}, a DataFrame of pandas, or an array, which is passed
                to the model unchanged.
            settings: Further arguments for the model.

        Returns:
            {column: array}; for a DataFrame, a DataFrame with the same index.
        """
        if hasattr(data, "iloc") and hasattr(data, "columns"):
            return self._predict_pandas(data, settings)
        data = _frame.plain_dict(data)
        if not isinstance(data, dict):
            return self._predict_numpy(data, **settings)
        if self._preprocessor is not None:
            data = self._preprocessor.transform_batch(data)
        return self._predict_numpy(data, **settings)

    def _predict_pandas(self, frame: Any, settings: dict[str, Any]) -> Any:
        import pandas

        batch = {str(name): _frame.array_of(str(name), frame.iloc[:, i])
                 for i, name in enumerate(frame.columns)}
        made = self.predict(batch, **settings)
        return pandas.DataFrame({name: list(array) if array.ndim > 1 else array
                                 for name, array in made.items()}, index=frame.index)

    def _predict_numpy(self, batch: Any, **settings: Any) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has no _predict_numpy()")
