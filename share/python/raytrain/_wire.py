"""Messages between a command and its worker, over a Unix socket.

A header of four little-endian 32-bit numbers (a magic number, the bytes of the text,
the bytes of the data, 0), the text (a JSON object), the data. Descriptors travel with
the header.
"""

from __future__ import annotations

import array
import json
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any, Callable, Sequence, TypeVar

from . import errors

if TYPE_CHECKING:
    from ._protocols import Asks, Buffer, Reply

MAGIC = 0x31535452  # "RTS1"
MAX = 64 << 20
FDS_MAX = 8
_HEADER = struct.Struct("<4I")

T = TypeVar("T")


class Disconnected(ConnectionError):
    """The other end has closed the connection, or is gone."""


def send(sock: socket.socket, message: dict[str, Any], data: Buffer = b"",
         fds: Sequence[int] = ()) -> None:
    """Send one message; data: bytes or anything with the buffer protocol."""
    text = json.dumps(message, separators=(",", ":")).encode("utf-8", "surrogateescape")
    data = memoryview(data).cast("B") if data else b""
    if len(text) > MAX or len(data) > MAX:
        raise ValueError(f"a message of {len(text)} bytes of text and {len(data)} of "
                         f"data is larger than a session takes ({MAX})")
    head = _HEADER.pack(MAGIC, len(text), len(data), 0) + text
    try:
        if fds:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            sent = sock.sendmsg([head], rights)
            head = head[sent:]
        sock.sendall(head)
        if data:
            sock.sendall(data)
    except (BrokenPipeError, ConnectionResetError) as e:
        raise Disconnected(str(e)) from None


def _fill(sock: socket.socket, view: memoryview, fds: list[int]) -> None:
    at = 0
    while at < len(view):
        got, ancillary, _, _ = sock.recvmsg_into(
            [view[at:]], socket.CMSG_SPACE(FDS_MAX * array.array("i").itemsize),
            socket.MSG_CMSG_CLOEXEC)
        for level, kind, rights in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                whole = len(rights) - len(rights) % received.itemsize
                received.frombytes(rights[:whole])
                fds.extend(received)
        if got == 0:
            raise Disconnected("the worker has closed the session")
        at += got


def receive(sock: socket.socket) -> Reply:
    """(message, data, fds) of the next message; the caller closes the descriptors."""
    fds: list[int] = []
    head = bytearray(_HEADER.size)
    try:
        _fill(sock, memoryview(head), fds)
        magic, n_text, n_data, zero = _HEADER.unpack(head)
        if magic != MAGIC or zero or n_text > MAX or n_data > MAX:
            raise Disconnected("what the worker has sent is not a message")
        body = bytearray(n_text + n_data)
        _fill(sock, memoryview(body), fds)
    except ConnectionResetError as e:
        raise Disconnected(str(e)) from None
    return json.loads(body[:n_text]), bytes(body[n_text:]), fds


class Connection:
    """One end of the socket: requests of several threads follow each other. After a
    call that was interrupted, the next reply would be that of another request: the
    connection is of no use then, and says so."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._lock = threading.Lock()
        self._owner = 0  # the thread that makes a request now
        self._interrupted = False

    def _begin(self) -> None:
        if self._owner == threading.get_ident():
            raise errors.RaytrainError(
                "a call of the session in the middle of another one, as from a signal "
                "handler: set a flag there instead", "EINVAL")
        self._lock.acquire()
        self._owner = threading.get_ident()

    def _end(self) -> None:
        self._owner = 0
        self._lock.release()

    def _run(self, exchange: Callable[[], T]) -> T:
        self._begin()
        try:
            if self._interrupted:
                raise errors.RaytrainError(
                    "an earlier call of the session was interrupted in its middle: "
                    "this process can make no more of them", "EINVAL")
            self._interrupted = True
            result = exchange()
            self._interrupted = False
            return result
        finally:
            self._end()

    def call(self, message: dict[str, Any], data: Buffer = b"", fds: Sequence[int] = (),
             asks: Asks | None = None) -> Reply:
        """Send a request and wait for its reply: (reply, data, descriptors). asks: what
        answers a question of the worker, by the question's name: a function of
        (question, descriptors) that returns the answer's (members, data). Raises the
        reply's error, or Disconnected."""
        def exchange() -> Reply:
            send(self.socket, message, data, fds)
            while True:
                reply = receive(self.socket)
                if "ask" not in reply[0]:
                    return reply
                answer, more = (asks or {})[reply[0]["ask"]](reply[0], reply[2])
                send(self.socket, {"op": "answer", **answer}, more)

        reply, received, descriptors = self._run(exchange)
        if "error" in reply:
            raise errors.from_reply(reply["error"])
        return reply, received, descriptors

    def post(self, message: dict[str, Any], data: Buffer = b"") -> None:
        """Send a request that has no reply."""
        self._run(lambda: send(self.socket, message, data))

    def close(self) -> None:
        """Close this end."""
        self.socket.close()
