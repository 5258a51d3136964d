"""A data-parallel multi-layer perceptron on Fashion-MNIST, with PyTorch.

    raytrain-run --workers 2 --backend torch -- python3 fashion_mnist_torch.py

Under torchrun the same script trains, too, but nothing is reported or saved:

    torchrun --nproc_per_node 2 fashion_mnist_torch.py

A run that is interrupted and resumed on as many workers gives bit-identical results:
model, optimizer and epoch are in the checkpoint, and the order of the data depends on
the epoch.
"""

import argparse
import gzip
import struct
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import raytrain
import raytrain.torch

DATA = "/usr/share/datasets/fashion-mnist"  # Debian package dataset-fashion-mnist


def read_idx(path: str) -> torch.Tensor:
    """The array of a file in IDX format: unsigned bytes of any shape."""
    with gzip.open(path) as file:
        data = bytearray(file.read())
    dims = data[3]
    shape = struct.unpack_from(f">{dims}I", data, 4)
    return torch.frombuffer(data, dtype=torch.uint8, offset=4 + 4 * dims).reshape(shape)


def read_set(directory: str, name: str, rows: int) -> TensorDataset:
    """Images as rows of 784 numbers from 0 to 1, and labels from 0 to 9."""
    x = read_idx(f"{directory}/{name}-images-idx3-ubyte.gz")[:rows]
    y = read_idx(f"{directory}/{name}-labels-idx1-ubyte.gz")[:rows]
    return TensorDataset(x.reshape(len(x), -1).float() / 255, y.long())


def accuracy(model: nn.Module, test: TensorDataset) -> float:
    """The share of the test set that the model classifies correctly."""
    x, y = test.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def train_epoch(model: nn.Module, loader: DataLoader, optimizer, loss_of) -> float:
    """One pass over this worker's share of the data; returns the mean loss."""
    total = batches = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        batches += 1
    return total / batches


def main() -> None:
    """Train as the command line says."""
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--batch-size", type=int, default=64, help="rows per worker")
    options.add_argument("--hidden", type=int, default=512)
    options.add_argument("--lr", type=float, default=0.05)
    options.add_argument("--rows", type=int, default=60000, help="rows to use")
    options.add_argument("--reducer", default="raytrain", help="or gloo")
    options.add_argument("--data", default=DATA)
    args = options.parse_args()

    raytrain.torch.enable_reproducibility(seed=1)
    net = nn.Sequential(
        nn.Linear(784, args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    epoch = 0
    checkpoint = raytrain.get_checkpoint()
    if checkpoint:
        state = checkpoint.to_dict()
        net.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        epoch = state["epoch"] + 1
    model = raytrain.torch.prepare_model(net, reducer=args.reducer)
    train = read_set(args.data, "train", args.rows)
    test = read_set(args.data, "t10k", 10000)
    loader = raytrain.torch.prepare_data_loader(
        DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True))
    loss_of = nn.CrossEntropyLoss()
    while epoch < args.epochs:
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        begun = time.perf_counter()
        loss = train_epoch(model, loader, optimizer, loss_of)
        seconds = time.perf_counter() - begun
        raytrain.report(
            {"loss": loss, "accuracy": accuracy(net, test), "epoch": epoch,
             "samples_per_s": len(train) / seconds},
            checkpoint=raytrain.Checkpoint.from_dict(
                {"model": net.state_dict(), "optimizer": optimizer.state_dict(),
                 "epoch": epoch}))
        epoch += 1


if __name__ == "__main__":
    main()
