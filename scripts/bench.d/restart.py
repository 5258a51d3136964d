# The same as restart.c for torchrun: gloo, a small model, a checkpoint per step.
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

path = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
again = os.path.exists(path)
model = torch.load(path) if again else torch.zeros(100000)
for i in range(2):
    model = 0.9 * model + rank
    dist.all_reduce(model)
    if rank == 0:
        torch.save(model, path + ".new")
        os.replace(path + ".new", path)
    dist.barrier()
    if again and i == 0 and rank == 0:
        print("reported %.6f" % time.time(), flush=True)
if not again:
    if rank == 1:
        print("killed %.6f" % time.time(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
