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

from .errors import NotFound, RaytrainError

_DTYPES = {"BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8",
           "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8", "FP16": "<f2",
           "FP32": "<f4", "FP64": "<f8"}


class ServeError(RaytrainError):
    """A service has refused a request; the text is what it said. status: of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class BadRequest(ServeError, ValueError):
    """The request is at fault: its text names the input."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


# ---- Where it is ----

def addresses(run: str, pid: int | None = None) -> list:
    """What address.json says of the services of a run, or of a checkpoint; the newest
    first. pid: of that process only."""
    base = run if os.path.isdir(run) else os.path.dirname(os.path.abspath(run))
    found = []
    for path in glob.glob(os.path.join(glob.escape(base), "serve",
                                       f"*.{pid or '*'}", "address.json")):
        try:
            with open(path, encoding="utf-8") as file:
                found.append((os.stat(path).st_mtime, json.load(file)))
        except (OSError, ValueError):
            continue  # it has just ended
    return [address for _, address in sorted(found, key=lambda f: f[0], reverse=True)]


def _address_of(where: str) -> dict:
    if where.startswith(("http://", "https://")):
        return {"url": where.rstrip("/")}
    if where.startswith("unix:"):
        return {"url": "http://localhost", "socket": where[5:]}
    for address in addresses(where):
        if address.get("socket") is None or os.path.exists(address["socket"]):
            return address
    raise NotFound(f"{where} is not served now: type: raytrain-serve {where}")


# ---- Tensors ----

def _texts(values: object) -> list:
    return [v if isinstance(v, bytes) else "" if v is None or v != v else str(v)
            for v in values]


def _packed(texts: list) -> bytes:
    raw = [t if isinstance(t, bytes) else t.encode() for t in texts]
    return b"".join(len(t).to_bytes(4, "little") + t for t in raw)


def _unpacked(data: bytes) -> list:
    texts, at = [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at:at + 4], "little")
        texts.append(data[at + 4:end].decode("utf-8", "surrogateescape"))
        at = end
    return texts


def _input(meta: dict, values: object) -> tuple:
    """The JSON of an input, and its bytes."""
    import numpy

    name, kind = meta["name"], meta["datatype"]
    if kind == "BYTES":
        data = _texts(numpy.asarray(values, dtype=object).reshape(-1).tolist())
        data, shape = _packed(data), [len(data)]
    else:
        array = numpy.asarray(values)
        if array.dtype == object:
            array = numpy.array([numpy.asarray(v) if v is not None else numpy.nan
                                 for v in array.tolist()])
        wanted = numpy.dtype(_DTYPES[kind])
        if not numpy.can_cast(array.dtype, wanted, "same_kind"):
            cast = array.astype(wanted)
            if not numpy.array_equal(cast, array):
                raise BadRequest(400, f"input {name!r}: {array.dtype} does not fit in {kind}")
            array = cast
        row = meta["shape"][1:]
        if array.ndim and array.shape[1:] != tuple(row) and not any(n < 0 for n in row):
            raise BadRequest(400, f"input {name!r} has rows of shape "
                                  f"{list(array.shape[1:])}, and the model takes {row}")
        array = numpy.ascontiguousarray(array, wanted)
        data, shape = array.tobytes(), list(array.shape)
    return {"name": name, "datatype": kind, "shape": shape,
            "parameters": {"binary_data_size": len(data)}}, data


def _output(meta: dict, data: bytes) -> object:
    import numpy

    if "data" in meta:
        return numpy.array(meta["data"], _DTYPES.get(meta["datatype"], object)).reshape(
            meta["shape"])
    if meta["datatype"] == "BYTES":
        return numpy.array(_unpacked(data), object).reshape(meta["shape"])
    return numpy.frombuffer(data, _DTYPES[meta["datatype"]]).reshape(meta["shape"]).copy()


# ---- The client ----

class Client:
    """Asks a service for predictions.

        client = Client("raytrain_results/fashion")
        client.predict({"x": images})["probability"]

    where: the directory of a run that is served, or its checkpoint, or the directory of
        several models; "http://HOST:PORT"; or "unix:PATH".
    token: what the service asks for. None: of a run, that of its file.
    name: of the model, if the service has several.
    timeout: seconds for each answer, and for how long a request is repeated while the
        queue of the service is full.
    context: an ssl.SSLContext for https.

    Several threads may use it: each has a connection of its own, which is kept.
    """

    def __init__(self, where: object, token: str | None = None, *, name: str | None = None,
                 timeout: float = 60, context: object = None) -> None:
        address = _address_of(os.fspath(where))
        self.url, self._socket = address["url"], address.get("socket")
        if token is None and address.get("token_file"):
            with open(address["token_file"], encoding="ascii") as file:
                token = file.read().strip()
        self.token, self.timeout, self.context = token, timeout, context
        self._name = name or address.get("model")
        self._local = threading.local()
        self._meta: dict | None = None

    # ---- What it knows ----

    @property
    def name(self) -> str:
        """The model's name."""
        if self._name is None:
            models = self.request("GET", "/raytrain/state")["models"]
            if len(models) != 1:
                raise ValueError("name= is one of " + ", ".join(m["name"] for m in models))
            self._name = models[0]["name"]
        return self._name

    def metadata(self) -> dict:
        """What the model takes and gives, as the protocol has it."""
        self._meta = self.request("GET", self._path())
        return self._meta

    def is_ready(self) -> bool:
        """Are predictions answered now?"""
        try:
            self.request("GET", "/v2/health/ready")
        except (ServeError, OSError):
            return False
        return True

    # ---- Predictions ----

    def predict(self, data: object, *, version: int | None = None) -> dict:
        """{output: array} for rows: {input: array}, a DataFrame of pandas, or an array if
        the model has one input. Columns that are no inputs are left out; a missing text
        is an empty one. version: that of the model, if several are served.

        Raises BadRequest if the rows are at fault, ServeError otherwise.
        """
        meta = self._meta or self.metadata()
        if hasattr(data, "iloc") and hasattr(data, "columns"):
            data = {str(name): data[name].to_numpy() for name in data.columns}
        elif not isinstance(data, dict):
            if len(meta["inputs"]) != 1:
                raise BadRequest(400, "the model has several inputs: give {input: array}")
            data = {meta["inputs"][0]["name"]: data}
        missing = [t["name"] for t in meta["inputs"] if t["name"] not in data]
        if missing:
            raise BadRequest(400, f"the inputs {', '.join(missing)} are missing")
        parts = [_input(t, data[t["name"]]) for t in meta["inputs"]]
        head = json.dumps({"inputs": [p[0] for p in parts],
                           "parameters": {"binary_data_output": True}}).encode()
        return self.request("POST", self._path(version) + "/infer",
                            b"".join([head, *(p[1] for p in parts)]),
                            {"Content-Type": "application/octet-stream",
                             "Inference-Header-Content-Length": str(len(head))})

    # ---- Requests ----

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection:
            connection.close()
        self._local.connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, method: str, path: str, body: bytes | None = None,
                headers: dict | None = None) -> object:
        """What the service says at this path: JSON, or {output: array}."""
        until = time.monotonic() + self.timeout
        while True:
            answer, data = self._send(method, path, body, dict(headers or {}))
            wait = float(answer.getheader("Retry-After") or 1)
            if answer.status != 429 or time.monotonic() + wait > until:
                return self._read(answer, data)
            time.sleep(wait)

    def _path(self, version: int | None = None) -> str:
        path = "/v2/models/" + urllib.parse.quote(self.name, safe="")
        return path if version is None else f"{path}/versions/{version}"

    def _connection(self) -> http.client.HTTPConnection:
        if self._socket:
            return _UnixConnection(self._socket, self.timeout)
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=self.timeout,
                                               context=self.context)
        return http.client.HTTPConnection(parts.netloc, timeout=self.timeout)

    def _send(self, method: str, path: str, body: bytes | None, headers: dict) -> tuple:
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        kept = getattr(self._local, "connection", None)
        connection = kept or self._connection()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (ConnectionError, http.client.BadStatusLine):
            connection.close()
            self._local.connection = None
            if kept is None:
                raise
            return self._send(method, path, body, headers)  # it had been closed meanwhile
        except BaseException:
            connection.close()
            self._local.connection = None
            raise
        self._local.connection = connection
        return answer, data

    def _read(self, answer: http.client.HTTPResponse, data: bytes) -> object:
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
        if not isinstance(said, dict) or "outputs" not in said or "model_version" not in said:
            return said
        made, at = {}, len(head)
        for meta in said["outputs"]:
            n = meta.get("parameters", {}).get("binary_data_size", 0)
            made[meta["name"]] = _output(meta, data[at:at + n])
            at += n
        return made
