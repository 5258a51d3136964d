"""Data loaders that continue in the middle of an epoch: the position of a pass is part
of each checkpoint, and the first pass after a restart begins there.

If the samples are divided here, all workers share a position: the number of samples in
the epoch's order that were used so far. On another number of workers the rest of the
order is divided again. A loader with a sampler of the script has a separate position on
each worker, and so has a loader of an iterable dataset, which keeps its own state."""

from __future__ import annotations

import copy
import itertools
import weakref
from typing import Any, Iterator

import torch
from torch.utils.data import (BatchSampler, DataLoader, IterableDataset, RandomSampler,
                              get_worker_info)
from torch.utils.data.distributed import DistributedSampler

from .. import _positions
from .._session import session
from ._place import place


class EpochSampler(DistributedSampler):
    """A DistributedSampler that uses a new order in every epoch, even if the training
    function never calls set_epoch(), and can leave out the start of an order."""

    chosen = False  # has the training function called set_epoch()?
    advances = True  # to another order in each epoch, if it has not
    adopts = True  # the seed of a checkpoint
    start = 0  # samples that the next pass leaves out, of those of all workers

    def set_epoch(self, epoch: int) -> None:
        """The order of the next epochs is that of `epoch`, until the next call."""
        self.chosen = True
        super().set_epoch(epoch)

    def __iter__(self) -> Iterator[int]:
        order = iter(self._rest(self.start)) if self.start else super().__iter__()
        self.start = 0
        if self.advances and not self.chosen:
            self.epoch += 1
        return order

    def _rest(self, start: int) -> list[int]:
        """This worker's samples from `start` on. The rest is filled up from the start
        of the order, as DistributedSampler fills up the whole."""
        n: int = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            seeded = torch.Generator()
            seeded.manual_seed(self.seed + self.epoch)
            order = torch.randperm(n, generator=seeded).tolist()
        if start >= n:
            return []
        rest = n - start
        rounds = rest // self.num_replicas
        if not self.drop_last:
            rounds = -(-rest // self.num_replicas)
        end = start + rounds * self.num_replicas
        filled = itertools.islice(itertools.cycle(order), end)
        return list(itertools.islice(filled, start + self.rank, end, self.num_replicas))


def drawn_seed(generator: Any) -> int:
    """A seed from torch's random numbers, or those of a generator."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def with_sampler(loader: DataLoader, sampler: Any) -> DataLoader:
    """The same loader with another sampler."""
    made = copy.copy(loader)
    made._iterator = None
    object.__setattr__(made, "sampler", sampler)  # DataLoader refuses to change it
    object.__setattr__(made, "batch_sampler",
                       BatchSampler(sampler, loader.batch_size, loader.drop_last))
    return made


# ---- Positions ----


class _Position:
    """Where a loader is, as its loader says. Passes have numbers, since an iterator may
    be closed while a later one is in use."""

    _number = 0  # of the newest pass
    _over = False  # is that one?

    def begin(self, loader: Any) -> int:
        """A pass begins.

        Returns:
            Its number.
        """
        self._number, self._over = self._number + 1, False
        self._begin(loader)
        return self._number

    def begin_next(self, loader: Any) -> bool:
        """The pass that has begun has no batches. If the reason is that the checkpoint
        was made at the last one, the next pass begins, under the same number.

        Returns:
            Whether it has. Not if the script has chosen the epoch of the checkpoint.
        """
        raise NotImplementedError

    def took(self, number: int, stamp: Any) -> None:
        """The training function gets a batch of this pass."""
        if number == self._number:
            self._took(stamp)

    def end(self, number: int) -> None:
        """This pass is over."""
        if number == self._number:
            self._over = True

    def state(self) -> dict[str, Any]:
        """See _positions.Positioned."""
        raise NotImplementedError

    def _begin(self, loader: Any) -> None:
        raise NotImplementedError

    def _took(self, stamp: Any) -> None:
        raise NotImplementedError


def _warn(why: str) -> None:
    session().warn(f"a data loader starts at the beginning of an epoch: {why}")


class _Shared(_Position):
    """The position in an order that is divided among the workers."""

    def __init__(self, sampler: EpochSampler, batch_size: int) -> None:
        self._sampler = sampler
        self._step = batch_size * sampler.num_replicas
        self._taken, self._epoch = 0, sampler.epoch
        self._restored = self._fitting(_positions.add(self))

    def _fitting(self, saved: dict[str, Any] | None) -> Any:
        if saved is None:
            return None
        n, sampler = len(self._sampler.dataset), self._sampler
        if saved.get("kind") != "shared" or saved["shuffle"] != sampler.shuffle:
            _warn("it has another kind of sampler than when the checkpoint was made")
        elif saved["n"] != n:
            _warn(f"its dataset has {n} samples, and had {saved['n']} when the "
                  "checkpoint was made")
        elif not sampler.adopts and saved["seed"] != sampler.seed:
            _warn("the seed of its sampler is not that of the checkpoint")
        else:
            sampler.seed = saved["seed"]
            return saved
        return None

    def _begin(self, loader: Any) -> None:
        saved, self._restored = self._restored, None
        sampler, start = self._sampler, 0
        if saved is not None:
            if not sampler.chosen:
                sampler.epoch = saved["epoch"]
                if saved["over"] and sampler.advances:
                    sampler.epoch += 1
            if not saved["over"] and sampler.epoch == saved["epoch"]:
                start = saved["taken"]
        sampler.start = start
        self._epoch, self._taken = sampler.epoch, start

    def begin_next(self, loader: Any) -> bool:
        if not self._taken or self._sampler.chosen:
            return False
        self._epoch, self._taken = self._sampler.epoch, 0
        return True

    def _took(self, stamp: Any) -> None:
        self._taken += self._step

    def state(self) -> dict[str, Any]:
        if self._restored is not None:
            return {k: v for k, v in self._restored.items() if k != "world_size"}
        n = len(self._sampler.dataset)
        return {"kind": "shared", "n": n, "shuffle": self._sampler.shuffle,
                "seed": self._sampler.seed, "epoch": self._epoch,
                "taken": min(self._taken, n), "over": self._over}


class _Own(_Position):
    """The batches that one worker has got from a sampler of the script."""

    def __init__(self, sampler: Any) -> None:
        self.skip = 0  # batches that the next pass leaves out
        self._sampler = sampler
        self._indices: _Indices | None = None
        self._random = type(sampler) is RandomSampler
        self._source = sampler.generator if self._random else None
        self._taken, self._chosen = 0, False
        self._epoch = getattr(sampler, "epoch", None)
        self._seed: int | None = None
        saved = _positions.add(self)
        if saved is not None and not self._fits(saved):
            _warn("it has another kind of sampler than when the checkpoint was made")
            saved = None
        elif saved is not None and saved["world_size"] != place().world_size:
            if saved["taken"] and not saved["over"]:
                _warn(f"its own sampler was that of one of {saved['world_size']} "
                      "workers when the checkpoint was made, and there are "
                      f"{place().world_size}")
            saved = None
        self._restored = saved

    def _fits(self, saved: dict[str, Any]) -> bool:
        """Is it the position of this kind of sampler?"""
        if saved.get("kind") != "own":
            return False
        begun = saved["taken"] or saved["over"]
        return not begun or self._random == (saved["seed"] is not None)

    def set_epoch(self, epoch: int) -> None:
        """The training function says which epoch it is."""
        self._chosen = True

    def indices(self, inner: Any) -> _Indices:
        """What the loader takes its batches from."""
        if self._indices is None:
            self._indices = _Indices(inner, self)
        return self._indices

    def _begin(self, loader: Any) -> None:
        saved, self._restored = self._restored, None
        epoch = getattr(self._sampler, "epoch", None)
        self._chosen = self._chosen or epoch != self._epoch
        self._epoch, self._taken = epoch, 0
        if saved is not None:
            goes_on = not saved["over"] and saved["epoch"] == epoch
            if goes_on:
                self._taken = saved["taken"]
            if self._random and saved["seed"] is not None:  # None: no pass had begun
                self._seed = saved["seed"] - goes_on
        self._draw()
        self.skip = self._taken

    def begin_next(self, loader: Any) -> bool:
        if not self._taken or self._chosen:
            return False
        self._taken = 0
        self._draw()
        return True

    def _draw(self) -> None:
        """The order of each pass of a RandomSampler is that of a seed, one after the
        other."""
        if self._random:
            last = self._seed
            self._seed = drawn_seed(self._source) if last is None else last + 1
            self._sampler.generator = torch.Generator()
            self._sampler.generator.manual_seed(self._seed)

    def _took(self, stamp: Any) -> None:
        self._taken += 1

    def state(self) -> dict[str, Any]:
        if self._restored is not None:
            return {k: v for k, v in self._restored.items() if k != "world_size"}
        return {"kind": "own", "own": True, "taken": self._taken, "over": self._over,
                "epoch": self._epoch, "seed": self._seed}


class _Indices:
    """The indices of batches, without those at the start of the first pass."""

    def __init__(self, inner: Any, position: _Own) -> None:
        self._inner, self._position = inner, position

    def __iter__(self) -> Iterator[Any]:
        skip, self._position.skip = self._position.skip, 0
        yield from itertools.islice(self._inner, skip, None)

    def __len__(self) -> int:
        return len(self._inner)


# ---- Iterable datasets that keep their state ----


class _Skip:
    """Stands for a sample that was given before the restart."""


class _Step:
    """A batch, with the state of the dataset after it, in the process that has read it:
    what state_dict() returned, and whether the pass was over there."""

    def __init__(self, batch: Any, worker: int, state: Any) -> None:
        self.batch, self.worker, self.state = batch, worker, state

    def pin_memory(self, *device: Any) -> _Step:
        """Called by a loader with pin_memory=True."""
        from torch.utils.data._utils.pin_memory import pin_memory

        return _Step(pin_memory(self.batch, *device), self.worker, self.state)


class _Collate:
    """A collate_fn that adds the state of the dataset."""

    def __init__(self, inner: Any, dataset: Any, batch_size: int | None) -> None:
        self._inner, self._dataset, self._batch_size = inner, dataset, batch_size

    def __call__(self, samples: Any) -> _Step:
        info = get_worker_info()
        worker = 0 if info is None else info.id
        first = samples[0] if isinstance(samples, list) and samples else samples
        if isinstance(first, _Skip):
            return _Step(first, worker, None)
        dataset = self._dataset if info is None else info.dataset
        state = dataset.state_dict()
        over = self._batch_size is not None and len(samples) < self._batch_size
        return _Step(self._inner(samples), worker, (state, over))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataset": None}


class _Restore:
    """A worker_init_fn that gives the dataset the state that it had in this process of
    the loader."""

    def __init__(self, inner: Any, saved: dict[str, Any],
                 batch_size: int | None) -> None:
        self.inner, self._saved, self._batch_size = inner, saved, batch_size

    def __call__(self, worker: int) -> None:
        if self.inner is not None:
            self.inner(worker)
        info = get_worker_info()
        assert info is not None
        # Batches come from one process after the other: those before the next one's
        # turn give one without samples.
        first = (self._batch_size or 1) if worker <= self._saved["last"] else 0
        _restore(info.dataset, self._saved["workers"].get(worker), first)


def _restore(dataset: Any, saved: tuple[Any, bool] | None, skipped: int) -> None:
    """Give a dataset its state. Its next pass begins with `skipped` empty samples
    (_Skip), and has nothing after them if it was over."""
    state, over = saved or (None, False)
    if saved is not None:
        dataset.load_state_dict(state)
    if not skipped and not over:
        return
    own = type(dataset)

    def next_pass(self: Any) -> Iterator[Any]:
        self.__class__ = own
        yield from (_Skip() for _ in range(skipped))
        if not over:
            yield from own.__iter__(self)

    dataset.__class__ = type(own.__name__, (own,), {"__iter__": next_pass,
                                                    "__module__": own.__module__})


class _OfRows(_Position):
    """The states of an iterable dataset in the processes of one worker's loader."""

    def __init__(self, loader: DataLoader) -> None:
        self._processes = loader.num_workers
        self._states: dict[int, Any] = {}
        self._last = -1
        saved = _positions.add(self)
        if saved is not None and saved.get("kind") != "rows":
            _warn("it has another kind of dataset than when the checkpoint was made")
            saved = None
        elif saved is not None and (saved["world_size"], saved["processes"]) != (
                place().world_size, self._processes):
            if not saved["over"]:
                _warn(f"the states of its dataset are those of {saved['world_size']} "
                      f"workers with num_workers={saved['processes']}, and now there "
                      f"are {place().world_size} with num_workers={self._processes}")
            saved = None
        self._restored = saved

    def _begin(self, loader: Any) -> None:
        saved, self._restored = self._restored, None
        self._states, self._last = {}, -1
        if saved is None or saved["over"]:
            return
        self._states, self._last = dict(saved["workers"]), saved["last"]
        if self._processes == 0:
            _restore(loader.dataset, self._states.get(0), 0)
        else:
            loader.worker_init_fn = _Restore(loader.worker_init_fn, saved,
                                             loader.batch_size)

    def begin_next(self, loader: Any) -> bool:
        if not self._states or hasattr(loader.dataset, "set_epoch"):
            return False
        self._states, self._last = {}, -1
        return True

    def begun(self, loader: Any) -> None:
        """The processes of the pass have started."""
        if isinstance(loader.worker_init_fn, _Restore):
            loader.worker_init_fn = loader.worker_init_fn.inner

    def _took(self, stamp: Any) -> None:
        self._last = stamp.worker
        self._states[stamp.worker] = stamp.state

    def state(self) -> dict[str, Any]:
        if self._restored is not None:
            return {k: v for k, v in self._restored.items() if k != "world_size"}
        if not _positions.is_plain(self._states):
            session().warn(
                "the position of an iterable dataset is not kept: its state_dict() has "
                "to be of None, bool, int, float, str, bytes, tuples, lists and dicts")
            return {"kind": "none", "own": True}
        return {"kind": "rows", "own": True, "workers": self._states,
                "last": self._last, "processes": self._processes, "over": self._over}


# ---- Loaders ----


class Resumable:
    """What is put before the class of a loader."""

    position: _Position

    @property
    def _index_sampler(self) -> Any:
        inner = super()._index_sampler  # type: ignore[misc]
        if isinstance(self.position, _Own):
            return self.position.indices(inner)
        return inner

    def __iter__(self) -> Iterator[Any]:
        number = self.position.begin(self)
        try:
            for batch, stamp in self.steps():
                self.position.took(number, stamp)
                yield batch
        finally:  # also of a loop that is left before its end
            self.position.end(number)

    def steps(self) -> Iterator[tuple[Any, Any]]:
        """The batches of the pass that has begun, each with what position.took() needs
        when the training function gets it."""
        given = 0
        for given, step in enumerate(self._steps(), 1):
            yield step
        if not given and self.position.begin_next(self):
            yield from self._steps()

    def _steps(self) -> Iterator[tuple[Any, Any]]:
        batches = super().__iter__()  # type: ignore[misc]
        if isinstance(self.position, _OfRows):
            self.position.begun(self)
        for batch in batches:
            if not isinstance(batch, _Step):
                yield batch, None
            elif not isinstance(batch.batch, _Skip):
                yield batch.batch, batch


def resumable(loader: DataLoader) -> DataLoader:
    """A loader whose position is a part of each checkpoint.

    Args:
        loader: Any; it stays as it is.

    Returns:
        A copy, or the loader itself if its dataset is iterable and keeps no state.
    """
    if isinstance(loader, Resumable):
        return loader
    if type(loader.sampler) is DistributedSampler and loader.batch_size is not None \
            and not isinstance(loader.dataset, IterableDataset) \
            and loader.sampler.num_replicas == place().world_size:
        loader = with_sampler(loader, _followed(loader.sampler))
    position = _position_of(loader)
    if position is None:
        return loader
    own = type(loader)
    kind: Any = type(own.__name__, (Resumable, own),
                     {"__module__": own.__module__, "__doc__": own.__doc__})
    made: Any = object.__new__(kind)
    made.__dict__.update(loader.__dict__, position=position, _iterator=None)
    if isinstance(position, _OfRows):
        made.collate_fn = _Collate(loader.collate_fn, loader.dataset, loader.batch_size)
    resumed: DataLoader = made
    return resumed


def _position_of(loader: DataLoader) -> _Position | None:
    if isinstance(loader.dataset, IterableDataset):
        keeps = hasattr(loader.dataset, "state_dict") \
            and hasattr(loader.dataset, "load_state_dict")
        return _OfRows(loader) if keeps else None
    if isinstance(loader.sampler, EpochSampler):
        return _Shared(loader.sampler, loader.batch_size)
    by_batches = loader.batch_sampler
    sampler = loader.sampler
    if by_batches is not None:
        sampler = getattr(by_batches, "sampler", by_batches)
    position = _Own(sampler)
    for given in (by_batches, sampler):
        _follow(given, position)
    return position


def _followed(given: DistributedSampler) -> EpochSampler:
    """A sampler with the orders of one of the script, which may continue in the middle
    of an order. The script may call set_epoch() of either."""
    made = EpochSampler(given.dataset, given.num_replicas, given.rank, given.shuffle,
                        given.seed, given.drop_last)
    made.epoch = given.epoch
    made.advances = made.adopts = False
    _follow(given, made)
    return made


def _follow(given: Any, follower: EpochSampler | _Own) -> None:
    """Call set_epoch() of the follower after that of a sampler of the script, if it has
    one. A sampler may be prepared in each epoch: it has one list of its followers."""
    own: Any = getattr(given, "set_epoch", None)
    if own is None:
        return
    if hasattr(own, "followers"):
        own.followers.add(follower)
        return
    followers = weakref.WeakSet([follower])

    def set_epoch(epoch: int, *args: Any, **kwargs: Any) -> Any:
        returned = own(epoch, *args, **kwargs)
        for each in list(followers):
            each.set_epoch(epoch)
        return returned

    set_epoch.followers = followers  # type: ignore[attr-defined]
    try:
        given.set_epoch = set_epoch
    except AttributeError:  # of a class with __slots__
        pass
