"""Train a function on several workers from Python, and look at what it has left:

    python3 fit.py [WORKERS]

A network learns to add; torch averages the gradients of the workers. Run it again to
start anew; the run before is set aside.
"""

import sys

import torch

import raytrain
import raytrain.torch
from raytrain import Checkpoint, CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from raytrain.torch import TorchTrainer


def train(config):
    torch.manual_seed(raytrain.get_context().get_world_rank())
    model = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    start = 0
    checkpoint = raytrain.get_checkpoint()
    if checkpoint:
        state = checkpoint.to_dict()
        model.load_state_dict(state["model"])
        start = state["epoch"] + 1
    model = raytrain.torch.prepare_model(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])

    for epoch in range(start, config["epochs"]):
        for _ in range(20):
            x = torch.rand(64, 2)
            loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        weights = getattr(model, "module", model).state_dict()
        raytrain.report({"loss": loss.item()},
                        checkpoint=Checkpoint.from_dict({"model": weights, "epoch": epoch}))


if __name__ == "__main__":
    trainer = TorchTrainer(
        train,
        train_loop_config={"lr": 0.01, "epochs": 10},
        scaling_config=ScalingConfig(num_workers=int(sys.argv[1]) if sys.argv[1:] else 2),
        run_config=RunConfig(
            name="adder",
            failure_config=FailureConfig(max_failures=2),
            checkpoint_config=CheckpointConfig(
                num_to_keep=2, checkpoint_score_attribute="loss",
                checkpoint_score_order="min")))
    result = trainer.fit()
    print(f"loss {result.metrics['loss']:.4f} after {result.metrics['training_iteration']} "
          f"reports, in {result.path}")
    best = result.get_best_checkpoint("loss", "min")
    print("the best weights are in", best.path)
    print("bias of the last layer:", best.to_dict()["model"]["2.bias"].item())
