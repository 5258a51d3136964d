"""The metrics of a report: what is recorded of them, and in which form."""

from __future__ import annotations

import math
import re
from typing import Any

from . import errors


def _number(name: str, value: Any) -> float | None:
    """A metric as a float: numbers, and arrays or tensors of one element."""
    if isinstance(value, (bool, int, float)):
        return value
    try:
        return _number_of(name, value)
    except errors.WrongType:
        raise
    except Exception:  # whatever the methods of a value do, it is not a number then
        return None


def _number_of(name: str, value: Any) -> float:
    item = getattr(value, "item", None)
    if item is not None:
        if getattr(value, "numel", None) and value.numel() != 1 or \
                getattr(value, "size", 1) != 1 and not callable(value.size):
            raise errors.WrongType(
                f"metric {name!r} has more than one element: report a number, such as "
                f"its mean")
        value = item()
    return _json_float(value)


def _json_float(value: Any) -> float:
    """As float(), but infinite if the value is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


TEXT_MAX = 4096  # bytes
VECTOR_MAX = 1024


def _element(value: Any) -> int | float | str | None:
    """An element of a vector, as JSON has it; TypeError or ValueError: it is no number."""
    if isinstance(value, (str, bytes)):
        raise TypeError("a text is no number")
    number = value if isinstance(value, int) else float(value)
    if isinstance(number, int) and -(1 << 63) <= number < 1 << 63:
        return int(number)
    number = _json_float(number)
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return None if math.isnan(number) else number


def _typed(value: Any) -> Any:
    """A text, or a vector of numbers as a list; None: it is neither. They are recorded as
    they are on rank 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and \
            abs(value) > 1 << 53 and -(1 << 63) <= value < 1 << 63:
        return value  # a float would not be exact
    if isinstance(value, (list, tuple)) and 0 < len(value) <= VECTOR_MAX:
        try:
            return [_element(v) for v in value]
        except (TypeError, ValueError, OverflowError):
            return None
    return None


def split_metrics(metrics: dict[str, Any],
                  skipped: list[str]) -> tuple[dict[str, float], dict[str, Any]]:
    """({name: number}, {name: text, vector or large integer}). Names of other values, and of
    texts and vectors that are too long, are added to `skipped`."""
    others: list[tuple[str, Any]] = []
    flat = flatten_metrics(metrics, others)
    typed = {}
    for name, value in others:
        value = _typed(value)
        if value is None or isinstance(value, str) and \
                len(value.encode("utf-8", "replace")) > TEXT_MAX:
            skipped.append(name)
        else:
            typed[name] = clean(value) if isinstance(value, str) else value
    return flat, typed


_UNCLEAN = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """With U+FFFD for what neither HDF5 nor UTF-8 has: NUL, and halves of pairs of
    surrogates."""
    return _UNCLEAN.sub("\ufffd", text)


def changed(metrics: dict[str, Any], prefix: str = "") -> list[str]:
    """The names of metrics that are not recorded exactly as they were given, as sentences
    for a warning."""
    said: list[str] = []
    for key, value in metrics.items():
        name = prefix + str(key)
        if isinstance(value, dict):
            said += changed(value, name + "/")
            continue
        if clean(name) != name:
            said.append(f"the name of the metric {clean(name)} has U+FFFD in place of a NUL "
                        "or half of a pair of surrogates")
        if isinstance(value, str) and clean(value) != value:
            said.append(f"metric {clean(name)} has U+FFFD in place of a NUL or half of a "
                        "pair of surrogates")
        elif isinstance(value, int) and math.isinf(_json_float(value)):
            said.append(f"metric {clean(name)} is infinite: its value is beyond a float64")
    return said


def flatten_metrics(metrics: dict[str, Any], skipped: list[tuple[str, Any]],
                    prefix: str = "") -> dict[str, float]:
    """{name: number}; nested dicts become "outer/inner". Values that are no
    numbers are added to `skipped`, as (name, value)."""
    if not isinstance(metrics, dict):
        raise errors.WrongType(f"report() takes a dict of metrics, not "
                               f"{type(metrics).__name__}")
    flat: dict[str, float] = {}
    for key, value in metrics.items():
        name = clean(prefix + str(key))
        if isinstance(value, dict):
            flat.update(flatten_metrics(value, skipped, name + "/"))
            continue
        number = None if _typed(value) is not None else _number(name, value)
        if number is None:
            skipped.append((name, value))
        else:
            flat[name] = number
    return flat


def json_number(value: float) -> float | str:
    """JSON has no word for infinities and NaN, and no integers beyond 64 bits."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return value
        value = _json_float(value)
    return value if math.isfinite(value) else repr(value)
