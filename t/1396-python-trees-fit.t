#!/bin/sh
test_description='trees from Python: trained, continued, and predicting as XGBoost itself does'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/trees.sh"
trees_need numpy pandas xgboost

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

cat >common.py <<\EOT
import os, sys
import numpy as np
import pandas
import raytrain
from raytrain import (BatchPredictor, CheckpointConfig, DataParallelTrainer, Result,
                      RunConfig, ScalingConfig, TrainingFailedError)
from raytrain.data import from_numpy, from_pandas
from raytrain.preprocessors import OrdinalEncoder
from raytrain.xgboost import (XGBoostPredictor, XGBoostTrainer, get_importance, get_model)

rng = np.random.default_rng(3)
ROWS = 400

def table(first):
    """Whole numbers, so that any number of workers makes the same trees; and words."""
    rng = np.random.default_rng(first)
    rows = pandas.DataFrame({"a": rng.integers(0, 9, ROWS).astype("f4"),
                             "b": rng.integers(-4, 4, ROWS),
                             "city": rng.choice(["Bonn", "Lyon", "Porto"], ROWS)})
    rows.loc[rng.random(ROWS) < 0.1, "a"] = np.nan
    score = rows.a.fillna(3) + rows.b * 2 + (rows.city == "Lyon") * 3
    rows["y"] = (score + rng.normal(0, 2, ROWS) > 4).astype("i8")
    return rows

TRAIN, VALID = table(1), table(2)
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.3, "tree_method": "hist",
          "base_score": 0.5, "eval_metric": ["auc", "logloss"]}

def trainer(name, workers=2, **settings):
    settings = {"num_boost_round": 6, "label_column": "y", "params": PARAMS,
                "preprocessor": OrdinalEncoder(["city"]),
                "datasets": {"train": TRAIN, "valid": VALID},
                "scaling_config": ScalingConfig(num_workers=workers),
                "run_config": RunConfig(name=name, storage_path="runs", launcher="local",
                                        checkpoint_config=CheckpointConfig(
                                            checkpoint_frequency=2)), **settings}
    return XGBoostTrainer(**settings)
EOT
cat >first.py <<\EOT
from common import *
result = trainer("first").fit()
assert result.status == "finished" and len(result.metrics_history) == 6
assert set(result.metrics) >= {"train-auc", "train-logloss", "valid-auc", "valid-logloss"}
losses = [m["train-logloss"] for m in result.metrics_history]
assert losses == sorted(losses, reverse=True) and losses[-1] < 0.5, losses
assert len(result.best_checkpoints) == 3, result.best_checkpoints

# The metrics are those that XGBoost makes of the model.
model = XGBoostTrainer.get_model(result.checkpoint)
assert model.num_boosted_rounds() == 6 and model.feature_names == ["a", "b", "city"]
import xgboost
rows = pandas.DataFrame({"a": VALID.a, "b": VALID.b, "city": VALID.city.map(
    {"Bonn": 0.0, "Lyon": 1.0, "Porto": 2.0})})
matrix = xgboost.DMatrix(rows.to_numpy("f4"), label=VALID.y, feature_names=list(rows))
said = dict(p.split(":") for p in model.eval(matrix, "valid").split()[1:])
assert abs(float(said["valid-logloss"]) - result.metrics["valid-logloss"]) < 1e-5, said
gain = get_importance(result.checkpoint)
assert list(gain)[0] == "b" and gain == get_importance(result.checkpoint.file)
assert np.allclose(sorted(gain.values()), sorted(
    model.get_score(importance_type="total_gain").values()), rtol=1e-6)

# The same trees as those of one process.
alone = xgboost.train({**PARAMS, "seed": 0}, xgboost.DMatrix(
    pandas.DataFrame({"a": TRAIN.a, "b": TRAIN.b, "city": TRAIN.city.map(
        {"Bonn": 0.0, "Lyon": 1.0, "Porto": 2.0})}).to_numpy("f4"), label=TRAIN.y,
    feature_names=list(rows)), 6)
assert alone.get_dump() == model.get_dump()
EOT
cat >predict.py <<\EOT
from common import *
checkpoint = Result.from_path("runs/first").checkpoint
predictor = XGBoostPredictor.from_checkpoint(checkpoint)
frame = predictor.predict(VALID)
assert list(frame.columns) == ["predictions"] and len(frame) == ROWS
backwards = {name: VALID[name].to_numpy() for name in reversed(VALID.columns)}
made = predictor.predict(backwards)["predictions"]
assert made.dtype == np.float32 and (made == frame.predictions.to_numpy()).all()
hits = ((made > 0.5) == VALID.y).mean()
assert hits > 0.75, hits

best = BatchPredictor.from_checkpoint(checkpoint, XGBoostPredictor)
rows = best.predict(from_pandas(VALID), output="batch.h5", num_workers=3, launcher="local",
                    keep_columns=["b"], output_margin=True,
                    outputs=["value", "contribution", "leaf"]).materialize()
assert (rows["prediction"] == made).all() and (rows["b"] == VALID.b).all()
for name, kind in (("margin", "output_margin"), ("leaf", "pred_leaf"),
                   ("contribution", "pred_contribs")):
    own = predictor.predict(backwards, **{kind: True})["predictions"]
    assert np.array_equal(own, rows[name]), (name, own[0], rows[name][0])
for kind, words, call in (
        (LookupError, "the model needs a;", lambda: predictor.predict(
            {k: v for k, v in backwards.items() if k != "a"})),
        (TypeError, "output_margin, pred_leaf", lambda: best.predict("x", silly=1)),
        (TypeError, "takes no model", lambda: BatchPredictor(
            checkpoint, XGBoostPredictor, model=1)),
        (ValueError, "raytrain.xgboost", lambda: __import__(
            "raytrain.lightgbm").lightgbm.get_importance(checkpoint))):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
EOT
cat >stop.py <<\EOT
from common import *
noise = TRAIN.assign(y=rng.integers(0, 2, ROWS))
result = trainer("early", datasets={"train": noise, "valid": VALID}, num_boost_round=200,
                 early_stopping_rounds=4, early_stopping_metric="valid-logloss").fit()
history = [m["valid-logloss"] for m in result.metrics_history]
best = int(np.argmin(history))
assert len(history) == best + 5 < 200, history
model = get_model(result.checkpoint)
assert model.num_boosted_rounds() == best + 1 and model.best_iteration == best
assert abs(model.best_score - history[best]) < 1e-6
EOT
cat >wrong.py <<\EOT
from common import *
for words, settings in (("has no column \"z\"", {"label_column": "z"}),
                        ("ordinal_encoder", {"preprocessor": None}),
                        ("objective", {"params": {"objective": "silly"}})):
    try:
        trainer("wrong", **settings).fit()
    except TrainingFailedError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
for checkpoint, words in ((raytrain.Checkpoint.from_dict({"x": 1}), "saved"),
                          (None, "RayTrainReportCallback")):
    try:
        get_model(checkpoint)
    except ValueError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
EOT

test_expect_success 'the model of two workers is that of one process, round by round' '
	"$PYTHON" first.py 2>err && test -f runs/first.data-train.npz
'
test_expect_success 'a model of trees predicts raw rows as raytrain-predict does, bit by bit' '
	"$PYTHON" predict.py 2>err && ! grep checkpoint_interval_s err
'
test_expect_success 'early stopping leaves the best rounds' '
	"$PYTHON" stop.py 2>err && grep "the model is that of round" err
'
test_expect_success 'restore() continues in the middle, and ends with the same model' '
	cat >again.py <<-\EOT &&
	from common import *
	first = Result.from_path("runs/first")
	result = XGBoostTrainer.restore("runs/cut").fit()
	assert [m["training_iteration"] for m in result.metrics_history] == [1, 2, 3, 4, 5, 6]
	assert bytes(result.checkpoint.read("files/model.ubj")) == \
	    bytes(first.checkpoint.read("files/model.ubj"))
	two = first.best_checkpoints[0][0]
	assert two.read("gbdt/round") == 2
	other = trainer("other", workers=3, preprocessor=None, resume_from_checkpoint=two).fit()
	assert get_model(other.checkpoint).get_dump() == get_model(first.checkpoint).get_dump()
	assert [m["training_iteration"] for m in other.metrics_history] == [3, 4, 5, 6]
	EOT
	cp -r runs/first runs/cut && rm runs/cut/checkpoint_000006.h5 runs/cut/result.h5 &&
	"$PYTHON" again.py 2>err && grep "starting from .*runs/cut/checkpoint_000004.h5" err &&
	test_path_is_missing runs/cut.1
'
test_expect_success 'what is wrong with data and parameters is in the exception' '
	"$PYTHON" wrong.py 2>err
'
test_expect_success 'workers of another trainer come by it when they import the script' '
	cat >both.py <<-\EOT &&
	import sys
	sys.modules["cloudpickle"] = None
	from common import *
	with open("started", "a") as file:
	    file.write("one\n")
	trees = trainer("trees", workers=1, num_boost_round=1).fit()
	LOSS = trees.metrics["train-logloss"]
	def train():
	    raytrain.report({"loss": LOSS})
	other = DataParallelTrainer(train, run_config=RunConfig(
	    name="another", storage_path="runs", launcher="local")).fit()
	assert other.metrics["loss"] == LOSS
	EOT
	"$PYTHON" both.py 2>err && test "$(wc -l <started)" = 2
'
cat >names.py <<\EOT
from common import *
rows = TRAIN[["a", "b", "y"]].rename(columns={"a": "a[0]", "b": "b <c>"})
result = trainer("names", preprocessor=None, datasets={"train": rows}).fit()
predictor = XGBoostPredictor.from_checkpoint(result.checkpoint)
made = predictor.predict({name: rows[name].to_numpy() for name in ("b <c>", "y", "a[0]")})
plain = trainer("plain", preprocessor=None, datasets={"train": TRAIN[["a", "b", "y"]]}).fit()
other = XGBoostPredictor.from_checkpoint(plain.checkpoint).predict(TRAIN[["b", "a"]])
assert np.array_equal(made["predictions"], other["predictions"])
EOT
test_expect_success 'features whose names XGBoost refuses in a matrix train, and predict' '
	"$PYTHON" names.py >names.said 2>&1
'

test_done
