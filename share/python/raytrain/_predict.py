"""What BatchPredictor starts on every worker: python3 -m raytrain._predict. Makes the
predictor of the file in RAYTRAIN_PREDICTION, and gives it the batches of
raytrain-predict (predict_requests.c)."""
from __future__ import annotations

import os
import sys
from typing import Any

from . import _frame, _mapping, _session, _shipping, _slots, _worker
from ._context import get_checkpoint


# ---- What the predictions are ----

def _trial(columns: dict[str, Any]) -> dict[str, Any]:
    """Two rows of zeros, of the first word of each column, and of empty texts."""
    import numpy

    rows = 2
    batch: dict[str, Any] = {}
    for column in columns.values():
        if column.kind == "numbers":
            batch[column.name] = numpy.zeros([rows, *column.shape],
                                             _frame.NUMPY[column.dtype])
        elif column.kind == "sparse":
            batch[column.name] = _frame.sparse(
                numpy.zeros(0, _frame.NUMPY[column.dtype]), numpy.zeros(0, "u4"),
                numpy.zeros(rows + 1, "u8"), (rows, column.shape[0]))
        else:
            value = {"text": "", "word_lists": []}.get(
                column.kind, column.words[0] if column.words else None)
            batch[column.name] = numpy.empty(rows, dtype=object)
            batch[column.name][:] = [value] * rows
    return batch


def _array(name: str, value: Any) -> Any:
    import numpy

    array = numpy.asarray(value)
    if array.dtype == bool:
        array = array.view("u1")
    if str(array.dtype) not in _frame.NUMPY:
        raise TypeError(f"the predictor returned {name!r} with the dtype "
                        f"{array.dtype}: predictions are numbers")
    return array


def _predicted(predictor: Any, batch: dict[str, Any], rows: int,
               settings: dict[str, Any]) -> dict[str, Any]:
    """{name: array}, of that many rows."""
    made = predictor.predict(batch, **settings)
    if not isinstance(made, dict):
        made = {"predictions": made}
    made = {name: _array(name, value) for name, value in made.items()}
    for name, array in made.items():
        if array.ndim == 0 or array.shape[0] != rows:
            raise ValueError(f"the predictor returned {name!r} of shape "
                             f"{list(array.shape)} for {rows} rows")
    return made


def _outputs(predictor: Any, columns: dict[str, Any], settings: dict[str, Any],
             rest: Any) -> dict[str, Any]:
    """{name: (dtype, shape of a row)}: what it makes of a trial batch."""
    try:
        made = _predicted(predictor, rest(_trial(columns)), 2, settings)
    except Exception as error:
        raise RuntimeError(
            "the predictor failed with two rows of zeros, by which raytrain sees the "
            "types of its predictions; BatchPredictor.predict(outputs={name: (dtype, "
            "shape)}) gives them without: "
            f"{error}") from error
    return {name: (str(array.dtype), array.shape[1:]) for name, array in made.items()}


# ---- Batches ----

class _Predictions:
    """Memory for the predictions of a batch, which the worker reads."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.outputs = outputs
        self.memory: Any = None

    def map(self, fd: int) -> None:
        import mmap

        try:
            self.memory = mmap.mmap(fd, 0)
        finally:
            os.close(fd)

    def put(self, made: dict[str, Any], rows: int, offsets: list[Any]) -> None:
        import numpy

        if set(made) != set(self.outputs):
            raise ValueError(f"the predictor returned {sorted(made)}, and before "
                             f"{sorted(self.outputs)}")
        for (name, (dtype, shape)), offset in zip(self.outputs.items(), offsets):
            array = made[name]
            if array.shape[1:] != tuple(shape):
                raise ValueError(f"the predictor returned rows of {name!r} of shape "
                                 f"{list(array.shape[1:])}, and before {list(shape)}")
            place = numpy.frombuffer(self.memory, _frame.NUMPY[dtype], array.size,
                                     offset)
            place[:] = array.reshape(-1)


def _one_row(predict: Any, batch: dict[str, Any], rows: int,
             error: Exception) -> tuple[Any, ...]:
    """Which row makes the prediction fail, and with what error: halves of the batch are
    predicted, again and again. (None, error) if no row does it alone."""
    first = 0
    while rows > 1:
        half = rows // 2
        for start, n in ((first, half), (first + half, rows - half)):
            try:
                predict({name: array[start:start + n] for name, array in batch.items()},
                        n)
            except Exception as reason:
                first, rows, error = start, n, reason
                break
        else:
            return None, error
    return first, error


def _fail(worker: Any, predict: Any, batch: dict[str, Any], rows: int,
          error: Exception) -> None:
    """The clients of these rows get the reason: a ValueError is the fault of the
    rows."""
    sys.excepthook(type(error), error, error.__traceback__)
    row, error = _one_row(predict, batch, rows, error)
    text = str(error) or type(error).__name__
    worker.call("predict_fail", {
        "text": (text if row is None else f"row {row}: {text}")[:500],
        "of_rows": isinstance(error, ValueError)})


def _loop(predictor: Any, columns: dict[str, Any], outputs: dict[str, Any],
          settings: dict[str, Any], rest: Any, goes_on: bool) -> None:
    worker = _session.session()

    def predict(batch: dict[str, Any], n: int) -> dict[str, Any]:
        return _predicted(predictor, rest(dict(batch)), n, settings)

    slots, predictions = _slots.Slots(), _Predictions(outputs)
    put = False

    while True:
        slot = slots.choose()
        reply, _, fds = worker.call("predict_next", {"slot": slot, "put": put})
        rows, put = reply["rows"], True
        if rows == 0:
            return
        fds = list(fds)
        if reply["new"][0]:
            slots.map(slot, fds.pop(0))
        if reply["new"][1]:
            predictions.map(fds.pop(0))
        batch = _frame.decode(columns, slots.lend(slot), rows, reply["places"])
        try:
            predictions.put(predict(batch, rows), rows, reply["outputs"])
        except Exception as error:
            if not goes_on:
                raise
            _fail(worker, predict, batch, rows, error)
            put = False
        del batch


def run(predictor_cls: type[Any], options: dict[str, Any]) -> None:
    """Predict all batches of this worker."""
    worker = _session.session()
    reply, data, _ = worker.call("predict_open", {"maps": True})
    columns = _frame.columns_of(reply, data)
    predictor = predictor_cls.from_checkpoint(get_checkpoint(),
                                              **options["predictor"])
    predictor._preprocessor = None  # the worker has applied it, up to a BatchMapper
    rest = _mapping.rest(worker, reply["maps"], None) if "maps" in reply else dict
    settings = options["settings"]
    outputs = options["outputs"] or _outputs(predictor, columns, settings, rest)
    worker.call("predict_begin", {
        "batch_size": options["batch_size"],
        "outputs": [{"name": name, "dtype": dtype, "shape": list(shape)}
                    for name, (dtype, shape) in outputs.items()]})
    _loop(predictor, columns, outputs, settings, rest, reply["goes_on"])


def main() -> int:
    payload = _shipping.read(os.environ.pop("RAYTRAIN_PREDICTION"))
    try:
        run(*_worker._load(payload))
    except Exception as error:
        error = error.with_traceback(_worker._own_frames_left_out(error))
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


if __name__ == "__main__":
    from raytrain import _predict

    sys.exit(_predict.main())
