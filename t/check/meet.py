"""meet.py FRAMEWORK [RANK [report]]: meet the other ranks as that framework does.

It has its variables alone, and prints "met RANK of SIZE" once data of all ranks have
been exchanged. torch is the real one; for the others the standard library follows what
their sources read. With RANK this rank is killed then, with "report" in the middle of a
report, while the others wait for it.
"""
import http.client
import json
import os
import signal
import socket
import sys
import time

LIMIT_S = int(os.environ.get("MEET_LIMIT_S", 60))


def split(address):
    """"[::1]:80" -> ("::1", 80)."""
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)


def listen(address):
    """As gRPC does: SO_REUSEADDR and SO_REUSEPORT, at any address of the machine."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("", address[1]))
    s.listen(64)
    return s


def connect(address):
    """The other end may not listen yet."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            return socket.create_connection(address, timeout=LIMIT_S)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def torch():
    import datetime

    import torch as t
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=LIMIT_S))
    x = t.ones(1) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    rank, size = dist.get_rank(), dist.get_world_size()
    assert x.item() == size * (size + 1) / 2, x
    assert os.environ["GROUP_RANK"] == os.environ["NODE_RANK"]
    dist.destroy_process_group()
    return rank, size


def tensorflow():
    """Each worker is a server, and hears of all."""
    config = json.loads(os.environ["TF_CONFIG"])
    workers = config["cluster"]["worker"]
    task = config["task"]
    assert task["type"] == "worker" and len(set(workers)) == len(workers), config
    server = listen(split(workers[task["index"]]))
    guests = [connect(split(w)) for w in workers]
    for guest in guests:
        guest.sendall(b"%4d" % task["index"])
    heard = sorted(int(server.accept()[0].recv(4, socket.MSG_WAITALL)) for _ in workers)
    assert heard == list(range(len(workers))), heard
    return task["index"], len(workers)


def jax():
    """Process 0 coordinates, at the address where the others look for it."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "standins"))
    import jax as j

    j.distributed.initialize()
    found = j.distributed.process_id, j.distributed.num_processes
    address = os.environ["JAX_COORDINATOR_ADDRESS"]
    assert j.distributed.bound == (None if found[0] else address), j.distributed.bound
    assert j.distributed.local_device_ids == [int(os.environ["LOCAL_RANK"])]
    assert os.environ["JAX_LOCAL_DEVICE_IDS"] == os.environ["LOCAL_RANK"]
    assert "OMPI_MCA_orte_hnp_uri" not in os.environ  # by which JAX would take it for Open MPI
    return found


def horovod_ask(method, path, body=None):
    env = os.environ
    c = http.client.HTTPConnection(
        env["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
        int(env["HOROVOD_GLOO_RENDEZVOUS_PORT"]),
        timeout=LIMIT_S,
    )
    c.request(method, path, body)
    answer = c.getresponse()
    data = answer.read()
    c.close()
    return answer.status, data


def horovod_get(path):
    end = time.monotonic() + LIMIT_S
    while True:
        status, data = horovod_ask("GET", path)
        if status == 200:
            return data
        assert status == 404 and time.monotonic() < end, (path, status)
        time.sleep(0.01)


def horovod_group(scope, rank, size):
    """All members put their address, get those of all, and say that they are done:
    Horovod 0.28.1, common/gloo/gloo_context.cc and http_store.cc."""
    mine = b"\0%d.%f" % (rank, time.monotonic())
    assert horovod_ask("PUT", "/%s/%d" % (scope, rank), mine)[0] == 200
    for r in range(size):
        assert horovod_get("/%s/%d" % (scope, r)).startswith(b"\0%d." % r)
    assert horovod_ask("DELETE", "/%s/%d" % (scope, rank))[0] == 200
    # the scope is empty once all are done: only then may the next group begin
    end = time.monotonic() + LIMIT_S
    while horovod_ask("GET", "/%s/%d" % (scope, rank)) == (200, mine):
        assert time.monotonic() < end, scope
        time.sleep(0.01)


def horovod():
    def number(name):
        return int(os.environ["HOROVOD_" + name])

    assert os.environ["HOROVOD_CONTROLLER"] == "gloo"
    assert number("RANK") == int(os.environ["RANK"])
    host = os.environ["HOROVOD_HOSTNAME"]
    for again in range(2):  # init(), shutdown(), init()
        horovod_group("global", number("RANK"), number("SIZE"))
        horovod_group("local_" + host, number("LOCAL_RANK"), number("LOCAL_SIZE"))
        horovod_group("cross_%d" % number("LOCAL_RANK"), number("CROSS_RANK"),
                      number("CROSS_SIZE"))
    assert number("LOCAL_SIZE") == int(os.environ["LOCAL_WORLD_SIZE"])
    return number("RANK"), number("SIZE")


def main():
    socket.setdefaulttimeout(LIMIT_S)
    found = globals()[sys.argv[1]]()
    expected = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    assert found == expected, (found, expected)
    print("met %d of %d" % found)
    if len(sys.argv) > 2 and found[0] == int(sys.argv[2]):
        die(sys.argv[3:])
    if len(sys.argv) > 2:
        signal.pause()


def die(how):
    if how != ["report"]:
        os.kill(os.getpid(), signal.SIGKILL)
    import raytrain

    signal.setitimer(signal.ITIMER_REAL, 0.1)
    raytrain.report({"n": 1})


main()
