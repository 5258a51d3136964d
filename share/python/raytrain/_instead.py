"""Names of Ray Train's API that raytrain has not, and what does the same here."""

from __future__ import annotations

from typing import NoReturn

VALIDATION = ("validate in the training function, or predict with the checkpoints of "
               "the run by raytrain.BatchPredictor(result.checkpoint, ...)")
_TUNE = ("raytrain-run --sweep KEY=A,B,C starts a run for each value; see "
         "raytrain-run(1)")
_WORKER_DATA = "each worker reads its own rows: raytrain.get_dataset_shard(name)"

# {module: {name: sentence}}; the modules are named as in Ray, without "ray.train".
INSTEAD: dict[str, dict[str, str]] = {
    "": {
        "DatasetCheckpointConfig": "the position in a dataset is part of each "
                                   "checkpoint",
        "LoggingConfig": "what workers print is in logs/ of the run's directory, and "
                         "raytrain-run --show prints it; see raytrain-run(1)",
        "TuneReportCallback": _TUNE,
        "ValidationConfig": VALIDATION,
        "ValidationFn": VALIDATION,
        "ValidationTaskConfig": VALIDATION,
    },
    "data": {
        "aggregate": "use groupby(), sum(), min(), max(), mean() or std()",
        "iter_tf_batches": "tf.data.Dataset.from_generator() takes the batches of "
                           "iter_batches()",
        "join": "join DataFrames, left.to_pandas().merge(right.to_pandas()), and "
                "from_pandas()",
        "randomize_block_order": "random_shuffle() orders the rows",
        "repartition": "rows are divided among the workers as they are read, whatever "
                       "files they are in",
        "split": "split_proportionately() and split_at_indices() divide the rows; the "
                 "workers of a run get their shards by get_dataset_shard()",
        "stats": "raytrain-inspect RUN shows the times of a run",
        "streaming_train_test_split": "train_test_split() reads nothing before it has "
                                      "to",
        "to_tf": "tf.data.Dataset.from_generator() takes the batches of iter_batches()",
        "to_torch": "iter_torch_batches() has tensors",
        "write_csv": "write them by ds.to_pandas().to_csv(path)",
        "write_json": "write them by ds.to_pandas().to_json(path, lines=True, "
                      "orient=\"records\")",
        "write_numpy": "write them by numpy.save(path, ds.materialize()[COLUMN])",
        "write_parquet": "write them by ds.to_pandas().to_parquet(path)",
        "zip": "put the columns of one Dataset beside another's by add_column(), or "
               "from_pandas(pandas.concat([...], axis=1))",
    },
    "torch": {
        "TorchXLAConfig": "raytrain knows no XLA devices; JaxTrainer of raytrain.jax "
                          "runs JAX on CPUs and GPUs",
    },
    "tensorflow": {
        "TensorflowCheckpoint": "save the model into a directory, and report "
                                "Checkpoint.from_directory(path)",
        "TensorflowPredictor": "load the model from checkpoint.as_directory() in a "
                               "subclass of raytrain.Predictor",
        "prepare_dataset_shard": "batches need no preparation: " + _WORKER_DATA,
    },
    "xgboost": {
        "XGBoostCheckpoint": "XGBoostTrainer.get_model(checkpoint) has the model",
    },
    "lightgbm": {
        "LightGBMCheckpoint": "LightGBMTrainer.get_model(checkpoint) has the model",
    },
}


def refuse(module: str, name: str) -> NoReturn:
    """What a module's __getattr__() does with a name that it has not.

    Args:
        module: The module, without "raytrain."; "" is raytrain itself.
        name: The name that was asked for.

    Raises:
        ImportError: Ray has the name. Python would replace the text of an
            AttributeError in `from raytrain import NAME`.
        AttributeError: Ray does not have it, either.
    """
    whole = f"raytrain.{module}" if module else "raytrain"
    said = INSTEAD.get(module, {}).get(name)
    if said is not None:
        raise ImportError(f"{whole} has no {name}, which ray.train has: {said}",
                          name=name)
    raise AttributeError(f"module {whole!r} has no attribute {name!r}")
