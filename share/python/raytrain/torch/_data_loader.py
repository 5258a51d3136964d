"""Data loaders of which each worker reads its share."""

from __future__ import annotations

from typing import Any, Iterator

import torch
from torch.utils.data import (DataLoader, IterableDataset, RandomSampler,
                              SequentialSampler)
from torch.utils.data.distributed import DistributedSampler

from ._place import place
from ._train_loop import get_device


class _EpochSampler(DistributedSampler):
    """A DistributedSampler that shuffles anew in every epoch, also if the training
    function never calls set_epoch()."""

    _chosen = False

    def set_epoch(self, epoch: int) -> None:
        """The order of the next epochs is that of `epoch`, until the next call."""
        self._chosen = True
        super().set_epoch(epoch)

    def __iter__(self) -> Iterator[int]:
        order = super().__iter__()
        if not self._chosen:
            self.epoch += 1
        return order


def prepare_data_loader(
    data_loader: DataLoader,
    add_dist_sampler: bool = True,
    move_to_device: bool = True,
    auto_transfer: bool = True,
) -> Any:
    """The same loader, for this worker's share of the data.

    add_dist_sampler: give the loader a DistributedSampler, which shuffles if the loader
        did. It stays as it is if its data set is iterable, or if it has another sampler
        than DataLoader's own, or a batch sampler. A shuffled order changes in every
        epoch; call loader.sampler.set_epoch(epoch) if a resumed run is to continue the
        order of the one before.
    move_to_device: batches are tensors on this worker's device.
    auto_transfer: on a GPU, copy the next batch while this one is computed on.
    """
    if add_dist_sampler and place().world_size > 1 and _is_divisible(data_loader):
        data_loader = _divided(data_loader)
    device = get_device()
    if not move_to_device or device.type == "cpu":
        return data_loader
    return _DeviceLoader(data_loader, device, auto_transfer)


def _is_divisible(loader: DataLoader) -> bool:
    return (not isinstance(loader.dataset, IterableDataset)
            and type(loader.sampler) in (SequentialSampler, RandomSampler)
            and not getattr(loader.sampler, "replacement", False)
            and loader.batch_size is not None)


def _divided(loader: DataLoader) -> DataLoader:
    shuffle = isinstance(loader.sampler, RandomSampler)
    sampler = _EpochSampler(loader.dataset, num_replicas=place().world_size,
                            rank=place().rank, shuffle=shuffle)
    kwargs = {
        "dataset": loader.dataset,
        "batch_size": loader.batch_size,
        "sampler": sampler,
        "num_workers": loader.num_workers,
        "collate_fn": loader.collate_fn,
        "pin_memory": loader.pin_memory,
        "drop_last": loader.drop_last,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
        "multiprocessing_context": loader.multiprocessing_context,
        "persistent_workers": loader.persistent_workers,
    }
    if loader.num_workers > 0:
        kwargs["prefetch_factor"] = loader.prefetch_factor
    if get_device().type == "cuda":
        kwargs["pin_memory"] = True
    return DataLoader(**kwargs)


class _DeviceLoader:
    """Batches of another loader, moved to a device."""

    def __init__(self, loader: DataLoader, device: torch.device, ahead: bool) -> None:
        self._loader = loader
        self._device = device
        self._ahead = ahead and device.type == "cuda"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_loader"], name)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        if not self._ahead:
            for batch in self._loader:
                yield _moved(batch, self._device, False)
            return
        yield from self._iter_ahead()

    def _iter_ahead(self) -> Iterator[Any]:
        stream = torch.cuda.Stream(self._device)
        batches = iter(self._loader)

        def fetch() -> Any:
            batch = next(batches, None)
            with torch.cuda.stream(stream):
                return _moved(batch, self._device, True)

        following = fetch()
        while following is not None:
            current = torch.cuda.current_stream(self._device)
            current.wait_stream(stream)
            _record(following, current)
            batch, following = following, fetch()
            yield batch


def _moved(batch: Any, device: torch.device, later: bool) -> Any:
    """The batch with all of its tensors on the device."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=later)
    if isinstance(batch, dict):
        return {k: _moved(v, device, later) for k, v in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_moved(v, device, later) for v in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(_moved(v, device, later) for v in batch)
    return batch


def _record(batch: Any, stream: Any) -> None:
    """The tensors are used on this stream: their memory must not be reused before."""
    if isinstance(batch, torch.Tensor):
        if batch.is_cuda:
            batch.record_stream(stream)
    elif isinstance(batch, dict):
        for value in batch.values():
            _record(value, stream)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            _record(value, stream)
