"""Lightning's Trainer, with raytrain's strategy, environment and callback."""
import os

import lightning.pytorch as pl
import torch

import raytrain
import raytrain.lightning as rl
import shared


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                          torch.nn.Linear(32, 1))

    def training_step(self, batch, batch_idx):
        loss = (self.layers(batch[0]) - batch[0].sum(1, keepdim=True)).pow(2).mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

    def on_train_epoch_start(self):
        shared.epoch_begins(self.trainer.current_epoch)


torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.rand(256, 16))
trainer = rl.prepare_trainer(pl.Trainer(
    max_epochs=shared.EPOCHS, accelerator="cpu", devices="auto",
    strategy=rl.RayDDPStrategy(), plugins=[rl.RayLightningEnvironment()],
    callbacks=[rl.RayTrainReportCallback()], enable_checkpointing=False, logger=False,
    enable_progress_bar=False))
model, loader = Model(), torch.utils.data.DataLoader(data, batch_size=32)
checkpoint = raytrain.get_checkpoint()
if checkpoint:
    with checkpoint.as_directory() as directory:
        trainer.fit(model, train_dataloaders=loader, ckpt_path=os.path.join(
            directory, rl.RayTrainReportCallback.CHECKPOINT_NAME))
else:
    trainer.fit(model, train_dataloaders=loader)
assert trainer.world_size == 2
shared.say_torch_bits(model)
