"""A client of services, raytrain-serve(1), or of any other server that speaks the Open
Inference Protocol, version 2, over REST. Standard library only; NumPy for arrays."""
from __future__ import annotations

import glob
import http.client
import json
import os
import socket
import threading
import time
import urllib.parse
from typing import Any, Mapping

from . import _records
from .errors import NotFound, RaytrainError

_DTYPES = {"BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4",
           "UINT64": "<u8", "INT8": "i1", "INT16": "<i2", "INT32": "<i4",
           "INT64": "<i8", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8"}


class ServeError(RaytrainError):
    """A service has refused a request; the text is what it said.

    Args:
        status: Of HTTP.
        text: The text.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class BadRequest(ServeError, ValueError):
    """The request is at fault: its text names the input."""


class Client:
    """Asks a service for predictions.

        client = Client("raytrain_results/fashion")
        client.predict({"x": images})["probability"]

    Several threads may use it: each has its own connection, which is kept open.

    Args:
        where: The directory of a run that is served, or its checkpoint, or the
            directory of several models; "http://HOST:PORT"; or "unix:PATH".
        token: The token of the service. None: for a run, that in its file.
        name: The name of the model, if the service has several.
        timeout: The seconds to wait for each answer, and to repeat a request while the
            queue of the service is full.
        context: An ssl.SSLContext for https. None: for a run, a context that trusts its
            certificate.
    """

    def __init__(self, where: Any, token: str | None = None, *,
                 name: str | None = None, timeout: float = 60,
                 context: Any = None) -> None:
        address = where if isinstance(where, dict) else _address_of(os.fspath(where))
        self.url, self.socket = address["url"], address.get("socket")
        if token is None and address.get("token_file"):
            with open(address["token_file"], encoding="ascii") as file:
                token = file.read().strip()
        self.token, self.timeout = token, timeout
        self.context = context or _trusting(address.get("tls_cert"))
        self._name = name or address.get("model")
        self._meta: dict[str, Any] = {}
        self._thread = threading.local()

    @property
    def name(self) -> str:
        """The name of the model.

        Raises:
            ValueError: There are several.
        """
        if self._name is None:
            state = self.request("GET", "/raytrain/state")
            models = [model["name"] for model in state["models"]]
            if len(models) != 1:
                raise ValueError("name= is one of " + ", ".join(models))
            self._name = models[0]
        return self._name

    def metadata(self) -> dict[str, Any]:
        """The inputs and outputs of the model, as defined by the protocol."""
        self._meta = self.request("GET", self._path())
        return self._meta

    def is_ready(self) -> bool:
        """Is the service ready to predict?"""
        try:
            self.request("GET", "/v2/health/ready")
        except (ServeError, OSError):
            return False
        return True

    def predict(self, data: Any, *, version: int | None = None) -> dict[str, Any]:
        """Predict rows.

        Args:
            data: {input: array}, a DataFrame of pandas, or an array if the model has
                one input. Columns that are not inputs are left out; a missing text
                becomes an empty one.
            version: The version of the model, if several are served.

        Returns:
            {output: array}.

        Raises:
            BadRequest: The rows are wrong.
            ServeError: The service has refused the request for another reason.
        """
        inputs = (self._meta or self.metadata())["inputs"]
        columns = _columns(data, inputs)
        parts = [_input(t, columns[t["name"]]) for t in inputs if t["name"] in columns]
        head = json.dumps({"inputs": [said for said, _ in parts],
                           "parameters": {"binary_data_output": True}}).encode()
        return self.request("POST", self._path(version) + "/infer",
                            head + b"".join(data for _, data in parts),
                            {"Content-Type": "application/octet-stream",
                             "Inference-Header-Content-Length": str(len(head))})

    def request(self, method: str, path: str, body: bytes | None = None,
                headers: dict[str, Any] = {}) -> Any:
        """Send a request, and return the answer.

        Args:
            method: The HTTP method, such as "GET".
            path: The path.
            body: The body of the request.
            headers: The headers of the request.

        Returns:
            The value in JSON, or {output: array}.
        """
        until = time.monotonic() + self.timeout
        while True:
            answer, data = self._send(method, path, body, headers)
            wait = float(answer.getheader("Retry-After") or 1)
            if answer.status != 429 or time.monotonic() + wait > until:
                return _read(answer, data)
            time.sleep(wait)

    def close(self) -> None:
        """Close this thread's connection."""
        if hasattr(self._thread, "connection"):
            self._thread.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _path(self, version: int | None = None) -> str:
        path = "/v2/models/" + urllib.parse.quote(self.name, safe="")
        return path if version is None else f"{path}/versions/{version}"

    def _send(self, method: str, path: str, body: bytes | None,
              headers: dict[str, Any]) -> tuple[Any, ...]:
        """The answer, and its bytes. The service may have closed a connection that was
        kept."""
        if not hasattr(self._thread, "connection"):
            self._thread.connection = _connection(self)
        connection = self._thread.connection
        kept = connection.sock is not None  # else request() connects
        if self.token:
            headers = {**headers, "Authorization": "Bearer " + self.token}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer, answer.read()
        except BaseException as error:
            connection.close()
            if kept and isinstance(error, (ConnectionError, http.client.BadStatusLine)):
                return self._send(method, path, body, headers)
            raise


# ---- Where it is ----

def addresses(run: str, pid: int | None = None) -> list[Any]:
    """The contents of address.json for the services of a run or a checkpoint, the
    newest first. pid: only the service of this process."""
    base = run if os.path.isdir(run) else os.path.dirname(os.path.abspath(run))
    found = []
    for path in glob.glob(os.path.join(glob.escape(base), "serve",
                                       f"*.{pid or '*'}", "address.json")):
        try:
            found.append(_address(path))
        except (OSError, ValueError):
            continue  # it has just ended
    return [address for _, address in sorted(found, key=lambda f: f[0], reverse=True)]


def _address(path: str) -> tuple[Any, ...]:
    """The time and the contents of an address.json. If another user may have written
    it, "foreign" has the reason why it is not used."""
    data, status = _records.read(path, _records.OF_SERVICE)
    address = json.loads(data)
    if not isinstance(address, dict):
        raise ValueError("not an object")
    address["foreign"] = _records.foreign(path, status)
    return status.st_mtime, address


def _address_of(where: str) -> dict[str, Any]:
    if where.startswith(("http://", "https://")):
        return {"url": where.rstrip("/")}
    if where.startswith("unix:"):
        return {"url": "http://localhost", "socket": where[5:]}
    for address in addresses(where):
        if address.get("socket") is not None and not os.path.exists(address["socket"]):
            continue
        if address["foreign"]:
            raise PermissionError(
                f"{address['foreign']}, and no data are sent to the address in it; if "
                f"you trust it, ask for it by its URL: Client({address.get('url')!r}, "
                "token=...)")
        return address
    raise NotFound(f"{where} is not served now: type: raytrain-serve {where}")


def _trusting(cert: str | None) -> Any:
    """An ssl.SSLContext that trusts this certificate, whether a CA has signed it or
    not."""
    if cert is None:
        return None
    import ssl

    context = ssl.create_default_context(cafile=cert)
    context.verify_flags |= 0x80000  # ssl.VERIFY_X509_PARTIAL_CHAIN of Python 3.10
    return context


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def _connection(client: Client) -> http.client.HTTPConnection:
    if client.socket:
        return _UnixConnection(client.socket, client.timeout)
    at = urllib.parse.urlsplit(client.url)
    if at.scheme == "https":
        return http.client.HTTPSConnection(at.netloc, timeout=client.timeout,
                                           context=client.context)
    return http.client.HTTPConnection(at.netloc, timeout=client.timeout)


# ---- Rows ----

def _columns(data: Any, inputs: list[Any]) -> dict[str, Any]:
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return {str(name): _series(data[name]) for name in data.columns}
    if isinstance(data, Mapping):
        return dict(data.items())
    if len(inputs) != 1:
        raise BadRequest(400, "the model has several inputs: give {input: array}")
    return {inputs[0]["name"]: data}


def _series(column: Any) -> Any:
    """An array of a column of pandas: of objects, None for one that is missing, unless
    it is one of NumPy's numbers."""
    array = column.to_numpy()
    return array if array.dtype != object else \
        column.astype(object).where(column.notna(), None).to_numpy()


def _input(meta: dict[str, Any], values: Any) -> tuple[Any, ...]:
    """The JSON of an input, and its bytes."""
    import numpy

    if meta["datatype"] == "BYTES":
        texts = [v if isinstance(v, bytes) else b"" if v is None or v != v
                 else str(v).encode()
                 for v in numpy.asarray(values, object).reshape(-1).tolist()]
        data = b"".join(len(t).to_bytes(4, "little") + t for t in texts)
        shape = [len(texts)]
    else:
        numbers = _numbers(meta, numpy.asarray(values))
        data, shape = numbers.tobytes(), list(numbers.shape)
    return {"name": meta["name"], "datatype": meta["datatype"], "shape": shape,
            "parameters": {"binary_data_size": len(data)}}, data


def _numbers(meta: dict[str, Any], array: Any) -> Any:
    """As numbers of the input's type, which may round fractions and nothing else."""
    import numpy

    if array.dtype == object:  # a column of arrays, or one with None
        array = numpy.array([numpy.nan if v is None else v for v in array.tolist()])
    with numpy.errstate(invalid="ignore"):
        cast = numpy.asarray(array, order="C").astype(_DTYPES[meta["datatype"]])
    rounds = cast.dtype.kind == "f" and array.dtype.kind in "biuf"
    if not rounds and not numpy.array_equal(cast, array):
        raise BadRequest(400, f"input {meta['name']!r}: {array.dtype} does not fit in "
                              f"{meta['datatype']}")
    return cast


# ---- Answers ----

def _read(answer: http.client.HTTPResponse, data: bytes) -> Any:
    length = answer.getheader("Inference-Header-Content-Length")
    head = data[:int(length)] if length else data
    if answer.status >= 400:
        try:
            text = json.loads(head)["error"]
        except (ValueError, KeyError, TypeError):
            text = head.decode("utf-8", "replace") or answer.reason
        bad = answer.status in (400, 413, 415)
        raise (BadRequest if bad else ServeError)(answer.status, text)
    said = json.loads(head) if head else None
    if (not isinstance(said, dict) or "outputs" not in said
            or "model_version" not in said):
        return said
    made, at = {}, len(head)
    for meta in said["outputs"]:
        n = meta.get("parameters", {}).get("binary_data_size", 0)
        made[meta["name"]] = _output(meta, data[at:at + n])
        at += n
    return made


def _output(meta: dict[str, Any], data: bytes) -> Any:
    import numpy

    kind = _DTYPES.get(meta["datatype"], object)
    if "data" in meta:
        values = numpy.array(meta["data"], kind)
    elif kind is object:
        values = numpy.array(_texts(data), object)
    else:
        values = numpy.frombuffer(data, kind).copy()
    return values.reshape(meta["shape"])


def _texts(data: bytes) -> list[Any]:
    texts, at = [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at:at + 4], "little")
        texts.append(data[at + 4:end].decode("utf-8", "surrogateescape"))
        at = end
    return texts
