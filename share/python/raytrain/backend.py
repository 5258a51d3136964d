"""Backends of users, with the names of ray.train.backend: functions that run on the
workers before and after the training function.

    class Setup(Backend):
        def on_start(self, worker_group, backend_config):
            addresses = worker_group.execute(socket.gethostname)
            worker_group.execute(connect, addresses)

    class SetupConfig(BackendConfig):
        @property
        def backend_cls(self):
            return Setup

    DataParallelTrainer(train_func, backend_config=SetupConfig()).fit()
"""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Callable, ContextManager

if TYPE_CHECKING:
    from ._worker_group import WorkerGroup

__all__ = ["Backend", "BackendConfig"]


class Backend:
    """Work on the workers before and after the training function. The methods are
    called in the process of rank 0, in each attempt; meanwhile the other workers wait
    for functions to execute. An exception of a method fails the attempt.

    share_cuda_visible_devices: As in Ray, but without effect: all workers of a node see
        its GPUs.
    """

    share_cuda_visible_devices: bool = False

    def on_start(self, worker_group: WorkerGroup,
                 backend_config: BackendConfig) -> None:
        """The workers have started.

        Args:
            worker_group: The workers, on which functions can be executed.
            backend_config: The settings of this Backend.
        """

    def on_training_start(self, worker_group: WorkerGroup,
                          backend_config: BackendConfig) -> None:
        """The training function is about to be called.

        Args:
            worker_group: See on_start().
            backend_config: See there.
        """

    def on_shutdown(self, worker_group: WorkerGroup,
                    backend_config: BackendConfig) -> None:
        """The training function has returned on all workers, or a report has ended it
        on request. Not called after a failure, when the group of workers no longer
        exists.

        Args:
            worker_group: See on_start().
            backend_config: See there.
        """


class BackendConfig:
    """The settings of a Backend; the base class of those of users, and of TorchConfig
    and the others. It is sent to the workers, so it must be picklable."""

    _runs_as: str | None = None  # the backend of raytrain-run
    _set_up_by: str | None = None  # "module:function", called in a worker

    @property
    def backend_cls(self) -> type[Backend]:
        """The class of the Backend."""
        return Backend

    @property
    def train_func_context(self) -> Callable[[], ContextManager[Any]]:
        """Called in each worker; the training function runs in the context that it
        returns."""
        return contextlib.nullcontext

    @property
    def framework(self) -> Any:
        """As in Ray; it has no effect."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """As in Ray; it has no effect."""
        return {}
