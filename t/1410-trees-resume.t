#!/bin/sh
test_description='a training of trees that is killed or stopped in any round continues in that round

The features are integers, so that the model has the same bits on any number of workers.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
. "$srcdir/t/trees.sh"
fault_points_needed
trees_need xgboost

rounds=5
run="raytrain-run --launcher local --storage runs -c cancer.cfg
	--set run_config.checkpoint_config.checkpoint_frequency=1
	--set run_config.checkpoint_config.mode=sync"
"$PYTHON" "$trees/data.py" scikit-learn &&
tree_config xgboost cancer malignant $rounds objective=binary:logistic subsample=0.7 \
	"eval_metric=[\"logloss\", \"auc\"]" max_depth=3 || exit 1

# is_calm NAME: the final model is that of the run that was not disturbed, each round has been
# reported once, and no process is left.
is_calm () {
	model_in "$(last_checkpoint calm)" model.ubj >calm.ubj && test -s calm.ubj &&
	model_in "$(last_checkpoint "$1")" model.ubj >"$1.ubj" && cmp calm.ubj "$1.ubj" &&
	jq -es "map(.training_iteration) == [range(1; $rounds + 1)]" "runs/$1/result.json" &&
	no_process_left
}

test_expect_success 'an undisturbed run, for comparison: it learns the same again' '
	$run -n 2 --name calm 2>err && $run -n 2 --name again 2>err && is_calm again
'
round=0
while test $round -lt $rounds; do
	test_expect_success "a run whose workers die in round $((round + 1)) continues there" '
		RAYTRAIN_FAULT=gbdt.round:$round:kill \
			expect_status 1 $run -n 2 --name round-$round 2>err &&
		grep "signal 9" err && reports=runs/round-$round/result.json &&
		{ test $round = 0 || test $(wc -l <$reports) = $round; } &&
		$run -n 2 --name round-$round --resume 2>err &&
		{ test $round = 0 || grep "starting from .*(iteration $round)" err; } &&
		is_calm round-$round
	'
	round=$((round + 1))
done
# A sample of rows depends on how many workers there are.
test_expect_success 'another number of workers may continue, with the same bits without sampling' '
	some=runs/round-3/checkpoint_000003.h5 &&
	$run -n 3 --name more --resume=$some 2>err &&
	test "$(number_in "$(last_checkpoint more)" gbdt/round)" = $rounds &&
	sed -i /subsample/d cancer.cfg && $run -n 2 --name whole 2>err &&
	model_in "$(last_checkpoint whole)" model.ubj >whole.ubj &&
	for n in 1 3; do
		RAYTRAIN_FAULT=gbdt.round:2:kill \
			expect_status 1 $run -n 2 --name whole-$n 2>err &&
		$run -n $n --name whole-$n --resume 2>err &&
		model_in "$(last_checkpoint whole-$n)" model.ubj >whole-$n.ubj &&
		cmp whole.ubj whole-$n.ubj || return 1
	done
'
test_expect_success 'a model does not continue with other features' '
	for part in train valid; do
		sed "1s/^[^,]*/renamed/" cancer-$part.csv >renamed-$part.csv || return 1
	done &&
	expect_status 3 $run -n 2 --name renamed --resume=$some \
		--dataset train=renamed-train.csv --dataset valid=renamed-valid.csv 2>err &&
	grep "other features than the model" err
'
test_expect_success 'a worker that dies while the others wait for it in an allreduce is replaced' '
	tree_config xgboost cancer malignant $rounds objective=binary:logistic subsample=0.7 \
		"eval_metric=[\"logloss\", \"auc\"]" max_depth=3 &&
	RAYTRAIN_FAULT=gbdt.round:2:kill expect_status 1 $run -n 3 --name allreduce 2>err &&
	wait_at gbdt.update:1 $run -n 3 --name allreduce --resume --max-failures 1 &&
	kill -KILL $(at_gate) && open_gate && wait $pid &&
	grep "restart 1 of 1" err && grep "signal 9" err &&
	jq -es "map(.training_iteration) == [range(1; $rounds + 1)]" \
		runs/allreduce/result.json && no_process_left
'
for signal in TERM INT USR1; do
	test_expect_success "SIG$signal stops a training after the round, with status 75, and it continues" '
		wait_at gbdt.round:2 $run -n 2 --name $signal && kill -$signal $pid &&
		eventually grep -q "stopping at the next report" err && open_gate &&
		expect_status 75 wait $pid && test -f runs/$signal/checkpoint_000003.h5 &&
		$run -n 2 --name $signal --resume 2>err && grep "(iteration 3)" err &&
		is_calm $signal
	'
done
test_expect_success 'early stopping remembers the best round of an earlier attempt' '
	tree_config xgboost diabetes progression 40 objective=reg:squarederror max_depth=4 &&
	early="$run -c diabetes.cfg -n 2 --set early_stopping_rounds=4" &&
	$early --name patient 2>err && best=$(number_in "$(last_checkpoint patient)" gbdt/best_round) &&
	RAYTRAIN_FAULT=gbdt.round:$((best + 2)):kill \
		expect_status 1 $early --name forgetful 2>err &&
	$early --name forgetful --resume 2>err && grep "round $((best + 1))" err &&
	for name in patient forgetful; do
		model_in "$(last_checkpoint $name)" model.ubj >$name.ubj || return 1
	done && cmp patient.ubj forgetful.ubj &&
	test $(wc -l <runs/patient/result.json) = $(wc -l <runs/forgetful/result.json)
'
test_expect_success 'a run that has finished is not changed; with more rounds it continues' '
	cp runs/calm/result.json before && $run -n 2 --name calm --resume 2>err &&
	test_cmp before runs/calm/result.json &&
	$run -n 2 --name calm --resume --set num_boost_round=$((rounds + 2)) 2>err &&
	jq -es "map(.training_iteration) == [range(1; $rounds + 3)]" runs/calm/result.json
'
test_done
