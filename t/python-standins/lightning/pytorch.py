"""A stand-in for lightning.pytorch, for tests: what raytrain.lightning uses of it, and in which
order a Trainer calls it. Written after Lightning 2.6.2: src/lightning/pytorch/trainer/{trainer,
call}.py, trainer/connectors/accelerator_connector.py, strategies/{parallel,ddp,fsdp,deepspeed}.py,
and src/lightning/fabric/plugins/environments/lightning.py.

The Trainer trains for real, with torch's DistributedDataParallel, on CPUs. It refuses what would
start processes.
"""

import os
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


# ---- Environments ----


class LightningEnvironment:
    def __init__(self):
        self._world_size, self._global_rank = 1, 0

    @property
    def creates_processes_externally(self):
        return "LOCAL_RANK" in os.environ

    @property
    def main_address(self):
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    @property
    def main_port(self):
        return int(os.environ["MASTER_PORT"])

    def world_size(self):
        return self._world_size

    def set_world_size(self, size):
        self._world_size = size

    def global_rank(self):
        return self._global_rank

    def set_global_rank(self, rank):
        self._global_rank = rank

    def local_rank(self):
        return int(os.environ.get("LOCAL_RANK", 0))

    def node_rank(self):
        return int(os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", 0)))

    def teardown(self):
        os.environ.pop("WORLD_SIZE", None)


# ---- Strategies ----


class Strategy:
    cluster_environment = None


class DDPStrategy(Strategy):
    def __init__(self, cluster_environment=None, process_group_backend=None, **ddp_kwargs):
        self.cluster_environment = cluster_environment
        self.parallel_devices = None
        self.num_nodes = 1
        self.model = None
        self._backend, self._ddp_kwargs = process_group_backend, ddp_kwargs

    @property
    def root_device(self):
        return self.parallel_devices[self.local_rank]

    @property
    def num_processes(self):
        return len(self.parallel_devices)

    @property
    def distributed_sampler_kwargs(self):
        return {"num_replicas": self.num_nodes * self.num_processes, "rank": self.global_rank}

    @property
    def global_rank(self):
        return self.cluster_environment.global_rank()

    @property
    def local_rank(self):
        return self.cluster_environment.local_rank()

    @property
    def node_rank(self):
        return self.cluster_environment.node_rank()

    @property
    def world_size(self):
        return self.cluster_environment.world_size()

    def launch(self):
        if not self.cluster_environment.creates_processes_externally and self.num_processes > 1:
            raise AssertionError("Lightning would start processes itself")

    def setup_environment(self):
        environment = self.cluster_environment
        environment.set_global_rank(self.node_rank * self.num_processes + self.local_rank)
        environment.set_world_size(self.num_nodes * self.num_processes)
        if dist.is_initialized():
            return
        dist.init_process_group(self._backend or "gloo", rank=environment.global_rank(),
                                world_size=environment.world_size())

    def setup(self, module):
        self.module = module.to(self.root_device)
        self.model = DistributedDataParallel(_Step(module), **self._ddp_kwargs)

    def save_checkpoint(self, content, path):
        if self.global_rank == 0:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            torch.save(content, path)

    def barrier(self, name=None):
        dist.barrier()

    def teardown(self):
        self.cluster_environment.teardown()


class FSDPStrategy(DDPStrategy):
    """Its checkpoint is a directory, as with state_dict_type="sharded"."""

    def __init__(self, state_dict_type="full", **kwargs):
        super().__init__(**kwargs)
        self._state_dict_type = state_dict_type

    def save_checkpoint(self, content, path):
        if self._state_dict_type == "full":
            super().save_checkpoint(content, path)
            return
        paths = [path]
        dist.broadcast_object_list(paths)
        if self.global_rank == 0:
            os.makedirs(paths[0])
            torch.save({k: v for k, v in content.items() if k != "state_dict"},
                       os.path.join(paths[0], "meta.pt"))
        dist.barrier()
        os.makedirs(paths[0], exist_ok=True)
        with open(os.path.join(paths[0], f"__{self.global_rank}_0.distcp"), "wb") as file:
            torch.save({"rank": self.global_rank}, file)


class DeepSpeedStrategy(DDPStrategy):
    pass


class SingleDeviceStrategy(Strategy):
    pass


class _Step(torch.nn.Module):
    """What DDP wraps: its forward is the training step of the module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module.training_step(*args)


# ---- Modules and callbacks ----


class LightningModule(torch.nn.Module):
    trainer = None

    def log(self, name, value, **_how):
        self.trainer.callback_metrics[name] = torch.as_tensor(value).detach()

    @property
    def device(self):
        return next(self.parameters()).device


class Callback:
    def on_train_epoch_end(self, trainer, pl_module):
        pass


# ---- Trainer ----


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


callbacks = SimpleNamespace(Callback=Callback)
strategies = SimpleNamespace(DDPStrategy=DDPStrategy, FSDPStrategy=FSDPStrategy,
                             DeepSpeedStrategy=DeepSpeedStrategy)
plugins = SimpleNamespace(environments=SimpleNamespace(
    LightningEnvironment=LightningEnvironment))
