"""Public names that are loaded at their first use, since the modules that have them
import what takes long, or another library."""

from __future__ import annotations

from importlib import import_module


def load(place: str, name: str) -> object:
    """A public name, from the module that has it.

    Args:
        place: The whole name of the module.
        name: The name in it.

    Returns:
        What it stands for.

    Raises:
        ImportError: The module cannot be loaded, for whatever reason: an AttributeError
            that came from it would be shown as "cannot import name" by an import
            statement, without a word on the cause.
    """
    try:
        return getattr(import_module(place), name)
    except AttributeError as error:
        raise ImportError(f"{name} cannot be loaded from {place}: {error}",
                          name=place) from error
