"""What a training function calls: devices, models, optimizers."""

from __future__ import annotations

import os
import random
from typing import Any

import torch

from .. import _session, errors
from ._place import place
from ._process_group import ensure_process_group

_REDUCERS = ("raytrain", "gloo", None)


# ---- Devices ----


def get_device() -> torch.device:
    """The device of this worker: its GPU if it has one, else the CPU."""
    return get_devices()[0]


def get_devices() -> list[torch.device]:
    """The devices of this worker, its first GPU first. A worker sees all GPUs of the
    run on its node: the first GPU of each worker by its local rank, then the second
    ones. A trainer without use_gpu has the CPU alone."""
    if _session.uses_gpu is False:
        return [torch.device("cpu")]
    if not torch.cuda.is_available():
        _warn_of_cpu()
        return [torch.device("cpu")]
    n, workers = torch.cuda.device_count(), place().local_world_size
    each = max(1, n // workers)
    return [torch.device("cuda", (place().local_rank + k * workers) % n)
            for k in range(each)]


def _warn_of_cpu() -> None:
    """The workers have GPUs, and this torch uses none. Once on each node."""
    if not place().has_companion or not _session.facts()["gpus"] or place().local_rank:
        return
    why = "finds none that it can use: see nvidia-smi"
    if not torch.backends.cuda.is_built() and torch.version.hip is None:
        why = "is built without CUDA: install one with it"
    try:
        _session.session().warn(f"the workers have GPUs, but torch {torch.__version__} "
                                f"{why}; they train on CPUs")
    except errors.RaytrainError:
        pass  # the session is another process's, which is warned itself


# ---- Models ----


def prepare_model(
    model: torch.nn.Module,
    move_to_device: bool | torch.device = True,
    parallel_strategy: str | None = "ddp",
    parallel_strategy_kwargs: dict[str, Any] | None = None,
    *,
    wrap_ddp: bool | None = None,
    ddp_kwargs: dict[str, Any] | None = None,
    reducer: str | None = "raytrain",
) -> torch.nn.Module:
    """Move the model to this worker's device, and wrap it in DistributedDataParallel.

    COLLECTIVE: every worker prepares the same model. Sets up torch's process group if
    the script has not (gloo on CPUs, nccl on GPUs). With one worker the model is not
    wrapped.

    Args:
        model: The model.
        move_to_device: False leaves the model where it is; a torch.device moves it
            there.
        parallel_strategy: "ddp", "fsdp" (where torch has it) or None.
        parallel_strategy_kwargs: Further arguments of DistributedDataParallel or
            FullyShardedDataParallel. For the former, gradient_as_bucket_view is True if
            it is not given.
        wrap_ddp: An older name: False is parallel_strategy=None.
        ddp_kwargs: An older name of parallel_strategy_kwargs.
        reducer: How DDP averages gradients in the memory of CPUs: "raytrain", by this
            worker's companion, or "gloo", by the process group. Gradients on GPUs
            always go through the process group.

    Returns:
        The model to train with.

    Raises:
        ValueError: parallel_strategy or reducer is something else.
    """
    if wrap_ddp is not None:
        parallel_strategy = "ddp" if wrap_ddp else None
    kwargs = dict(parallel_strategy_kwargs or {}, **(ddp_kwargs or {}))
    if parallel_strategy not in ("ddp", "fsdp", None):
        raise ValueError(f"prepare_model: parallel_strategy is {parallel_strategy!r}, "
                         f"not one of 'ddp', 'fsdp' and None")
    if reducer not in _REDUCERS:
        raise ValueError(f"prepare_model: reducer is {reducer!r}, not one of "
                         f"'raytrain' and 'gloo'")
    device = get_device()
    if (isinstance(move_to_device, torch.device)
            and move_to_device != torch.device("cuda")):
        device = move_to_device
    use_device(device)
    ensure_process_group(device)
    if move_to_device:
        model = model.to(device)
    if _accelerator is not None:
        model = _accelerator.wrap_forward(model)
    if parallel_strategy is None or place().world_size == 1:
        return model
    if parallel_strategy == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel

        kwargs.setdefault("device_id", device)  # without it, torch takes no CPU
        return FullyShardedDataParallel(model, **kwargs)
    return _wrap_ddp(model, kwargs, reducer)


def use_device(device: torch.device) -> None:
    """Let "cuda" mean this worker's GPU, for torch and for nccl."""
    if device.type == "cuda":
        torch.cuda.set_device(device)


def _device_ids(devices: set[torch.device]) -> dict[str, Any]:
    """DDP's arguments for a model on these devices: none on the CPU, and none on
    several GPUs, as DDP wants it."""
    only = devices.pop() if len(devices) == 1 else torch.device("cpu")
    if only.type != "cuda":
        return {}
    return {"device_ids": [only.index], "output_device": only.index}


def _wrap_ddp(model: torch.nn.Module, kwargs: dict[str, Any],
              reducer: str | None) -> torch.nn.Module:
    from torch.nn.parallel import DistributedDataParallel

    if "device_ids" not in kwargs:
        kwargs.update(_device_ids({p.device for p in model.parameters()}))
    kwargs.setdefault("gradient_as_bucket_view", True)  # spares two copies a step
    wrapped = DistributedDataParallel(model, **kwargs)
    if reducer == "raytrain" and _is_reducible(wrapped, kwargs.get("process_group")):
        from ._reducer import Reducer

        state = Reducer(wrapped, kwargs.get("process_group"))
        wrapped.register_comm_hook(state, Reducer.hook)
    return wrapped


def _is_reducible(model: torch.nn.Module, process_group: Any) -> bool:
    """Companions average over all workers, and see the memory of CPUs alone."""
    import torch.distributed as dist

    trained = [p for p in model.parameters() if p.requires_grad]
    return (place().has_companion and bool(trained)
            and all(p.device.type == "cpu" for p in trained)
            and dist.get_world_size(process_group) == place().world_size)


# ---- Optimizers, mixed precision ----


class _Accelerator:
    """Mixed precision: float16 with a scaled loss on GPUs, bfloat16 on CPUs."""

    def __init__(self, amp: bool) -> None:
        self.amp = amp
        self.device = get_device()
        self.scaler = None
        if amp and self.device.type == "cuda":
            self.scaler = torch.cuda.amp.GradScaler()

    def wrap_forward(self, model: torch.nn.Module) -> torch.nn.Module:
        if not self.amp:
            return model
        forward = model.forward
        dtype = torch.float16 if self.device.type == "cuda" else torch.bfloat16

        def autocast_forward(*args: Any, **kwargs: Any) -> Any:
            with torch.autocast(self.device.type, dtype=dtype):
                result = forward(*args, **kwargs)
            return _widened(result)

        model.forward = autocast_forward
        return model


class _ScaledOptimizer(torch.optim.Optimizer):
    """An optimizer whose step() undoes the scale of the loss."""

    def __init__(self, optimizer: torch.optim.Optimizer, scaler: Any) -> None:
        self.optimizer = optimizer
        self.scaler = scaler

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["optimizer"], name)

    @property
    def state(self) -> Any:
        return self.optimizer.state

    @property
    def param_groups(self) -> Any:
        return self.optimizer.param_groups

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        self.optimizer.zero_grad(*args, **kwargs)

    def add_param_group(self, group: dict[str, Any]) -> None:
        self.optimizer.add_param_group(group)

    def state_dict(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)

    def step(self, closure: Any = None) -> Any:
        if closure is not None:
            raise ValueError("a step with mixed precision takes no closure")
        result = self.scaler.step(self.optimizer)
        self.scaler.update()
        return result


_accelerator: _Accelerator | None = None


def _widened(value: Any) -> Any:
    """Outputs as float32: losses lose too much in half precision."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.is_floating_point() else value
    if isinstance(value, dict):
        return type(value)((k, _widened(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_widened(v) for v in value)
    return value


def accelerate(amp: bool = False) -> None:
    """Turn on mixed precision for the models that are prepared from now on. Call it
    once, first in the training function; prepare optimizers, and call backward().

    Args:
        amp: Models compute in float16 on GPUs, and in bfloat16 on CPUs.

    Raises:
        RuntimeError: It was called before.
    """
    global _accelerator

    if _accelerator is not None:
        raise RuntimeError("accelerate() was called twice")
    _accelerator = _Accelerator(amp)


def prepare_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The optimizer for a training with accelerate(amp=True).

    Args:
        optimizer: That of the script.

    Returns:
        One that knows the scale of the loss; without accelerate() the same.
    """
    if _accelerator is None or _accelerator.scaler is None:
        return optimizer
    return _ScaledOptimizer(optimizer, _accelerator.scaler)


def backward(tensor: torch.Tensor) -> None:
    """tensor.backward(), of a loss that accelerate(amp=True) scales.

    Args:
        tensor: The loss.
    """
    if _accelerator is not None and _accelerator.scaler is not None:
        tensor = _accelerator.scaler.scale(tensor)
    tensor.backward()


# ---- Reproducibility ----


def enable_reproducibility(seed: int = 0) -> None:
    """Seed the generators of torch, Python and NumPy, and let torch choose
    deterministic algorithms. Training is slower then, and its results do not change
    from run to run on the same machine.

    Args:
        seed: The seed of all of them.
    """
    torch.manual_seed(seed)
    random.seed(seed)
    try:
        import numpy
    except ImportError:
        pass
    else:
        numpy.random.seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
