"""TorchPredictor."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..predictor import Predictor

if TYPE_CHECKING:
    import torch

    from ..checkpoint import Checkpoint
    from ..preprocessors import Preprocessor


class TorchPredictor(Predictor):
    """A torch.nn.Module and the preprocessors of its checkpoint.

    Args:
        model: The module.
        preprocessor: What is applied to rows before, or None.
        use_gpu: The model is on a GPU.
    """

    def __init__(self, model: torch.nn.Module, preprocessor: Preprocessor | None = None,
                 use_gpu: bool = False) -> None:
        super().__init__(preprocessor)
        self.device = "cuda" if use_gpu else "cpu"
        self.model = model.to(self.device).eval()

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint,  # type: ignore[override]
                        model: torch.nn.Module | None = None,
                        use_gpu: bool = False,
                        allow_code: bool = False) -> TorchPredictor:
        """A predictor with the model of a checkpoint.

        Args:
            checkpoint: The checkpoint.
            model: The module whose weights the checkpoint has as the state dict
                "model"; None: the checkpoint has the pickled module itself, which needs
                allow_code=True.
            use_gpu: The model is on a GPU.
            allow_code: The model, and the functions of the preprocessors, may be
                unpickled, which runs code from the checkpoint.

        Returns:
            The predictor.

        Raises:
            TypeError: It is not a Checkpoint of raytrain.
            InvalidArgument: The checkpoint has no such model, or a pickled one without
                allow_code=True.
        """
        if hasattr(checkpoint, "path") and not hasattr(checkpoint, "to_dict"):
            raise TypeError("from_checkpoint() takes a Checkpoint of raytrain")
        stored = checkpoint.to_dict()["model"]
        if model is None:
            if hasattr(stored, "load") and not allow_code:
                raise InvalidArgument(
                    "the model of the checkpoint is pickled: to load it runs code from "
                    "the checkpoint. Give the module as model=, which gets the weights "
                    "of a state dict; or, if you trust the checkpoint's origin, "
                    "allow_code=True")
            model = stored.load() if hasattr(stored, "load") else stored
            if not callable(getattr(model, "eval", None)):
                raise InvalidArgument(
                    "the checkpoint has the weights of a model, and not the model: "
                    "give the module that they belong to as model=")
        else:
            model.load_state_dict(stored)
        return cls(model, checkpoint.get_preprocessor(allow_code), use_gpu)

    def predict(self, data: Any,  # type: ignore[override]
                dtype: torch.dtype | dict[str, torch.dtype] | None = None,
                columns: list[str] | None = None) -> Any:
        """Predict rows.

        Args:
            data: {column: array}, a DataFrame of pandas, or an array, which is passed
                to the model unchanged. One column is the argument of the model. Several
                columns are several arguments or, for a model that takes one, a dict.
            dtype: The type of all tensors, or {column: type} with each column.
            columns: The columns for the model, in this order.

        Returns:
            {column: array}; for a DataFrame, a DataFrame with the same index.

        Raises:
            KeyError: dtype lacks a column.
            ValueError: dtype has several types, and data is an array.
        """
        return super().predict(data, dtype=dtype, columns=columns)

    def _predict_numpy(self, batch: Any,  # type: ignore[override]
                       dtype: Any = None,
                       columns: list[str] | None = None) -> dict[str, Any]:
        import torch

        def tensor(array: Any, wanted: Any) -> Any:
            made = torch.as_tensor(array, device=self.device)
            return made if wanted is None else made.to(wanted)

        def type_of(name: str) -> Any:
            return dtype[name] if isinstance(dtype, dict) else dtype

        if columns is not None:
            batch = {name: batch[name] for name in columns}
        if isinstance(batch, dict):
            named = {name: tensor(array, type_of(name))
                     for name, array in batch.items()}
            inputs = list(named.values())
            if len(named) > 1 and _takes_one(self.model):
                inputs = [named]
        else:
            inputs = [tensor(batch, _only(dtype))]
        with torch.no_grad():
            output = self.model(*inputs)
        if isinstance(output, dict):
            return {name: part.cpu().numpy() for name, part in output.items()}
        return {"predictions": output.cpu().numpy()}


def _takes_one(model: torch.nn.Module) -> bool:
    """Does the model take one argument, and no more?"""
    import inspect

    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = [p.kind for p in parameters]
    return len(kinds) == 1 and kinds[0] in (inspect.Parameter.POSITIONAL_ONLY,
                                            inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _only(dtype: Any) -> Any:
    """The type of an array, which has no columns."""
    if not isinstance(dtype, dict):
        return dtype
    if len(dtype) != 1:
        raise ValueError(f"TorchPredictor.predict: dtype has {len(dtype)} types, and "
                         "an array takes one")
    return next(iter(dtype.values()))
