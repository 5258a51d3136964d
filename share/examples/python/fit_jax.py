"""JAX on two workers: `python3 fit_jax.py [EPOCHS]`. Each worker has its own rows, and gradients
are averaged over the processes of JAX. After a failure, or when the script is run again with
more epochs, the training goes on with the parameters of the last checkpoint."""

import sys

import numpy

import raytrain
from raytrain import Checkpoint, CheckpointConfig, RunConfig, ScalingConfig
from raytrain.jax import JaxTrainer


def train_func(config):
    import jax
    import jax.numpy as jnp
    from jax.experimental import multihost_utils

    # JaxTrainer has called jax.distributed.initialize(): this is process RANK of SIZE.
    context = raytrain.get_context()
    rows = numpy.random.default_rng(context.get_world_rank())
    x = rows.normal(size=(256, 3))
    y = x @ numpy.array([1.0, -2.0, 0.5]) + 3.0

    def loss_of(weights):
        return jnp.mean((jnp.dot(x, weights[:3]) + weights[3] - y) ** 2)

    step = jax.jit(jax.value_and_grad(loss_of))
    weights, first = numpy.zeros(4), 0
    checkpoint = raytrain.get_checkpoint()
    if checkpoint:
        state = checkpoint.to_dict()
        weights, first = state["weights"], state["epoch"] + 1
    for epoch in range(first, config["epochs"]):
        loss, gradient = step(weights)
        mine = numpy.append(numpy.asarray(gradient), loss)
        mean = numpy.asarray(multihost_utils.process_allgather(mine)).reshape(-1, 5).mean(0)
        weights = weights - 0.2 * mean[:4]
        state = {"weights": weights, "epoch": epoch}
        raytrain.report({"loss": float(mean[4])}, Checkpoint.from_dict(state))
    return [round(float(weight), 3) for weight in weights]


if __name__ == "__main__":
    result = JaxTrainer(
        train_func, train_loop_config={"epochs": int(sys.argv[1]) if len(sys.argv) > 1 else 30},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="jax", checkpoint_config=CheckpointConfig(num_to_keep=2)),
    ).fit()
    print("weights", result.return_value, "loss", result.metrics["loss"])
