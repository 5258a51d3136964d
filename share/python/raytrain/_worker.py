"""What fit() starts on every worker: python3 -m raytrain._worker. Reads the function
and its configuration from the file in RAYTRAIN_FIT or, when raytrain-run continues the
run by itself, from trainer.pkl in the run directory, and calls it."""
from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, ContextManager

from . import _failures, _mapping, _returned, _session, _shipping, data
from ._arguments import call
from .backend import BackendConfig
from .errors import NotSupported, TrainingFailedError
from .result import Result

if TYPE_CHECKING:
    from types import TracebackType

    from ._protocols import FunctionTrainer, TrainFunction

# In a worker of fit(): what was shipped, until the function is called.
_shipped: dict[str, Any] | None = None
_calls = 0
_running = False


def fit(trainer: FunctionTrainer) -> Result:
    """fit() called in a worker."""
    global _calls, _running

    if _running:
        raise RuntimeError("fit() was called inside a training function: a worker "
                           "cannot start workers")
    if _shipped is not None:
        if trainer.scaling_config._is_local:
            raise RuntimeError("a worker imports the script, and would train in local "
                               "mode: put that fit() below `if __name__ == "
                               "\"__main__\":`")
        return _come_by()
    if trainer.data_config._is_custom:
        raise NotSupported("this script is the command of raytrain-run, whose "
                           "configuration divides the datasets: data_config."
                           "datasets_to_split. For configure() of a DataConfig start "
                           "it by python3")
    _running = True
    _session.metadata = trainer.metadata or {}
    try:
        _mapping.register(trainer.preprocessor)
        data.register(trainer.datasets)
        with _prepare(trainer._setup, trainer.backend_config):
            value = call(trainer.train_loop_per_worker, trainer.train_loop_config)
    finally:
        _running = False
    return Result._of_worker(trainer.train_loop_config, value)


def _come_by() -> Result:
    """The script is being imported, for the sake of the function in it, and has no
    guard before this fit(). The earlier ones are over."""
    global _calls

    assert _shipped is not None
    if _shipped["function"].get("file") is None:
        raise RuntimeError("the module of the training function calls fit() when it is "
                           "imported; put that below `if __name__ == \"__main__\":`")
    _calls += 1
    if _calls > len(_shipped["earlier"]):
        raise _shipping.ScriptImported
    result = Result.from_path(_shipped["earlier"][_calls - 1])
    if result.error:
        raise TrainingFailedError(str(result.error), result)
    return result


def _prepare(setup: str | None, backend_config: object) -> ContextManager[Any]:
    """What the framework and the Backend need before the function; returns what they
    need around it."""
    around = contextlib.ExitStack()
    if setup:
        import importlib

        module, _, name = setup.partition(":")
        context = getattr(importlib.import_module(module), name)(backend_config)
        if context is not None:
            around.enter_context(context)
    if isinstance(backend_config, BackendConfig):
        from . import _worker_group

        around.enter_context(_worker_group.around(backend_config))
    return around


# ---- A worker of fit() ----

def _payload() -> tuple[dict[str, Any], bool]:
    """The shipped file's content, and whether fit() waits for this run; otherwise
    raytrain-run continues it from its copy of the file."""
    path = os.environ.pop("RAYTRAIN_FIT", None)
    if path and os.path.exists(path):
        return _shipping.read(path), True
    run_dir = _session.session().info["run_dir"]
    return _shipping.read(os.path.join(run_dir, _shipping.PAYLOAD)), False


def _load(payload: dict[str, Any]) -> tuple[Any, ...]:
    """The function and its configuration, with the caller's surroundings."""
    global _shipped
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = payload["sys_path"] + ([] if here in payload["sys_path"] else [here])
    sys.argv[:] = payload["argv"]
    _shipped = payload
    try:
        return _shipping.unpack(payload["function"])
    finally:
        _shipped = None


def _reconfigured(config: object, recorded: dict[str, Any]) -> object:
    """With what raytrain-run --resume --set train_loop_config.NAME=VALUE has
    changed."""
    if not isinstance(config, dict):
        return config
    now = _session.session().info["config"]
    return {**config, **{name: value for name, value in now.items()
                         if name not in recorded or recorded[name] != value}}


def _keep_value(value: object) -> None:
    """Rank 0's is that of the run. A training that has ended well does not fail by
    it."""
    session = _session.session()
    if session.info["rank"] != 0:
        return
    try:
        _returned.keep(value, session.info["run_dir"], session.info["attempt"])
    except _returned.NotKept as error:
        session.warn(str(error))


def _own_frames_left_out(error: BaseException) -> TracebackType | None:
    """The traceback from the training function on."""
    traceback = error.__traceback__
    package = os.path.dirname(os.path.abspath(__file__))

    while traceback and traceback.tb_next:
        if os.path.dirname(traceback.tb_frame.f_code.co_filename) != package:
            break
        traceback = traceback.tb_next
    return traceback


def main() -> int:
    global _running

    try:
        payload, is_awaited = _payload()
        _session.metadata = payload["settings"]["metadata"] or {}
        _session.uses_gpu = _session.session().info["gpus"] > 0
        _session.gathers = is_awaited and payload.get("gathers", False)
        function, config = _load(payload)
        backend_config = _shipping.opened(payload["backend_config"])
        _mapping.register(payload["settings"].get("preprocessor"))
        data.register(payload.get("datasets"), payload.get("shares"))
        _running = True
        with _prepare(payload["setup"], backend_config):
            value = call(function, _reconfigured(config, payload["recorded"]))
        _keep_value(value)
    except Exception as error:
        error = error.with_traceback(_own_frames_left_out(error))
        info = _session.session().info
        _failures.keep(error, info["run_dir"], info["attempt"], info["rank"])
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


if __name__ == "__main__":
    # This module is `__main__` here; fit() looks at the one that is imported.
    from raytrain import _worker

    sys.exit(_worker.main())
