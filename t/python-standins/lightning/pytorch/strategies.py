import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


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
