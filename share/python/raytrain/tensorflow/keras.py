"""A callback of Keras, with the name of ray.train.tensorflow.keras::

    from raytrain.tensorflow.keras import ReportCheckpointCallback

    with tensorflow.distribute.MultiWorkerMirroredStrategy().scope():
        model = build()
    model.fit(dataset, epochs=10, callbacks=[ReportCheckpointCallback()])

TensorFlow is imported when the name is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this

__all__ = ["ReportCheckpointCallback"]

if TYPE_CHECKING:  # what __getattr__() gives
    from ._keras_callback import ReportCheckpointCallback as ReportCheckpointCallback
else:

    def __getattr__(name: str) -> object:
        """Load the public name at its first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._keras_callback import ReportCheckpointCallback

        globals()[name] = ReportCheckpointCallback
        return ReportCheckpointCallback
