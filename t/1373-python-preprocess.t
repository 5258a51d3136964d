#!/bin/sh
test_description='preprocessors in Python: without a run, in a run, and from its checkpoints'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

cat >common.py <<\EOT
import gc, os, pickle
import numpy as np
import raytrain
from raytrain import DataParallelTrainer, RunConfig, ScalingConfig
from raytrain.data import from_numpy, get_dataset_shard
from raytrain.preprocessors import *

rng = np.random.default_rng(1)
x = rng.normal(3, 2, 1000).astype("f4")
x[7] = np.nan
y = rng.integers(0, 5, 1000)
c = np.array(["red", "", "Gr\u00fcn", "a b"], dtype=object)[y % 4]
v = rng.random((1000, 3))
mean, std = np.nanmean(x.astype("f8")), np.nanstd(x.astype("f8"))
EOT

# raytrain.cfg(5) has all that the configuration knows (t/unit/test_manual.c).
test_expect_success 'there is a class for each preprocessor of raytrain.cfg(5)' '
	sed -n "/^\.SS preprocessor/,/^\.SS Trees/p" "$srcdir/share/man/raytrain.cfg.5" |
	grep -A 1 "^\.TP" | grep -oE "fB[a-z_]+" | sed "s/fB//" | sort >expect &&
	test "$(wc -l <expect)" -gt 15 &&
	python3 -c "import raytrain.preprocessors as p
for name in p.__all__:
    print(getattr(getattr(p, name), \"_kind\", \"\"))" | grep . | sort >actual &&
	test_cmp expect actual
'
test_expect_success 'arrays in memory are a dataset whose file goes with it' '
	cat >memory.py <<-\EOT &&
	from common import *
	ds = from_numpy({"x": x, "y": y, "v": v, "b": y > 2})
	assert ds.schema() == {"x": ("float32", ()), "y": ("int64", ()), "v": ("float64", (3,)),
	                       "b": ("uint8", ())}, ds.schema()
	rows = ds.materialize()
	assert np.array_equal(rows["x"], x, equal_nan=True) and np.array_equal(rows["v"], v)
	path, other = ds.path, ds.select_columns(["y"])
	del ds
	gc.collect()
	assert np.array_equal(other.materialize()["y"], y)
	del other
	gc.collect()
	assert not os.path.exists(path) and not os.path.exists(os.path.dirname(path))
	assert from_numpy(y).columns() == ["data"]
	for wrong in ({"a": [1, 2], "b": [1]}, {}, {"a": 1}, {"a": np.zeros(2, "M8[s]")}):
	    try:
	        from_numpy(wrong)
	    except ValueError:
	        continue
	    raise AssertionError(wrong)
	EOT
	"$PYTHON" memory.py 2>err
'

test_expect_success 'a preprocessor learns from a dataset, and transforms it as it is read' '
	cat >alone.py <<-\EOT &&
	from common import *
	ds = from_numpy({"x": x, "y": y, "v": v})
	scaler = StandardScaler(["x"])
	for use in (lambda: scaler.transform(ds), lambda: scaler.transform_batch({"x": x}),
	            lambda: scaler.stats_):
	    try:
	        use()
	    except PreprocessorNotFittedError as error:
	        assert "fit(dataset)" in str(error)
	    else:
	        raise AssertionError("not fitted")
	scaled = scaler.fit_transform(ds)
	assert abs(scaler.stats_["mean(x)"] - mean) < 1e-9, scaler.stats_
	assert abs(scaler.stats_["std(x)"] - std) < 1e-9
	values = scaled.materialize()["x"]
	assert np.allclose(values, (x - mean) / std, atol=1e-5, equal_nan=True)
	batch = scaler.transform_batch({"x": x[:10]})
	assert np.array_equal(batch["x"], values[:10], equal_nan=True)
	both = Normalizer(["v"]).transform(scaled).materialize()
	assert np.allclose(np.linalg.norm(both["v"], axis=1), 1)
	assert np.array_equal(both["x"], values, equal_nan=True)
	again = pickle.loads(pickle.dumps(scaler))
	assert np.array_equal(again.transform_batch({"x": x})["x"], values, equal_nan=True)
	try:
	    StandardScaler(["z"]).fit(ds)
	except LookupError as error:
	    assert "no column" in str(error) and "z" in str(error), error
	else:
	    raise AssertionError("no column z")
	try:
	    Normalizer(["x"], norm="l3").transform(ds)
	except ValueError as error:
	    assert "norm" in str(error), error
	else:
	    raise AssertionError("l3")
	EOT
	"$PYTHON" alone.py 2>err
'

test_expect_success 'a chain learns one after the other, and what each has learned can be seen' '
	cat >chain.py <<-\EOT &&
	from common import *
	ds = from_numpy({"x": x, "y": y, "v": v})
	chain = Chain(SimpleImputer(["x"]), MinMaxScaler(["x", "v"]), OneHotEncoder(["y"]))
	rows = chain.fit_transform(ds).materialize()
	assert rows["x"].min() == 0 and rows["x"].max() == 1 and not np.isnan(rows["x"]).any()
	assert np.array_equal(rows["y"], np.eye(5)[y])
	assert abs(chain.stats_["mean(x)"] - mean) < 1e-9
	assert chain.preprocessors[2].stats_["categories(y)"].tolist() == [0, 1, 2, 3, 4]
	assert set(chain.preprocessors[1].stats_) == {"min(x)", "max(x)", "min(v)", "max(v)"}
	assert chain.fit_status() == "FITTED" and Normalizer(["v"]).fit_status() == "NOT_FITTABLE"
	labels = LabelEncoder("y").fit(from_numpy({"y": y * 10}))
	codes = labels.transform_batch({"y": y * 10})
	assert np.array_equal(codes["y"], y)
	assert np.array_equal(labels.inverse_transform_batch(codes)["y"], y * 10)
	doubled = BatchMapper(lambda batch: {"z": batch["x"] * 2}).transform(ds)
	assert np.array_equal(doubled.materialize()["z"], x * 2, equal_nan=True)
	EOT
	"$PYTHON" chain.py 2>err
'

test_expect_success 'arguments of Ray are understood' '
	cat >arguments.py <<-\EOT &&
	from common import *
	ds = from_numpy({"x": x, "y": y, "v": v})
	robust = RobustScaler(["x"], (0.25, 0.75), ["z"], quantile_precision=100)
	assert robust.fit_transform(ds).columns() == ["x", "y", "v", "z"]
	joined = Concatenator(["x", "v"], "all", np.float32, flatten=True).transform(ds)
	assert joined.schema()["all"] == ("float32", (4,)), joined.schema()
	bins = CustomKBinsDiscretizer(["y"], [-1, 2, 4], dtypes={"y": np.int64}).transform(ds)
	assert bins.schema()["y"] == ("int64", ()) and bins.materialize()["y"].max() == 1
	coded = OrdinalEncoder(["y"], encode_lists=True, dtype=np.int32).fit_transform(ds)
	assert coded.schema()["y"] == ("int32", ())
	labels = LabelEncoder("c", output_column="n")
	named = from_numpy({"c": np.array(["red", "blue", "red"])})
	numbers = labels.fit_transform(named)
	assert numbers.materialize()["n"].tolist() == [1, 0, 1]
	back = LabelEncoder("c").fit(named)
	assert back.inverse_transform(back.transform(named)).materialize()["c"].tolist() == \
	    ["red", "blue", "red"]
	EOT
	"$PYTHON" arguments.py 2>err
'
test_expect_success 'wrong arguments are refused before there are data' '
	cat >wrong.py <<-\EOT &&
	from common import *
	def refused(error, word, function):
	    try:
	        function()
	    except error as e:
	        assert word in str(e), e
	    else:
	        raise AssertionError(word)
	refused(ValueError, "strategy", lambda: SimpleImputer(["x"], "median"))
	refused(ValueError, "fill_value", lambda: SimpleImputer(["x"], "constant"))
	refused(ValueError, "norm", lambda: Normalizer(["x"], "l3"))
	refused(ValueError, "method", lambda: PowerTransformer(["x"], method="log"))
	refused(ValueError, "output_columns", lambda: StandardScaler(["x"], output_columns=["a", "b"]))
	refused(ValueError, "nothing for y", lambda: UniformKBinsDiscretizer(["x", "y"], {"x": 3}))
	refused(ValueError, "one type", lambda: CustomKBinsDiscretizer(
	    ["x", "y"], [0, 1], dtypes={"x": np.int64}))
	refused(ValueError, "dtype", lambda: OrdinalEncoder(["x"], dtype=np.int8))
	refused(ValueError, "categories", lambda: Categorizer(["x"], {"x": "anything"}))
	refused(ValueError, "encode_lists", lambda: OrdinalEncoder(["x"], encode_lists=False))
	refused(TypeError, "from_numpy", lambda: StandardScaler(["x"]).fit({"x": x}))
	EOT
	"$PYTHON" wrong.py 2>err
'

test_expect_success 'words and texts are transformed in batches' '
	cat >words.py <<-\EOT &&
	from common import *
	words = np.array(["red", None, "blue", "red"], dtype=object)
	filled = SimpleImputer(["c"], "constant", "none").transform_batch({"c": words})
	assert filled["c"].tolist() == ["red", "none", "blue", "red"], filled
	texts = np.array(["a b a", "", "c"])
	hashed = HashingVectorizer(["t"], 8).transform_batch({"t": texts})["t"]
	assert hashed.shape == (3, 8) and hashed.sum() >= 4, hashed
	EOT
	"$PYTHON" words.py 2>err
'

test_expect_success 'workers learn together, checkpoints have what they learned, restore() needs no array' '
	cat >run.py <<-\EOT &&
	from common import *
	def train():
	    shard = get_dataset_shard("train")
	    rows = list(shard.iter_batches(batch_size=100))
	    total = float(sum(np.nansum(b["x"].astype("f8")) for b in rows))
	    raytrain.report({"total": total, "width": rows[0]["y"].shape[1]},
	                    checkpoint=raytrain.Checkpoint.from_dict({"a": 1}))
	class Width(raytrain.Predictor):
	    @classmethod
	    def from_checkpoint(cls, checkpoint):
	        return cls(checkpoint.get_preprocessor())
	    def _predict_numpy(self, batch, times=1):
	        return {"predictions": times * batch["x"] * batch["y"].shape[1]}
	if __name__ == "__main__":
	    chain = Chain(StandardScaler(["x"]), OneHotEncoder(["y"]))
	    trainer = DataParallelTrainer(
	        train, datasets={"train": from_numpy({"x": x, "y": y})}, preprocessor=chain,
	        scaling_config=ScalingConfig(num_workers=2),
	        run_config=RunConfig(name="learned", launcher="local", storage_path="runs"))
	    result = trainer.fit()
	    assert abs(result.by_rank["total"]["mean"]) < 1e-3 and result.metrics["width"] == 5
	    stored = result.checkpoint.get_preprocessor()
	    assert abs(stored.stats_["mean(x)"] - mean) < 1e-9, stored.stats_
	    answer = Width.from_checkpoint(result.checkpoint).predict({"x": x[:3], "y": y[:3]})
	    assert np.allclose(answer["predictions"], 5 * (x[:3] - mean) / std, atol=1e-4)
	    predictor = raytrain.BatchPredictor.from_checkpoint(result.checkpoint, Width)
	    made = predictor.predict(from_numpy({"x": x, "y": y, "c": c}), num_workers=2, batch_size=64,
	                             keep_columns=["x", "c"], launcher="local", output="all.h5",
	                             times=2).materialize()
	    assert made["c"].tolist() == c.tolist(), made["c"]
	    assert np.allclose(made["predictions"], 10 * (x - mean) / std, atol=1e-4, equal_nan=True)
	    assert np.array_equal(made["x"], x, equal_nan=True), made["x"]
	    os.environ["RAYTRAIN_FAULT"] = "predict.part:3" # kills the worker that made it
	    in_memory = from_numpy({"x": x, "y": y, "c": c}).materialize()
	    again = predictor.predict(in_memory, num_workers=2, batch_size=64,
	                              keep_columns=["x", "c"], launcher="local", output="killed.h5",
	                              options=["--max-failures=1"], times=2).materialize()
	    del os.environ["RAYTRAIN_FAULT"]
	    assert all(np.array_equal(made[k], again[k], equal_nan=k != "c") for k in made), again
	    assert set(made) == set(again)
	    try:
	        predictor.predict(from_numpy({"x": x, "y": y}), launcher="local",
	                          output="bad.h5", unknown=1)
	    except raytrain.RaytrainError as error:
	        assert "bad.h5.run/logs" in str(error), error
	        assert not os.path.exists("bad.h5")
	    else:
	        raise AssertionError("an argument that the predictor does not take")
	    first = stored.transform_batch({"x": x[:3], "y": y[:3]})
	    assert np.allclose(first["x"], (x[:3] - mean) / std, atol=1e-5)
	    assert os.path.exists("runs/learned.data-train.npz")
	    settings = DataParallelTrainer.restore("runs/learned").datasets
	    assert settings["train"].materialize()["y"].shape == (1000,)
	EOT
	"$PYTHON" run.py 2>err
'

/usr/bin/python3 -c 'import h5py' 2>/dev/null && test_set_prereq H5PY
test_expect_success H5PY 'strings that h5py wrote are encoded in a run' '
	/usr/bin/python3 - <<-\PY &&
	import h5py, numpy
	for i, words in enumerate((["red", "", "blue"], ["Gr\u00fcn", "blue", "red"])):
	    with h5py.File(f"strings-{i}.h5", "w") as f:
	        f["fixed"] = [w.encode() for w in 10 * words]
	        f.create_dataset("vlen", data=numpy.array(10 * words, "O"), dtype=h5py.string_dtype(),
	                         chunks=(7,), compression="gzip")
	        f["n"] = list(range(30 * i, 30 * i + 30))
	        f["names"] = [b"fixed", b"vlen", b"n"][:2 + i]
	PY
	cat >strings.py <<-\EOT &&
	from common import *
	from raytrain.data import read_hdf5
	words = 10 * ["red", "", "blue"] + 10 * ["Gr\u00fcn", "blue", "red"]
	def train():
	    shard = get_dataset_shard("train")
	    kinds, seen = sorted(set(words)), 0
	    for batch in shard.iter_batches(batch_size=7):
	        for n, fixed, code in zip(batch["n"], batch["fixed"], batch["vlen"]):
	            assert fixed == words[n] and kinds[int(code)] == words[n], (n, fixed, code)
	            seen += 1
	    raytrain.report({"mean": seen})
	if __name__ == "__main__":
	    ds = read_hdf5(os.path.abspath("strings-*.h5"), shuffle=True)
	    assert sorted(ds.columns()) == ["fixed", "n", "vlen"], ds.columns()
	    for workers in (1, 3):
	        result = DataParallelTrainer(
	            train, datasets={"train": ds}, preprocessor=OrdinalEncoder(["vlen"]),
	            scaling_config=ScalingConfig(num_workers=workers),
	            run_config=RunConfig(name=f"strings-{workers}", launcher="local",
	                                 storage_path="runs")).fit()
	        assert result.metrics["mean"] * workers == 60, result.metrics
	EOT
	"$PYTHON" strings.py 2>err
'
test_done
