"""A training function with XGBoost's own module on two workers: `python3 fit_xgboost.py [ROUNDS]`.
After a failure, or when the script is run again with more rounds, the training goes on with the
model of the last checkpoint."""

import os
import sys

import numpy
import xgboost

import raytrain
from raytrain import CheckpointConfig, RunConfig, ScalingConfig
from raytrain.data import from_numpy
from raytrain.xgboost import RayTrainReportCallback, XGBoostTrainer


def matrix_of(name):
    """The rows of this worker, for XGBoost."""
    batches = list(raytrain.get_dataset_shard(name).iter_batches(batch_size=1024))
    return xgboost.DMatrix(numpy.concatenate([batch["x"] for batch in batches]),
                           numpy.concatenate([batch["y"] for batch in batches]))


def train_func(config):
    model, rounds = None, config["rounds"]
    checkpoint = raytrain.get_checkpoint()
    if checkpoint:
        model = RayTrainReportCallback.get_model(checkpoint)
        rounds -= model.num_boosted_rounds()
    if rounds <= 0:
        return
    train, valid = matrix_of("train"), matrix_of("valid")
    xgboost.train(config["params"], train, num_boost_round=rounds, xgb_model=model,
                  evals=[(train, "train"), (valid, "valid")], verbose_eval=False,
                  callbacks=[RayTrainReportCallback(frequency=2)])


def rows(n, seed):
    x = numpy.random.default_rng(seed).integers(0, 9, (n, 4)).astype("float32")
    return from_numpy({"x": x, "y": (x[:, 0] * x[:, 1] > x[:, 2] * x[:, 3]).astype("float32")})


if __name__ == "__main__":
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    result = XGBoostTrainer(
        train_func,
        train_loop_config={"rounds": n_rounds, "params": {
            "objective": "binary:logistic", "eval_metric": ["logloss", "error"],
            "tree_method": "hist", "max_depth": 4, "nthread": os.cpu_count() // 2 or 1}},
        datasets={"train": rows(2000, 1), "valid": rows(500, 2)},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="xgboost", storage_path="raytrain_results",
                             on_existing="resume",
                             checkpoint_config=CheckpointConfig(num_to_keep=2))).fit()
    model = RayTrainReportCallback.get_model(result.checkpoint)
    print(f"{model.num_boosted_rounds()} rounds, "
          f"valid-error {result.metrics['valid-error']:.3f}")
    print(f"the checkpoint is {result.checkpoint.path}")
