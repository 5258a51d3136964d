"""A stand-in for lightning.pytorch, for tests: what raytrain.lightning uses of it, in which module
it is, and in which order a Trainer calls it. Written after Lightning 2.6.2:
src/lightning/pytorch/trainer/{trainer,call}.py, trainer/connectors/accelerator_connector.py,
strategies/{parallel,ddp,fsdp,deepspeed}.py, plugins/__init__.py, and
src/lightning/fabric/plugins/environments/lightning.py.

The Trainer trains for real, with torch's DistributedDataParallel, on CPUs. It refuses what would
start processes.
"""

import torch
from torch.utils.data import DataLoader, DistributedSampler

from ..fabric import LightningEnvironment
from . import callbacks, plugins, strategies  # noqa: F401
from .callbacks import Callback  # noqa: F401
from .strategies import SingleDeviceStrategy


class LightningModule(torch.nn.Module):
    trainer = None

    def log(self, name, value, **_how):
        self.trainer.callback_metrics[name] = torch.as_tensor(value).detach()

    @property
    def device(self):
        return next(self.parameters()).device


class Trainer:
    def __init__(self, *, max_epochs=1, accelerator="auto", devices="auto", strategy="auto",
                 num_nodes=1, plugins=None, callbacks=None, enable_checkpointing=True,
                 logger=True, enable_progress_bar=True):
        if accelerator not in ("auto", "cpu"):
            raise AssertionError("this stand-in has CPUs alone")
        self.max_epochs, self.callbacks = max_epochs, list(callbacks or [])
        self.strategy = SingleDeviceStrategy() if strategy == "auto" else strategy
        environments = [p for p in plugins or [] if isinstance(p, LightningEnvironment)]
        if getattr(self.strategy, "cluster_environment", None) and environments:
            raise ValueError("cluster_environment set twice")
        if not getattr(self.strategy, "cluster_environment", None):
            self.strategy.cluster_environment = (environments or [LightningEnvironment()])[0]
        # accelerators/cpu.py: "auto" is one device.
        n = 1 if devices == "auto" else devices
        self.strategy.parallel_devices = [torch.device("cpu")] * n
        self.strategy.num_nodes = num_nodes
        self.callback_metrics = {}
        self.current_epoch = self.global_step = 0
        self.model = None

    @property
    def global_rank(self):
        return self.strategy.global_rank

    @property
    def world_size(self):
        return self.strategy.world_size

    @property
    def is_global_zero(self):
        return self.global_rank == 0

    def fit(self, model, train_dataloaders=None, ckpt_path=None):
        self.model = model
        model.trainer = self
        self.strategy.launch()
        self.strategy.setup_environment()
        self.strategy.setup(model)
        self.optimizer = model.configure_optimizers()
        if ckpt_path:
            self._restore(ckpt_path)
        loader = self._distributed(train_dataloaders)
        try:
            for self.current_epoch in range(self.current_epoch, self.max_epochs):
                loader.sampler.set_epoch(self.current_epoch)
                for at, batch in enumerate(loader):
                    loss = self.strategy.model(batch, at)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    self.global_step += 1
                for callback in self.callbacks:
                    callback.on_train_epoch_end(self, model)
        finally:
            self.strategy.teardown()

    def _distributed(self, loader):
        sampler = DistributedSampler(loader.dataset, shuffle=True,
                                     **self.strategy.distributed_sampler_kwargs)
        return DataLoader(loader.dataset, loader.batch_size, sampler=sampler)

    def save_checkpoint(self, filepath, weights_only=None):
        if self.model is None:
            raise AttributeError("no model is attached to the Trainer")
        content = {"epoch": self.current_epoch, "global_step": self.global_step,
                   "state_dict": self.model.state_dict()}
        if not weights_only:
            content["optimizer_states"] = [self.optimizer.state_dict()]
        self.strategy.save_checkpoint(content, filepath)
        self.strategy.barrier("Trainer.save_checkpoint")

    def _restore(self, path):
        content = torch.load(path)
        self.model.load_state_dict(content["state_dict"])
        self.optimizer.load_state_dict(content["optimizer_states"][0])
        self.global_step = content["global_step"]
        self.current_epoch = content["epoch"] + 1
