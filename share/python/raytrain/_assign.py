"""What DataConfig.configure() of a subclass returns, as a rule for any number of
workers: each name is divided among them, or each of them reads all of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from . import _config
from .data import Dataset, Part, Share
from .errors import ControllerError, InvalidArgument

if TYPE_CHECKING:
    from ._config import DataConfig


class Assigned:
    """The datasets of a run, and how its workers read them."""

    def __init__(self) -> None:
        self.datasets: dict[str, Dataset] = {}
        self.split: list[str] = []  # the names of those that are divided
        self.shares: dict[str, Share] = {}

    @property
    def config(self) -> DataConfig:
        """As the configuration says it."""
        return _config.DataConfig(list(self.split))


def called(config: DataConfig, datasets: dict[str, Any], workers: int) -> list[Any]:
    """What configure() returns for these workers.

    Args:
        config: Of a subclass that has the method.
        datasets: Those of the trainer; paths become Datasets.
        workers: How many there are, or at most.

    Returns:
        A dict of iterators for each worker.

    Raises:
        ControllerError: configure() has raised an exception.
        InvalidArgument: It returned something else.
    """
    who = f"{type(config).__name__}.configure()"
    given = {name: ds if isinstance(ds, Dataset) else Dataset(ds)
             for name, ds in datasets.items()}
    try:
        made = config.configure(given, workers, worker_handles=None,
                                worker_node_ids=None)
    except Exception as error:
        raise ControllerError(error, None, f"{who}: {error!r}") from error
    if not isinstance(made, (list, tuple)) or len(made) != workers \
            or not all(isinstance(one, dict) for one in made):
        raise InvalidArgument(f"{who} returns a list of {workers} dicts, {{name: "
                              f"iterator}} for each worker, not {made!r}")
    return list(made)


def assigned(config: DataConfig, datasets: dict[str, Any], workers: int) -> Assigned:
    """The rule that configure() of a subclass gives.

    Args:
        config: See called().
        datasets: See there.
        workers: See there.

    Returns:
        The rule.

    Raises:
        ControllerError: configure() has raised an exception.
        InvalidArgument: What it returned is not a rule for any number of workers.
    """
    made = called(config, datasets, workers)
    found = Assigned()
    for name in dict.fromkeys(name for one in made for name in one):
        _add(found, f"{type(config).__name__}.configure()", name,
             [one.get(name) for one in made])
    return found


def _add(found: Assigned, who: str, name: str, parts: Sequence[Any]) -> None:
    """One name, of which each worker has an iterator or None."""
    there = [part for part in parts if part is not None]
    for part in there:
        if not isinstance(part, (Part, Dataset)):
            raise InvalidArgument(
                f"{who}: {name!r} is {type(part).__name__}, and not an iterator of "
                "Dataset.streaming_split() or Dataset.iterator()")
    first = there[0]
    if isinstance(first, Part):
        if not _is_one_split(parts):
            raise InvalidArgument(
                f"{who}: worker i has to get the i-th iterator of one "
                f"streaming_split({len(parts)}) as {name!r}, since a run may go on "
                "with another number of workers. For rows that some workers read, use "
                "another name, and Dataset.iterator() for each of them")
        found.datasets[name] = first.dataset
        found.split.append(name)
        found.shares[name] = Share(first.equal)
        return
    if not all(part == first for part in there):
        raise InvalidArgument(
            f"{who}: {name!r} is not the same Dataset for all workers that have it: "
            "use a name for each Dataset, or divide one by streaming_split()")
    found.datasets[name] = first
    ranks = [rank for rank, part in enumerate(parts) if part is not None]
    found.shares[name] = Share(True, None if len(ranks) == len(parts) else ranks)


def _is_one_split(parts: Sequence[Any]) -> bool:
    """Are these all iterators of one streaming_split(), in their order?"""
    return all(isinstance(part, Part) and part.is_sister_of(parts[0])
               and (part.index, part.of) == (rank, len(parts))
               for rank, part in enumerate(parts))
