#!/bin/sh
test_description='LightGBM trains on the rows of several workers as its own program does in one process

The data and the parameters are those of the examples that come with LightGBM, without
sampling, and without a bound on the rows of a leaf: with several workers, LightGBM estimates
these from the hessians.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
. "$srcdir/t/trees.sh"
lightgbm_needed

has_fault_points && test_set_prereq FAULTS
rounds=20
plain="num_trees=$rounds feature_fraction=1 bagging_freq=0 bagging_fraction=1 min_data_in_leaf=1"
run="raytrain-run --launcher local --storage runs"
"$PYTHON" "$trees/data.py" lightgbm "$lightgbm_examples" || exit 1

# params_of CONF: print its parameters that are about the trees.
params_of () {
	echo min_data_in_leaf=1
	sed -n "s/^\([a-z_]*\) = \(.*\)/\1=\2/p" "$1" |
	grep -vE "^(task|data|valid_data|label_column|num_trees|output_model|metric_freq)=" |
	grep -vE "^(num_machines|local_listen_port|machine_list_file|is_.*|use_.*)=" |
	grep -vE "^(early_stopping|tree_learner|feature_fraction|bagging_.*|min_data_.*)="
}
# learn EXAMPLE NAME: train by LightGBM's program, with the weights, initial scores and queries
# that it finds beside the rows, which leaves NAME.json and NAME.txt; and write NAME.cfg.
learn () {
	out=$PWD/$2
	# Weights of errors are for one worker alone.
	grep -v auc_mu_weights "$lightgbm_examples/$1/train.conf" >"$2.conf" &&
	(cd "$lightgbm_examples/$1" && "$lightgbm_program" "config=$out.conf" $plain num_threads=1 \
		early_stopping_round=0 "output_model=$out.txt" >"$out.log") &&
	"$PYTHON" "$trees/lightgbm-log.py" "$2.log" >"$2.json" &&
	tree_config lightgbm "$2" label $rounds $(params_of "$2.conf")
}
# trees_of FILE: print the trees of a model. Thresholds may differ in the last bit, since its
# program does not round numbers of text correctly.
trees_of () {
	sed -n "/^threshold=/d; /^Tree=0/,/^end of trees/p" "$1"
}
# compare NAME [TOLERANCE]: on 1, 2 and 3 workers the scores are those of one process.
compare () {
	for n in 1 2 3; do
		$run -n $n --name $1-$n -c $1.cfg 2>err &&
		model_in "$(last_checkpoint $1-$n)" model.txt >$1-$n.txt || return 1
	done &&
	"$PYTHON" "$trees/scores.py" ${2:-1e-3} $1.json runs/$1-[123]/result.json
}
learn binary_classification binary && echo "weight = \"weight\";" >>binary.cfg &&
learn regression regression && echo "base_margin = \"init\";" >>regression.cfg &&
learn multiclass_classification multiclass && learn lambdarank rank &&
sed -i "s/\.csv/.libsvm/" rank.cfg && echo "qid = \"qid\";" >>rank.cfg || exit 1

test_expect_success 'two classes, with weights: the scores are those of one process' '
	compare binary
'
test_expect_success 'one worker makes the trees of one process, bit for bit' '
	trees_of binary.txt >expect && test -s expect &&
	trees_of binary-1.txt >actual && cmp expect actual
'
test_expect_success 'a regression with initial scores: the scores are those of one process' '
	compare regression
'
# The estimates decide about splits into leaves of few rows, and here are many such leaves.
test_expect_success 'five classes: the scores are those of one process, within 0.005' '
	compare multiclass 5e-3
'
test_expect_success 'lambdarank on sparse rows with queries: the scores are those of one process' '
	compare rank
'
test_expect_success 'no query is cut: NDCG does not depend on the number of workers' '
	"$PYTHON" "$trees/scores.py" 1e-6 runs/rank-1/result.json runs/rank-[23]/result.json
'
test_expect_success 'the exported model is the one that its own program loads' '
	raytrain-inspect --export export.txt "$(last_checkpoint binary-2)" 2>err &&
	cmp binary-2.txt export.txt &&
	"$lightgbm_program" task=predict data="$lightgbm_examples/binary_classification/binary.test" \
		input_model=export.txt output_result=predicted num_threads=1 >log &&
	test "$(wc -l <predicted)" = 500
'
test_expect_success 'raytrain-predict makes the predictions of its own program' '
	for n in 1 3; do
		raytrain-predict --launcher local --checkpoint runs/binary-2 --workers $n \
			--data binary-valid.csv --outputs value,leaf,contribution -o out-$n.csv 2>err ||
			return 1
	done && cmp out-1.csv out-3.csv &&
	"$PYTHON" - <<-\EOF
	import numpy

	ours = numpy.genfromtxt("out-1.csv", delimiter=",", names=True)
	theirs = numpy.loadtxt("predicted")
	numpy.testing.assert_allclose(ours["prediction"], theirs, atol=1e-6)
	sums = sum(ours[name] for name in ours.dtype.names if name.startswith("contribution"))
	numpy.testing.assert_allclose(1 / (1 + numpy.exp(-sums)), theirs, atol=1e-5)
	EOF
'
# The stand-in for its module has the names of the model, and predicts the features.
test_expect_success 'columns may have names that LightGBM refuses, also two that it would take for one' '
	cat >names.py <<-\EOF &&
	import csv, json, random
	names = ["label", "f[0]", "f{0}", "f_0_", "say \"x\",y:z", "a b", "a\\b", "<5", "l\u00e1"]
	with open("names-train.csv", "w", newline="") as f:
	    out = csv.writer(f)
	    out.writerow(names)
	    for i in range(200):
	        row = [random.Random(i).random() * k for k in range(1, len(names))]
	        out.writerow([int(sum(row) > 18)] + row)
	json.dump(names[1:], open("names.json", "w"))
	EOF
	"$PYTHON" names.py && cp names-train.csv names-valid.csv &&
	tree_config lightgbm names label 5 objective=binary min_data_in_leaf=1 &&
	$run -n 2 --name names -c names.cfg 2>err &&
	raytrain-predict --launcher local --checkpoint runs/names --data names-train.csv \
		-o names-out.csv 2>err && test "$(wc -l <names-out.csv)" = 201 &&
	raytrain-inspect --json "$(last_checkpoint names)" >out &&
	jq -e --slurpfile names names.json ".model.importance | length > 0 and
		all(.feature | IN(\$names[0][]))" out &&
	raytrain-inspect --export names.txt "$(last_checkpoint names)" 2>err &&
	grep "^feature_names=f_0__0 f_0__1 f_0_ say__x__y_z a_b a_b_5 <5 lá$" names.txt &&
	mkdir -p module && cat >module/lightgbm.py <<-\EOF &&
	import re
	class Booster:
	    def __init__(self, model_str):
	        self.names = re.search("^feature_names=(.*)$", model_str, re.M).group(1).split(" ")
	    def feature_name(self):
	        return self.names
	    def predict(self, rows, **settings):
	        return rows
	EOF
	cat >predictor.py <<-\EOF &&
	import json, sys
	import numpy
	from raytrain.lightgbm import LightGBMPredictor
	names = json.load(open("names.json"))
	rows = {name: numpy.arange(3.0) + 10 * i for i, name in enumerate(names)}
	predictor = LightGBMPredictor.from_checkpoint(sys.argv[1])
	made = predictor.predict(dict(reversed(rows.items())))["predictions"]
	assert made.tolist() == numpy.column_stack(list(rows.values())).tolist(), made
	EOF
	PYTHONPATH="$stage/share/raytrain/python:$PWD/module" "$PYTHON" predictor.py \
		"$(last_checkpoint names)" 2>err
'
test_expect_success FAULTS 'a run whose workers die in any of the first rounds continues there, to the same bits' '
	keep="$run -c binary.cfg -n 2 --set num_boost_round=4 \
		--set run_config.checkpoint_config.checkpoint_frequency=1 \
		--set run_config.checkpoint_config.mode=sync" &&
	$keep --name calm 2>err && model_in "$(last_checkpoint calm)" model.txt >calm.txt &&
	for round in 0 1 2 3; do
		RAYTRAIN_FAULT=gbdt.round:$round:kill \
			expect_status 1 $keep --name round-$round 2>err &&
		$keep --name round-$round --resume 2>err &&
		{ test $round = 0 || grep "starting from .*(iteration $round)" err; } &&
		model_in "$(last_checkpoint round-$round)" model.txt >round.txt &&
		cmp calm.txt round.txt &&
		jq -es "map(.training_iteration) == [1,2,3,4]" runs/round-$round/result.json ||
		return 1
	done && no_process_left
'
test_expect_success FAULTS 'a worker that dies while the others wait for it in an allreduce is replaced' '
	RAYTRAIN_FAULT=gbdt.round:2:kill expect_status 1 $keep -n 3 --name allreduce 2>err &&
	wait_at gbdt.update:1 $keep -n 3 --name allreduce --resume --max-failures 1 &&
	kill -KILL $(at_gate) && open_gate && wait $pid && grep "restart 1 of 1" err &&
	jq -es "map(.training_iteration) == [1,2,3,4]" runs/allreduce/result.json &&
	no_process_left
'
test_expect_success 'early stopping keeps the best round, and says which it is' '
	$run -n 2 --name early -c regression.cfg --set params.learning_rate=0.9 \
		--set params.min_data_in_leaf=5 --set early_stopping_rounds=3 \
		--set num_boost_round=100 2>err &&
	best=$(number_in "$(last_checkpoint early)" gbdt/best_round) &&
	test "$(wc -l <runs/early/result.json)" = $((best + 4)) &&
	grep "round $((best + 1))" err &&
	model_in "$(last_checkpoint early)" model.txt >early.txt &&
	test "$(grep -c "^Tree=" early.txt)" = $((best + 1)) &&
	jq -es "min_by(.\"valid-l2\").training_iteration == $((best + 1))" \
		runs/early/result.json
'
test_expect_success 'more workers than rows: some have none' '
	head -n 4 regression-train.csv >few-train.csv &&
	$run -n 4 --name few -c regression.cfg --dataset train=few-train.csv \
		--set params.min_data_in_leaf=1 --set num_boost_round=3 2>err
'
test_expect_success 'a parameter that the run must set itself is overruled, with a warning' '
	$run -n 2 --name overruled -c binary.cfg --set num_boost_round=1 \
		--set params.tree_learner=serial --set params.num_machines=7 2>err &&
	grep tree_learner err && grep num_machines err
'
test_expect_success 'an unknown parameter is a warning of the library, a bad value an error' '
	$run -n 2 --name unknown -c binary.cfg --set num_boost_round=1 \
		--set params.num_leafs=3 2>err && grep num_leafs err &&
	expect_status 3 $run -n 2 --name bad -c binary.cfg --set params.num_leaves=many \
		2>err && grep num_leaves err
'
test_expect_success 'labels out of range are an error with the reason of the library' '
	expect_status 3 $run -n 2 --name range -c multiclass.cfg --set params.num_class=3 2>err &&
	grep -i "label must be in" err
'
test_expect_success 'a library that is not there is an error that names the script to install it' '
	RAYTRAIN_LIGHTGBM_LIBRARY=$PWD/none.so \
		expect_status 3 $run -n 2 --name nolibrary -c binary.cfg 2>err &&
	grep install-lightgbm err && grep RAYTRAIN_LIGHTGBM_LIBRARY err
'
test_done
