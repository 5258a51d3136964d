"""The Trainer of Transformers, which saves its own state, with raytrain's callback."""
import os

import torch
import transformers

import raytrain
import shared
from raytrain.huggingface.transformers import RayTrainReportCallback, prepare_trainer


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                          torch.nn.Linear(32, 1))

    def forward(self, x, labels=None):
        made = self.layers(x).squeeze(-1)
        return {"loss": torch.nn.functional.mse_loss(made, labels), "logits": made}


class Sums(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.rand(256, 16, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "labels": self.x[i].sum()}


class Dies(transformers.TrainerCallback):
    def on_epoch_begin(self, args, state, control, **kwargs):
        shared.epoch_begins(round(state.epoch or 0))


torch.manual_seed(0)
args = transformers.TrainingArguments(
    output_dir=os.path.join(raytrain.get_context().get_trial_dir(), "own"),
    num_train_epochs=shared.EPOCHS, per_device_train_batch_size=16,
    learning_rate=0.01, logging_strategy="epoch", save_strategy="epoch",
    report_to="none", disable_tqdm=True)
trainer = transformers.Trainer(model=Model(), args=args, train_dataset=Sums())
trainer.add_callback(RayTrainReportCallback())
trainer.add_callback(Dies())
trainer = prepare_trainer(trainer)
assert args.world_size == 2, (args.world_size, args.device)
checkpoint = raytrain.get_checkpoint()
if checkpoint:
    with checkpoint.as_directory() as directory:
        trainer.train(resume_from_checkpoint=os.path.join(
            directory, RayTrainReportCallback.CHECKPOINT_NAME))
else:
    trainer.train()
shared.say_torch_bits(trainer.model)
