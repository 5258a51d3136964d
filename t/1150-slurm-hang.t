#!/bin/sh
test_description='a hang on a Slurm cluster: the rank is named and killed'
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

# hang NAME HOW: rank 1 of two, on separate nodes, hangs once, and the run continues.
hang () {
	raytrain-run --launcher slurm --storage runs -n 2 --name "$1" --max-failures 5 \
		--placement STRICT_SPREAD --set run_config.failure_config.hang_timeout_s=5 \
		--set run_config.checkpoint_config.mode=sync \
		--set train_loop_config.fail="$2" --set train_loop_config.fail_rank=1 \
		--set "train_loop_config.fail_once=$PWD/$1.once" "$train" 2>err &&
	cluster clean 60
}

test_expect_success 'an undisturbed run finishes, for comparison' '
	raytrain-run --launcher local --storage runs -n 2 --name calm "$train" 2>err
'
test_expect_success 'a stopped rank is named with its node and killed' '
	hang stopped stop &&
	grep "rank 1 on n2: no report for 5 s: rank 1 does not answer" err &&
	grep "rank 0 has reached report" err &&
	grep "worker rank 0 was asked for its stack" \
		runs/stopped/logs/attempt-0/rank-00000.err &&
	test "$(jq -r .cause runs/stopped/logs/attempt-0/attempt.json)" = hang
'
test_expect_success 'a run continues after a hang from its checkpoint to the same bits' '
	grep "starting from .*checkpoint_000002.h5 (iteration 2)" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/stopped/checkpoint_000005.h5
'
test_expect_success 'a rank in an endless loop is named, and its log shows the stack' '
	hang looping loop &&
	grep "rank 1 on n2: .*rank 1 has not reached report, where rank 0 is" err &&
	grep "train_model.so(train_func+" runs/looping/logs/attempt-0/rank-00001.err &&
	same_model runs/calm/checkpoint_000005.h5 runs/looping/checkpoint_000005.h5
'
test_done
