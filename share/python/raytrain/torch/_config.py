"""TorchConfig. Does not import torch."""

from __future__ import annotations

import re
from typing import Any

from ..backend import BackendConfig

_BOTH = "cpu:gloo,cuda:nccl"
_BACKENDS = (None, "gloo", "nccl", _BOTH)
_INIT_METHOD = re.compile(r"env(://)?|tcp|tcp://.+:\d{1,5}|file:///.+", re.DOTALL)


class TorchConfig(BackendConfig):
    """How torch's process group is set up.

    Args:
        backend: "gloo", "nccl", "cpu:gloo,cuda:nccl" for both, each for tensors of its
            device, or None: "nccl" if the worker has a GPU, else "gloo".
        init_method: Where the processes meet. "env", or "tcp" for the same: at an
            address of rank 0's node that all nodes reach, and at any free port.
            "tcp://HOST:PORT": at this address of rank 0's node. "file:///PATH": by a
            file that all nodes share; its name is PATH.attempt-K in attempt K.
        timeout_s: Seconds after which a collective operation of the process group
            fails.

    Raises:
        ValueError: One of them has another value.
    """

    _runs_as = "torch"
    _set_up_by = "raytrain.torch._trainer:set_up"

    def __init__(self, backend: str | None = None, init_method: str = "env",
                 timeout_s: int = 1800) -> None:
        if isinstance(backend, str) and "," in backend:
            backend = ",".join(sorted(part.strip() for part in backend.split(",")))
        if backend not in _BACKENDS:
            raise ValueError(f"TorchConfig: backend is {backend!r}, not one of 'gloo', "
                             f"'nccl' and '{_BOTH}'")
        if not _INIT_METHOD.fullmatch(init_method):
            raise ValueError(f"TorchConfig: init_method is {init_method!r}, not one of "
                             f"'env', 'tcp', 'tcp://HOST:PORT' and 'file:///PATH'")
        if not timeout_s > 0:
            raise ValueError(f"TorchConfig: timeout_s is {timeout_s!r}, not greater "
                             f"than 0")
        self.backend = backend
        self.init_method = init_method
        self.timeout_s = timeout_s

    @property
    def backend_name(self) -> str:
        """raytrain's name of the backend: --backend torch."""
        return "torch"

    def _keys(self) -> dict[str, Any]:
        keys = {"init_method": self.init_method, "timeout_s": int(self.timeout_s)}
        return {**keys, "backend": self.backend} if self.backend else keys

    def __repr__(self) -> str:
        return (f"TorchConfig(backend={self.backend!r}, "
                f"init_method={self.init_method!r}, timeout_s={self.timeout_s!r})")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchConfig) and vars(self) == vars(other)
