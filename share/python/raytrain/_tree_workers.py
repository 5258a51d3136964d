"""Functions that train trees with the Python module of the library: what surrounds them
in the workers, and the trainers that have them."""

from __future__ import annotations

import os
import threading
from typing import Any

from . import _frameworks
from ._context import get_context
from .collective import broadcast_from_rank_zero
from .trainer import DataParallelTrainer


# ---- XGBoost ----


class XGBoostFunctionTrainer(DataParallelTrainer):
    """XGBoostTrainer with a training function, which runs in the communicator of
    xgboost.collective over all workers."""

    _backend = "xgboost"
    _config_name = "xgboost_config"
    _setup = "raytrain._tree_workers:xgboost_communicator"

    def __init__(self, train_loop_per_worker: Any, *, xgboost_config: Any = None,
                 **settings: Any) -> None:
        super().__init__(train_loop_per_worker, backend_config=xgboost_config,
                         **settings)

    def _backend_keys(self) -> dict[str, Any]:
        return {}


def xgboost_communicator(_config: Any) -> XGBoostCommunicator:
    """What is entered around the function in each worker."""
    return XGBoostCommunicator()


class XGBoostCommunicator:
    """A context in which XGBoost trains over all workers. Rank 0 has the tracker,
    through which they find each other, in a thread. A single worker needs none."""

    def __init__(self) -> None:
        self._context: Any = None
        self._tracker: Any = None

    def __enter__(self) -> XGBoostCommunicator:
        size = get_context().get_world_size()
        if size == 1:
            return self
        xgboost = _frameworks.needed("XGBoost", ("xgboost",),
                                     "Debian: python3-xgboost; pip install xgboost")
        arguments: dict[str, Any] = {}
        wrong: str | None = None
        if get_context().get_world_rank() == 0:
            try:
                arguments = self._start(xgboost, size)
            except Exception as error:
                wrong = (f"rank 0 cannot start XGBoost's tracker: "
                         f"{type(error).__name__}: {error}")
        arguments, wrong = broadcast_from_rank_zero((arguments, wrong))
        if wrong:
            raise RuntimeError(wrong)
        # Ranks are given in the order of these texts.
        task = f"{get_context().get_world_rank():08d}"
        name = "dmlc_task_id" if "dmlc_tracker_uri" in arguments else "DMLC_TASK_ID"
        self._context = xgboost.collective.CommunicatorContext(
            **{**arguments, name: task})
        self._context.__enter__()
        return self

    def _start(self, xgboost: Any, size: int) -> dict[str, Any]:
        """Start the tracker; returns the arguments of the communicator."""
        host = _address_of_rank_0(get_context().get_node_count())
        self._tracker = xgboost.tracker.RabitTracker(n_workers=size, host_ip=host,
                                                     sortby="task")
        if hasattr(self._tracker, "worker_args"):  # XGBoost 2.1 and later
            self._tracker.start()
            self._thread = threading.Thread(target=self._tracker.wait_for, daemon=True)
            self._thread.start()
            return {**self._tracker.worker_args(), "n_workers": size}
        self._tracker.start(size)
        self._thread = self._tracker.thread
        return {**self._tracker.worker_envs(), "DMLC_NUM_WORKER": size}

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        """After an exception the others may wait in a call: the process ends
        without."""
        if self._context is None or kind is not None:
            return
        self._context.__exit__(None, None, None)
        if self._tracker is not None:
            self._thread.join(timeout=5)


def _address_of_rank_0(nodes: int) -> str:
    """Where the other nodes reach this one."""
    address = os.environ.get("DMLC_TRACKER_URI")
    if address:
        return address
    if nodes > 1:
        raise RuntimeError("there is no DMLC_TRACKER_URI: start the script with "
                           "raytrain-run --backend xgboost")
    return "127.0.0.1"


# ---- LightGBM ----


class LightGBMFunctionTrainer(DataParallelTrainer):
    """LightGBMTrainer with a training function, which passes get_network_params() to
    lightgbm.train()."""

    _backend = "lightgbm"
    _config_name = "lightgbm_config"

    def __init__(self, train_loop_per_worker: Any, *, lightgbm_config: Any = None,
                 **settings: Any) -> None:
        super().__init__(train_loop_per_worker, backend_config=lightgbm_config,
                         **settings)

    def _backend_keys(self) -> dict[str, Any]:
        return {}
