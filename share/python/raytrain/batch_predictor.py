"""BatchPredictor: a predictor over all rows of a dataset, on many workers."""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Sequence

from . import _config as configs
from . import _constraint, _fit, _launch, _mapping, _memory, _shipping, _stored, _worker
from .data import Dataset
from .errors import InvalidArgument, RaytrainError, TrainingStopped

if TYPE_CHECKING:
    from ._protocols import DatasetLike, ModelLike
    from .predictor import Predictor

__all__ = ["BatchPredictor"]


class BatchPredictor:
    """Predicts the rows of a dataset with raytrain-predict: a predictor on each worker.

        best = BatchPredictor.from_checkpoint(result.checkpoint, TorchPredictor,
                                              model=net)
        predictions = best.predict(read_csv("people.csv"), num_workers=8,
                                   keep_columns=["id"])
        for batch in predictions.iter_batches(): ...

    With XGBoostPredictor and LightGBMPredictor, raytrain-predict computes the
    predictions itself: no Python runs on the workers.

    Args:
        checkpoint: A Checkpoint, or the path of its file; or a Result or the path of a
            run, whose best checkpoint is used.
        predictor_cls: A subclass of Predictor.
        predictor_kwargs: Further arguments for its from_checkpoint().

    Raises:
        TypeError: predictor_cls is not such a class, or takes no arguments.
    """

    def __init__(self, checkpoint: ModelLike, predictor_cls: type[Predictor],
                 **predictor_kwargs: Any) -> None:
        if not callable(getattr(predictor_cls, "from_checkpoint", None)):
            raise TypeError("predictor_cls is a subclass of Predictor, not "
                            f"{predictor_cls!r}")
        if predictor_kwargs and hasattr(predictor_cls, "_asked"):
            raise TypeError(f"{predictor_cls.__name__} takes no "
                            f"{', '.join(predictor_kwargs)}")
        self.checkpoint = checkpoint
        self.predictor_cls = predictor_cls
        self.predictor_kwargs = predictor_kwargs

    @classmethod
    def from_checkpoint(cls, checkpoint: ModelLike, predictor_cls: type[Predictor],
                        **predictor_kwargs: Any) -> BatchPredictor:
        """The same as the class itself, as in Ray.

        Args:
            checkpoint: See BatchPredictor.
            predictor_cls: See BatchPredictor.
            predictor_kwargs: See BatchPredictor.

        Returns:
            The BatchPredictor.
        """
        return cls(checkpoint, predictor_cls, **predictor_kwargs)

    def predict(self, data: DatasetLike, *, output: str | None = None,
                keep_columns: Sequence[str] | None = None, batch_size: int = 4096,
                num_workers: int = 1,
                scaling_config: configs.ScalingConfig | None = None,
                outputs: dict[str, Any] | None = None, resume: bool = False,
                launcher: str | None = None, options: Sequence[str] = (),
                allow_code: bool = False, **settings: Any) -> Dataset:
        """Predict all rows.

        Args:
            data: A path, or a Dataset that was read from files. The preprocessors of
                the checkpoint are applied to its rows.
            output: The file of the predictions, .h5, .csv or .npy, in a directory that
                all workers see; None: predictions_TIME.h5 in raytrain_results.
            keep_columns: Columns of the rows that are copied to the predictions. A
                missing string becomes an empty one in an .h5 file.
            batch_size: The maximum number of rows that the predictor gets at a time.
            num_workers: The number of workers.
            scaling_config: The workers and their resources, in place of num_workers.
            outputs: {name: (dtype, shape of a row)} of the predictor's result. None: it
                is determined with two rows of zeros. For trees, a list of "value",
                "probability", "class", "margin", "leaf" and "contribution"; see
                raytrain-predict(1).
            resume: Continue an interrupted prediction of the same files into the same
                output.
            launcher: As in RunConfig.
            options: As in RunConfig.
            allow_code: Load the functions of the checkpoint's preprocessors, which runs
                code that the checkpoint has or names. Functions that this program has
                given to a BatchMapper itself are always loaded.
            settings: Further arguments for the predictor's predict().

        Returns:
            The predictions as a Dataset, in the order of the rows.

        Raises:
            RaytrainError: The prediction failed.
            TrainingStopped: The prediction was stopped on request.
        """
        if _worker._shipped is not None:
            raise _shipping.ScriptImported
        keys: dict[str, Any] = {"columns": keep_columns}
        settled: dict[str, Any] | None = {
            "batch_size": configs._integer("batch_size", batch_size, 1),
            "outputs": outputs, "settings": settings}
        if hasattr(self.predictor_cls, "_asked"):
            keys["outputs"] = self.predictor_cls._asked(outputs, settings)
            settled = None
        scaling = scaling_config or configs.ScalingConfig(num_workers=num_workers)
        return _Prediction(self, output).run(
            data, keys, scaling, settled,
            ["--resume" if resume else "--fresh",
             *code_flags(self.checkpoint, allow_code),
             *(["--launcher", launcher] if launcher else []), *options])


def code_flags(checkpoint: object, allow_code: bool) -> list[str]:
    """The option by which workers may load the functions of the preprocessors, if the
    user allows it, or if this program has given all of them to a BatchMapper itself.

    Args:
        checkpoint: The checkpoint that has the preprocessors.
        allow_code: Does the user allow it?

    Returns:
        Options of raytrain-predict.
    """
    return ["--allow-code"] if allow_code or _mapping.workers_may(checkpoint) else []


def python_workers(predictor_cls: type[Any], options: dict[str, Any],
                   scratch: str) -> tuple[Any, ...]:
    """The command of workers that predict with a class.

    Args:
        predictor_cls: The class.
        options: The options that raytrain._predict passes to it.
        scratch: A directory for files that the workers read.

    Returns:
        The command, and its environment.
    """
    cwd, shipped = os.getcwd(), os.path.join(scratch, "predictor.pkl")
    _shipping.write(shipped, {
        "function": _shipping.pack(predictor_cls, options),
        "sys_path": [os.path.abspath(p) if p else cwd for p in sys.path],
        "argv": list(sys.argv), "earlier": list(_fit.finished)})
    return (["--", *_launch.interpreter(), "-m", "raytrain._predict"],
            {**os.environ, "RAYTRAIN_PREDICTION": shipped})


class _Prediction:
    """From a BatchPredictor to the files and the command line of raytrain-predict."""

    def __init__(self, predictor: BatchPredictor, output: str | None) -> None:
        self.predictor = predictor
        if output is None:
            import time

            output = os.path.join(_fit.STORAGE, "predictions_{}_{}.h5".format(
                time.strftime("%Y-%m-%d_%H-%M-%S"), os.urandom(3).hex()))
            os.makedirs(_fit.STORAGE, exist_ok=True)
        self.output = os.path.abspath(os.fspath(output))

    def _dataset(self, data: Any, scratch: str) -> dict[str, Any]:
        if hasattr(data, "_file"):
            data = _memory.keep(data, os.path.join(scratch, "data"))
        return _fit.dataset_keys("predict", data)

    def run(self, data: Any, keys: dict[str, Any], scaling: configs.ScalingConfig,
            options: dict[str, Any] | None, flags: list[str]) -> Dataset:
        import shutil
        import tempfile

        scratch = tempfile.mkdtemp(prefix=".predict-", dir=os.path.dirname(self.output))
        try:
            file = os.path.join(scratch, "raytrain.cfg")
            keys = {"predict": {k: v for k, v in keys.items() if v is not None},
                    "datasets": {"predict": self._dataset(data, scratch)},
                    "scaling_config": scaling._keys()}
            with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(configs.render(keys))
            workers, environment = ([], dict(os.environ)) if options is None else \
                python_workers(self.predictor.predictor_cls,
                               {**options,
                                "predictor": self.predictor.predictor_kwargs},
                               scratch)
            environment.update(_constraint.environment(scaling, "slurm" in flags))
            command = [_launch.program("raytrain-predict"), "--config", file,
                       "--checkpoint",
                       _stored.stored(self.predictor.checkpoint, scratch),
                       "--output", self.output, *flags, *workers]
            status, _, signals = _launch.run(command, environment, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return self._conclude(status, signals)

    def _conclude(self, status: int, signals: list[int]) -> Dataset:
        if status == 0:
            return Dataset(self.output)
        if status == 75 or (signals and status < 0):
            raise TrainingStopped(
                continued_by=f"BatchPredictor.predict(output={self.output!r}, "
                             "resume=True)")
        what = f"status {status}" if status >= 0 else f"signal {-status}"
        error = InvalidArgument if status in (2, 3) else RaytrainError
        raise error(f"raytrain-predict ended with {what}; its messages say why, and "
                    f"the logs of the workers in {self.output}.run/logs")
