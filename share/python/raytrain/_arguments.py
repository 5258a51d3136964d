"""The arguments of trainers: checked, and the training function called as it wants to
be."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, cast

if TYPE_CHECKING:
    from ._protocols import TrainFunction
    from .preprocessors import Preprocessor


def check_types(*settings: tuple[Any, ...]) -> None:
    """TypeError if one of (name, value, type) is neither None nor of its type."""
    for what, value, kind in settings:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{what} is a {kind.__name__} of raytrain, not "
                            f"{type(value).__module__}.{type(value).__name__}")


def check_preprocessor(preprocessor: Any) -> Preprocessor | None:
    if preprocessor is not None and not hasattr(preprocessor, "_items"):
        raise TypeError("preprocessor is one of raytrain.preprocessors, not "
                        f"{type(preprocessor).__name__}")
    checked: Preprocessor | None = preprocessor
    return checked


def takes_config(function: TrainFunction) -> bool:
    """Does it take its configuration? TypeError if it takes more than that."""
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
        raise TypeError("train_loop_per_worker takes one argument, the configuration, "
                        f"or none; {getattr(function, '__qualname__', function)} takes "
                        + ", ".join([p.name for p in needed] + keywords))
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)
               for p in parameters)


def call(function: TrainFunction, config: object) -> object:
    """Call a training function as it wants to be called."""
    if takes_config(function):
        takes = cast("Callable[[Any], object]", function)
        return takes({} if config is None else config)
    return cast("Callable[[], object]", function)()
