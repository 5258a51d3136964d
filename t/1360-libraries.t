#!/bin/sh
test_description='scripts that train with other libraries are commands like any other'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs -n 2"

test_expect_success 'scikit-learn: each worker fits its part of the data, rank 0 averages the models' '
	cat >sk.py <<-\PY &&
	import numpy
	import raytrain as train
	from raytrain.collective import broadcast_from_rank_zero
	from sklearn.linear_model import SGDClassifier

	rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
	rng = numpy.random.default_rng(0)
	x = rng.normal(size=(2000, 5))
	y = (x.sum(1) > 0).astype(int)
	model = SGDClassifier(random_state=rank)
	start = train.get_checkpoint()
	first = start.to_dict()["epoch"] + 1 if start else 0
	if start:
	    model.partial_fit(x[:10], y[:10], classes=[0, 1])
	    model.coef_ = start.to_dict()["coef"]
	for epoch in range(first, 4):
	    model.partial_fit(x[rank::size], y[rank::size], classes=[0, 1])
	    model.coef_ = broadcast_from_rank_zero(model.coef_)
	    train.report({"accuracy": model.score(x, y)},
	                 checkpoint=train.Checkpoint.from_dict({"coef": model.coef_, "epoch": epoch}))
	PY
	$run --name sk -- $PYTHON sk.py 2>err &&
	tail -n 1 runs/sk/result.json >last && jq -e ".accuracy > 0.95" last &&
	h5dump -d /coef runs/sk/checkpoint_000004.h5 >dump && grep "( 1, 5 )" dump &&
	$run --name again --resume=runs/sk/checkpoint_000002.h5 -- $PYTHON sk.py 2>err &&
	jq -s -e "map(.training_iteration) == [3, 4]" runs/again/result.json
'
"$PYTHON" -c "import xgboost; xgboost.callback.TrainingCallback" 2>/dev/null &&
	test_set_prereq XGBOOST
test_expect_success XGBOOST 'XGBoost: a callback reports each round, and the model is a file of the checkpoint' '
	cat >xgb.py <<-\PY &&
	import os, tempfile
	import numpy, xgboost
	import raytrain as train

	rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
	rng = numpy.random.default_rng(1)
	x = rng.normal(size=(1000, 4))
	y = (x[:, 0] * x[:, 1] > 0).astype(int)
	data = xgboost.DMatrix(x[rank::size], y[rank::size])

	class Report(xgboost.callback.TrainingCallback):
	    def after_iteration(self, model, epoch, log):
	        with tempfile.TemporaryDirectory() as folder:
	            checkpoint = None
	            if rank == 0:
	                model.save_model(os.path.join(folder, "model.json"))
	                checkpoint = train.Checkpoint.from_directory(folder)
	            train.report({"error": log["train"]["error"][-1]}, checkpoint=checkpoint)
	        return train.should_stop()

	xgboost.train({"objective": "binary:logistic", "eval_metric": "error", "nthread": 1,
	               "max_depth": 3}, data, num_boost_round=5, evals=[(data, "train")],
	              callbacks=[Report()], verbose_eval=False)
	PY
	$run --name xgb -- $PYTHON xgb.py 2>err && test 5 -eq $(wc -l <runs/xgb/result.json) &&
	raytrain-inspect --export out runs/xgb/checkpoint_000005.h5 &&
	$PYTHON -c "import xgboost; assert xgboost.Booster(model_file=\"out/files/model.json\").num_boosted_rounds() == 5"
'

test_done
