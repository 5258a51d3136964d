"""The exceptions of raytrain. An exception of a failed call has a status (``code``),
named as in raytrain.h without the prefix: "EINVAL", "ESTORAGE", ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._preemption import PreemptionInfo
    from .result import Result


class RaytrainError(Exception):
    """A call of the session has failed; the text has the reason and a remedy.

    Args:
        text: The text.
        code: The status of the call, such as "EINVAL"; "": the status of the class.
    """

    code = "EFAILED"

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        if code:
            self.code = code


class InvalidArgument(RaytrainError, ValueError):
    """A bad argument, or a bad value in the configuration."""

    code = "EINVAL"


class WrongType(RaytrainError, TypeError):
    """A value has another type, or another shape."""

    code = "ETYPE"


class NotFound(RaytrainError, LookupError):
    """There is no such name, or no such file."""

    code = "ENOTFOUND"


class StorageError(RaytrainError, OSError):
    """No space, no permission, or an I/O error."""

    code = "ESTORAGE"


class CorruptError(RaytrainError):
    """A file, or a message, is damaged or not what it claims to be."""

    code = "ECORRUPT"


class CommunicationError(RaytrainError):
    """The workers could not communicate, or did not agree."""

    code = "ECOMM"


class NotSupported(RaytrainError, NotImplementedError):
    """Not available in this version, or outside raytrain-run."""

    code = "ENOTSUP"


class TrainingFailedError(RaytrainError):
    """A training that ``fit()`` started has failed; the text has the traceback of the
    worker that failed first, if there is one.

    Args:
        text: The text.
        result: The Result so far, whose ``error`` is a WorkerError; or None.
    """

    def __init__(self, text: str, result: Result | None = None) -> None:
        super().__init__(text)
        self.result = result


class WorkerGroupError(TrainingFailedError):
    """Workers have failed. Exceptions of the training function are the original ones.
    For an exception that cannot be pickled there is a WorkerError with the name of its
    type and its traceback; for a worker that was killed there is a WorkerError, too.

    Args:
        error_message: The text.
        worker_failures: {rank: exception}, beginning with the worker that failed first;
            its rank is -1 if it is not known, as when a node is lost.
        result: The Result so far; or None.
    """

    def __init__(self, error_message: str, worker_failures: dict[int, BaseException],
                 result: Result | None = None) -> None:
        super().__init__(error_message, result)
        self.worker_failures = worker_failures

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.worker_failures)


class ControllerError(TrainingFailedError):
    """raytrain-run, or a method of a UserCallback, has failed, and not the workers.

    Args:
        controller_failure: The exception.
        result: The Result so far.
        text: The text, in place of that of controller_failure.
    """

    def __init__(self, controller_failure: BaseException, result: Result | None = None,
                 text: str = "") -> None:
        super().__init__(text or str(controller_failure) or repr(controller_failure),
                         result)
        self.controller_failure = controller_failure

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.controller_failure, None, str(self))


class PreemptionError(TrainingFailedError):
    """The nodes of the run were taken away: the cause of a TrainingStopped.

    Args:
        preemption_info: A PreemptionInfo, with the nodes, their ranks and the deadline.
        worker_failures: {rank: exception}; always empty.
        deadline_exceeded: Were the workers killed at the deadline?
        result: The Result so far.
    """

    def __init__(self, preemption_info: PreemptionInfo,
                 worker_failures: dict[int, BaseException] | None = None,
                 deadline_exceeded: bool = False, result: Result | None = None) -> None:
        super().__init__("the training was interrupted: ranks "
                         f"{preemption_info.preempted_ranks} on "
                         f"{', '.join(preemption_info.preempted_node_ids)} were "
                         "preempted", result)
        self.preemption_info = preemption_info
        self.worker_failures = worker_failures or {}
        self.deadline_exceeded = deadline_exceeded

    @property
    def preempted_node_ids(self) -> list[str]:
        """The names of the nodes, sorted."""
        return self.preemption_info.preempted_node_ids

    @property
    def preempted_ranks(self) -> list[int]:
        """The ranks on these nodes, sorted."""
        return self.preemption_info.preempted_ranks

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.preemption_info, self.worker_failures,
                            self.deadline_exceeded)


class ShippingError(RaytrainError):
    """A function, or its configuration, cannot be sent to the workers."""

    code = "EINVAL"


class NoSuchDataset(NotFound, KeyError):
    """get_dataset_shard() was asked for a dataset that the trainer does not have."""

    __str__ = Exception.__str__


class NoSuchRun(NotFound, FileNotFoundError, RuntimeError):
    """There is no run in a directory."""

    __str__ = Exception.__str__


class NoSuchCheckpoint(NotFound, RuntimeError):
    """A run has no checkpoints."""


class NoSuchMetric(InvalidArgument, RuntimeError):
    """No checkpoint was reported with a number of this name."""


class WorkerError(Exception):
    """The failure of the worker that failed first.

    The attributes are message: one sentence; traceback: that of the exception that
    ended its script, or ""; rank, host: the worker; -1 and "" if unknown; signal,
    exit_status: how it ended, or 0; log: the path of its standard error, or "".

    Args:
        record: The failure, as in attempt.json.
        traceback: The traceback of the exception.
    """

    def __init__(self, record: dict[str, Any], traceback: str = "") -> None:
        self.message = record.get("message") or "the training failed"
        rank = record.get("rank")
        self.rank = -1 if rank is None else rank
        self.host = record.get("host") or ""
        self.signal = record.get("signal") or 0
        self.exit_status = record.get("exit_status") or 0
        self.log = record.get("log") or ""
        self.attempt = record.get("attempt")
        self.traceback = traceback
        super().__init__(self.message)

    def __str__(self) -> str:
        where = f"rank {self.rank}" if self.rank >= 0 else ""
        if where and self.host:
            where += f" on {self.host}"
        text = f"{where}: {self.message}" if where else self.message
        if self.traceback:
            return f"{text}\n\n{self.traceback}"
        return f"{text}\nlog: {self.log}" if self.log else text


class TrainingStopped(SystemExit):
    """The run that ``fit()`` started was stopped on request, and can be continued. A
    script that does not catch this ends with status 75, as raytrain-run does.

    Args:
        result: The Result so far; or None.
        continued_by: The call or command that continues the run.
    """

    def __init__(self, result: Result | None = None,
                 continued_by: str = "Trainer.restore(path)") -> None:
        super().__init__(75)
        self.result = result
        self.continued_by = continued_by

    def __str__(self) -> str:
        return f"the run was stopped on request; {self.continued_by} continues it"


_BY_CODE = {
    kind.code: kind
    for kind in (InvalidArgument, WrongType, NotFound, StorageError, CorruptError,
                 CommunicationError, NotSupported)
}


def from_reply(error: dict[str, Any]) -> RaytrainError:
    """The exception for an error in a reply.

    Args:
        error: {"code": ..., "text": ...}.

    Returns:
        The exception.
    """
    code = error.get("code", "EFAILED")
    text = error.get("text", "no reason given")
    kind = _BY_CODE.get(code)
    return kind(text) if kind else RaytrainError(text, code)
