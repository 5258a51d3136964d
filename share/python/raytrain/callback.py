"""UserCallback: an object whose methods are called while fit() waits for a run.

    class Notify(raytrain.UserCallback):
        def after_report(self, run_context, metrics, checkpoint):
            print(metrics[0]["loss"])

    TorchTrainer(..., run_config=RunConfig(callbacks=[Notify(), "csv"])).fit()
"""
from __future__ import annotations

import dataclasses
import uuid
from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from ._config import DataConfig, RunConfig, ScalingConfig
    from .checkpoint import Checkpoint
    from .errors import WorkerError
    from .result import Result

__all__ = ["RunContext", "UserCallback", "WorkerGroupContext"]


@dataclasses.dataclass(frozen=True)
class RunContext:
    """The state of the run at an event.

    run_config, scaling_config, train_loop_config, backend_config, datasets,
        dataset_config: those of the trainer.
    name: the name of the run. path: its directory.
    attempt: the number of the attempt, counted from 0; -1 before the first one.
    world_size: its number of workers; 0 before the first one.
    report: the latest report, as in a line of result.json: the value of each metric,
        its mean, least and greatest value over the ranks in "by_rank", and times; or
        None.
    run_id: a text that is unique to this fit().
    """

    run_config: RunConfig
    scaling_config: ScalingConfig
    train_loop_config: dict[str, Any] | None
    backend_config: Any
    datasets: Mapping[str, Any]
    dataset_config: DataConfig | None
    name: str
    path: str
    attempt: int = -1
    world_size: int = 0
    report: dict[str, Any] | None = None
    run_id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)

    def get_run_config(self) -> RunConfig:
        """The RunConfig of the trainer."""
        return self.run_config


@dataclasses.dataclass(frozen=True)
class WorkerGroupContext:
    """The workers of an attempt.

    run_attempt_id: its number, counted from 0. num_workers: the number of workers.
    nodes: the names of their nodes. resources_per_worker, placement_strategy: those of
    the ScalingConfig.
    """

    run_attempt_id: int
    num_workers: int
    nodes: list[str]
    resources_per_worker: dict[str, Any] | None
    placement_strategy: str


class UserCallback:
    """Base class of callbacks that are Python objects; override the methods you need.

    A separate thread of the process that calls fit() calls the methods one after the
    other, in the order of the events, and never after fit() has returned. The workers
    do not wait for them: after a slow method, the next one is called late. An exception
    in a method ends the run: fit() raises a ControllerError from it. before_run() and
    after_run() are called by the thread that calls fit().
    """

    def before_run(self, run_context: RunContext) -> None:
        """fit() has been called; nothing has been started yet.

        Args:
            run_context: The run.
        """

    def after_run(self, run_context: RunContext, result: Result | None) -> None:
        """The run is over, and has finished, failed or been stopped.

        Args:
            run_context: The run.
            result: The Result; None if the run did not start, for example because
                raytrain-run has refused the configuration.
        """

    def after_report(self, run_context: RunContext, metrics: list[dict[str, Any]],
                     checkpoint: Checkpoint | None) -> None:
        """All workers have reported.

        Args:
            run_context: The run.
            metrics: A list with the metrics that each worker has reported, by rank. For
                trees without a training function, and if they are more than 2 MiB, it
                has only those of rank 0.
            checkpoint: The Checkpoint of this report, or None; it may not be complete
                yet if checkpoints are saved in the background.
        """

    def after_exception(self, run_context: RunContext,
                        worker_exceptions: dict[int, WorkerError]) -> None:
        """An attempt has failed; another one may follow.

        Args:
            run_context: The run.
            worker_exceptions: {rank: exception} of the workers that failed; the rank is
                -1 if it is not known, as when a node is lost.
        """

    def before_worker_group_start(self,
                                  worker_group_context: WorkerGroupContext) -> None:
        """An attempt starts. The workers do not wait for this call.

        Args:
            worker_group_context: The workers of the attempt.
        """

    def after_worker_group_shutdown(self,
                                    worker_group_context: WorkerGroupContext) -> None:
        """All workers of an attempt have ended. If the attempt failed,
        after_exception() is called first.

        Args:
            worker_group_context: The workers of the attempt.
        """

    def after_controller_start(self, run_context: RunContext) -> None:
        """The first call: raytrain-run has begun with the run.

        Args:
            run_context: The run.
        """

    def after_controller_finish(self, result: Result) -> None:
        """The last call: the Result is available.

        Args:
            result: The Result.
        """


_METHODS = ("before_run", "after_run", "after_report", "after_exception",
            "before_worker_group_start", "after_worker_group_shutdown",
            "after_controller_start", "after_controller_finish")


def hears_reports(callback: object) -> bool:
    """Has a callback an after_report() of its own, for which workers gather what they
    report?

    Args:
        callback: An object.

    Returns:
        Whether it has.
    """
    method = getattr(callback, "after_report", None)
    return method is not None and \
        getattr(method, "__func__", method) is not UserCallback.after_report


def is_callback(value: object) -> bool:
    """Is it an instance of UserCallback, or of another class that has its methods?

    Args:
        value: Anything.

    Returns:
        Whether it is.
    """
    return not isinstance(value, (str, dict, type)) and any(
        callable(getattr(value, name, None)) for name in _METHODS)
