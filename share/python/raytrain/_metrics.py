"""The metrics of a report: what is recorded of them, in which form, and how they are
read again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import errors

TEXT_MAX = 4096  # bytes of a column of texts
VECTOR_MAX = 1024
ELEMENTS_MAX = 1 << 16  # of an array
REPORTED_MAX = 16 << 20  # bytes, as JSON; the worker takes no more
INTEGER_BITS = 4096

# What a report has besides the metrics.
FIXED = frozenset((
    "training_iteration", "time_total_s", "time_this_iter_s", "data_wait_s",
    "timestamp", "date", "pid", "hostname", "node_ip", "done", "time_since_restore",
    "iterations_since_restore", "attempt", "world_size", "checkpoint",
    "checkpoint_bytes",
    "checkpoint_stall_s", "checkpoint_write_s", "by_rank", "reported"))
GPU_FIGURES = frozenset(("gpu_utilization", "gpu_memory_used_bytes",
                         "gpu_memory_total_bytes"))


# ---- Values ----


class _NotKept(Exception):
    """A value that has no form in JSON."""


def _float(value: Any) -> float:
    """As float(), but infinite if the value is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


_UNCLEAN = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """With U+FFFD for what neither HDF5 nor UTF-8 has: NUL, and halves of pairs of
    surrogates."""
    return _UNCLEAN.sub("\ufffd", text)


def _elements(value: Any) -> int | None:
    """How many an array or tensor has; None: it is neither."""
    for name in "numel", "size":
        number = getattr(value, name, None)
        number = number() if name == "numel" and callable(number) else number
        if isinstance(number, int):
            return number
    return None


def _of_array(value: Any) -> Any:
    """An array or a tensor of any library: a number if it has one element, or a
    list."""
    number = _elements(value)
    if number is not None and number > ELEMENTS_MAX:
        raise _NotKept
    for name in ("item", "tolist") if number == 1 else ("tolist", "numpy"):
        method = getattr(value, name, None)
        if callable(method):
            inner = method()
            return _float(inner) if type(inner) is type(value) else inner
    return _float(value)


def _plain(value: Any) -> Any:
    """A value of the types that JSON has, also if NumPy, torch or others have made
    it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > INTEGER_BITS:
            raise _NotKept
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise _NotKept
    try:
        return _plain(_of_array(value))
    except Exception:  # whatever the methods of a value do, it cannot be kept then
        raise _NotKept from None


def plain(metrics: Mapping[Any, Any], lost: list[str],
          prefix: str = "") -> dict[str, Any]:
    """The metrics with values of the types that JSON has; nested ones stay nested.

    Args:
        metrics: what was reported.
        lost: the names of those that cannot be kept are added.
        prefix: of their names.

    Returns:
        The metrics, in their order.
    """
    kept: dict[str, Any] = {}
    for key, value in metrics.items():
        name = clean(str(key))
        try:
            kept[name] = plain(value, lost, f"{prefix}{name}/") \
                if isinstance(value, Mapping) else _plain(value)
        except (_NotKept, RecursionError):
            lost.append(prefix + name)
    return kept


# ---- As JSON ----

# JSON has neither NaN nor infinities, and jansson no integers of more than 64 bits:
# they are {"?": TEXT}, and keys that begin with "?" have one more of it.
_ESCAPE = "?"


def _is_int64(value: int) -> bool:
    return -(1 << 63) <= value < 1 << 63


def _encoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {_ESCAPE + key if key.startswith(_ESCAPE) else key: _encoded(item)
                for key, item in value.items()}
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value) or \
            type(value) is int and not _is_int64(value):
        return {_ESCAPE: repr(value)}
    return value


def decoded(value: Any) -> Any:
    """What was reported, from the "reported" of a line of result.json."""
    if isinstance(value, dict):
        text = value.get(_ESCAPE)
        if len(value) == 1 and isinstance(text, str):
            return int(text) if text.lstrip("-").isdigit() else float(text)
        return {key[len(_ESCAPE):] if key.startswith(_ESCAPE) else key: decoded(item)
                for key, item in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def _json(value: Any) -> str:
    return json.dumps(_encoded(value), ensure_ascii=False, separators=(",", ":"))


def _fitting(metrics: dict[str, Any]) -> tuple[str, list[str]]:
    """As JSON; and the names of the largest, without which the rest is not too
    large."""
    text = _json(metrics)
    if len(text.encode()) <= REPORTED_MAX:
        return text, []
    rest, left_out = dict(metrics), []
    sizes = {name: len(_json({name: value}).encode())
             for name, value in metrics.items()}
    size = sum(sizes.values())
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if size <= REPORTED_MAX:
            break
        size -= sizes[name]
        del rest[name]
        left_out.append(name)
    return _json(rest), left_out


# ---- Columns ----


def flattened(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"outer/inner": value}."""
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat.update(flattened(value, f"{prefix}{name}/"))
        else:
            flat[prefix + name] = value
    return flat


def _number(value: float) -> float | str:
    """As the request has it."""
    if isinstance(value, bool):
        return int(value)
    value = _float(value)
    return value if math.isfinite(value) else repr(value)


def _element(value: float) -> float | str | None:
    """An element of a vector, as the request has it."""
    if isinstance(value, int) and _is_int64(value):
        return int(value)
    number = _float(value)
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return None if math.isnan(number) else number


def _typed(value: Any) -> Any:
    """A text, a vector of numbers, or an integer that a float cannot have; None: none
    of them."""
    if isinstance(value, str):
        return value if len(value.encode()) <= TEXT_MAX else None
    if type(value) is int and abs(value) > 1 << 53 and _is_int64(value):
        return value
    if isinstance(value, list) and 0 < len(value) <= VECTOR_MAX and \
            all(isinstance(item, (int, float)) for item in value):
        return [_element(item) for item in value]
    return None


class Recorded(NamedTuple):
    """What goes to the worker.

    metrics: what was reported, with values of the types that JSON has.
    numbers: {name: number}, which are combined over the workers.
    typed: {name: text, vector or large integer}.
    reported: the metrics as JSON.
    notes: sentences for warnings.
    """

    metrics: dict[str, Any]
    numbers: dict[str, float | str]
    typed: dict[str, Any]
    reported: str
    notes: list[str]


def recorded(metrics: Mapping[str, Any]) -> Recorded:
    """What is recorded of the metrics of a report.

    Args:
        metrics: {name: value}; nested ones get columns "outer/inner".

    Raises:
        WrongType: they are not a dict.
    """
    if not isinstance(metrics, Mapping):
        raise errors.WrongType(f"report() takes a dict of metrics, not "
                               f"{type(metrics).__name__}")
    lost: list[str] = []
    kept = plain(metrics, lost)
    reported, too_large = _fitting(kept)
    numbers: dict[str, float | str] = {}
    typed: dict[str, Any] = {}
    without: list[str] = []
    for name, value in flattened(kept).items():
        column = _typed(value)
        if column is not None:
            typed[name] = column
        elif isinstance(value, (int, float)):
            numbers[name] = _number(value)
        else:
            without.append(name)
    notes = _changed(metrics)
    if lost:
        notes.append("metrics that cannot be written as JSON are not kept: "
                     f"{_some(lost)}")
    if too_large:
        notes.append(f"the metrics of a report are more than {REPORTED_MAX >> 20} MiB "
                     "as JSON; the largest are kept as columns only, if they are "
                     f"numbers or short: {_some(too_large)}")
    if without:
        notes.append(f"metrics that are not numbers, texts of at most {TEXT_MAX} bytes "
                     f"or lists of 1 to {VECTOR_MAX} numbers are kept for "
                     f"Result.metrics and in result.json only: {_some(without)}")
    return Recorded(kept, numbers, typed, reported, notes)


def _some(names: list[str]) -> str:
    return ", ".join(sorted(names)[:10])


def _changed(metrics: Mapping[str, Any], prefix: str = "") -> list[str]:
    """What is not recorded exactly as it was given, as sentences for a warning."""
    said: list[str] = []
    for key, value in metrics.items():
        name = prefix + str(key)
        if isinstance(value, Mapping):
            said += _changed(value, name + "/")
            continue
        if clean(name) != name:
            said.append(f"the name of the metric {clean(name)} has U+FFFD in place of "
                        "a NUL or half of a pair of surrogates")
        if isinstance(value, str) and clean(value) != value:
            said.append(f"metric {clean(name)} has U+FFFD in place of a NUL or half of "
                        "a pair of surrogates")
        elif isinstance(value, int) and math.isinf(_float(value)):
            said.append(f"metric {clean(name)} is infinite as a column: its value is "
                        "beyond a float64")
    return said


# ---- What is read ----


class Metrics(dict[str, Any]):
    """The metrics of a report, exactly those that were reported. What the run records
    beside them (training_iteration, time_total_s and so on, by_rank, and outer/inner of
    nested ones) is found by its name, too: by [] and get().

    report: all of it.
    """

    def __init__(self, reported: Mapping[str, Any], report: dict[str, Any]) -> None:
        super().__init__(reported)
        self.report = report

    def __missing__(self, name: str) -> Any:
        nested = flattened(self) if "/" in name else {}
        return nested[name] if name in nested else self.report[name]

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def columns(self) -> dict[str, Any]:
        """{column: value}: the metrics, NAME/min, NAME/mean and NAME/max over the
        workers, and what else the run records."""
        own = flattened(self)
        row = dict(own)
        for name, ranks in by_rank(self.report).items():
            for key in "min", "mean", "max":
                if name in own and key in ranks:
                    row.setdefault(f"{name}/{key}", ranks[key])
        for name, value in self.report.items():
            if name != "by_rank":
                row.setdefault(name, value)
        return row


def by_rank(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """{name: {"rank0": ..., "min": ..., "mean": ..., "max": ...}} of the numbers of a
    report that the workers have combined."""
    combined = {}
    for name, ranks in (report.get("by_rank") or {}).items():
        if not isinstance(ranks, dict) or "min" not in ranks:
            continue
        combined[name] = {key: _finite(value) for key, value in ranks.items()}
        combined[name].setdefault("mean", report.get(name))
    return combined


def _finite(value: Any) -> Any:
    """A number of by_rank, where words stand for infinities and null for NaN."""
    if value is None:
        return math.nan
    return float(value) if isinstance(value, str) else value


def vector_of(elements: list[Any]) -> list[Any]:
    """A vector of a report, with NaN and infinities."""
    return [_finite(e) for e in elements]


def of_report(report: Mapping[str, Any]) -> Metrics:
    """The metrics of a line of result.json."""
    ranks = report.get("by_rank") or {}
    keeps_rank0 = isinstance(report.get("reported"), dict)

    def value_of(name: str, value: Any) -> Any:
        of_metric = ranks.get(name) or {}
        if value is None and name != "checkpoint":
            of_rank0 = keeps_rank0 and "mean" in of_metric
            return float(of_metric.get("rank0" if of_rank0 else "mean") or "nan")
        if isinstance(value, list):
            return vector_of(of_metric.get("rank0", value))
        return value

    all_values = {name: value_of(name, value) for name, value in report.items()
                  if name != "reported"}
    if keeps_rank0:
        return Metrics(decoded(report["reported"]), all_values)
    names = [name for name in report if name not in FIXED and name not in GPU_FIGURES]
    return Metrics({name: all_values[name] for name in names}, all_values)


def of_rank0(report: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a line of result.json as rank 0 has reported them, also where the
    values are means."""
    metrics = of_report(report)
    if isinstance(report.get("reported"), dict):
        return dict(metrics)
    ranks = by_rank(report)
    return {name: ranks[name]["rank0"] if "rank0" in ranks.get(name, {}) else value
            for name, value in metrics.items()}
