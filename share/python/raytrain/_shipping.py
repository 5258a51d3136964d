"""How a training function travels from the process that calls fit() to the workers: a
file that only its owner can read. With cloudpickle any function does, also one of a
notebook or a closure; without it, one that a module, or the script, defines at its top
level."""
from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
from typing import Any, BinaryIO, Iterator, NoReturn

from . import _records
from .errors import ShippingError

MAGIC = b"raytrain function 2\n"
PAYLOAD = "trainer.pkl"  # in the run directory: what restore() and the workers read


def describe(function: object) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or repr(function)
    return f"{module}.{name}" if module else name


def _by_name(function: object) -> dict[str, Any]:
    """Where a worker finds the function, if a name is enough."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    reason = None

    if not module or not name or not callable(function):
        reason = "it is not a function of a module"
    elif "<lambda>" in name or "<locals>" in name:
        reason = "it is a lambda, or is defined inside another function"
    elif _find(sys.modules.get(module), name) is not function:
        reason = f"{module}.{name} is another object"
    file = None
    if not reason and module in ("__main__", "__raytrain_main__"):  # so after restore()
        file = getattr(sys.modules["__main__"], "__file__", None)
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if spec is not None and spec.name and not spec.name.endswith("__main__"):
            return {"kind": "name", "module": spec.name, "name": name, "main": True}
        if not file or not os.path.isfile(file):
            reason = "it was defined interactively"
        else:
            file = os.path.abspath(file)
    if reason:
        raise ShippingError(
            f"{describe(function)} cannot be sent to the workers: {reason}. Install "
            "cloudpickle (Debian: python3-cloudpickle), or define the function at the "
            "top level of a file")
    return {"kind": "name", "module": module, "name": name, "file": file}


def _find(module: object, name: str) -> object:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def pack(function: object, config: object) -> dict[str, Any]:
    """What unpack() makes them from in a worker; plain data."""
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = None
    if cloudpickle is None:
        where = _by_name(function)
        try:
            return {**where, "data": pickle.dumps(config)}
        except Exception as error:
            raise ShippingError("train_loop_config cannot be sent to the workers: "
                                f"{error}"
                                ) from error
    try:
        return {"kind": "pickle", "data": cloudpickle.dumps((function, config))}
    except Exception as error:
        raise ShippingError(
            f"{describe(function)} or its configuration cannot be sent to the workers: "
            f"{error}. What it refers to, such as an open file, a lock or a "
            "connection, must be made inside the function") from error


class Wrapped:
    """An object of a class that is not raytrain's: pickled by itself, since a worker
    can load it only once it has the script.

    data: The pickled object.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data


def wrapped(value: Any) -> Any:
    """A setting as it is sent.

    Args:
        value: Any of a trainer's settings.

    Returns:
        The same, or a Wrapped.

    Raises:
        ShippingError: It cannot be pickled.
    """
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("builtins", "raytrain"):
        return value
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    try:
        return Wrapped(pickler.dumps(value))
    except Exception as error:
        raise ShippingError(f"the {kind.__qualname__} of the trainer cannot be sent to "
                            f"the workers: {error}") from error


def opened(value: Any) -> Any:
    """The setting that was sent. Imports what it needs."""
    return pickle.loads(value.data) if isinstance(value, Wrapped) else value


class ScriptImported(BaseException):
    """The script that is being imported has come to the fit() that started this worker:
    what the training function needs is defined."""


def _import_script(file: str) -> None:
    """Run the script as a module, so that its `if __name__ == "__main__":` does not,
    and let it stand for __main__, where pickle looks for what the script has
    defined."""
    import types

    module = types.ModuleType("__raytrain_main__")
    module.__file__ = file
    sys.modules["__main__"] = sys.modules["__raytrain_main__"] = module
    with open(file, "rb") as source:
        code = compile(source.read(), file, "exec", dont_inherit=True)
    try:
        exec(code, module.__dict__)
    except ScriptImported:
        pass


@contextlib.contextmanager
def own_main() -> Iterator[None]:
    """A script that is imported meanwhile stands for __main__ no longer than this."""
    main = sys.modules["__main__"]
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def unpack(packed: dict[str, Any]) -> tuple[Any, ...]:
    """(function, config). Imports what they need."""
    if packed["kind"] == "pickle":
        return pickle.loads(packed["data"])
    if packed.get("file"):
        _import_script(packed["file"])
        module = sys.modules["__raytrain_main__"]
    else:
        import importlib

        module = importlib.import_module(packed["module"])
        if packed.get("main"):
            sys.modules["__main__"] = module
    return _find(module, packed["name"]), pickle.loads(packed["data"])


# ---- The file: what may be shown of it, and what runs code to be read ----


class _PlainUnpickler(pickle.Unpickler):
    """Numbers, texts, bytes and containers of these: nothing that is imported or
    called."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("a reference is not plain data")


def _is_plain(value: Any) -> bool:
    try:
        _PlainUnpickler(io.BytesIO(pickle.dumps(value))).load()
    except Exception:
        return False
    return True


def summary(function: object, config: object) -> dict[str, Any]:
    """What outline() gives: the name of a function, and of its configuration what is
    plain data."""
    if isinstance(config, dict):
        config = {name: value for name, value in config.items()
                  if _is_plain(name) and _is_plain(value)}
    return {"name": describe(function), "config": config if _is_plain(config) else None}


def outline(path: str) -> dict[str, Any]:
    """The summary of the run in this directory; {} if fit() has not started it. To read
    it runs no code: the run may come from elsewhere."""
    try:
        with _opened(os.path.join(path, PAYLOAD)) as file:
            found = _PlainUnpickler(file).load()
    except Exception:
        return {}
    return found if isinstance(found, dict) else {}


def write(path: str, packed: dict[str, Any]) -> None:
    """Atomically, readable by its owner alone."""
    temporary = f"{path}.tmp-{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    try:
        with os.fdopen(fd, "wb") as file:
            file.write(MAGIC)
            pickle.dump(packed.get("summary", {}), file)
            pickle.dump(packed, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _opened(path: str) -> BinaryIO:
    """The file, from what outline() gives on. It must be this user's, and the file
    itself: not a link, which others could have made where they may write."""
    try:
        file = open(_records.open_fd(path), "rb")
    except _records.RecordError as error:
        raise ShippingError(f"{path}: {error.strerror}; it would run the code of "
                            "another file") from None
    foreign = _records.foreign(path, os.fstat(file.fileno()))
    if not foreign and file.read(len(MAGIC)) == MAGIC:
        return file
    file.close()
    raise ShippingError(f"{foreign}; it would run that user's code" if foreign else
                        f"{path} was not written by fit() of this version")


def read(path: str) -> dict[str, Any]:
    """The file's content. Reading it runs code of its owner."""
    with _opened(path) as file:
        try:
            _PlainUnpickler(file).load()
            return pickle.load(file)
        except Exception as error:
            raise ShippingError(f"{path} is damaged: {error}") from error


def config_of(packed: dict[str, Any]) -> Any:
    """The configuration of an earlier fit(), if it can be had without the function."""
    function = packed["function"]
    if function["kind"] != "name":
        return pickle.loads(function["data"])[1]
    return pickle.loads(function["data"])
