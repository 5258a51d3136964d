"""A stand-in for JAX 0.11.1: jax.distributed; and as much as an example needs, with NumPy."""
from . import distributed as distributed


def jit(function):
    return function


def value_and_grad(function):
    """Of a vector, by differences."""
    def both(at):
        gradient, step = at.copy(), 1e-6
        for i in range(len(at)):
            ahead, back = at.copy(), at.copy()
            ahead[i] += step
            back[i] -= step
            gradient[i] = (function(ahead) - function(back)) / (2 * step)
        return function(at), gradient

    return both
