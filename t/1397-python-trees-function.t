#!/bin/sh
test_description='training functions with the modules of XGBoost and LightGBM'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
OMP_NUM_THREADS=1
export PYTHONPATH OMP_NUM_THREADS
examples=$srcdir/share/examples/python

"$PYTHON" -c "import numpy, xgboost; xgboost.callback.TrainingCallback" 2>/dev/null &&
	test_set_prereq XGBOOST

cat >common.py <<\PY
import numpy
import raytrain
from raytrain import RunConfig, ScalingConfig
from raytrain.data import from_numpy

def run(name):
    return RunConfig(name=name, storage_path="runs", launcher="local")

# Integers: the model of several workers has the same bits as that of one.
def arrays(n, seed):
    x = numpy.random.default_rng(seed).integers(0, 9, (n, 4)).astype("float32")
    return {"x": x, "y": (x[:, 0] * x[:, 1] > x[:, 2] * x[:, 3]).astype("float32")}

def mine(name="train"):
    rows = list(raytrain.get_dataset_shard(name).iter_batches(batch_size=4096))
    return [numpy.concatenate([batch[key] for batch in rows]) for key in ("x", "y")]
PY

# ---- XGBoost ----

test_expect_success XGBOOST 'XGBoost: the example trains on two workers, and continues with its model' '
	"$PYTHON" "$examples/fit_xgboost.py" 3 >out 2>err && grep "^3 rounds, valid-error 0" out &&
	"$PYTHON" "$examples/fit_xgboost.py" 5 >out 2>err && grep "^5 rounds, valid-error 0" out &&
	jq -s -e "map(select(.\"train-logloss\")) | length >= 5" raytrain_results/xgboost/result.json
'
test_expect_success XGBOOST 'XGBoost: three workers make the model that one makes of all rows' '
	cat >same.py <<-\PY &&
	import xgboost
	from common import *
	from raytrain.xgboost import RayTrainReportCallback, XGBoostConfig, XGBoostTrainer
	PARAMS = {"objective": "binary:logistic", "eval_metric": "logloss", "nthread": 1,
	          "max_depth": 3, "tree_method": "hist"}

	def train(config):
	    matrix = xgboost.DMatrix(*mine())
	    n = raytrain.get_context().get_world_size()
	    assert xgboost.collective.get_world_size() == n
	    if n > 1:
	        assert xgboost.collective.get_rank() == raytrain.get_context().get_world_rank()
	        assert xgboost.collective.is_distributed()
	    xgboost.train(PARAMS, matrix, 4, evals=[(matrix, "train")], verbose_eval=False,
	                  callbacks=[RayTrainReportCallback(**config)])

	def fit(n, **config):
	    return XGBoostTrainer(train, train_loop_config=config,
	                          datasets={"train": from_numpy(arrays(999, 1))},
	                          xgboost_config=XGBoostConfig(xgboost_communicator="rabit"),
	                          scaling_config=ScalingConfig(num_workers=n),
	                          run_config=run(f"same-{n}")).fit()

	def dump(result, **name):
	    return RayTrainReportCallback.get_model(result.checkpoint, **name).get_dump()

	three = fit(3, metrics={"loss": "train-logloss"}, frequency=2)
	one = fit(1, filename="other.json")
	assert dump(three) == dump(one, filename="other.json")
	losses = [m["loss"] for m in three.metrics_history]
	assert len(losses) == 4 and losses == sorted(losses, reverse=True), losses
	assert len(one.metrics_history) == 5 and "train-logloss" in one.metrics, one.metrics
	assert isinstance(one.checkpoint, raytrain.Checkpoint)
	PY
	"$PYTHON" same.py 2>err
'
test_expect_success XGBOOST 'XGBoost: an exception in a function ends the run, with its traceback' '
	cat >fails.py <<-\PY &&
	from common import *
	from raytrain.xgboost import XGBoostTrainer
	def train():
	    if raytrain.get_context().get_world_rank() == 1:
	        raise ValueError("no rows here")
	    import xgboost
	    xgboost.train({"nthread": 1}, xgboost.DMatrix(*arrays(9, 1).values()), 1)
	try:
	    XGBoostTrainer(train, scaling_config=ScalingConfig(num_workers=2),
	                   run_config=run("fails")).fit()
	except raytrain.TrainingFailedError as error:
	    assert "no rows here" in str(error) and "_worker.py" not in str(error), error
	else:
	    raise AssertionError
	PY
	"$PYTHON" fails.py 2>err
'
test_expect_success XGBOOST 'XGBoost: restore() continues a run that has a function' '
	cat >restore.py <<-\PY &&
	from common import *
	from raytrain.xgboost import XGBoostTrainer
	def train(config):
	    raytrain.report({"factor": config["factor"]})
	first = XGBoostTrainer(train, train_loop_config={"factor": 2}, run_config=run("restored")).fit()
	assert XGBoostTrainer.can_restore(first.path) and not XGBoostTrainer.can_restore("runs")
	again = XGBoostTrainer.restore(first.path, train_loop_config={"factor": 3})
	assert type(again).__name__ == "XGBoostFunctionTrainer", again
	again.fit()
	PY
	"$PYTHON" restore.py 2>err
'
test_expect_success 'what is for a training without a function is refused beside one' '
	cat >refused.py <<-\PY &&
	from raytrain.lightgbm import LightGBMTrainer
	from raytrain.xgboost import XGBoostConfig, XGBoostTrainer
	def refused(text, error, make, *args, **settings):
	    try:
	        make(*args, **settings)
	    except error as e:
	        assert text in str(e), e
	    else:
	        raise AssertionError(text)
	for cls in XGBoostTrainer, LightGBMTrainer:
	    refused("is for a training without one", TypeError, cls, print, label_column="y")
	    refused("num_boost_round", TypeError, cls, train_loop_per_worker=print,
	            num_boost_round=3)
	    refused("train_loop_per_worker", TypeError, cls, datasets={"train": "x.csv"},
	            train_loop_config={})
	    refused("is a function", TypeError, cls, 3)
	refused("rabit", ValueError, XGBoostConfig, "federated")
	PY
	"$PYTHON" refused.py
'

# ---- LightGBM: its own library, and a stand-in for its Python module (t/python-standins) ----

RAYTRAIN_LIGHTGBM_LIBRARY=$(sh "$srcdir/t/lightgbm-library") && "$PYTHON" -c "import numpy" 2>/dev/null &&
	test_set_prereq LIGHTGBM
export RAYTRAIN_LIGHTGBM_LIBRARY
test_expect_success LIGHTGBM 'LightGBM: three workers make the model that one makes of all rows' '
	cat >light.py <<-\PY &&
	import lightgbm
	from common import *
	from raytrain.lightgbm import LightGBMTrainer, RayTrainReportCallback, get_network_params
	PARAMS = {"objective": "binary", "metric": ["binary_logloss", "binary_error"],
	          "tree_learner": "data_parallel", "pre_partition": True, "num_threads": 1,
	          "num_leaves": 7, "min_data_in_leaf": 1, "verbosity": -1,
	          "boost_from_average": False, "deterministic": True}

	def train(config):
	    network = get_network_params()
	    n = raytrain.get_context().get_world_size()
	    assert network["num_machines"] == n == network["machines"].count(":"), network
	    rows = lightgbm.Dataset(*mine())
	    lightgbm.train({**PARAMS, **network}, rows, 4, valid_sets=[rows],
	                   valid_names=["train"], callbacks=[RayTrainReportCallback(**config)])

	def fit(n, **config):
	    return LightGBMTrainer(train, train_loop_config=config,
	                           datasets={"train": from_numpy(arrays(999, 1))},
	                           scaling_config=ScalingConfig(num_workers=n),
	                           run_config=run(f"light-{n}")).fit()

	def splits(result):
	    with result.checkpoint.as_directory() as path:
	        with open(path + "/model.txt") as file:
	            return [line for line in file
	                    if line.startswith(("split_feature=", "threshold="))]

	three = fit(3, metrics={"error": "train-binary_error"}, frequency=3)
	one = fit(1)
	assert splits(three) == splits(one) and len(splits(one)) == 8, splits(one)
	assert RayTrainReportCallback.get_model(three.checkpoint).num_trees() == 4
	assert [sorted(set(m) & {"error", "train-binary_logloss"}) for m in
	        three.metrics_history] == [["error"]] * 4, three.metrics_history
	assert one.metrics["train-binary_logloss"] < 0.6, one.metrics
	PY
	PYTHONPATH=$PYTHONPATH:$srcdir/t/python-standins "$PYTHON" light.py 2>err
'
test_expect_success 'LightGBM: outside a worker there are no parameters of a network, with a warning' '
	cat >alone.py <<-\PY &&
	import warnings
	from raytrain.lightgbm import get_network_params
	with warnings.catch_warnings(record=True) as seen:
	    warnings.simplefilter("always")
	    assert get_network_params() == {}
	assert "not a worker of a LightGBMTrainer" in str(seen[0].message)
	PY
	"$PYTHON" alone.py
'
test_expect_success 'a run without a name has that of the trainer that the script has made' '
	cat >names.py <<-\PY &&
	from raytrain._fit import Fit
	from raytrain.lightgbm import LightGBMTrainer
	from raytrain.xgboost import XGBoostTrainer
	for kind in XGBoostTrainer, LightGBMTrainer:
	    name = Fit(kind(print, scaling_config=None)).name
	    assert name.startswith(kind.__name__ + "_"), name
	PY
	"$PYTHON" names.py
'
test_expect_success 'LightGBM: columns that pyarrow holds become those of pandas' '
	cat >arrow_types.py <<-\PY &&
	import numpy
	from raytrain.lightgbm import normalize_pandas_for_lightgbm
	class Arrow:
	    pyarrow_dtype = object()
	    def __init__(self, kind):
	        self.numpy_dtype = numpy.dtype(kind)
	class Frame:
	    dtypes = {"i": Arrow("i8"), "u": Arrow("u1"), "f": Arrow("f2"), "b": Arrow("?"),
	              "o": Arrow("O"), "n": numpy.dtype("f4")}
	    def astype(self, types):
	        return types
	assert normalize_pandas_for_lightgbm(Frame()) == {
	    "i": "Int64", "u": "UInt8", "f": "Float32", "b": "boolean"}
	Frame.dtypes = {"n": numpy.dtype("f4")}
	same = Frame()
	assert normalize_pandas_for_lightgbm(same) is same
	PY
	"$PYTHON" arrow_types.py
'

test_done
