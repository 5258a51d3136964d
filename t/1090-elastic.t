#!/bin/sh
test_description='an elastic run on one machine has as many workers as there are CPUs'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs --workers 1:4"
train=$modules/train_model.so

set -- $(/usr/bin/python3 -c "import os; print(*sorted(os.sched_getaffinity(0)))")
one=$1 two=$1,${2:-}
if test $# -lt 2; then
	skip_all='this machine has one CPU'
	test_done
fi

# start_on CPUS NAME ARG...: start_run of a run that may use these CPUs.
start_on () {
	cpus=$1 name=$2 && shift 2
	start_run taskset -c "$cpus" $run --name "$name" --set train_loop_config.tell=true "$@"
}
# saw ATTEMPT N: in that attempt the training function ran on N workers, and saw that number.
saw () {
	cat "runs/$name/logs/attempt-$1"/rank-*.out | sort >actual
	for r in $(seq 0 $(($2 - 1))); do echo "rank $r of $2"; done >expected
	test_cmp expected actual &&
	jq -e ".workers == $2" "runs/$name/logs/attempt-$1/attempt.json"
}
# whole ITERATIONS SIZES: every iteration was reported, by groups of these sizes.
whole () {
	jq -es "map(.training_iteration) | unique == [range(1; $1 + 1)]" \
		"runs/$name/result.json" &&
	jq -es "map(.world_size) | unique == $2" "runs/$name/result.json"
}

test_expect_success 'a run on two CPUs is resumed with one worker on one CPU' '
	start_on $two resumed && kill -TERM $pid &&
	eventually grep -q "stopping at the next report" err && : >gate &&
	expect_status 75 wait $pid && saw 0 2 &&
	taskset -c $one $run --name resumed --resume --set train_loop_config.tell=true \
		"$train" 2>err && saw 1 1 && whole 5 "[1, 2]"
'
test_expect_success 'after a failure a run continues with fewer workers if CPUs are gone' '
	start_on $two died --max-failures 1 && taskset -cp $one $pid >out &&
	kill -KILL $(worker_pids died | head -n 1) && eventually grep -q "with 1 worker on 1 node" err &&
	: >gate && wait $pid && grep "restart 1 of 1" err &&
	saw 0 2 && saw 1 1 && whole 5 "[1, 2]"
'
test_expect_success 'a run continues with more workers when CPUs are added' '
	start_on $one grown --set train_loop_config.iterations=60 \
		--set scaling_config.elastic_resize_monitor_interval_s=1 &&
	taskset -cp $two $pid >out &&
	eventually grep -q "there is room for more than 1 worker" err && : >gate &&
	wait $pid && grep "with 2 workers on 1 node" err &&
	json_is runs/grown/logs/attempt-0/attempt.json .cause resize &&
	saw 0 1 && saw 1 2 && whole 60 "[1, 2]"
'
test_expect_success 'repeated failures of one worker do not shrink the group' '
	expect_status 1 taskset -c $two $run --name again --max-failures 9 \
		--set train_loop_config.fail=exit --set train_loop_config.fail_rank=1 \
		--set train_loop_config.tell=true "$train" 2>err && name=again &&
	grep "3 times in a row after iteration 2: that is a bug" err && saw 2 2
'
test_done
