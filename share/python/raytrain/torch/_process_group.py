"""torch's process group over all workers, if the script has not set one up."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

import torch
import torch.distributed as dist
from typing import Any

from .._session import session
from ..collective import broadcast_from_rank_zero
from ._place import Place, place

_TIMEOUT_S = 1800


def ensure_process_group(device: torch.device) -> None:
    """COLLECTIVE, unless the script has set up the process group.

    Unless init_method says otherwise, no port is fixed beforehand: rank 0 listens at
    any free one, and then says which. One worker alone has a group, too, since
    optimizers ask for it, but no port.
    """
    where = place()
    if dist.is_initialized() or not dist.is_available():
        return
    timeout = timedelta(seconds=float(os.environ.get("RAYTRAIN_TORCH_TIMEOUT_S",
                                                     _TIMEOUT_S)))
    backend = _backend(device)
    if where.world_size == 1:
        dist.init_process_group(backend, store=dist.HashStore(), timeout=timeout,
                                rank=0, world_size=1)
        return
    if not where.has_companion:
        dist.init_process_group(backend, timeout=timeout)
        return
    url = _url(os.environ.get("RAYTRAIN_TORCH_INIT_METHOD", "env"), where)
    how = {"init_method": url} if url else {"store": _store(where, timeout)}
    dist.init_process_group(backend, timeout=timeout, rank=where.rank,
                            world_size=where.world_size, **how)


def _backend(device: torch.device) -> str:
    """That of the user. Of one for each device ("cpu:gloo,cuda:nccl"), that of this
    device alone where torch does not know others: before 2.0, and without GPUs."""
    backend = os.environ.get("RAYTRAIN_TORCH_BACKEND", "")
    of_device = dict(part.split(":", 1) for part in backend.split(",") if ":" in part)
    if of_device and (device.type == "cpu" or torch.__version__.startswith("1.")):
        return of_device[device.type]
    return backend or ("nccl" if device.type == "cuda" else "gloo")


# ---- Where the user says ----

def _url(method: str, where: Place) -> str | None:
    """COLLECTIVE: the URL for torch; None: the user leaves it to us. What cannot be is
    found by rank 0, before the others wait for it."""
    if not method.startswith(("tcp://", "file://")):
        return None
    if method.startswith("file://"):
        method += f".attempt-{session().info['attempt']}"
    error = None
    if where.rank == 0:
        try:
            _prepare_url(method)
        except OSError as e:
            error = (f"rank 0, on {session().info['host']}, cannot use init_method "
                     f"{method!r}: {e}")
    error = broadcast_from_rank_zero(error)
    if error:
        raise RuntimeError(error)
    return method


def _prepare_url(url: str) -> None:
    """On rank 0: a host is this one, and the port is free; a file is new, since one
    that a killed attempt has left would hold the addresses of its processes."""
    if url.startswith("file://"):
        path = url[len("file://"):]
        if os.path.exists(path):
            os.unlink(path)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(path)
        return
    host, _, port = url[len("tcp://"):].rpartition(":")
    found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    for at, (family, kind, protocol, _, address) in enumerate(found):
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                return probe.bind(address)
            except OSError:
                if at == len(found) - 1:
                    raise


# ---- A port of our own ----


def _store(where: Place, timeout: timedelta) -> Any:
    """The TCPStore of all ranks. Rank 0 listens before any other connects."""
    host = os.environ.get("MASTER_ADDR") or "127.0.0.1"
    store = error = None
    if where.rank == 0:
        try:
            store = _listen(host, where.world_size, timeout)
        except Exception as e:
            error = f"rank 0 cannot listen at {host}: {e}"
    error, port = broadcast_from_rank_zero((error, store.port if store else 0))
    if error:
        raise RuntimeError(error)
    if store is None:
        store = _tcp_store(host, port, where.world_size, False, timeout=timeout)
    return store


def _listen(host: str, n: int, timeout: timedelta) -> Any:
    return _tcp_store(host, 0, n, True, timeout=timeout, wait_for_workers=False)


def _tcp_store(*args: Any, **kwargs: Any) -> Any:
    """Without libuv, which torch uses from 2.4 on, and Debian's torch does not have."""
    try:
        return dist.TCPStore(*args, use_libuv=False, **kwargs)
    except TypeError:  # an older torch
        return dist.TCPStore(*args, **kwargs)
