# torch-mlp.py PREPARE STEPS: an MLP 784-512-512-10 with DistributedDataParallel, 128 rows per
# rank and step. PREPARE: "plain", as a script for torchrun does it, or the reducer of
# raytrain.torch.prepare_model(), "raytrain" or "gloo". Rank 0 prints when the first step was
# complete, as seconds of the clock, and samples/s of the last two thirds of the steps. With
# "limit", which is "raytrain", it prints "none" as well: samples/s of as many steps after these,
# in which the workers do not average.
import contextlib
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

prepare, steps = sys.argv[1], int(sys.argv[2])
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                      nn.Linear(512, 10))
if prepare == "plain":
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
else:
    import raytrain.torch

    model = raytrain.torch.prepare_model(
        model, reducer="raytrain" if prepare == "limit" else prepare)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_of = nn.CrossEntropyLoss()
x = torch.rand(16 * 128, 784)
y = torch.randint(0, 10, (16 * 128,))


def train(averaging):
    """Samples/s of all workers; `averaging`: the context of each step."""
    begin = steps // 3
    for step in range(steps):
        if step == begin:
            dist.barrier()
            started = time.perf_counter()
        rows = slice(step % 16 * 128, (step % 16 + 1) * 128)
        with averaging():
            optimizer.zero_grad()
            loss_of(model(x[rows]), y[rows]).backward()
        optimizer.step()
        if step == 0 and averaging == contextlib.nullcontext and dist.get_rank() == 0:
            print("first %.6f" % time.time(), flush=True)
    dist.barrier()
    seconds = time.perf_counter() - started
    return (steps - begin) * 128 * dist.get_world_size() / seconds


rates = {"rate": train(contextlib.nullcontext)}
if prepare == "limit":
    rates["none"] = train(model.no_sync)
if dist.get_rank() == 0:
    for name, rate in rates.items():
        print("%s %.1f" % (name, rate), flush=True)
