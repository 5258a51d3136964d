"""Collective calls of all workers, as in ray.train.collective. Every worker makes the
same calls in the same order; if not, all of them get an error that says what each has
done."""

from __future__ import annotations

from typing import TypeVar, cast

from ._session import session

T = TypeVar("T")


def barrier() -> None:
    """Return when every worker has called it."""
    session().call("barrier")


def broadcast_from_rank_zero(data: T) -> T:
    """What rank 0 has, on every worker.

    Args:
        data: What rank 0 gives; it is pickled, and at most 64 MiB. That of the others
            does not count.

    Returns:
        The data of rank 0.
    """
    import pickle

    s = session()
    mine = s.info["rank"] == 0
    _, received, _ = s.call("broadcast", data=pickle.dumps(data, -1) if mine else b"")
    return data if mine else cast(T, pickle.loads(received))
