# torch-mlp.py PREPARE STEPS: an MLP 784-512-512-10 with DistributedDataParallel, 128 rows per
# rank and step. PREPARE: "plain", as a script for torchrun does it, or the reducer of
# raytrain.torch.prepare_model(), "raytrain" or "gloo". Rank 0 prints when the first step was
# complete, as seconds of the clock, and samples/s of the last two thirds of the steps.
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

    model = raytrain.torch.prepare_model(model, reducer=prepare)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_of = nn.CrossEntropyLoss()
x = torch.rand(16 * 128, 784)
y = torch.randint(0, 10, (16 * 128,))
begin = steps // 3
for step in range(steps):
    if step == begin:
        dist.barrier()
        started = time.perf_counter()
    rows = slice(step % 16 * 128, (step % 16 + 1) * 128)
    optimizer.zero_grad()
    loss_of(model(x[rows]), y[rows]).backward()
    optimizer.step()
    if step == 0 and dist.get_rank() == 0:
        print("first %.6f" % time.time(), flush=True)
dist.barrier()
seconds = time.perf_counter() - started
if dist.get_rank() == 0:
    rate = (steps - begin) * 128 * dist.get_world_size() / seconds
    print("rate %.1f" % rate, flush=True)
