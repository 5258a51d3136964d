"""Names of Ray Train's API that raytrain has not, and what does the same here."""

from __future__ import annotations

from typing import NoReturn

VALIDATION = ("validate in the training function, or predict with the checkpoints of "
               "the run by raytrain.BatchPredictor(result.checkpoint, ...)")
_TUNE = ("raytrain-run --sweep KEY=A,B,C starts a run for each value; see "
         "raytrain-run(1)")
_WORKER_DATA = "each worker reads its own rows: raytrain.get_dataset_shard(name)"
_BY_TORCH = "from_torch(dataset) calls a dataset of torch in the workers"
_BY_ITEMS = "from_items() takes a list of rows, which other libraries read"
_BY_QUERY = "from_pandas(pandas.read_sql(query, connection)) takes what a query finds"
_BY_PANDAS = "from_pandas() takes a DataFrame of pandas"
_NO_REFS = "rows are in files or in memory, and not in objects of Ray's store"

# {module: {name: sentence}}; the modules are named as in Ray, without "ray.train".
# "data" is ray.data, and "data.NAME" has the methods of a class there.
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
        "FileShuffleConfig": "shuffle=\"files\" shuffles the rows of all files anew in "
                             "each epoch, and random_shuffle(seed=...) once",
        "RandomSeedConfig": "random_shuffle(seed=...) has the same order in each "
                            "epoch, random_shuffle() another one",
        "from_arrow": "from_pandas(table.to_pandas())",
        "from_arrow_refs": _NO_REFS,
        "from_blocks": "from_pandas() takes a list of DataFrames",
        "from_dask": _BY_PANDAS,
        "from_daft": _BY_PANDAS,
        "from_huggingface": "from_torch(dataset) takes a dataset with a length",
        "from_mars": _BY_PANDAS,
        "from_modin": _BY_PANDAS,
        "from_numpy_refs": _NO_REFS,
        "from_pandas_refs": _NO_REFS,
        "from_spark": "write the rows, df.write.parquet(path), and read_parquet(path)",
        "from_tf": "from_items(list(dataset.as_numpy_iterator()))",
        "range_tensor": "range(n).map_batches() makes tensors of the numbers",
        "read_audio": _BY_TORCH,
        "read_avro": _BY_ITEMS,
        "read_bigquery": _BY_QUERY,
        "read_binary_files": _BY_TORCH,
        "read_clickhouse": _BY_QUERY,
        "read_databricks_tables": _BY_QUERY,
        "read_datasource": _BY_TORCH,
        "read_delta": "read_parquet(deltalake.DeltaTable(path).file_uris()) reads the "
                      "current files of a table",
        "read_delta_sharing_tables": _BY_PANDAS + ", which "
                                     "delta_sharing.load_as_pandas(url) returns",
        "read_hudi": _BY_PANDAS + ": pyarrow.Table.from_batches("
                     "table.read_snapshot()).to_pandas() of a table of hudi",
        "read_iceberg": _BY_PANDAS + ", which table.scan().to_pandas() of pyiceberg "
                        "returns",
        "read_images": "from_torch(torchvision.datasets.ImageFolder(path)) reads "
                       "pictures in the workers",
        "read_kafka": _BY_ITEMS,
        "read_lance": _BY_ITEMS,
        "read_mcap": _BY_ITEMS,
        "read_mongo": _BY_ITEMS,
        "read_parquet_bulk": "read_parquet() takes a list of files, too",
        "read_snowflake": _BY_QUERY,
        "read_sql": _BY_QUERY,
        "read_tfrecords": "from_items(list(tf.data.TFRecordDataset(path).map(parse)"
                          ".as_numpy_iterator()))",
        "read_unity_catalog": _BY_QUERY,
        "read_videos": _BY_TORCH,
        "read_webdataset": _BY_TORCH,
        "set_progress_bars": "raytrain-run --progress says how a run is shown",
    },
    "data.Dataset": {
        "aggregate": "use groupby(), sum(), min(), max(), mean() or std()",
        "copy": "a Dataset is not changed by its methods: use it again",
        "explain": "repr(ds) names the steps of a Dataset",
        "get_context": "DataContext.get_current() has settings, without effect",
        "get_internal_block_refs": _NO_REFS,
        "input_files": "ds.path has the file, the directory or the pattern",
        "iter_internal_ref_bundles": _NO_REFS,
        "iter_jax_batches": "jax.numpy.asarray() takes the arrays of iter_batches()",
        "iter_tf_batches": "tf.data.Dataset.from_generator() takes the batches of "
                           "iter_batches()",
        "join": "join DataFrames, left.to_pandas().merge(right.to_pandas()), and "
                "from_pandas()",
        "name": "the name of a dataset is its key in datasets= of a trainer",
        "num_blocks": "rows are not in blocks; count() has their number",
        "random_sample": "random_shuffle(seed=...).limit(n) has n rows at random",
        "randomize_block_order": "random_shuffle() orders the rows",
        "repartition": "rows are divided among the workers as they are read, whatever "
                       "files they are in",
        "set_name": "the name of a dataset is its key in datasets= of a trainer",
        "size_bytes": "count() and schema() say how many rows there are, and of what",
        "split": "split_proportionately() and split_at_indices() divide the rows; the "
                 "workers of a run get their shards by get_dataset_shard()",
        "stats": "raytrain-inspect RUN shows the times of a run",
        "streaming_train_test_split": "train_test_split() reads nothing before it has "
                                      "to",
        "summary": "ds.to_pandas().describe()",
        "to_arrow_refs": _NO_REFS,
        "to_daft": "daft.from_pandas(ds.to_pandas())",
        "to_dask": "dask.dataframe.from_pandas(ds.to_pandas())",
        "to_modin": "modin.pandas.DataFrame(ds.to_pandas())",
        "to_numpy_refs": _NO_REFS,
        "to_pandas_refs": _NO_REFS,
        "to_random_access_dataset": "ds.to_pandas().set_index(key)",
        "to_spark": "spark.createDataFrame(ds.to_pandas())",
        "to_tf": "tf.data.Dataset.from_generator() takes the batches of iter_batches()",
        "to_torch": "iter_torch_batches() has tensors",
        "types": "ds.schema().types",
        "with_column": "add_column(name, function) adds a column",
        "write_csv": "write them by ds.to_pandas().to_csv(path)",
        "write_datasink": "write the batches of iter_batches()",
        "write_images": "write each of ds.iter_rows()",
        "write_json": "write them by ds.to_pandas().to_json(path, lines=True, "
                      "orient=\"records\")",
        "write_numpy": "write them by numpy.save(path, ds.materialize()[COLUMN])",
        "write_parquet": "write them by ds.to_pandas().to_parquet(path)",
        "write_sql": "write them by ds.to_pandas().to_sql(table, connection)",
        "write_tfrecords": "write each of ds.iter_rows()",
        "write_webdataset": "write each of ds.iter_rows()",
        "zip": "put the columns of one Dataset beside another's by add_column(), or "
               "from_pandas(pandas.concat([...], axis=1))",
    },
    "data.GroupedData": {
        "aggregate": "map_groups() computes any row of a group",
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
        ray = "ray.data" if module == "data" else "ray.train"
        raise ImportError(f"{whole} has no {name}, which {ray} has: {said}",
                          name=name)
    raise AttributeError(f"module {whole!r} has no attribute {name!r}")
