"""What the soak of Python trains: a DDP model of the size of Fashion-MNIST's rows, by a
DataLoader with a process of its own, and a checkpoint with every report.

    train.py ITERATIONS

What is in the last checkpoint depends on every step: two runs with a difference anywhere end
with other bits.
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import raytrain
import raytrain.torch


class Rows(Dataset):
    """Rows that look like images, by their number alone."""

    def __len__(self):
        return 192

    def __getitem__(self, i):
        return torch.rand(784, generator=torch.Generator().manual_seed(i)), i % 10


def main() -> None:
    raytrain.torch.enable_reproducibility(seed=1)
    net = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    epoch = 0
    checkpoint = raytrain.get_checkpoint()
    if checkpoint:
        state = checkpoint.to_dict()
        net.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        epoch = state["epoch"] + 1
    model = raytrain.torch.prepare_model(net)
    loader = raytrain.torch.prepare_data_loader(
        DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=1))
    for epoch in range(epoch, int(sys.argv[1])):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
        raytrain.report({"loss": loss.item()}, checkpoint=raytrain.Checkpoint.from_dict(
            {"model": net.state_dict(), "optimizer": optimizer.state_dict(),
             "epoch": epoch}))


if __name__ == "__main__":
    main()
