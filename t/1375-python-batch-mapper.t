#!/bin/sh
test_description='BatchMapper: a function in Python among preprocessors, in runs and predictions'
. "$(dirname "$0")/setup.sh"

"$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null && test_set_prereq TORCH
PYTHONPATH=$stage/share/raytrain/python:$PWD
export PYTHONPATH

cat >common.py <<\EOT
import os, pickle, sys
import numpy as np
import raytrain
from raytrain import DataParallelTrainer, RunConfig, ScalingConfig
from raytrain.data import from_numpy, get_dataset_shard
from raytrain.preprocessors import *

x = np.random.default_rng(1).normal(3, 2, 1003).astype("f8")
x[7] = np.nan
y = np.arange(1003) % 5
words = np.array(["red", "green", "blue"], dtype=object)[np.arange(1003) % 3]
filled = np.where(np.isnan(x), np.nanmean(x), x)
data = {"x": x, "y": y, "w": words}

def mapped(batch):
    return {"x": batch["x"] ** 2, "y": batch["y"], "red": batch["w"] == "red",
            "pair": np.stack([batch["x"], batch["y"]], axis=1)}

# What Chain(SimpleImputer(["x"]), BatchMapper(mapped), Normalizer(["pair"])) makes.
pair = np.stack([filled, y], axis=1)
expected = {"x": filled ** 2, "y": y, "red": words == "red",
            "pair": pair / np.linalg.norm(pair, axis=1, keepdims=True)}

def check(rows, places=slice(None)):
    assert set(rows) == set(expected), set(rows)
    for name, values in expected.items():
        assert np.allclose(rows[name], values[places], rtol=1e-12), name

def chain(fn=mapped, **settings):
    return Chain(SimpleImputer(["x"]), BatchMapper(fn, **settings), Normalizer(["pair"]))

def refused(kind, part, call):
    try:
        call()
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(part)
EOT

test_expect_success 'without a run it is a part of a chain, alone or with others' '
	cat >alone.py <<-\EOT &&
	from common import *
	ds = from_numpy(data)
	steps = chain(lambda batch: mapped(batch))
	assert steps.fit_status() == "NOT_FITTED"
	check(steps.fit_transform(ds).materialize())
	assert steps.fit_status() == "FITTED"
	assert abs(steps.stats_["mean(x)"] - np.nanmean(x)) < 1e-9, steps.stats_
	check(steps.transform_batch(data))
	check(pickle.loads(pickle.dumps(steps)).transform_batch(data))
	alone = BatchMapper(lambda batch: {"z": batch["x"] * 2})
	assert alone.fit_status() == "NOT_FITTABLE" and alone.stats_ == {}
	assert np.array_equal(alone.fit_transform(ds).materialize()["z"], x * 2, equal_nan=True)
	several = Chain(BatchMapper(lambda b: {"a": b["x"][:, None]}),
	                Concatenator(["a"], "b"), Normalizer(["b"], "max"),
	                BatchMapper(lambda b: {"c": b["b"][:, 0]})).fit(ds)
	made = several.transform_batch({"x": filled})["c"]
	assert np.allclose(made, np.sign(filled)), made
	EOT
	"$PYTHON" alone.py 2>err
'
test_expect_success 'a function gets at most batch_size rows, and keeps their number' '
	cat >sizes.py <<-\EOT &&
	from common import *
	seen = []
	def note(batch):
	    seen.append(len(batch["x"]))
	    return batch
	for size, counts in ((400, [400, 400, 203]), (None, [1003]), (4096, [1003])):
	    made = BatchMapper(note, batch_size=size).transform_batch(data)
	    assert seen == counts and all(np.array_equal(made[k][8:], data[k][8:]) for k in data)
	    seen.clear()
	refused(ValueError, "keeps the number of rows",
	        lambda: BatchMapper(lambda b: {"x": b["x"][1:]}).transform_batch(data))
	refused(TypeError, "returned ndarray",
	        lambda: BatchMapper(lambda b: b["x"]).transform_batch(data))
	refused(ValueError, "and before", lambda: BatchMapper(
	    lambda b: {"x%d" % len(b["x"]): b["x"]}, batch_size=1000).transform_batch(data))
	refused(ValueError, "batch_format", lambda: BatchMapper(note, batch_format="rows"))
	refused(ValueError, "StandardScaler before the BatchMapper",
	        lambda: Chain(Chain(BatchMapper(note)), StandardScaler(["x"])))
	EOT
	"$PYTHON" sizes.py 2>err
'
test_expect_success 'batch_format="pandas" gives DataFrames, or says that pandas is not there' '
	cat >frames.py <<-\EOT &&
	from common import *
	try:
	    import pandas
	except ImportError:
	    refused(ImportError, "python3-pandas", lambda: BatchMapper(dict, batch_format="pandas"))
	    # In its place, what the package uses of it.
	    import types
	    class DataFrame:
	        def __init__(self, columns):
	            self.of, self.columns = columns, list(columns)
	        def __getitem__(self, name):
	            array = np.empty(len(self.of[name]), object)
	            array[:] = list(self.of[name])
	            return array if isinstance(array[0], np.ndarray) else self.of[name]
	    pandas = sys.modules["pandas"] = types.ModuleType("pandas")
	    pandas.DataFrame = DataFrame
	def double(frame):
	    assert isinstance(frame, pandas.DataFrame)
	    return pandas.DataFrame({"z": frame["x"] * 2, "v": list(frame["v"]), "w": frame["w"]})
	v = np.arange(2006).reshape(1003, 2)
	made = BatchMapper(double, batch_format="pandas").transform_batch({**data, "v": v})
	assert np.array_equal(made["z"], x * 2, equal_nan=True)
	assert np.array_equal(made["v"], v) and list(made["w"]) == list(words)
	EOT
	"$PYTHON" frames.py 2>err
'
cat >run.py <<\EOT
from common import *
def local(batch):
    return mapped(batch)
def train(config):
    rank = raytrain.get_context().get_world_rank()
    shard = get_dataset_shard("train", equal=False)
    rows = list(shard.iter_batches(batch_size=50))
    np.savez("got-%d-%d.npz" % (config["part"], rank),
             **{name: np.concatenate([b[name] for b in rows]) for name in rows[0]})
    raytrain.report({"rows": sum(len(b["x"]) for b in rows)},
                    checkpoint=raytrain.Checkpoint.from_dict({"a": 1}))
class Pairs(raytrain.Predictor):
    @classmethod
    def from_checkpoint(cls, checkpoint):
        return cls(checkpoint.get_preprocessor())
    def _predict_numpy(self, batch):
        return {name: batch[name] for name in batch}
def trainer(workers, part, fn=local, **others):
    return DataParallelTrainer(
        train, train_loop_config={"part": part}, datasets={"train": from_numpy(data)},
        preprocessor=chain(fn, batch_size=40),
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(name="mapped", launcher="local", storage_path="runs", **others))
# All rows, in their order, once.
def collected(part):
    parts = [np.load("got-%d-%d.npz" % (part, r)) for r in range(3)
             if os.path.exists("got-%d-%d.npz" % (part, r))]
    rows = {name: np.concatenate([p[name] for p in parts]) for name in parts[0].files}
    order = lambda r: np.lexsort((r["pair"][:, 0].round(9), r["x"].round(9)))
    mine, theirs = order(rows), order(expected)
    return {k: v[mine] for k, v in rows.items()}, theirs
if __name__ == "__main__":
    result = trainer(2, 1).fit()
    check(*collected(1))
    stored = result.checkpoint.get_preprocessor()
    assert abs(stored.stats_["mean(x)"] - np.nanmean(x)) < 1e-9, stored.stats_
    check(stored.transform_batch(data))
    check(stored.transform(from_numpy(data)).materialize())
    check(pickle.loads(pickle.dumps(stored)).transform_batch(data))
    check(Pairs.from_checkpoint(result.checkpoint).predict(data))
    for workers in (1, 2):
        made = raytrain.BatchPredictor(result.checkpoint, Pairs).predict(
            from_numpy(data), num_workers=workers, batch_size=64, launcher="local",
            output="all%d.h5" % workers)
        check(made.materialize())
    trainer(3, 2, on_existing="resume").fit()
    check(*collected(2))
EOT
test_expect_success 'workers, a resumed run and predictors get what the reference makes' '
	"$PYTHON" run.py 2>err && grep "preprocessors are those of the checkpoint" err
'
test_expect_success 'a checkpoint has the function by its name, and pickled' '
	h5dump -d /raytrain/preprocessor/configuration runs/mapped/checkpoint_000001.h5 >dump &&
	grep "python = .*:local" dump && ! grep pickle dump &&
	h5ls -r runs/mapped/checkpoint_000001.h5 >list &&
	grep "/raytrain/preprocessor/1/batch_mapper/.*:local/pickle" list &&
	raytrain-inspect runs/mapped/checkpoint_000001.h5 >said && grep "batch_mapper" said
'
test_expect_success 'another program does not load the function of a checkpoint unasked' '
	cat >other.py <<-\EOT &&
	from common import *
	from raytrain.errors import InvalidArgument
	checkpoint = raytrain.Result.from_path("runs/mapped").checkpoint
	stored = checkpoint.get_preprocessor()
	assert abs(stored.stats_["mean(x)"] - np.nanmean(x)) < 1e-9, stored.stats_
	def loads(packed):
	    raise AssertionError("unpickled")
	pickle.loads, kept = loads, pickle.loads
	for use in (lambda: stored.transform_batch(data),
	            lambda: list(stored.transform(from_numpy(data)).iter_batches())):
	    refused(InvalidArgument, "get_preprocessor(allow_code=True)", use)
	pickle.loads = kept
	class Pairs(raytrain.Predictor):
	    @classmethod
	    def from_checkpoint(cls, checkpoint):
	        return cls(checkpoint.get_preprocessor())
	    def _predict_numpy(self, batch):
	        return {name: batch[name] for name in batch}
	def predict(**how):
	    return raytrain.BatchPredictor(checkpoint, Pairs).predict(
	        from_numpy(data), launcher="local", output="other.h5", **how)
	refused(InvalidArgument, "status 3", predict)
	check(predict(allow_code=True).materialize())
	check(checkpoint.get_preprocessor(allow_code=True).transform_batch(data))
	EOT
	"$PYTHON" other.py 2>err && grep -e "--allow-code (in Python: allow_code=True)" err
'
test_expect_success 'a trainer without preprocessors needs RunConfig(allow_code=True) for those of a checkpoint' '
	cat >start.py <<-\EOT &&
	from common import *
	def train():
	    print(sum(len(b["pair"]) for b in get_dataset_shard("train").iter_batches()))
	def fit(**how):
	    return DataParallelTrainer(
	        train, datasets={"train": from_numpy(data)},
	        resume_from_checkpoint=raytrain.Result.from_path("runs/mapped").checkpoint,
	        run_config=RunConfig(name="start", launcher="local", storage_path="runs", **how)).fit()
	refused(raytrain.TrainingFailedError, "--allow-code", fit)
	fit(allow_code=True)
	EOT
	"$PYTHON" start.py 2>err
'
"$PYTHON" -c "import cloudpickle" 2>/dev/null && test_set_prereq CLOUDPICKLE
test_expect_success CLOUDPICKLE 'of a function that the configuration names, a pickle in the checkpoint is not loaded' '
	cat >maps.py <<-\EOT &&
	def double(batch):
	    return {"x": batch["x"] * 2}
	EOT
	cat >pickled.py <<-\EOT &&
	from common import *
	def double(batch):
	    return {"x": batch["x"] * 100}
	double.__module__ = "maps"
	def train():
	    list(get_dataset_shard("train").iter_batches())
	    raytrain.report({}, checkpoint=raytrain.Checkpoint.from_dict({"a": 1}))
	if __name__ == "__main__":
	    DataParallelTrainer(
	        train, datasets={"train": from_numpy({"x": x[:3]})}, preprocessor=BatchMapper(double),
	        run_config=RunConfig(name="pickled", launcher="local", storage_path="runs")).fit()
	EOT
	cat >rows.py <<-\EOT &&
	import raytrain
	print(*[float(v) for b in raytrain.get_dataset_shard("train").iter_batches() for v in b["x"]])
	EOT
	"$PYTHON" pickled.py 2>err && printf "x,y\n1,0\n2,0\n3,0\n" >three.csv &&
	cat >both.cfg <<-\EOT &&
	datasets = { train = { path = "three.csv"; }; };
	preprocessor = ( { batch_mapper = { python = "maps:double"; batch_format = "numpy";
	                                    batch_size = 4096; }; } );
	EOT
	both () {
		raytrain-run --launcher local --storage runs --name both --fresh -c both.cfg \
			--resume=runs/pickled/checkpoint_000001.h5 "$@" -- "$PYTHON" rows.py
	}
	both 2>err && grep -r "2.0 4.0 6.0" runs/both/logs &&
	both --allow-code 2>err && grep -r "100.0 200.0 300.0" runs/both/logs
'
test_expect_success 'the function of a configuration is imported by its name' '
	cat >maps.py <<-\EOT &&
	def double(batch):
	    return {"x": batch["x"] * 2}
	EOT
	cat >named.py <<-\EOT &&
	import raytrain, sys
	rows = list(raytrain.get_dataset_shard("train").iter_batches(batch_size=2))
	assert [float(v) for b in rows for v in b["x"]] == [2, 4, 6], rows
	EOT
	printf "x,y\n1,0\n2,0\n3,0\n" >three.csv &&
	cat >named.cfg <<-\EOT &&
	datasets = { train = { path = "three.csv"; }; };
	preprocessor = ( { batch_mapper = { python = "maps:double"; }; } );
	EOT
	raytrain-run --launcher local --storage runs --name named -c named.cfg -- \
		"$PYTHON" named.py 2>err &&
	sed s/maps:double/maps:none/ named.cfg >none.cfg &&
	test_must_fail raytrain-run --launcher local --storage runs --name none -c none.cfg -- \
		"$PYTHON" named.py 2>err && grep "maps has no function none" err
'
test_expect_success 'what cannot call it, or would have to learn after it, is refused' '
	expect_status 3 raytrain-run --launcher local --storage runs --name c -c named.cfg \
		"$modules/train_rows.so" got train x 2>err &&
	grep "maps:double.*needs a worker in Python" err &&
	expect_status 3 raytrain-predict --launcher local --checkpoint runs/mapped \
		--data three.csv -o c.csv "$modules/predictions.so" 2>err &&
	grep ":local.*needs a worker in Python" err &&
	sed "s/}; } );/}; }, { type = \"standard_scaler\"; columns = [\"x\"]; } );/" named.cfg \
		>after.cfg &&
	expect_status 3 raytrain-run --launcher local --storage runs --name after -c after.cfg -- \
		"$PYTHON" named.py 2>err &&
	grep "standard_scaler comes after the function in Python" err
'
test_expect_success TORCH 'batches of tensors have what it makes, and texts as they are' '
	cat >tensors.py <<-\EOT &&
	import raytrain, torch
	batch, = raytrain.get_dataset_shard("train").iter_torch_batches(batch_size=3)
	assert torch.equal(batch["x"], torch.tensor([2., 4., 6.], dtype=torch.float64)), batch
	EOT
	sed "s/\"three.csv\";/& types = { x = \"float64\"; };/" named.cfg >tensors.cfg &&
	raytrain-run --launcher local --storage runs --name tensors -c tensors.cfg -- \
		"$PYTHON" tensors.py 2>err
'
test_expect_success TORCH 'a pickled model of a checkpoint is loaded with allow_code=True alone' '
	cat >model.py <<-\EOT &&
	from common import *
	from raytrain import _stored
	from raytrain.errors import InvalidArgument
	from raytrain.torch import TorchPredictor
	import torch
	net = torch.nn.Linear(1, 1)
	_stored.save(raytrain.Checkpoint.from_dict({"model": net}), "model.h5")
	checkpoint = raytrain.Checkpoint("model.h5")
	refused(InvalidArgument, "allow_code=True", lambda: TorchPredictor.from_checkpoint(checkpoint))
	made = TorchPredictor.from_checkpoint(checkpoint, allow_code=True)
	assert torch.equal(made.model.weight, net.weight)
	_stored.save(raytrain.Checkpoint.from_dict({"model": net.state_dict()}), "state.h5")
	refused(InvalidArgument, "as model=", lambda: TorchPredictor.from_checkpoint(
	    raytrain.Checkpoint("state.h5"), allow_code=True))
	EOT
	"$PYTHON" model.py 2>err
'
test_expect_success TORCH 'TorchPredictor takes DataFrames, and columns as arguments or as one dict' '
	cat >columns.py <<-\EOT &&
	import numpy as np, torch
	from raytrain.torch import TorchPredictor
	class One(torch.nn.Module):
	    def forward(self, batch):
	        return batch["a"] + 2 * batch["b"]
	class Two(torch.nn.Module):
	    def forward(self, a, b):
	        return {"y": a + 2 * b, "pair": torch.stack([a, b], 1)}
	rows = {"a": np.array([1., 2.]), "b": np.array([3., 4.])}
	for model, name in (One(), "predictions"), (Two(), "y"):
	    made = TorchPredictor(model).predict(rows)
	    assert made[name].tolist() == [7, 10], made
	assert TorchPredictor(One()).predict({"a": rows["a"], "b": rows["b"]}, dtype=torch.float32)[
	    "predictions"].dtype == np.float32
	assert TorchPredictor(torch.nn.Identity()).predict(rows["a"], dtype={"a": torch.float16})[
	    "predictions"].dtype == np.float16
	types = {"a": torch.float16, "b": torch.float16}
	assert TorchPredictor(One()).predict(rows, dtype=types)["predictions"].dtype == np.float16
	try:
	    import pandas
	except ImportError:
	    raise SystemExit
	frame = TorchPredictor(Two()).predict(pandas.DataFrame(rows, index=[7, 9]))
	assert frame.index.tolist() == [7, 9] and frame["y"].tolist() == [7, 10], frame
	assert [list(pair) for pair in frame["pair"]] == [[1, 3], [2, 4]], frame
	EOT
	"$PYTHON" columns.py
'
test_expect_success 'without cloudpickle it travels by its name' '
	cat >plain.py <<-\EOT &&
	import sys
	sys.modules["cloudpickle"] = None
	from run import *
	from common import *
	def top(batch):
	    return mapped(batch)
	if __name__ == "__main__":
	    result = trainer(2, 3, top, on_existing="fresh").fit()
	    check(*collected(3))
	    check(result.checkpoint.get_preprocessor().transform_batch(data))
	    made = raytrain.BatchPredictor(result.checkpoint, Pairs).predict(
	        from_numpy(data), launcher="local", output="plain.h5")
	    check(made.materialize())
	EOT
	"$PYTHON" plain.py 2>err
'
test_expect_success 'a function that fails in a worker ends the run with its traceback' '
	cat >fails.py <<-\EOT &&
	from common import *
	def broken(batch):
	    raise KeyError("no such thing in here")
	def train():
	    list(get_dataset_shard("train").iter_batches())
	if __name__ == "__main__":
	    refused(raytrain.TrainingFailedError, "no such thing in here", DataParallelTrainer(
	        train, datasets={"train": from_numpy(data)}, preprocessor=BatchMapper(broken),
	        run_config=RunConfig(name="fails", launcher="local", storage_path="runs")).fit)
	EOT
	"$PYTHON" fails.py 2>err
'
test_done
