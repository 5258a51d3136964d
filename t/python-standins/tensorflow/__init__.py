"""A stand-in for TensorFlow, for tests: what raytrain.tensorflow.keras uses of Keras. Written after
Keras 3.11, keras/src/callbacks/callback.py and callback_list.py, and
keras/src/backend/tensorflow/trainer.py: which methods fit() calls, with which arguments, and that
those of batches are called only if a callback has its own."""

import json
from types import SimpleNamespace


class Callback:
    model = None

    def set_model(self, model):
        self.model = model

    def on_train_begin(self, logs=None):
        pass

    def on_train_end(self, logs=None):
        pass

    def on_epoch_begin(self, epoch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass


def _is_own(method):
    return getattr(method, "__func__", method) is not Callback.on_train_batch_end


class Model:
    """The mean of what it has seen."""

    def __init__(self):
        self.mean, self.n, self.batch_calls = 0.0, 0, 0

    def fit(self, batches, epochs=1, callbacks=()):
        for callback in callbacks:
            callback.set_model(self)
            callback.on_train_begin(None)
        for epoch in range(epochs):
            for callback in callbacks:
                callback.on_epoch_begin(epoch, None)
            for at, value in enumerate(batches):
                self.n += 1
                self.mean += (value - self.mean) / self.n
                for callback in callbacks:
                    if _is_own(callback.on_train_batch_end):
                        self.batch_calls += 1
                        callback.on_train_batch_end(at, {"loss": self.mean})
            for callback in callbacks:
                callback.on_epoch_end(epoch, {"loss": self.mean, "seen": self.n})
        for callback in callbacks:
            callback.on_train_end({"loss": self.mean})

    def save(self, path):
        if not path.endswith(".keras"):
            raise ValueError("the filename does not end in .keras")
        with open(path, "w") as file:
            json.dump({"mean": self.mean}, file)


keras = SimpleNamespace(callbacks=SimpleNamespace(Callback=Callback), Model=Model)
