"""A checkpoint as a service, with names as in ``ray.serve``.

    from raytrain import serve

    with serve.run(result, TorchPredictor, predictor_kwargs={"model": net},
                   inputs={"x": ("float32", (28, 28))}, num_replicas=2) as service:
        service.predict({"x": images})["predictions"]

raytrain-serve(1) does the work. Any client of the Open Inference Protocol can use the
service; Client is a client in Python.
"""
from __future__ import annotations

import atexit
import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn, Sequence

from . import _config as configs
from . import _launch, _shipping, _stored, _worker
from ._serve_client import BadRequest, Client, ServeError, addresses
from .batch_predictor import code_flags, python_workers
from .errors import InvalidArgument, RaytrainError

if TYPE_CHECKING:
    from ._protocols import ModelLike, Path
    from .predictor import Predictor

__all__ = ["BadRequest", "Client", "ServeError", "ServiceHandle", "run", "shutdown"]

_services: list[Any] = []


def run(checkpoint: ModelLike,
        predictor: type[Predictor] | Path | Sequence[Path] | None = None, *,
        name: str | None = None, num_replicas: int = 1, inputs: Any = None,
        outputs: Any = None, listen: str | None = None, token_file: str | None = None,
        follow: bool = False, max_batch_size: int | None = None,
        batch_wait_timeout_s: float = 0, max_queued_requests: int | None = None,
        scaling_config: configs.ScalingConfig | None = None,
        predictor_kwargs: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None, startup_timeout_s: float = 300,
        options: Sequence[str] = (), blocking: bool = False,
        allow_code: bool = False) -> ServiceHandle:
    """Serve the model of a checkpoint, and return when it is ready. The service ends
    with stop(), with the handle's ``with`` block, or with this process.

    Args:
        checkpoint: A Result or the directory of a run, whose best checkpoint is served;
            or a Checkpoint, or the path of one.
        predictor: A subclass of Predictor; the path of a predict function, ".so" or a
            program; or a command, a list. None: the model is from a trainer of trees.
        name: The name of the model. None: that of the run.
        num_replicas: The number of workers, each with the model.
        inputs: The columns of requests: {column: (dtype, shape of a row)}, or "text" in
            place of the pair; or rows like those of requests, {column: array} or a
            DataFrame; or the path of a file with such rows. None: for a run, the
            columns of the dataset on which it was trained, without the label.
        outputs: {name: (dtype, shape of a row)} of the Predictor's result. None: it is
            determined with two rows of zeros. For trees, as in
            BatchPredictor.predict().
        listen: "HOST:PORT" or the path of a socket. None: a socket that only this user
            can use.
        token_file: The file of the token that clients must send; it is created if it
            does not exist.
        follow: For a run, change to better checkpoints.
        max_batch_size: The maximum number of rows in a batch.
        batch_wait_timeout_s: The seconds that a batch waits for more rows.
        max_queued_requests: The maximum number of waiting requests.
        scaling_config: The resources of the workers, and their number in place of
            num_replicas.
        predictor_kwargs: Further arguments for from_checkpoint() of the Predictor.
        settings: Further arguments for its predict().
        startup_timeout_s: The seconds until the service must be ready.
        options: Further options of raytrain-serve(1).
        blocking: Return when the service has ended; Ctrl-C ends it.
        allow_code: Load the functions of the checkpoint's preprocessors, as in
            BatchPredictor.predict(). With follow, this applies to all later
            checkpoints, and functions of this program need it, too.

    Returns:
        The service.

    Raises:
        RaytrainError: The service is not ready in time, or has ended; the text is the
            output of raytrain-serve.
    """
    if _worker._shipped is not None:
        raise _shipping.ScriptImported
    scaling = scaling_config or configs.ScalingConfig(num_workers=num_replicas)
    flags = [*_requests(name, listen, token_file, follow, max_batch_size,
                        batch_wait_timeout_s, max_queued_requests),
             *_inputs(inputs), *options]
    if allow_code or not follow:
        flags += code_flags(checkpoint, allow_code)
    service = _start(checkpoint, predictor, scaling, flags, {
        "outputs": outputs, "predictor": predictor_kwargs or {},
        "settings": settings or {}, "batch_size": max_batch_size or 4096})
    try:
        service._await(startup_timeout_s)
        if blocking:
            service.wait()
    except BaseException:
        service.stop()
        raise
    return service


def shutdown() -> None:
    """End all services that this process has started."""
    for service in list(_services):
        service.stop()


# ---- The command line ----

def _requests(name: Any, listen: Any, token_file: Any, follow: Any, batch: Any,
              wait_s: Any, queue: Any) -> list[Any]:
    flags = []
    for option, value in (("--model", name), ("--listen", listen),
                          ("--token-file", token_file), ("--max-batch", batch),
                          ("--max-wait-us", round(wait_s * 1e6) or None),
                          ("--queue", queue)):
        if value is not None:
            is_path = hasattr(value, "__fspath__")
            flags += [option, os.fspath(value) if is_path else str(value)]
    return flags + (["--follow"] if follow else [])


def _inputs(inputs: Any) -> list[Any]:
    if inputs is None:
        return []
    if isinstance(inputs, (str, os.PathLike)):
        return ["--like", os.fspath(inputs)]
    if hasattr(inputs, "iloc") and hasattr(inputs, "columns"):
        inputs = {str(name): inputs[name].to_numpy() for name in inputs.columns}
    flags = []
    for name, like in inputs.items():
        dtype, shape = _column(name, like)
        flags += ["--input", ":".join([name, dtype] + (["x".join(map(str, shape))]
                                                       if shape else []))]
    return flags


def _column(name: str, like: Any) -> tuple[Any, ...]:
    """dtype and shape of a row."""
    if isinstance(like, str):
        return like, ()
    if (isinstance(like, (tuple, list)) and len(like) == 2
            and isinstance(like[1], (tuple, list))):
        return str(like[0]), tuple(like[1])
    if not hasattr(like, "dtype") or not hasattr(like, "shape"):
        raise TypeError(f"inputs[{name!r}] is (dtype, shape of a row), \"text\" or an "
                        f"array, not {like!r}")
    if like.dtype.kind in "OUS":
        return "text", ()
    return ("uint8" if like.dtype == bool else str(like.dtype)), like.shape[1:]


def _start(checkpoint: Any, predictor: Any, scaling: configs.ScalingConfig,
           flags: list[Any], options: dict[str, Any]) -> ServiceHandle:
    scratch = tempfile.mkdtemp(prefix="raytrain-serve-")
    try:
        path = _stored.stored(checkpoint, scratch)
        file = os.path.join(scratch, "raytrain.cfg")
        with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(configs.render({"scaling_config": scaling._keys()}))
        what, environment = _workers(predictor, options, flags, scratch)
        return ServiceHandle(path, ["--config", file, *flags, path, *what], environment,
                             scratch)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _workers(predictor: Any, options: dict[str, Any], flags: list[Any],
             scratch: str) -> tuple[Any, ...]:
    """The command of the workers, and its environment."""
    environment = dict(os.environ)
    if predictor is None or hasattr(predictor, "_asked"):
        if options["predictor"]:
            raise TypeError("a model of trees takes no predictor_kwargs")
        asked = list(options["outputs"] or ())
        if predictor:
            asked = predictor._asked(options["outputs"], options["settings"])
        if asked:
            flags += ["--outputs", ",".join(asked)]
        return [], environment
    if isinstance(predictor, (str, os.PathLike)):
        return [os.path.abspath(predictor)], environment
    if isinstance(predictor, (list, tuple)):
        return ["--", *map(os.fspath, predictor)], environment
    if not callable(getattr(predictor, "from_checkpoint", None)):
        raise TypeError("predictor is a subclass of Predictor, the path of a predict "
                        f"function or a command, not {predictor!r}")
    return python_workers(predictor, options, scratch)


# ---- A service ----

class ServiceHandle:
    """A service that this process has started.

    The attributes are url: its address, for any client; socket: the path of its Unix
    socket, or None; token: the token that clients must send, or None; name: that of the
    model; client: a Client.

    Args:
        path: The run or checkpoint that is served.
        arguments: The arguments of raytrain-serve.
        environment: The environment of raytrain-serve.
        scratch: A directory that is removed when the service ends.
    """

    def __init__(self, path: str, arguments: list[Any], environment: dict[str, Any],
                 scratch: str) -> None:
        self._path, self._scratch = path, scratch
        self._said: collections.deque[Any] = collections.deque(maxlen=50)
        self._client: Client | None = None
        self.name: str | None = None
        self.url: str | None = None
        self.socket: str | None = None
        self.token: str | None = None
        command = [_launch.program("raytrain-serve"), *arguments]
        if threading.current_thread() is threading.main_thread():
            command = _launch._with_parent(command)
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
            start_new_session=True, text=True, errors="replace")
        self._reader = threading.Thread(target=self._show, daemon=True)
        self._reader.start()
        _services.append(self)

    def _show(self) -> None:
        for line in self._process.stderr or ():
            self._said.append(line)
            sys.stderr.write(line)
            sys.stderr.flush()

    def _await(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        found: list[Any] = []
        while not found:
            if self._process.poll() is not None:
                self._fail()
            if time.monotonic() > until:
                raise RaytrainError(f"raytrain-serve was not ready in {seconds} s; its "
                                    "messages say how far it is")
            found = addresses(self._path, self._process.pid)
            if not found:
                time.sleep(0.02)
        self._client = client = Client(found[0])
        self.name, self.url, self.token = client.name, client.url, client.token
        self.socket = client.socket

    @property
    def client(self) -> Client:
        """A Client of the service.

        Raises:
            RaytrainError: The service is not ready.
        """
        if self._client is None:
            raise RaytrainError("the service is not ready")
        return self._client

    def _fail(self) -> NoReturn:
        status = self._process.returncode
        self._reader.join(5)
        said = "".join(self._said).strip()
        kind = InvalidArgument if status in (2, 3) else RaytrainError
        raise kind(said or f"raytrain-serve ended with status {status}")

    def predict(self, data: Any, **options: Any) -> dict[str, Any]:
        """As Client.predict().

        Args:
            data: See there.
            options: See there.

        Returns:
            The predictions.
        """
        return self.client.predict(data, **options)

    def is_running(self) -> bool:
        """Has it not ended?"""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait until it has ended. Raises RaytrainError if it failed."""
        try:
            self._process.wait()
        finally:
            status = self._process.poll()
            self.stop()
        if status:
            self._fail()

    def stop(self, timeout_s: float = 90) -> None:
        """Accept no more requests, answer those that there are, and end.

        Args:
            timeout_s: After this many seconds it is killed.
        """
        if self._client is not None:
            self._client.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._reader.join(5)
        if not self._reader.is_alive() and self._process.stderr is not None:
            self._process.stderr.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        if self in _services:
            _services.remove(self)

    def __enter__(self) -> ServiceHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


atexit.register(shutdown)
