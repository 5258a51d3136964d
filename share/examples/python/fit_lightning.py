"""PyTorch Lightning on two workers: `python3 fit_lightning.py`. After a failure, or when the
script is run again, the training goes on with the epoch after the last checkpoint."""

import os
import sys

import lightning.pytorch as pl
import torch

import raytrain
import raytrain.lightning
from raytrain import CheckpointConfig, RunConfig, ScalingConfig
from raytrain.lightning import RayTrainReportCallback
from raytrain.torch import TorchTrainer


class Classifier(pl.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(),
                                          torch.nn.Linear(64, 2))
        self.lr = lr

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.layers(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.lr)


def train_func(config):
    torch.manual_seed(0)
    x = torch.rand(1024, 32)
    y = (x.sum(1) > 16).long()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y),
                                         batch_size=32)
    trainer = pl.Trainer(
        max_epochs=config["epochs"], accelerator="auto", devices="auto",
        strategy=raytrain.lightning.RayDDPStrategy(),
        plugins=[raytrain.lightning.RayLightningEnvironment()],
        callbacks=[RayTrainReportCallback()],
        enable_checkpointing=False, logger=False, enable_progress_bar=False)
    trainer = raytrain.lightning.prepare_trainer(trainer)
    model = Classifier(config["lr"])
    checkpoint = raytrain.get_checkpoint()
    if checkpoint is None:
        trainer.fit(model, train_dataloaders=loader)
        return
    with checkpoint.as_directory() as directory:
        path = os.path.join(directory, RayTrainReportCallback.CHECKPOINT_NAME)
        trainer.fit(model, train_dataloaders=loader, ckpt_path=path)


if __name__ == "__main__":
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    result = TorchTrainer(
        train_func, train_loop_config={"epochs": epochs, "lr": 0.1},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="lightning", storage_path="raytrain_results",
                             on_existing="resume",
                             checkpoint_config=CheckpointConfig(num_to_keep=2))).fit()
    print(f"epoch {result.metrics['epoch']:.0f}, step {result.metrics['step']:.0f}, "
          f"loss {result.metrics['loss']:.3f}")
    print(f"the checkpoint is {result.checkpoint.path}")
