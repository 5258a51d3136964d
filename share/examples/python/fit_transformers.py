"""Trainer of Hugging Face's Transformers on two workers: `python3 fit_transformers.py`. After a
failure, or when the script is run again with more epochs, the training goes on where the last
checkpoint was saved."""

import os
import sys

import torch
import transformers

import raytrain
from raytrain import CheckpointConfig, RunConfig, ScalingConfig
from raytrain.huggingface.transformers import RayTrainReportCallback, prepare_trainer
from raytrain.torch import TorchTrainer


class Adder(torch.nn.Module):
    """A model has its loss among its outputs, as those of Transformers do."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(),
                                          torch.nn.Linear(32, 1))

    def forward(self, x, labels=None):
        made = self.layers(x).squeeze(-1)
        loss = None if labels is None else torch.nn.functional.mse_loss(made, labels)
        return {"loss": loss, "logits": made}


class Sums(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.x = torch.rand(rows, 2, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "labels": self.x[i].sum()}


def train_func(config):
    torch.manual_seed(0)
    args = transformers.TrainingArguments(
        output_dir=os.path.join(raytrain.get_context().get_trial_dir(), "transformers"),
        num_train_epochs=config["epochs"], per_device_train_batch_size=16,
        learning_rate=0.1, logging_strategy="epoch", eval_strategy="epoch",
        save_strategy="epoch", save_total_limit=2, report_to="none", disable_tqdm=True,
        use_cpu=not torch.cuda.is_available())
    trainer = transformers.Trainer(model=Adder(), args=args, train_dataset=Sums(256),
                                   eval_dataset=Sums(64))
    trainer.add_callback(RayTrainReportCallback())
    trainer = prepare_trainer(trainer)
    checkpoint = raytrain.get_checkpoint()
    if checkpoint is None:
        trainer.train()
        return
    with checkpoint.as_directory() as directory:
        trainer.train(resume_from_checkpoint=os.path.join(
            directory, RayTrainReportCallback.CHECKPOINT_NAME))


if __name__ == "__main__":
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    result = TorchTrainer(
        train_func, train_loop_config={"epochs": epochs},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="transformers", storage_path="raytrain_results",
                             on_existing="resume",
                             checkpoint_config=CheckpointConfig(num_to_keep=2))).fit()
    print(f"epoch {result.metrics['epoch']:.0f}, step {result.metrics['step']:.0f}, "
          f"eval_loss {result.metrics['eval_loss']:.3f}")
    print(f"the checkpoint is {result.checkpoint.path}")
