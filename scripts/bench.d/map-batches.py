# map-batches.py make DIR | pandas DIR | train DIR RAYTRAIN-RUN: 1,000,000 rows of 50 float32, and a
# function that standardizes and clips them. pandas does it to a DataFrame in one process, with one
# thread; train is an epoch of two workers with map_batches(). Both print milliseconds.
import os
import sys
import time

import numpy

ROWS, COLUMNS = 1_000_000, 50


def changed(frame):
    """Of a DataFrame."""
    values = (frame - 0.5) / 0.29
    return values.clip(-1.5, 1.5).assign(total=values.sum(axis=1))


def make(folder):
    rows = numpy.random.default_rng(1).random((ROWS, COLUMNS), dtype="f4")
    numpy.savez(os.path.join(folder, "rows.npz"),
                **{f"c{i}": numpy.ascontiguousarray(rows[:, i]) for i in range(COLUMNS)})


def with_pandas(folder):
    import pandas

    start = time.perf_counter()
    with numpy.load(os.path.join(folder, "rows.npz")) as arrays:
        frame = pandas.DataFrame({name: arrays[name] for name in arrays})
    made = changed(frame)
    assert len(made) == ROWS
    print((time.perf_counter() - start) * 1000)


def train():
    import raytrain

    shard = raytrain.get_dataset_shard("train")
    shard.columns()
    raytrain.barrier()
    start = time.perf_counter()
    rows = sum(len(batch["total"]) for batch in shard.iter_batches(batch_size=20000))
    raytrain.barrier()
    raytrain.report({"ms": (time.perf_counter() - start) * 1000, "rows": rows})


def with_workers(folder):
    from raytrain import DataParallelTrainer, RunConfig, ScalingConfig
    from raytrain.data import read_numpy

    rows = read_numpy(os.path.join(folder, "rows.npz")).map_batches(
        changed, batch_format="pandas", udf_modifying_row_count=False)
    result = DataParallelTrainer(
        train, datasets={"train": rows}, scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(launcher="local", storage_path=folder, name="run", verbose=0)).fit()
    assert result.metrics["rows"] == ROWS // 2, result.metrics
    print(result.metrics["ms"])


if __name__ == "__main__":
    {"make": make, "pandas": with_pandas, "train": with_workers}[sys.argv[1]](sys.argv[2])
