#!/bin/sh
test_description='trees on two nodes of a Slurm cluster, with two workers each, which are killed'
CLUSTER_NODES=2
CLUSTER_KILL_WAIT=2
export CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
. "$srcdir/t/trees.sh"
trees_need xgboost

has_fault_points && test_set_prereq FAULTS
cd "$CLUSTER_SHARED" || exit 1
keep="-c cancer.cfg --storage runs -n 4 --placement SPREAD
	--set run_config.checkpoint_config.checkpoint_frequency=1
	--set run_config.checkpoint_config.mode=sync"
run="raytrain-run --launcher slurm $keep"
"$PYTHON" "$trees/data.py" scikit-learn &&
tree_config xgboost cancer malignant 5 objective=binary:logistic \
	"eval_metric=[\"logloss\", \"error\"]" max_depth=3 || exit 1

# is_calm NAME: the final model is that of one worker, and each round has been reported once.
is_calm () {
	model_in "$(last_checkpoint "$1")" model.ubj >"$1.ubj" && cmp calm.ubj "$1.ubj" &&
	jq -es "map(.training_iteration) == [1,2,3,4,5]" "runs/$1/result.json"
}

test_expect_success 'an undisturbed run on one worker of this machine, for comparison' '
	raytrain-run --launcher local $keep -n 1 --placement PACK --name calm 2>err &&
	model_in "$(last_checkpoint calm)" model.ubj >calm.ubj && is_calm calm
'
test_expect_success 'four workers on two nodes find each other, and make the same model' '
	$run --name two 2>err && is_calm two && cluster clean 60
'
test_expect_success FAULTS 'after kill -9 of the workers of a node the others are started again' '
	RAYTRAIN_FAULT=gbdt.round:2:kill expect_status 1 $run --name worker 2>err &&
	wait_at gbdt.update:3 $run --name worker --resume --max-failures 1 &&
	kill_on n2 && open_gate && wait $pid && grep "signal 9" err &&
	is_calm worker && cluster clean 60
'
test_done
