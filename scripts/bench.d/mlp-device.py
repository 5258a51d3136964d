# mlp-device.py EPOCHS: the MLP of share/examples/fashion_mlp.c in PyTorch on a GPU: 784-512-512-10,
# batches of 128, SGD with momentum. The images are on the host, are shuffled there, and come to
# the GPU by pinned memory, as they do there. Prints samples/s of the last epoch.
import gzip
import sys
import time

import torch
from torch import nn

DATA = "/usr/share/datasets/fashion-mnist/train-"
BATCH = 128


def read(name, head):
    with gzip.open(DATA + name + "-ubyte.gz") as f:
        return torch.frombuffer(bytearray(f.read()[head:]), dtype=torch.uint8)


images = read("images-idx3", 16).reshape(-1, 784)
labels = read("labels-idx1", 8)
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                      nn.Linear(512, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_of = nn.CrossEntropyLoss()
for epoch in range(int(sys.argv[1])):
    order = torch.randperm(len(images))
    total = torch.zeros((), device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    for at in range(0, len(order), BATCH):
        rows = order[at:at + BATCH]
        x = images[rows].pin_memory().cuda(non_blocking=True)
        y = labels[rows].pin_memory().cuda(non_blocking=True)
        loss = loss_of(model((x.float() - 72.94) / 90.02), y.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if not total.item() / (len(order) / BATCH) < 2.3:
        sys.exit("mlp-device.py: it does not learn")
print("%.1f" % (len(order) / seconds))
