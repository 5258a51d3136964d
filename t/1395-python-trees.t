#!/bin/sh
test_description='trainers of trees in Python: what fit() asks raytrain-run for'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

"$PYTHON" -c "import numpy" 2>/dev/null && test_set_prereq NUMPY

# A raytrain-run that keeps its configuration as asked.cfg, and its other arguments, and leaves a
# Result where fit() looks for it.
cat >asks <<EOF
#!/bin/sh
echo "\$@" >asked
while test "\$1" != --config; do shift; done
cp "\$2" asked.cfg
mkdir -p runs/one
echo '{"path": "$PWD/runs/one", "status": "finished"}' >"\$RAYTRAIN_FIT_RESULT"
EOF
chmod +x asks
cat >common.py <<\EOT
import os, warnings
import raytrain
from raytrain import CheckpointConfig, RunConfig, ScalingConfig
from raytrain._read_config import parse
from raytrain.data import from_numpy, read_csv
from raytrain.lightgbm import LightGBMTrainer
from raytrain.preprocessors import BatchMapper, Chain, StandardScaler
from raytrain.xgboost import XGBoostTrainer

def config(file="asked.cfg"):
    with open(file) as text:
        return parse(text.read())

def refused(kind, words, make, *args, **settings):
    try:
        make(*args, **settings)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {settings}")
EOT
cat >fit.py <<\EOT
from common import *
params = {"objective": "binary:logistic", "eta": 0.1, "max_depth": 3, "seed": 2 ** 40,
          "eval_metric": ["logloss", "ndcg@5"], "monotone_constraints": (1, -1),
          "interaction_constraints": [["x", "z"], ["w"]], "named": {"x": 1, "z": -1},
          "silly": None, "quoted": "a \"b\" \u00e9"}
run = RunConfig(name="one", storage_path="runs", launcher="local", options=["--grace=3"],
                stop={"valid-auc": 0.9, "valid-ndcg@5": 1},
                checkpoint_config=CheckpointConfig(checkpoint_at_end=True))
trainer = XGBoostTrainer(
    datasets={"train": "train.csv", "valid": read_csv("valid.csv", columns=["x", "y", "w"])},
    label_column="y", params=params, num_boost_round=7, run_config=run,
    dmatrix_params={"missing": float("nan"), "nthread": 2}, weight_column="w",
    group_column="q", base_margin_column="m", categorical_features="x",
    early_stopping_rounds=3, early_stopping_metric="valid-auc",
    preprocessor=StandardScaler(["x"]), scaling_config=ScalingConfig(num_workers=3))
result = trainer.fit()
assert result.status == "finished" and result.path == os.path.abspath("runs/one"), result
asked = config()
assert {name: asked.get(name) for name in (
    "trainer", "label", "weight", "qid", "base_margin", "categorical_features",
    "dmatrix_params", "num_boost_round", "early_stopping_rounds",
    "early_stopping_metric")} == {
    "trainer": "xgboost", "label": "y", "weight": "w", "qid": "q", "base_margin": "m",
    "categorical_features": ["x"], "dmatrix_params": {"nthread": 2}, "num_boost_round": 7,
    "early_stopping_rounds": 3, "early_stopping_metric": "valid-auc"}, asked
assert asked["params"] == {**{k: v for k, v in params.items() if v is not None},
                           "monotone_constraints": [1, -1]}, asked["params"]
assert asked["datasets"] == {
    "train": {"path": "train.csv"},
    "valid": {"path": os.path.abspath("valid.csv"), "format": "csv", "shuffle": False,
              "columns": ["x", "y", "w"]}}, asked["datasets"]
assert asked["scaling_config"]["num_workers"] == 3
assert asked["preprocessor"] == [{"standard_scaler": {"columns": ["x"]}}]
assert asked["run_config"]["checkpoint_config"]["checkpoint_at_end"] is True
assert asked["run_config"]["stop"] == [{"metric": "valid-auc", "value": 0.9},
                                       {"metric": "valid-ndcg@5", "value": 1.0}], asked
assert "backend" not in asked and "train_func" not in asked and "data_config" not in asked
LightGBMTrainer(datasets={"train": "train.csv"}, label_column="y", params={}, run_config=run
                ).fit()
asked = config()
assert asked["trainer"] == "lightgbm" and "early_stopping_rounds" not in asked
with warnings.catch_warnings(record=True) as warned:
    raytrain.DataParallelTrainer(print, run_config=run).fit()
assert "checkpoint_at_end=...) has no effect" in str(warned[0].message)
assert warned[0].filename == __file__, warned[0].filename
assert "checkpoint_at_end" not in config()["run_config"]["checkpoint_config"]
trainer.fit()
EOT
cat >no.py <<\EOT
from common import *
def make(**settings):
    return XGBoostTrainer(**{"datasets": {"train": "t.csv"}, "label_column": "y",
                             "params": {}, **settings})
rows = read_csv("t.csv")
for kind, words, settings in (
        (TypeError, "'num_round'", {"num_round": 3}),
        (TypeError, "run no Python", {"obj": print}),
        (TypeError, "resume_from_checkpoint", {"xgb_model": "m"}),
        (TypeError, "a training without one", {"train_loop_per_worker": print}),
        (TypeError, "two names", {"qid_column": "q", "group_column": "q"}),
        (TypeError, "params is a dict", {"params": ["eta"]}),
        (TypeError, "run no Python", {"params": {"objective": print}}),
        (ValueError, "params['monotone_constraints'] has the name 'x 1'",
         {"params": {"monotone_constraints": {"x 1": 1}}}),
        (ValueError, "params['eta'] is inf", {"params": {"eta": float("inf")}}),
        (ValueError, "not a name of a parameter", {"params": {"a b": 1}}),
        (ValueError, "num_boost_round", {"num_boost_round": 0}),
        (ValueError, "no \"train\"", {"datasets": {"test": "t.csv"}}),
        (TypeError, "categorical_features", {"categorical_features": [1]}),
        (TypeError, "scaling_config", {"scaling_config": {"num_workers": 2}}),
        (TypeError, "transformed", {"datasets": {"train": rows.map_batches(print)}}),
        (TypeError, "BatchMapper", {"preprocessor": BatchMapper(print)}),
        (TypeError, "BatchMapper",
         {"preprocessor": Chain(StandardScaler(["x"]), BatchMapper(print))})):
    refused(kind, words, make, **settings)
EOT
touch valid.csv t.csv

test_expect_success 'fit() writes a configuration for raytrain-run, without a command' '
	RAYTRAIN_RUN=$PWD/asks "$PYTHON" fit.py 2>err && test_must_be_empty err &&
	grep -e "--json --config .* --resume --launcher local --grace=3$" asked &&
	is_empty runs/one && ls -A runs >left && test "$(cat left)" = one
'
test_expect_success 'what a worker without Python cannot do is refused at once, with advice' '
	"$PYTHON" no.py 2>err
'
test_expect_success 'restore() continues a run by its run.cfg, with changes' '
	"$PYTHON" -c "
from common import *
import raytrain._config
keys = config()
keys[\"run_config\"] = {\"name\": \"one\", \"storage_path\": \"/elsewhere\",
                        \"failure_config\": {\"max_failures\": 2}}
keys[\"seed\"] = 5
with open(\"runs/one/run.cfg\", \"w\") as file:
    file.write(raytrain._config.render(keys))
" && cat >again.py <<-\EOT &&
	from common import *
	asked = config()
	assert XGBoostTrainer.can_restore("runs/one") and not LightGBMTrainer.can_restore("runs/one")
	assert not XGBoostTrainer.can_restore("runs")
	refused(FileNotFoundError, "run.cfg", XGBoostTrainer.restore, "runs")
	refused(ValueError, "its trainer is", LightGBMTrainer.restore, "runs/one")
	trainer = XGBoostTrainer.restore("runs/one", num_boost_round=20)
	assert trainer.params == asked["params"] and trainer.num_boost_round == 20
	trainer.fit()
	now = config()
	assert now["run_config"] == {"name": "one", "storage_path": os.path.abspath("runs"),
	                             "failure_config": {"max_failures": 2}}, now
	assert now["seed"] == 5 and now["num_boost_round"] == 20
	assert now["scaling_config"] == asked["scaling_config"], now
	assert {k: v["path"] for k, v in now["datasets"].items()} == \
	    {k: os.path.abspath(v["path"]) for k, v in asked["datasets"].items()}
	XGBoostTrainer.restore("runs/one", scaling_config=ScalingConfig(num_workers=4),
	                       run_config=RunConfig(verbose=0)).fit()
	now = config()
	assert now["scaling_config"]["num_workers"] == 4
	assert "failure_config" not in now["run_config"]
	EOT
	RAYTRAIN_RUN=$PWD/asks "$PYTHON" again.py 2>err &&
	grep -e "--resume --quiet$" asked
'
test_expect_success NUMPY 'arrays and DataFrames become files beside the run' '
	cat >memory.py <<-\EOT &&
	from common import *
	import numpy as np
	datasets = {"train": {"x": np.arange(3.0), "y": np.arange(3)}}
	try:
	    import pandas
	    datasets["valid"] = pandas.DataFrame(datasets["train"])
	except ImportError:
	    datasets["valid"] = from_numpy(datasets["train"])
	XGBoostTrainer(datasets=datasets, label_column="y", params={"eta": np.float64(0.25)},
	               run_config=RunConfig(name="one", storage_path="runs")).fit()
	assert config()["params"] == {"eta": 0.25}
	for name, keys in config()["datasets"].items():
	    assert keys["path"] == os.path.abspath(f"runs/one.data-{name}.npz"), keys
	    assert sorted(np.load(keys["path"])) == ["x", "y"]
	EOT
	RAYTRAIN_RUN=$PWD/asks "$PYTHON" memory.py 2>err
'
test_done
