"""Of the stand-in: over the connections of raytrain."""
import pickle

import numpy
from jax import distributed
from raytrain import broadcast_from_rank_zero
from raytrain._worker_group import _gather


def process_allgather(array):
    assert distributed.is_initialized()
    parts = [pickle.loads(part) for part in _gather(pickle.dumps(array))]
    return numpy.stack(broadcast_from_rank_zero(parts))
