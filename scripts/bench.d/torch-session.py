# torch-session.py WHAT: rank 0 of two workers prints the figure of a row of python.sh.
import os
import signal
import sys
import time

begun = time.time()
import torch  # noqa: E402

imported = time.time() - begun
import raytrain  # noqa: E402

what = sys.argv[1]
context = raytrain.get_context()
rank = context.get_world_rank()


def state_dict(n_bytes):
    """Sixteen float32 tensors."""
    rows = n_bytes // 4 // 16 // 1024
    return {f"layer{i}.weight": torch.rand(rows, 1024) for i in range(16)}


def timed(call):
    raytrain.barrier()
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def report():
    """Milliseconds of a report without checkpoint."""
    for _ in range(100):
        raytrain.report({"loss": 0.5})
    ms = timed(lambda: [raytrain.report({"loss": i}) for i in range(1000)]) / 1000
    return ["%.4f" % ms]


def stall():
    """Milliseconds of a report with 256 MiB; of copying them into warm memory; and of
    torch.save and fsync. Medians of five."""
    state = state_dict(256 << 20)
    warm = {name: torch.empty_like(t).copy_(t) for name, t in state.items()}
    figures = [[], [], []]

    def copy():
        for name, tensor in state.items():
            warm[name].copy_(tensor)

    def save():
        with open(sys.argv[2], "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    for turn in range(7):
        checkpoint = None
        if rank == 0:
            checkpoint = raytrain.Checkpoint.from_dict({"model": state})
        took = [timed(lambda: raytrain.report({"loss": turn}, checkpoint=checkpoint))]
        raytrain.barrier()
        time.sleep(1.5)  # until it is written: the next report does not wait for it
        took.append(timed(copy if rank == 0 else lambda: None))
        took.append(timed(save if rank == 0 else lambda: None))
        for i in range(3):
            if turn >= 2:  # both buffers are warm
                figures[i].append(took[i])
    return ["%.3f" % sorted(f)[len(f) // 2] for f in figures]


def restart():
    """When rank 1 is killed; then when the next attempt has reported, and how long torch
    took to import there."""
    if context.get_attempt() == 0:
        raytrain.report({"loss": 1}, checkpoint=raytrain.Checkpoint.from_dict(
            {"model": torch.zeros(100000)}))
        raytrain.report({"loss": 1})
        if rank == 1:
            print("killed %.6f" % time.time(), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        raytrain.barrier()
    raytrain.get_checkpoint().to_dict()
    raytrain.report({"loss": 1})
    return ["reported %.6f" % time.time(), "imported %.6f" % imported]


figures = globals()[what]()
if rank == 0:
    print("\n".join(figures), flush=True)
