"""Cases of DistributedDataParallel: each trains two equal models, one with raytrain's
reducer and one with gloo, and compares them. `ddp_cases.py [CASE]...` prints "ok CASE
RANK" for each.

Gradients must have the same bits on every rank; with two ranks also those of gloo,
since a sum of two numbers has no order.
"""
import sys
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn

import raytrain
import raytrain.torch

rank = raytrain.get_context().get_world_rank()
size = raytrain.get_context().get_world_size()


def mlp(dtype=torch.float32):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(40, 70), nn.Tanh(), nn.Linear(70, 33), nn.Tanh(),
                         nn.Linear(33, 5)).to(dtype)


def batch(step, dtype=torch.float32, rows=8):
    made = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(rows, 40, generator=made).to(dtype)


def same_on_all_ranks(tensors):
    mine = torch.cat([t.detach().reshape(-1).contiguous().view(torch.uint8)
                      for t in tensors])
    every = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(every, mine)
    return all(torch.equal(mine, other) for other in every)


def grads(model):
    return [p.grad.to_dense() for p in model.parameters() if p.grad is not None]


def compare(ours, theirs, close=1e-6):
    assert len(grads(ours)) == len(grads(theirs)) > 0
    assert same_on_all_ranks(grads(ours)), "other bits on another rank"
    for a, b in zip(grads(ours), grads(theirs)):
        if size == 2 and close <= 1e-6:
            assert torch.equal(a, b), (a - b).abs().max()
        assert torch.allclose(a.float(), b.float(), rtol=close, atol=close), \
            (a - b).abs().max()


def pair(make, **ddp):
    both = [raytrain.torch.prepare_model(make(), parallel_strategy_kwargs=dict(ddp),
                                         reducer=r) for r in ("raytrain", "gloo")]
    return both


def train(make, steps=4, close=1e-6, dtype=torch.float32, data=None, **ddp):
    both = pair(make, **ddp)
    for step in range(steps):
        for model in both:
            model.zero_grad()
            model(data(step) if data else batch(step, dtype)).float().square().mean() \
                .backward()
        compare(*both, close)
        with torch.no_grad():  # the next step starts from the same numbers
            for a, b in zip(*(m.parameters() for m in both)):
                if a.grad is not None:
                    a -= 0.1 * b.grad
                    b -= 0.1 * b.grad


def case_plain():
    train(mlp)


def case_many_buckets():
    train(mlp, bucket_cap_mb=0.002)


def case_bucket_view():
    train(mlp, gradient_as_bucket_view=True)


def case_static_graph():
    train(mlp, static_graph=True)


def case_float64():
    train(lambda: mlp(torch.float64), dtype=torch.float64)


class Half(nn.Module):
    """Parameters in half precision; torch 1.13 does not compute with them on CPUs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(8)
        self.weight = nn.Parameter(torch.randn(5, 40).half())

    def forward(self, x):
        return x @ self.weight.float().t()


def case_float16():
    try:
        torch.distributed.broadcast(torch.zeros(1).half(), 0)
    except RuntimeError as e:  # gloo of Debian's torch 2.14, by itself too
        assert "Invalid scalar type" in str(e), e
        return
    train(Half, close=2e-3)


class TwoTypes(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.wide = nn.Linear(40, 17).double()
        self.narrow = nn.Linear(17, 3)

    def forward(self, x):
        return self.narrow(self.wide(x.double()).float())


def case_two_types():
    train(TwoTypes)


class Partial(nn.Module):
    """Uses another half of itself in each step and rank."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.halves = nn.ModuleList([nn.Linear(40, 4), nn.Linear(40, 4)])
        self.never = nn.Linear(40, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.halves[(self.calls + rank) % 2](x)


def case_find_unused_parameters():
    train(Partial, find_unused_parameters=True)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(6)
        self.words = nn.Embedding(50, 12, sparse=True)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.words(x))


def case_sparse():
    train(Sparse, data=lambda step: torch.arange(6) + 7 * rank + step)


def case_accumulation():
    ours, theirs = pair(mlp)
    for step in range(3):
        for model in ours, theirs:
            model.zero_grad()
            for part in range(3):
                with model.no_sync() if part < 2 else nullcontext():
                    model(batch(10 * step + part)).square().mean().backward()
        compare(ours, theirs)


def case_not_finite():
    ours, theirs = pair(mlp)
    for model in ours, theirs:
        x = batch(0)
        if rank == size - 1:
            x[0, 0] = float("nan")
        model(x).square().mean().backward()
    assert same_on_all_ranks(grads(ours))
    assert all(g.isnan().any() for g in grads(ours)[:1])


def case_two_models():
    first, second = pair(mlp)[0], pair(mlp)[0]
    for step in range(3):
        first.zero_grad()
        second.zero_grad()
        second(first(batch(step)).repeat(1, 8)).square().mean().backward()
        assert same_on_all_ranks(grads(first) + grads(second))


def case_many_models():
    """Memory of a model that is gone is given back."""
    for _ in range(20):
        model = pair(mlp)[0]
        model(batch(0)).square().mean().backward()
        del model


def case_join():
    from torch.distributed.algorithms.join import Join

    ours, theirs = pair(mlp)
    for model in ours, theirs:
        with Join([model], divide_by_initial_world_size=True):
            for step in range(2 + rank):
                model.zero_grad()
                model(batch(step)).square().mean().backward()
    if rank == size - 1:
        for a, b in zip(grads(ours), grads(theirs)):
            assert torch.allclose(a, b, rtol=1e-6), (a - b).abs().max()


def main():
    cases = sys.argv[1:] or [n[5:] for n in globals() if n.startswith("case_")]
    for name in cases:
        globals()["case_" + name]()
        raytrain.barrier()
        print("ok", name, rank, flush=True)


main()
