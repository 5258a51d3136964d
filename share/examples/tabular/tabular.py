"""The same in Python: train on the customers of customers.py, and ask the checkpoint about
two more.

    python3 customers.py && python3 tabular.py [WORKERS]
"""
import sys

import torch

import raytrain
import raytrain.torch
from raytrain import Checkpoint, RunConfig, ScalingConfig
from raytrain.data import get_dataset_shard, read_csv
from raytrain.preprocessors import (Chain, Concatenator, LabelEncoder, OneHotEncoder,
                                    SimpleImputer, StandardScaler)
from raytrain.torch import TorchPredictor, TorchTrainer


def train(config):
    shard, test = get_dataset_shard("train"), get_dataset_shard("test", equal=False)
    torch.manual_seed(1)  # the same initial weights on all workers, in every run
    width, = shard.schema()["features"][1]
    model = raytrain.torch.prepare_model(torch.nn.Linear(width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    loss_of = torch.nn.BCEWithLogitsLoss()
    for _ in range(config["epochs"]):
        for batch in shard.iter_torch_batches(batch_size=128):
            loss = loss_of(model(batch["features"])[:, 0], batch["bought"].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            hits = [((model(b["features"])[:, 0] > 0) == (b["bought"] > 0)).float().mean()
                    for b in test.iter_torch_batches(batch_size=512)]
        weights = getattr(model, "module", model).state_dict()
        raytrain.report({"loss": loss.item(), "accuracy": float(sum(hits) / len(hits))},
                        checkpoint=Checkpoint.from_dict({"model": weights}))


if __name__ == "__main__":
    steps = Chain(SimpleImputer(["age"]), StandardScaler(["age", "income"]),
                  OneHotEncoder(["city"]), LabelEncoder("bought"),
                  Concatenator(["age", "income", "city"], "features", "float32"))
    trainer = TorchTrainer(
        train, train_loop_config={"lr": 0.5, "epochs": 5}, preprocessor=steps,
        datasets={"train": read_csv("customers-train.csv", shuffle=True),
                  "test": read_csv("customers-test.csv")},
        scaling_config=ScalingConfig(num_workers=int(sys.argv[1]) if sys.argv[1:] else 2),
        run_config=RunConfig(name="tabular-python"))
    result = trainer.fit()
    print(f"accuracy {result.metrics['accuracy']:.3f}")

    learned = result.checkpoint.get_preprocessor()
    print(f"mean age {learned.stats_['mean(age)']:.1f}, cities",
          ", ".join(learned.stats_["categories(city)"]))
    predictor = TorchPredictor.from_checkpoint(result.checkpoint, torch.nn.Linear(6, 1))
    two = {"age": [30.0, 70.0], "income": [20000.0, 40000.0], "city": ["Lyon", "Bonn"]}
    scores = predictor.predict(two)["predictions"][:, 0]
    print("probabilities", [round(p, 2) for p in torch.sigmoid(torch.tensor(scores)).tolist()])
