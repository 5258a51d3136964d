"""How JAX 0.11.1 finds its processes, after jax/_src/distributed.py and jax/_src/clusters.

It reads what JAX reads, in the same order, and nothing else: the arguments, then the
variables JAX_COORDINATOR_ADDRESS, JAX_LOCAL_DEVICE_IDS and JAX_COORDINATOR_BIND_ADDRESS,
then the first cluster that is there, Open MPI before Slurm. Process 0 listens where JAX
would; all others connect, and return once all have met. As with JAX, the death of a process
ends the others by abort().
"""
import atexit
import os
import socket
import sys
import threading
import time

LIMIT_S = int(os.environ.get("MEET_LIMIT_S", 60))
SLURM = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID",
         "SLURM_LOCALID")

process_id, num_processes, local_device_ids, bound = 0, 1, None, None
_connections = []
_server = None


def _detected():
    """(number of processes, process, local process) of the first cluster that is there."""
    if "OMPI_MCA_orte_hnp_uri" in os.environ:
        return [int(os.environ["OMPI_COMM_WORLD_" + name])
                for name in ("SIZE", "RANK", "LOCAL_RANK")]
    if all(name in os.environ for name in SLURM):
        return [int(os.environ[name]) for name in SLURM[2:]]
    return None, None, None


def _split(address):
    """"[::1]:80" -> ("::1", 80)."""
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)


def _listen(address):
    """As gRPC does, with SO_REUSEADDR and SO_REUSEPORT."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind(address)
    server.listen(64)
    return server


def _connect(address):
    """Process 0 may not listen yet."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            return socket.create_connection(address, timeout=LIMIT_S)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def _meet(address, bind, number, size):
    global bound, _server

    _server = server = _listen(_split(bind)) if number == 0 else None
    bound = bind if server else None
    guest = _connect(_split(address))
    guest.sendall(b"%4d" % number)
    _connections.append(guest)
    if server:
        guests = [server.accept()[0] for _ in range(size)]
        heard = sorted(int(g.recv(4, socket.MSG_WAITALL)) for g in guests)
        assert heard == list(range(size)), heard
        for g in guests:
            g.sendall(b"go")
        _connections.extend(guests)
    assert guest.recv(2, socket.MSG_WAITALL) == b"go"
    for connection in [guest, *guests] if server else [guest]:
        threading.Thread(target=_watch, args=(connection,), daemon=True).start()
    atexit.register(shutdown)


def _watch(connection):
    """The other end says "b" before it closes the connection, or it has died."""
    connection.settimeout(None)
    try:
        last = connection.recv(1)
    except OSError:
        last = b""
    if last != b"b" and _connections:
        print("JAX distributed service detected fatal errors.", file=sys.stderr, flush=True)
        os.abort()


def initialize(coordinator_address=None, num_processes=None, process_id=None,
               local_device_ids=None, cluster_detection_method=None,
               initialization_timeout=300, heartbeat_timeout_seconds=100,
               shutdown_timeout_seconds=300, coordinator_bind_address=None,
               slice_index=None, partition_index=None):
    address = coordinator_address or os.environ.get("JAX_COORDINATOR_ADDRESS")
    devices = local_device_ids
    if devices is None and os.environ.get("JAX_LOCAL_DEVICE_IDS"):
        devices = [int(i) for i in os.environ["JAX_LOCAL_DEVICE_IDS"].split(",")]
    if None in (address, num_processes, process_id, devices):
        size, number, local = _detected()
        num_processes = size if num_processes is None else num_processes
        process_id = number if process_id is None else process_id
        devices = [local] if devices is None and local is not None else devices
    if address is None:
        raise ValueError("coordinator_address should be defined.")
    if num_processes is None:
        raise ValueError("Number of processes must be defined.")
    if process_id is None:
        raise ValueError("The process id of the current process must be defined.")
    bind = coordinator_bind_address or os.environ.get(
        "JAX_COORDINATOR_BIND_ADDRESS", "[::]:" + address.rsplit(":", 1)[1])
    if _connections:
        raise RuntimeError("distributed.initialize should only be called once.")
    _meet(address, bind, process_id, num_processes)
    globals().update(num_processes=num_processes, process_id=process_id,
                     local_device_ids=devices)


def is_initialized():
    return bool(_connections)


def shutdown():
    left = _connections[:]
    _connections.clear()
    for connection in left:
        try:
            connection.sendall(b"b")
        except OSError:  # the other end has gone
            pass
        connection.close()
    if _server:
        _server.close()
