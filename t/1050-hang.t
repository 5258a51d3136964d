#!/bin/sh
test_description='a hang is detected, the responsible rank is named, and the run continues'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so

# hang NAME HOW [OPTION...]: rank 1 of two hangs once, in the way HOW, and the run continues.
hang () {
	name=$1 how=$2
	shift 2
	$run -n 2 --name "$name" --max-failures 5 \
		--set run_config.failure_config.hang_timeout_s=5 \
		--set train_loop_config.fail="$how" --set train_loop_config.fail_rank=1 \
		--set "train_loop_config.fail_once=$PWD/$name.once" "$@" "$train" 2>err &&
	no_process_left
}
cause_of () {
	jq -r .cause "runs/$1/logs/attempt-0/attempt.json"
}

test_expect_success 'an undisturbed run is not taken for a hang' '
	$run -n 2 --name calm --set run_config.failure_config.hang_timeout_s=600 \
		"$train" 2>err && ! grep "no report" err
'
test_expect_success 'a stopped rank is reported as not responding' '
	hang stopped stop --set run_config.checkpoint_config.mode=sync &&
	grep "rank 1 on .*no report for 5 s: rank 1 does not answer" err &&
	grep "rank 0 has reached report" err &&
	test "$(cause_of stopped)" = hang &&
	grep "worker rank 0 was asked for its stack" runs/stopped/logs/attempt-0/rank-00000.err
'
test_expect_success 'a run continues after a hang from its checkpoint to the same bits' '
	grep "starting from .*checkpoint_000002.h5 (iteration 2)" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/stopped/checkpoint_000005.h5
'
test_expect_success 'a rank in an endless loop is named, and its log shows the stack' '
	hang looping loop &&
	grep "rank 1 has not reached report, where rank 0 is; the stacks are in the logs" err &&
	grep "worker rank 1 was asked for its stack at 20.*Z; its last collective call is allreduce" \
		runs/looping/logs/attempt-0/rank-00001.err &&
	grep "train_model.so(train_func+" runs/looping/logs/attempt-0/rank-00001.err &&
	grep "raytrain_report" runs/looping/logs/attempt-0/rank-00000.err &&
	same_model runs/calm/checkpoint_000005.h5 runs/looping/checkpoint_000005.h5
'
test_expect_success 'a hang before the first report is detected' '
	hang early hang --set train_loop_config.fail_at=1 &&
	grep "rank 1 has not reached report" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/early/checkpoint_000005.h5
'
test_expect_success 'workers that do not connect are restarted without counting a failure' '
	TRAIN_LATE_ONCE=$PWD/late.once timeout -k 20 90 $run -n 2 --name late --max-failures 0 \
		--set run_config.failure_config.start_timeout_s=3 \
		"$modules/train_late.so" 2>err && no_process_left &&
	grep "the workers have not come together within 3 s" err &&
	test "$(cause_of late)" = start &&
	grep "worker rank 1 was asked for its stack" runs/late/logs/attempt-0/rank-00001.err
'
test_expect_success 'a hang without restarts left ends the run' '
	expect_status 1 $run -n 1 --name alone \
		--set run_config.failure_config.hang_timeout_s=5 \
		--set train_loop_config.fail=loop --json "$train" >result.json 2>err &&
	no_process_left && jq .error.message result.json >message &&
	grep "no report for 5 s" message
'
test_done
