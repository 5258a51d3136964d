"""Functions in Python among preprocessors: how one is applied to a batch, how it
travels to workers and into checkpoints, and what is left of a chain when its first part
has run in C (client_maps.h)."""
from __future__ import annotations

import os
import pickle
import sys
from typing import Any

from . import _frame, _records, _session, _shipping
from .errors import InvalidArgument, RaytrainError

FORMATS = ("numpy", "pandas")
_PART = 32 << 20  # bytes of a batch that are sent at a time

# {place in the run's chain: Mapper}, of the trainer in this worker.
_registered: dict[int, Any] = {}
# The functions of checkpoints that may be called, as _code_of() names them: those that
# this program has itself given to a BatchMapper, and those that its user has allowed.
_allowed: set[Any] = set()


# ---- One function ----

class Mapper:
    """A function, and which batches it gets. It is unpickled at its first use."""

    def __init__(self, fn: Any, batch_size: int | None, batch_format: str) -> None:
        self._fn = fn
        self._packed: bytes | None = None
        self.name = _name(fn)
        self.batch_size = batch_size
        self.batch_format = batch_format

    @property
    def fn(self) -> Any:
        if self._fn is None:
            self._fn = _load(self.packed())
        return self._fn

    def packed(self) -> bytes:
        """As another process makes it from."""
        if self._packed is None:
            self._packed = pickle.dumps(_shipping.pack(self._fn, None))
            _allowed.add(_digest(self._packed))
        return self._packed

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fn": None, "_packed": self.packed()}

    def settings(self) -> dict[str, Any]:
        """As the keys of batch_mapper in raytrain.cfg."""
        keys: dict[str, Any] = {"python": self.name, "batch_format": self.batch_format}
        if self.batch_size is not None:
            keys["batch_size"] = self.batch_size
        return keys

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """What the function makes of a batch, of at most batch_size rows at a time."""
        rows = _rows_of(batch)
        step = self.batch_size or max(rows, 1)
        if rows <= step:
            return self._apply(batch, rows)
        parts = [self._apply({name: _rows_between(array, first, first + step)
                              for name, array in batch.items()},
                             min(step, rows - first))
                 for first in range(0, rows, step)]
        for part in parts:
            if set(part) != set(parts[0]):
                raise ValueError(f"BatchMapper: {self.name} returned the columns "
                                 f"{sorted(part)}, and before {sorted(parts[0])}")
        return {name: _frame.concatenate(name, [part[name] for part in parts])
                for name in parts[0]}

    def _apply(self, batch: dict[str, Any], rows: int) -> dict[str, Any]:
        if self.batch_format == "pandas":
            made = _of_pandas(self.fn(_to_pandas(batch)))
        else:
            made = self.fn(batch)
        if not isinstance(made, dict):
            raise TypeError(f"BatchMapper: {self.name} returned {type(made).__name__}, "
                            "and not a batch, {column: array}")
        made = {name: _array(array) for name, array in made.items()}
        for name, array in made.items():
            if _length(array) != rows:
                raise ValueError(
                    f"BatchMapper: {self.name} returned {_length(array)} rows of "
                    f"{name!r} for a batch of {rows}: a mapper keeps the number of "
                    "rows")
        return made


def _name(fn: Any) -> str:
    """"MODULE:NAME", which need not be found by that."""
    if not hasattr(fn, "__qualname__") and hasattr(fn, "func"):
        fn = fn.func  # functools.partial
    if not hasattr(fn, "__qualname__"):
        fn = type(fn)
    return f"{getattr(fn, '__module__', None) or '__main__'}:{fn.__qualname__}"


def _load(packed: bytes) -> Any:
    described = pickle.loads(packed)
    for name in ("__raytrain_main__", "__main__"):  # the script, if it was imported
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if (described.get("file") and file
                and os.path.abspath(file) == described["file"]):
            return _shipping._find(module, described["name"])
    return _shipping.unpack(described)[0]


def _import(name: str) -> Any:
    import importlib

    module, _, path = name.partition(":")
    fn = _shipping._find(importlib.import_module(module), path)
    if not callable(fn):
        raise LookupError(f"the batch_mapper of the configuration is {name}: the "
                          f"module {module} has no function {path}")
    return fn


# ---- Functions that come from a checkpoint ----

def _digest(packed: bytes) -> tuple[Any, ...]:
    import hashlib

    return "pickle", hashlib.sha256(packed).digest()


def _code_of(server: Any, state: bytes, index: int,
             stage: dict[str, Any]) -> tuple[Any, ...] | None:
    """The code that a stage of a stored chain would run."""
    if stage.get("pickle"):
        pickled = server.call("preprocess_pickle", {"index": index}, state)[1]
        return _digest(bytes(pickled))
    if "python" in stage:
        return "python", stage["python"]
    if "library" in stage:
        return "library", stage["library"], stage["function"]
    return None


def allow(server: Any, state: bytes) -> None:
    """The user trusts the chain of this checkpoint: its functions may be called."""
    stages = server.call("preprocess_stages", {}, state)[0]["stages"]
    for index, stage in enumerate(stages):
        code = _code_of(server, state, index, stage)
        if code is not None:
            _allowed.add(code)


def refused(server: Any, state: bytes) -> str | None:
    """The first function of a stored chain that may not be called."""
    stages = server.call("preprocess_stages", {}, state)[0]["stages"]
    for index, stage in enumerate(stages):
        code = _code_of(server, state, index, stage)
        if code is None:
            continue
        if code not in _allowed and (code[0] == "pickle" or not stage["configured"]):
            return stage.get("python") or f"{stage['function']} of {stage['library']}"
        if "library" in stage:
            server.call("preprocess_allow", {"function": stage["function"],
                                             "library": stage["library"]})
    return None


def check(server: Any, state: bytes) -> None:
    """Before a stored chain is used. Raises InvalidArgument if one of its functions may
    not be called."""
    function = refused(server, state)
    if function:
        raise InvalidArgument(
            f"the preprocessors of the checkpoint have the function {function}, which "
            "this program has not given to a BatchMapper: to load it runs code that "
            "only the checkpoint names. If you trust its origin: "
            "checkpoint.get_preprocessor(allow_code=True), or "
            "from_checkpoint(checkpoint, allow_code=True)")


def workers_may(checkpoint: Any) -> bool:
    """May workers load the functions of a Checkpoint, of that at a path, or of all
    those of a Result or a run, since this program has named them, or its user has
    allowed them?"""
    path = getattr(checkpoint, "path", checkpoint)
    if not _allowed or getattr(checkpoint, "_stored", path) is None:
        return False
    server = _session.server()
    files = _records.checkpoint_files(path).values() if os.path.isdir(path) else [path]
    try:
        states = [bytes(server.call("preprocess_checkpoint",
                                    {"path": os.fspath(file)})[1])
                  for file in files]
        return all(refused(server, state) is None for state in states if state)
    except RaytrainError:
        return False  # the program says it, with the reason


# ---- Batches ----

def _array(value: Any) -> Any:
    import numpy

    return value if hasattr(value, "indptr") else numpy.asarray(value)


def _length(array: Any) -> int:
    return array.shape[0] if array.shape else 0


def _rows_of(batch: dict[str, Any]) -> int:
    for array in batch.values():
        return _length(_array(array))
    return 0


def _rows_between(array: Any, first: int, end: int) -> Any:
    if not isinstance(array, _frame.SparseRows):
        return _array(array)[first:end]
    indptr = array.indptr[first:end + 1]
    return _frame.SparseRows(array.data[indptr[0]:indptr[-1]],
                             array.indices[indptr[0]:indptr[-1]], indptr - indptr[0],
                             (len(indptr) - 1, array.shape[1]))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("batch_format=\"pandas\" needs pandas (Debian: "
                          "python3-pandas); \"numpy\" gives {column: array}") from None
    return pandas


def _to_pandas(batch: dict[str, Any]) -> Any:
    for name, array in batch.items():
        if hasattr(array, "indptr"):
            raise TypeError(f"column {name!r} has sparse vectors, which a DataFrame "
                            "cannot have: use batch_format=\"numpy\"")
    return _pandas().DataFrame({
        name: array if _array(array).ndim == 1 else list(array)
        for name, array in batch.items()})


def _of_pandas(frame: Any) -> Any:
    import numpy

    if not hasattr(frame, "columns"):
        return frame
    batch = {}
    for name in frame.columns:
        array = numpy.asarray(frame[name])
        if array.dtype == object and len(array) and isinstance(array[0], numpy.ndarray):
            array = numpy.stack(list(array))
        batch[str(name)] = array
    return batch


# ---- What is left of a chain ----

class Rest:
    """A chain from one of its preprocessors on: functions here, others in C."""

    def __init__(self, state: bytes, first: int, n: int,
                 mappers: dict[int, Any]) -> None:
        self._state, self._first, self._n, self._mappers = state, first, n, mappers

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        at = self._first
        while at < self._n:
            if at in self._mappers:
                batch = self._mappers[at](batch)
                at += 1
            else:
                batch, at = transform(_session.server(), self._state, batch,
                                      {"from": at})
        return batch


def rest(server: Any, first: int, state: bytes | None) -> Rest:
    """What is done from preprocessor `first` on, of the chain in this state, or of that
    of the run, which its worker has checked. Its functions are those of the trainer in
    this worker, or are unpickled, or else imported by their names."""
    if state is not None:
        check(server, state)
    reply, of_run, _ = server.call("preprocess_stages", {}, state or b"")
    mappers: dict[int, Any] = {}
    for index, stage in enumerate(reply["stages"]):
        if index < first or "python" not in stage:
            continue
        if state is None and index in _registered:
            mappers[index] = _registered[index]
            continue
        if stage["pickle"]:
            fn = _load(bytes(server.call("preprocess_pickle", {"index": index},
                                         state or of_run)[1]))
        else:
            fn = _import(stage["python"])
        mappers[index] = Mapper(fn, stage["batch_size"] or None,
                                stage["batch_format"] or "numpy")
    return Rest(state or of_run, first, len(reply["stages"]), mappers)


def transform(server: Any, state: bytes, batch: dict[str, Any],
              how: dict[str, Any]) -> tuple[Any, ...]:
    """(rows that a chain has changed in C, the preprocessor at which it has
    stopped)."""
    parts = []
    end = 0
    for columns, rows, places, block in _frame.encode(batch, _PART):
        reply, data, _ = server.call("preprocess_rows", {
            "state": len(state), "columns": columns, "rows": rows, "places": places,
            **how}, b"".join([state, block]))
        parts.append(_frame.decode(
            _frame.columns_of(reply, data), _frame.block(data[reply["words"]:]), rows,
            reply["places"]))
        end = reply["next"]
    return {name: _frame.concatenate(name, [part[name] for part in parts])
            for name in parts[0]}, end


def register(preprocessor: Any) -> None:
    """In a worker: the run's functions are those of its trainer, and checkpoints have
    them."""
    mappers: dict[int, Any] = {} if preprocessor is None else {
        index: leaf._mapper for index, leaf in enumerate(preprocessor._leaves())
        if hasattr(leaf, "_mapper")}
    if not mappers:
        return
    worker = _session.session()
    stages = worker.call("preprocess_stages")[0]["stages"]
    for index, mapper in mappers.items():
        # A script that raytrain-run has started has the preprocessors of a
        # configuration.
        if index < len(stages) and stages[index].get("python") == mapper.name:
            worker.call("preprocess_function", {"index": index}, mapper.packed())
            _allowed.add(_digest(mapper.packed()))
            _registered[index] = mapper
