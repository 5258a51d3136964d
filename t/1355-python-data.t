#!/bin/sh
test_description='datasets in Python: batches of shards, in workers and outside'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

cat >common.py <<\EOT
import os, sys
import numpy as np
import raytrain
from raytrain import DataConfig, DataParallelTrainer, RunConfig, ScalingConfig
from raytrain.data import read_hdf5, read_idx, read_numpy

def fit(function, datasets, workers=2, config=None, **arguments):
    run = arguments.pop("run", {})
    return DataParallelTrainer(
        function, train_loop_config=config, datasets=datasets,
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(launcher="local", storage_path="runs", **run),
        **arguments).fit()
EOT
"$PYTHON" - <<\EOT
import gzip, struct
import h5py
import numpy as np
with h5py.File("rows.h5", "w") as f:
    f["x"] = np.arange(34, dtype="f4").reshape(17, 2)
    f["id"] = np.arange(17, dtype="i8")
with h5py.File("types.h5", "w") as f:
    for t in "f4 f8 f2 i1 i2 i4 i8 u1 u2 u4 u8".split():
        f[t] = np.arange(5).astype(t)
    f["image"] = np.arange(5 * 3 * 4, dtype="u1").reshape(5, 3, 4)
with h5py.File("large.h5", "w") as f:
    f["id"] = np.arange(5000, dtype="i4")
    f["x"] = np.random.default_rng(1).random((5000, 100), dtype="f4")
images = struct.pack(">4I", 0x803, 6, 2, 3) + bytes(range(36))
with gzip.open("t-images-idx3-ubyte.gz", "wb") as f:
    f.write(images)
with gzip.open("t-labels-idx1-ubyte.gz", "wb") as f:
    f.write(struct.pack(">2I", 0x801, 6) + bytes([5, 4, 3, 2, 1, 0]))
EOT

test_expect_success 'outside workers a dataset has all rows, and NumPy arrays of its types' '
	cat >alone.py <<-\EOT &&
	from common import *
	data = read_hdf5("rows.h5")
	assert data.count() == 17 and data.schema() == {"id": ("int64", ()), "x": ("float32", (2,))}
	batches = list(data.iter_batches(batch_size=5))
	assert [len(b["id"]) for b in batches] == [5, 5, 5, 2]
	assert np.array_equal(np.concatenate([b["id"] for b in batches]), np.arange(17))
	assert np.array_equal(batches[1]["x"], np.arange(10, 20, dtype="f4").reshape(5, 2))
	assert [len(b["id"]) for b in data.iter_batches(batch_size=5, drop_last=True)] == [5, 5, 5]
	assert [int(r["id"]) for r in data.iter_rows()] == list(range(17))
	assert np.array_equal(data.materialize()["id"], np.arange(17))
	assert sum(1 for e in data.iter_epochs(3) for b in e.iter_batches()) == 3
	assert data.select_columns(["id"]).columns() == ["id"]
	assert "id" not in data.drop_columns("id").columns()
	some = data.select_columns(["id", "x"]).drop_columns("x")
	assert some.columns() == ["id"]
	for call, names in ((some.drop_columns, "x"), (some.select_columns, "x"), (some.drop_columns, "z"),
	                    (data.drop_columns("id").select_columns, ["id"])):
	    try:
	        call(names)
	    except KeyError as error:
	        assert "there is no column" in str(error), error
	    else:
	        raise AssertionError(names)
	some = read_hdf5("rows.h5", shuffle=True, shuffle_window=8, limit=5, columns=["x"],
	                 filter={"column": "id", "min": 3})
	assert some.count() == 5 and some.columns() == ["x"]
	assert sorted(some.materialize()["x"][:, 0]) == [6, 8, 10, 12, 14]
	kinds = read_hdf5("types.h5").materialize()
	for name, array in kinds.items():
	    assert name == "image" or array.dtype == np.dtype(name), (name, array.dtype)
	    assert name == "image" or np.array_equal(array, np.arange(5).astype(name))
	assert kinds["image"].shape == (5, 3, 4) and kinds["image"][4, 2, 3] == 59
	idx = read_idx("t-images-idx3-ubyte.gz").materialize()
	assert [c.shape for c in idx.values()] == [(6, 2, 3), (6,)], idx
	assert idx["y"].tolist() == [5, 4, 3, 2, 1, 0]
	EOT
	"$PYTHON" alone.py 2>err
'
test_expect_success 'arrays that NumPy saved are read as NumPy reads them' '
	cat >numpy_files.py <<-\EOT &&
	from common import *
	def same(data, expected):
	    rows = data.materialize()
	    assert list(rows) == list(expected), (list(rows), list(expected))
	    for name, array in expected.items():
	        assert rows[name].dtype == array.dtype.newbyteorder("="), (name, rows[name].dtype)
	        assert np.array_equal(rows[name], array), name
	for t in "<f4 >f4 <f8 >f8 <f2 i1 >i2 <i4 >i8 u1 >u2 <u4 >u8".split():
	    array = np.arange(60).reshape(5, 3, 4).astype(t)
	    np.save("array.npy", array)
	    same(read_numpy("array.npy"), {"array": array})
	np.save("bool.npy", np.array([True, False]))
	same(read_numpy("bool.npy"), {"bool": np.array([1, 0], dtype="u1")})
	records = np.zeros(1000, dtype=np.dtype([("a", "<f4"), ("b", ">u2", (2,)), ("c", "i1")],
	                                        align=True))
	records["a"] = np.arange(1000)
	records["b"] = np.arange(2000).reshape(1000, 2)
	records["c"] = np.arange(1000) % 100
	np.save("records.npy", records)
	same(read_numpy("records.npy"), {n: records[n] for n in "abc"})
	x, y = np.random.default_rng(1).random((1000, 7)), np.arange(1000)
	for save in np.savez, np.savez_compressed:
	    save("both.npz", x=x, y=y, unit=np.array("m"))
	    same(read_numpy("both.npz"), {"x": x, "y": y})
	    same(read_numpy("both.npz", columns=["y"]), {"y": y})
	    save("fortran.npz", x=np.asfortranarray(x), y=y)
	    same(read_numpy("fortran.npz"), {"x": x, "y": y})
	    some = read_numpy("both.npz", columns=["y"], shuffle=True, shuffle_window=2, limit=2,
	                      filter={"column": "y", "min": float(y[1])}, last_batch="keep")
	    assert some.count() <= 2 and (some.materialize()["y"] >= y[1]).all()
	same(read_numpy(["both.npz"]), {"x": x, "y": y})
	try:
	    read_numpy(["both.npz", "records.npy"])
	except ValueError as error:
	    assert "pattern" in str(error), error
	else:
	    raise AssertionError("two paths")
	os.makedirs("parts[1]", exist_ok=True)
	os.chdir("parts[1]")
	for i in range(10):
	    np.save(f"x-{i:03}.npy", x[100 * i:100 * i + 100])
	    np.save(f"y-{i:03}.npy", y[100 * i:100 * i + 100])
	same(read_numpy("x-*.npy", label="y-*.npy"), {"x": x, "y": y})
	os.chdir("..")
	same(read_numpy("parts[[]1]/y*"), {"y": y})
	np.save("fortran.npy", np.asfortranarray(x))
	same(read_numpy("fortran.npy"), {"fortran": x})
	EOT
	"$PYTHON" numpy_files.py 2>err
'
test_expect_success 'a warning names what a dataset that a script opens leaves out, once' '
	cat >left_out.py <<-\EOT &&
	import warnings
	from common import *
	from raytrain.preprocessors import StandardScaler
	import h5py
	os.makedirs("parts/old", exist_ok=True)
	pairs = np.zeros(5, dtype=[("p", "f4"), ("q", "f4")])
	with h5py.File("parts/a.h5", "w") as f:
	    f["x"], f["pairs"], f["group/deep"] = np.arange(5.0), pairs, np.arange(5)
	open("parts/b.CSV", "w").close()
	np.savez("some.npz", x=np.arange(5.0), o=np.array([None] * 5))
	np.save("fields.npy", np.zeros(5, dtype=[("x", "f8"), ("c", "c8")]))
	def said(call):
	    with warnings.catch_warnings(record=True) as caught:
	        warnings.simplefilter("always")
	        call()
	    assert all(w.filename == __file__ for w in caught), [w.filename for w in caught]
	    return "\n".join(str(w.message) for w in caught)
	parts = lambda: read_hdf5("parts")
	text = said(lambda: parts().count())
	for word in ("dataset \"parts\"", "\"pairs\" (", "\"group/deep\" (", "parts/old\" (",
	             "parts/b.CSV\" ("):
	    assert text.count(word) >= 1, (word, text)
	assert said(lambda: (parts().count(), list(parts().iter_batches()))) == ""
	assert said(lambda: read_hdf5("parts/a.h5", columns=["x"]).count()) == ""
	assert "\"o\" (" in said(lambda: list(read_numpy("some.npz").iter_rows()))
	text = said(lambda: StandardScaler(["x"]).fit_transform(read_numpy("fields.npy")).count())
	assert text.count("\"c\" (") == 1, text
	def train():
	    data = read_hdf5("parts")
	    raytrain.report({"rows": data.count() + read_hdf5("parts").count()})
	fit(train, {}, run={"name": "left-out"})
	EOT
	"$PYTHON" left_out.py 2>err && test $(grep -c "pairs" err) = 1 &&
	grep "pairs" runs/left-out/logs/attempt-0/rank-00001.err &&
	test_must_fail grep "pairs" runs/left-out/logs/attempt-0/rank-00000.err
'
test_expect_success 'batches that are kept are not overwritten, and those that are not are reused' '
	cat >kept.py <<-\EOT &&
	from common import *
	data = read_hdf5("large.h5")
	kept = [b["id"] for b in data.iter_batches(batch_size=100)]
	assert np.array_equal(np.concatenate(kept), np.arange(5000))
	rows = [b["id"][::7] for b in data.iter_batches(batch_size=100)]
	assert np.array_equal(rows[40], np.arange(4000, 4100, 7))
	del kept, rows
	for batch in data.iter_batches(batch_size=100):
	    batch["x"][:] = 0
	    first = batch["x"].__array_interface__["data"][0]
	    for batch in [None]:
	        pass
	assert sum(s.memory is not None for s in data._slots._slots) <= 8
	EOT
	"$PYTHON" kept.py 2>err
'
test_expect_success 'an error names the file, the column or the mistake' '
	cat >wrong.py <<-\EOT &&
	from common import *
	def refused(words, call):
	    try:
	        call()
	    except Exception as error:
	        assert words in str(error), error
	    else:
	        assert False, words
	refused("none.h5", lambda: read_hdf5("none.h5").count())
	refused("nothing", lambda: read_hdf5("rows.h5", columns=["nothing"]).count())
	os.mkdir("bytes")
	open(b"bytes/\xff.h5", "wb").close()
	refused("\\xff.h5", lambda: read_hdf5("bytes").count())
	data = read_hdf5("rows.h5")
	refused("at least 1", lambda: list(data.iter_batches(batch_size=0)))
	refused("local_shuffle_buffer_size is", lambda: data.iter_batches(local_shuffle_buffer_size=0))
	huge = list(data.iter_batches(batch_size=2 ** 40))
	assert len(huge) == 1 and len(huge[0]["id"]) == 17
	refused("integer", lambda: data.iter_batches(batch_size=1.5))
	one = data.iter_batches(batch_size=2)
	next(one)
	other = data.iter_batches(batch_size=3)
	assert next(other)["id"].tolist() == [0, 1, 2]
	refused("another iteration over it has begun", lambda: next(one))
	assert next(other)["id"].tolist() == [3, 4, 5]
	refused("for workers", lambda: raytrain._session.session().call("report", {}))
	EOT
	"$PYTHON" wrong.py 2>err
'
no_helper () {
	! grep -lz "^HELPED_BY=$PWD" /proc/[0-9]*/environ 2>/dev/null
}
test_expect_success 'the helper process ends with its caller, also one that is killed' '
	HELPED_BY=$PWD "$PYTHON" alone.py 2>err && eventually no_helper &&
	cat >killed.py <<-\EOT &&
	from common import *
	read_hdf5("rows.h5").count()
	os.kill(os.getpid(), 9)
	EOT
	expect_status 137 env HELPED_BY="$PWD" "$PYTHON" killed.py 2>err && eventually no_helper
'
test_expect_success 'a helper that was killed is reported, and replaced' '
	cat >replaced.py <<-\EOT &&
	from common import *
	from raytrain import _helper
	other, data = read_hdf5("types.h5"), read_hdf5("rows.h5")
	assert other.count() == 5 and data.count() == 17
	first = _helper.helper()._process
	first.kill()
	first.wait()
	try:
	    read_hdf5("rows.h5").count()
	    assert False
	except raytrain.RaytrainError as error:
	    assert "helper process" in str(error), error
	assert read_hdf5("rows.h5").count() == 17 and _helper.helper()._process is not first
	assert len(list(data.iter_batches(batch_size=17))) == 1
	EOT
	"$PYTHON" replaced.py 2>err
'
test_expect_success 'a forked process has a helper of its own' '
	cat >forked.py <<-\EOT &&
	from common import *
	data = read_hdf5("rows.h5")
	assert data.count() == 17
	pid = os.fork()
	if pid == 0:
	    ok = [len(b["id"]) for b in read_hdf5("rows.h5").iter_batches(batch_size=16)] == [16, 1]
	    os._exit(0 if ok else 1)
	assert os.waitpid(pid, 0)[1] == 0
	assert len(list(data.iter_batches(batch_size=17))) == 1
	EOT
	"$PYTHON" forked.py 2>err
'

cat >shards.py <<\EOT
from common import *

def train(config):
    rank = raytrain.get_context().get_world_rank()
    train = raytrain.get_dataset_shard("train")
    valid = raytrain.get_dataset_shard("valid")
    every = raytrain.get_dataset_shard("valid", equal=False)
    for epoch in range(2):
        batches = [b["id"] for b in train.iter_batches(batch_size=3)]
        raytrain.report({"rows": sum(map(len, batches)), "sum": sum(b.sum() for b in batches)})
        np.save(f"ids-{epoch}-{rank}.npy", np.concatenate(batches))
    assert sum(len(b["id"]) for b in valid.iter_batches(batch_size=4)) == 17
    early = train.iter_batches(batch_size=3)
    next(early)
    assert len(np.concatenate([b["id"] for b in train.iter_batches(batch_size=3)])) == 8
    ragged = raytrain.get_dataset_shard("train", equal=False)
    rows = sum(len(b["id"]) for b in ragged.iter_batches(batch_size=3))
    assert rows == (9 if rank == 0 else 8), rows
    assert [len(b["id"]) for b in train.iter_batches(batch_size=3, drop_last=True)] == [3, 3]

result = fit(train, {"train": read_hdf5("rows.h5", shuffle=True), "valid": "rows.h5"},
             data_config=DataConfig(datasets_to_split=["train"]), run={"name": "shards"})
assert result.metrics["by_rank"]["rows"]["min"] == result.metrics["by_rank"]["rows"]["max"] == 8
orders = []
for epoch in range(2):
    both = [np.load(f"ids-{epoch}-{rank}.npy") for rank in range(2)]
    assert len(set(np.concatenate(both))) == 16
    orders.append(np.concatenate(both).tolist())
assert orders[0] != orders[1] and orders[0] != sorted(orders[0])
EOT
test_expect_success 'shards of workers are disjoint, equal and shuffled differently in each epoch' '
	"$PYTHON" shards.py 2>err
'
test_expect_success 'what is left out for that is reported once' '
	test $(grep -c "17 rows are not a multiple of the 2 workers, so 1 of them" err) = 1
'
test_expect_success 'the order of all rows does not depend on the number of workers' '
	cat >order.py <<-\EOT &&
	from common import *
	def train(config):
	    data, rank = raytrain.get_dataset_shard("train"), raytrain.get_context().get_world_rank()
	    size = 100 // raytrain.get_context().get_world_size()
	    for k, b in enumerate(data.iter_batches(batch_size=size)):
	        if k == 7:
	            np.save(f"seventh-{rank}.npy", b["id"])
	    raytrain.report({"ok": 1})
	got = []
	for workers in (1, 2):
	    fit(train, {"train": read_hdf5("large.h5", shuffle=True)}, workers)
	    got.append(np.concatenate([np.load(f"seventh-{r}.npy") for r in range(workers)]))
	assert len(got[0]) == 100 and np.array_equal(*got)
	EOT
	"$PYTHON" order.py 2>err
'
test_expect_success 'a worker that was killed continues in the middle of an epoch' '
	cat >middle.py <<-\EOT &&
	from common import *
	from raytrain import Checkpoint, FailureConfig
	def train():
	    rank = raytrain.get_context().get_world_rank()
	    attempt = raytrain.get_context().get_attempt()
	    checkpoint = raytrain.get_checkpoint()
	    start = checkpoint.to_dict()["epoch"] if checkpoint else 0
	    data = raytrain.get_dataset_shard("train")
	    for epoch in range(start, 2):
	        for k, b in enumerate(data.iter_batches(batch_size=50, local_shuffle_buffer_size=MIXED)):
	            with open(f"seen-{epoch}-{rank}", "a") as file:
	                file.write("".join(f"{i}\n" for i in b["id"]))
	            raytrain.report({"k": k}, checkpoint=Checkpoint.from_dict({"epoch": epoch}))
	            if epoch == 1 and k == 6 and attempt == 0:
	                raytrain.report({"k": k})
	                os.kill(os.getpid(), 9)
	for MIXED in None, 500:
	    fit(train, {"train": read_hdf5("large.h5", shuffle=MIXED is None)},
	        run={"name": f"middle-{MIXED}", "failure_config": FailureConfig(max_failures=1),
	             "checkpoint_config": raytrain.CheckpointConfig(mode="sync")})
	    orders = []
	    for epoch in range(2):
	        seen = [int(i) for r in range(2) for i in open(f"seen-{epoch}-{r}")]
	        assert sorted(seen) == list(range(5000)), (epoch, len(seen))
	        orders.append(seen)
	        for r in range(2):
	            os.unlink(f"seen-{epoch}-{r}")
	    assert orders[0] != sorted(orders[0]) and orders[0] != orders[1]
	EOT
	"$PYTHON" middle.py 2>err
'
test_expect_success 'local_shuffle_buffer_size mixes rows that are near each other' '
	cat >local.py <<-\EOT &&
	from common import *
	def order(data, **options):
	    return [int(i) for b in data.iter_batches(batch_size=64, **options) for i in b["id"]]
	data = read_hdf5("large.h5")
	orders = [order(data, local_shuffle_buffer_size=100) for epoch in range(2)]
	assert order(data) == list(range(5000))
	assert sorted(orders[0]) == sorted(orders[1]) == list(range(5000)) and orders[0] != orders[1]
	# Adjacent blocks of the file stay together: here a window is one block.
	firsts = [orders[0].index(i) // 640 for i in range(640)]
	assert len(set(firsts)) <= 3, set(firsts)
	shuffled = read_hdf5("large.h5", shuffle=True)
	assert order(shuffled, local_shuffle_buffer_size=100) == order(read_hdf5("large.h5", shuffle=True))
	made = data.filter(lambda row: row["id"] % 2 == 0)
	ids = order(made, local_shuffle_buffer_size=50)
	assert sorted(ids) == list(range(0, 5000, 2)) != ids and max(ids[:50]) < 100
	frames = list(data.iter_batches(batch_size=5000, batch_format="pandas",
	                                local_shuffle_buffer_size=5000))
	assert frames[0]["id"].tolist() != list(range(5000))
	EOT
	"$PYTHON" local.py 2>err
'
cat >custom.py <<\EOT
from common import *
from raytrain import Checkpoint, FailureConfig
from raytrain import data

def doubled(batch):
    return {**batch, "twice": batch["id"] * 2}

class Custom(DataConfig):
    def configure(self, datasets, world_size, worker_handles, worker_node_ids, **kwargs):
        assert list(datasets) == ["train"] and world_size == 2
        context = data.DataContext.get_current()
        context.execution_options = DataConfig.default_ingest_options()
        rows = datasets["train"].random_shuffle().map_batches(doubled)
        parts = rows.streaming_split(world_size, equal=False, locality_hints=worker_node_ids)
        made = [{"train": it, "valid": datasets["train"].limit(5).iterator()} for it in parts]
        made[1]["odd"] = datasets["train"].filter(lambda row: row["id"] % 2 == 1).iterator()
        return made

def train():
    rank = raytrain.get_context().get_world_rank()
    odd = iter(())
    if rank == 1:
        odd = iter(raytrain.get_dataset_shard("odd").iter_batches(batch_size=417))
    else:
        try:
            raytrain.get_dataset_shard("odd")
            assert False
        except KeyError as error:
            assert "gives it to workers [1]" in str(error), error
    valid = raytrain.get_dataset_shard("valid").materialize()["id"]
    assert valid.tolist() == [0, 1, 2, 3, 4]
    attempt = raytrain.get_context().get_attempt()
    shard = raytrain.get_dataset_shard("train")
    for k, b in enumerate(shard.iter_batches(batch_size=499)):
        assert np.array_equal(b["twice"], b["id"] * 2)
        with open(f"seen-{rank}", "a") as file:
            file.write("".join(f"{i}\n" for i in b["id"]))
        with open("seen-odd", "a") as file:
            file.write("".join(f"{i}\n" for i in next(odd, {"id": ()})["id"]))
        raytrain.report({"k": k}, checkpoint=Checkpoint.from_dict({"k": k}))
        if k == 2 and attempt == 0:
            raytrain.report({"k": k})
            os.kill(os.getpid(), 9)

def seen():
    rows = [int(i) for r in range(2) for i in open(f"seen-{r}")]
    odd = [int(i) for i in open("seen-odd")]
    for name in "0", "1", "odd":
        os.unlink(f"seen-{name}")
    assert sorted(rows) == list(range(5000)) != rows, len(rows)
    assert sorted(odd) == list(range(1, 5000, 2)), len(odd)

if __name__ == "__main__":
    fit(train, {"train": "large.h5"}, dataset_config=Custom(),
        run={"name": "custom", "failure_config": FailureConfig(max_failures=1),
             "checkpoint_config": raytrain.CheckpointConfig(mode="sync")})
    seen()
    DataParallelTrainer.restore("runs/custom").fit()  # at the end of the epoch
    assert not [name for name in os.listdir() if name.startswith("seen-")]
EOT
test_expect_success 'configure() of a DataConfig says which rows a worker reads, also after restarts' '
	"$PYTHON" custom.py 2>err && ! ls -d runs/custom.rows-*
'
test_expect_success 'what configure() returns is a rule for any number of workers, or refused' '
	cat >no_rule.py <<-\EOT &&
	from common import *
	from raytrain.errors import InvalidArgument
	def refused(words, how, kind=InvalidArgument, **arguments):
	    class Custom(DataConfig):
	        def configure(self, datasets, world_size, worker_handles, worker_node_ids, **kwargs):
	            return how(datasets["train"], world_size)
	    try:
	        fit(print, {"train": "rows.h5"}, data_config=Custom(), **arguments)
	    except kind as error:
	        assert words in str(error), error
	        return error
	    raise AssertionError(words)
	refused("a list of 2 dicts", lambda ds, n: [{}])
	refused("is ndarray", lambda ds, n: [{"a": np.arange(3)}] * n)
	refused("streaming_split(2) as \x27a\x27", lambda ds, n: [{"a": i} for i in ds.streaming_split(3)[:n]])
	refused("the i-th", lambda ds, n: [{"a": i} for i in ds.streaming_split(n)[::-1]])
	refused("the i-th", lambda ds, n: [{"a": ds.streaming_split(n, equal=i > 0)[i]} for i in range(n)])
	refused("use a name for each", lambda ds, n: [{"a": ds.limit(k + 1).iterator()} for k in range(n)])
	error = refused("ZeroDivisionError", lambda ds, n: 1 / 0, raytrain.ControllerError)
	assert isinstance(error.controller_failure, ZeroDivisionError), error
	EOT
	"$PYTHON" no_rule.py 2>err
'
test_expect_success 'streaming_split() divides rows in a process that is not a worker, too' '
	cat >parts.py <<-\EOT &&
	import pickle, warnings
	from common import *
	def ids(parts, **options):
	    return [[int(i) for b in p.iter_batches(batch_size=2, **options) for i in b["id"]] for p in parts]
	data = read_hdf5("rows.h5")
	parts = ids(data.streaming_split(3))
	assert sorted(sum(parts, [])) == list(range(17)) and sorted(map(len, parts)) == [5, 6, 6], parts
	with warnings.catch_warnings(record=True) as caught:
	    warnings.simplefilter("always")
	    equal = ids(data.streaming_split(3, equal=True))
	assert [len(part) for part in equal] == [5, 5, 5], equal
	assert "2 of them are left out" in str(caught[0].message) and len(caught) == 1, caught
	made = data.filter(lambda row: row["id"] > 2).map_batches(lambda b: {"id": b["id"] + 100})
	both = ids(made.streaming_split(2))
	assert sorted(sum(both, [])) == list(range(103, 117)) and len(both[0]) == 7, both
	for name in "to_tf", "iter_tf_batches", "write_csv":
	    try:
	        getattr(data.streaming_split(2)[0], name)
	        assert False
	    except AttributeError as error:
	        assert f"a DataIterator has no {name}(), which ray.data has: " in str(error), error
	half = pickle.loads(pickle.dumps(data.streaming_split(2)[1]))
	assert half.count() == 17 and len(half.materialize()["id"]) == 8
	assert ids([data.iterator()]) == [list(range(17))]
	for wrong in lambda: data.streaming_split(0), \
	             lambda: data.streaming_split(2, locality_hints=["node"]):
	    try:
	        wrong()
	        assert False
	    except ValueError as error:
	        assert "streaming_split: " in str(error), error
	context = raytrain.data.DataContext.get_current()
	options = raytrain.data.ExecutionOptions(
	    resource_limits=raytrain.data.ExecutionResources(object_store_memory=10e9))
	assert options.resource_limits.copy(cpu=2) == raytrain.data.ExecutionResources.for_limits(
	    cpu=2, object_store_memory=10e9)
	for setting in lambda: setattr(context.execution_options, "preserve_order", True), \
	               lambda: setattr(options.resource_limits, "cpu", 32), \
	               lambda: setattr(context, "target_max_block_size", 1), \
	               lambda: setattr(context, "execution_options", options), \
	               lambda: DataConfig(execution_options=options):
	    with warnings.catch_warnings(record=True) as caught:
	        warnings.simplefilter("always")
	        setting()
	    assert "has no effect" in str(caught[0].message), caught
	    assert caught[0].filename == __file__, caught[0].filename
	EOT
	"$PYTHON" parts.py 2>err
'
test_expect_success 'a dataset that is not there is a KeyError at once, in one worker alone, too' '
	cat >missing.py <<-\EOT &&
	from common import *
	def train():
	    try:
	        raytrain.get_dataset_shard("other")
	        assert False
	    except KeyError as error:
	        assert str(error) == "there is no dataset \x27other\x27; the datasets are train", error
	        assert isinstance(error, raytrain.RaytrainError)
	    raytrain.report({"ok": 1})
	assert fit(train, {"train": "rows.h5"}).metrics["ok"] == 1
	EOT
	"$PYTHON" missing.py 2>err
'
test_expect_success 'without NumPy batches are memoryviews' '
	cat >bare.py <<-\EOT &&
	import sys
	sys.modules["numpy"] = None
	from raytrain.data import read_hdf5
	data = read_hdf5("rows.h5")
	got = list(data.iter_batches(batch_size=10))
	assert got[1]["id"].tolist() == list(range(10, 17)) and got[0]["x"].shape == (10, 2)
	assert got[0]["x"].tolist()[3] == [6.0, 7.0]
	kinds = next(iter(read_hdf5("types.h5").iter_batches(batch_size=5)))
	assert kinds["f2"].tolist() == [0, 0x3c00, 0x4000, 0x4200, 0x4400]
	assert kinds["f4"].tolist() == kinds["u8"].tolist() == kinds["i1"].tolist()
	EOT
	"$PYTHON" bare.py 2>err
'
"$PYTHON" -c "import torch" 2>/dev/null && test_set_prereq TORCH
test_expect_success TORCH 'iter_torch_batches() gives tensors in the same memory' '
	cat >tensors.py <<-\EOT &&
	from common import *
	import torch
	data = read_hdf5("types.h5")
	batch = next(iter(data.iter_torch_batches(batch_size=5, device="cpu")))
	assert batch["f2"].dtype == torch.float16 and batch["u1"].dtype == torch.uint8
	assert batch["u2"].dtype == torch.int32 and batch["u8"].dtype == torch.int64
	assert batch["image"].shape == (5, 3, 4) and batch["u8"].tolist() == [0, 1, 2, 3, 4]
	batch = next(iter(data.iter_torch_batches(batch_size=2, device=None,
	                                          dtypes={"u1": torch.float32})))
	assert batch["u1"].dtype == torch.float32 and batch["i8"].dtype == torch.int64
	kept = [b["id"] for b in read_hdf5("large.h5").iter_torch_batches(batch_size=100, device=None)]
	assert torch.equal(torch.cat(kept), torch.arange(5000, dtype=torch.int32))
	pairs = list(data.iter_torch_batches(batch_size=5, device=None,
	                                     collate_fn=lambda b: torch.as_tensor(b["f4"])))
	assert pairs[0].tolist() == [0, 1, 2, 3, 4]
	EOT
	"$PYTHON" tensors.py 2>err
'
test_expect_success 'the last batch may be filled up, and says with how many rows' '
	cat >pad.py <<-\EOT &&
	from common import *
	data = read_hdf5("rows.h5", last_batch="pad")
	batches = [(b["id"].tolist(), data.padding) for b in data.iter_batches(batch_size=5)]
	assert batches[2:] == [([10, 11, 12, 13, 14], 0), ([15, 16, 0, 1, 2], 3)], batches
	assert data.materialize()["id"].tolist() == list(range(17))
	assert len(list(data.iter_rows())) == 17
	def train():
	    shard, ids = raytrain.get_dataset_shard("train"), []
	    for batch in shard.iter_batches(batch_size=4):
	        assert len(batch["id"]) == 4
	        ids += batch["id"][:4 - shard.padding].tolist()
	    rows = len(list(shard.iter_rows()))
	    raytrain.report({"sum": sum(ids), "n": len(ids), "rows": rows})
	ranks = fit(train, {"train": data}, 3).by_rank
	for name, total in ("sum", sum(range(17))), ("n", 17), ("rows", 17):
	    assert abs(3 * ranks[name]["mean"] - total) < 1e-6, ranks
	EOT
	"$PYTHON" pad.py 2>err
'
test_expect_success 'each report has the time that was waited for data, once there are data' '
	cat >wait.py <<-\EOT &&
	from common import *
	def train():
	    raytrain.report({"epoch": -1})
	    data = raytrain.get_dataset_shard("train")
	    for epoch in range(20):
	        for batch in data.iter_batches(batch_size=64):
	            pass
	        raytrain.report({"epoch": epoch})
	fit(train, {"train": read_hdf5("large.h5")}, run={"name": "wait"})
	EOT
	"$PYTHON" wait.py 2>err && head -n 1 runs/wait/result.json | jq -e "has(\"data_wait_s\") | not" &&
	jq -es "length == 21 and (.[1:] | all(.data_wait_s >= 0 and .data_wait_s <= .time_this_iter_s)) and
		(map(.data_wait_s) | add > 0)" runs/wait/result.json &&
	h5dump -d /reports runs/wait/result.h5 | grep data_wait_s
'
test_done
