"""A stand-in for Lightning, for tests: see pytorch.py."""

from . import pytorch  # noqa: F401
from .pytorch import Callback, LightningModule, Trainer  # noqa: F401
