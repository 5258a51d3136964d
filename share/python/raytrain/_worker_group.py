"""The methods of a Backend: they run in rank 0, and what they execute on all
workers."""
from __future__ import annotations

import contextlib
import pickle
import traceback
from concurrent.futures import Future
from typing import Any, Callable, Iterator, List, NoReturn, Tuple

from . import _failures, errors
from ._context import get_context
from ._session import session
from .backend import Backend, BackendConfig
from .collective import broadcast_from_rank_zero

# What a worker is to execute: its rank, or None for all of them; and the pickled call.
Calls = List[Tuple["int | None", bytes]]
# Was there no exception? And the pickled value, or the exception.
Answer = Tuple[bool, bytes]

ENDED_ON_REQUEST = (None, 0, 75)  # statuses of a script that a report has ended


class Remote(Exception):
    """Where an exception of a worker was raised: its traceback there."""


class Result(Future[Any]):
    """What a worker returns. The calls are sent to the workers when a result is asked
    for, or when the method of the Backend ends: those that wait for each other run
    together."""

    def __init__(self, group: WorkerGroup) -> None:
        super().__init__()
        self._group = group
        self.asked = False

    def result(self, timeout: float | None = None) -> Any:
        """What the call has returned. timeout: as in a Future; it has no effect.

        Raises Exception: that of the call.
        """
        self.asked = True
        self._group._run()
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The exception of the call, or None."""
        self.asked = True
        self._group._run()
        return super().exception(0)


class WorkerGroup:
    """All workers, as a method of a Backend sees them. len() is their number. Functions
    and what they return are pickled. What a worker has raised is raised where its
    result is asked for."""

    def __init__(self) -> None:
        self._size = get_context().get_world_size()
        self._calls: Calls = []
        self._waiting: list[tuple[int, Result]] = []
        self._done: list[Result] = []
        self._active = True

    def __len__(self) -> int:
        return self._size

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return self._size

    def execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
        """Call a function on each worker, rank 0 among them.

        Args:
            fn: The function.
            *args: Its arguments.
            **kwargs: Its arguments.

        Returns:
            What it has returned, by rank.

        Raises:
            Exception: That of the lowest rank on which the function has raised one.
        """
        return [result.result() for result in self.execute_async(fn, *args, **kwargs)]

    def execute_async(self, fn: Callable[..., Any], *args: Any,
                      **kwargs: Any) -> list[Result]:
        """Call a function on all workers, without waiting.

        Args:
            fn: See execute().
            args: See there.
            kwargs: See there.

        Returns:
            A future for each worker, whose result() waits.
        """
        self._add(None, fn, args, kwargs)
        results = [Result(self) for _ in range(self._size)]
        self._waiting += enumerate(results)
        return results

    def execute_single(self, rank: int, fn: Callable[..., Any], *args: Any,
                       **kwargs: Any) -> Any:
        """Call a function on one worker.

        Args:
            rank: Of the worker.
            fn: See execute().
            args: See there.
            kwargs: See there.

        Returns:
            What it has returned.
        """
        return self.execute_single_async(rank, fn, *args, **kwargs).result()

    def execute_single_async(self, rank: int, fn: Callable[..., Any], *args: Any,
                             **kwargs: Any) -> Result:
        """Call a function on one worker, without waiting.

        Args:
            rank: Of the worker.
            fn: See execute().
            args: See there.
            kwargs: See there.

        Returns:
            A future, whose result() waits.

        Raises:
            InvalidArgument: There is no such rank.
        """
        if not 0 <= rank < self._size:
            raise errors.InvalidArgument(f"there is no rank {rank}: the group has "
                                         f"{self._size} workers")
        self._add(rank, fn, args, kwargs)
        result = Result(self)
        self._waiting.append((rank, result))
        return result

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a worker_group has no {name}: it has execute(), execute_async(), "
            "execute_single(), execute_single_async() and len(); what else there is to "
            "know of a worker, a function that is executed there finds in "
            "raytrain.get_context()")

    def _add(self, rank: int | None, fn: Callable[..., Any], args: Any,
             kwargs: Any) -> None:
        if not self._active:
            raise errors.InvalidArgument("a worker_group executes functions only in "
                                         "the method of the Backend that has got it")
        try:
            self._calls.append((rank, _failures._dump((fn, args, kwargs))))
        except Exception as error:
            raise errors.ShippingError(
                f"{getattr(fn, '__qualname__', fn)} or its arguments cannot be sent to "
                f"the workers: {error}") from error

    def _run(self) -> None:
        if not self._calls:
            return
        calls, self._calls = self._calls, []
        waiting, self._waiting = self._waiting, []
        broadcast_from_rank_zero(calls)
        answers = [pickle.loads(data) for data in _gather(_answers(calls, 0))]
        for rank, result in waiting:
            _settle(result, rank, answers[rank].pop(0))
            self._done.append(result)

    def _end(self) -> None:
        """The method of the Backend has returned: what it has not waited for."""
        self._run()
        self._active = False
        for result in self._done:
            if not result.asked:
                result.result()
        broadcast_from_rank_zero(None)


def _gather(data: bytes) -> list[bytes]:
    """COLLECTIVE: on rank 0 the data of all ranks; elsewhere nothing."""
    reply, received, _ = session().call("gather", data=data)
    found, at = [], 0
    for size in reply["sizes"]:
        found.append(bytes(received[at:at + size]))
        at += size
    return found


def _answers(calls: Calls, rank: int) -> bytes:
    return pickle.dumps([_answer(data) for wanted, data in calls
                         if wanted in (None, rank)])


def _answer(data: bytes) -> Answer:
    try:
        fn, args, kwargs = pickle.loads(data)
        return True, _failures._dump(fn(*args, **kwargs))
    except Exception as error:
        text = traceback.format_exc()
        try:
            return False, _failures._dump((error, text))
        except Exception:
            lines = traceback.format_exception_only(type(error), error)
            whole = RuntimeError("".join(lines))
            return False, pickle.dumps((whole, text))


def _settle(result: Result, rank: int, answer: Answer) -> None:
    good, data = answer
    if good:
        result.set_result(pickle.loads(data))
        return
    error, text = pickle.loads(data)
    error.__cause__ = Remote(f"on rank {rank}:\n\n{text}")
    result.set_exception(error)


def _serve() -> None:
    """On the other ranks: execute what rank 0 sends, until its method has returned."""
    rank = get_context().get_world_rank()
    while True:
        calls = broadcast_from_rank_zero(None)
        if calls is None:
            return
        _gather(_answers(calls, rank))


def _call(method: Callable[[Any, Any], object], config: BackendConfig) -> None:
    """COLLECTIVE: call a method of a Backend. If it fails, rank 0 fails, which ends
    all."""
    if get_context().get_world_rank() != 0:
        _serve()
        return
    group = WorkerGroup()
    method(group, config)
    group._end()


@contextlib.contextmanager
def around(config: BackendConfig) -> Iterator[None]:
    """COLLECTIVE. What belongs around the training function, by its Backend.

    Args:
        config: The settings of the Backend. One without methods costs nothing.
    """
    backend_cls = config.backend_cls
    methods = [name for name in ("on_start", "on_training_start", "on_shutdown")
               if getattr(backend_cls, name) is not getattr(Backend, name)]
    backend = backend_cls() if methods else Backend()
    for name in "on_start", "on_training_start":
        if name in methods:
            _call(getattr(backend, name), config)
    try:
        with config.train_func_context():
            yield
    except SystemExit as leaving:
        if leaving.code in ENDED_ON_REQUEST and "on_shutdown" in methods:
            _call(backend.on_shutdown, config)
        raise
    if "on_shutdown" in methods:
        _call(backend.on_shutdown, config)
