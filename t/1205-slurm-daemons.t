#!/bin/sh
test_description='unavailable Slurm daemons: dead nodes are given up, live ones continue'
CLUSTER_NODES=4 CLUSTER_SLURMD_TIMEOUT=300 CLUSTER_THREADS=2
CLUSTER_CONF="Prolog=$(cd "$(dirname "$0")" && pwd)/cluster/prolog"
export CLUSTER_SLURMD_TIMEOUT CLUSTER_THREADS CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so

# start_on NODES SECONDS ARG...: start_run in an allocation of this many nodes, with this
# node_timeout_s.
start_on () {
	nodes=$1 seconds=$2
	shift 2
	start_run salloc -Q --no-kill --exclusive -N "$nodes" raytrain-run --storage runs \
		--placement STRICT_SPREAD \
		--set "run_config.failure_config.node_timeout_s=$seconds" "$@" >out
}
# causes_are RUN CAUSE...: its attempts ended for these causes.
causes_are () {
	jq -r ".cause" runs/$1/logs/attempt-*/attempt.json | tr "\n" " " >actual
	shift
	echo "$* " | tr -d "\n" >expected
	test_cmp expected actual
}
# ran_on RUN ATTEMPT NODE...: that attempt used these nodes.
ran_on () {
	jq -r ".nodes[].name" "runs/$1/logs/attempt-$2/attempt.json" >actual &&
	shift 2 && printf "%s\n" "$@" >expected && test_cmp expected actual
}
# No live node was reported as silent.
no_false_alarm () {
	! grep "but it answers" err
}
slurmd_end () {
	cluster on "$1" sh -c "kill \$(cat /run/slurmd.pid)" &&
	eventually slurmd_is_gone "$1"
}
slurmd_is_gone () {
	! cluster on "$1" test -e /run/slurmd.pid
}
slurmd_begin () {
	cluster on "$1" slurmd -N "$1"
}

test_expect_success 'a slow prolog on one node does not count as a slow start' '
	echo 5 >"$CLUSTER_SHARED/prolog-n3" &&
	salloc -Q -N3 raytrain-run --storage runs --name prolog -n 3 \
		--placement STRICT_SPREAD --set run_config.failure_config.start_timeout_s=2 \
		"$train" 2>err &&
	rm "$CLUSTER_SHARED/prolog-n3" && causes_are prolog null && cluster clean
'
test_expect_success 'workers are placed according to the --hint of the job' '
	salloc -Q -N1 --hint=nomultithread --exclusive sh -c "
		raytrain-run --storage runs --name hint -n 2 $train 2>err &&
		! raytrain-run --storage runs --name many -n 3 $train 2>many" &&
	grep "3 workers do not fit" many && cluster clean
'
test_expect_success 'an undisturbed run finishes, for comparison' '
	salloc -Q -N3 raytrain-run --storage runs --name calm -n 3 \
		--placement STRICT_SPREAD "$train" 2>err &&
	cluster clean
'
test_expect_success 'a node whose processes die, but not its kernel, is replaced by the spare one' '
	start_on 4 3 --name dies -n 3 --set scaling_config.spare_nodes=1 &&
	cluster kill n3 && eventually grep -q "lost node n3" err && : >gate && wait $pid &&
	causes_are dies node_lost null && ran_on dies 1 n1 n2 n4 &&
	no_false_alarm &&
	same_model runs/calm/checkpoint_000005.h5 runs/dies/checkpoint_000005.h5 &&
	cluster revive n3 && cluster clean 60
'
test_expect_success 'a dead node is detected at once if workers of other nodes fail because of it' '
	start_on 4 600 --name fails -n 3 --set scaling_config.spare_nodes=1 &&
	cluster kill n3 &&
	worker=$(worker_on n1 fails) &&
	cluster on n1 sh -c "kill -KILL $worker || ! test -e /proc/$worker" &&
	eventually grep -q "attempt 1:" err && grep "lost node n3" err && : >gate &&
	wait $pid && causes_are fails node_lost null && ran_on fails 1 n1 n2 n4 &&
	no_false_alarm &&
	same_model runs/calm/checkpoint_000005.h5 runs/fails/checkpoint_000005.h5 &&
	cluster revive n3 && cluster clean 60
'
test_expect_success 'without a spare node the run continues when slurmd is back' '
	start_on 3 3 --name back -n 3 &&
	cluster kill n2 && eventually grep -q "lost node n2" err && cluster revive n2 &&
	: >gate && wait $pid && grep "node n2 is back" err && causes_are back node_lost null &&
	same_model runs/calm/checkpoint_000005.h5 runs/back/checkpoint_000005.h5 &&
	cluster clean 60
'
test_expect_success 'workers on a node whose slurmd ends continue' '
	start_on 3 2 --name alone -n 3 --set train_loop_config.iterations=30 \
		--set train_loop_config.iteration_ms=200 &&
	slurmd_end n2 && : >gate && wait $pid && causes_are alone null && no_false_alarm &&
	slurmd_begin n2 && cluster clean 60
'
test_expect_success 'a restart does not use a node without slurmd' '
	start_on 4 3 --name barred -n 3 --set scaling_config.spare_nodes=1 --max-failures 1 \
		--set train_loop_config.fail=return --set train_loop_config.fail_at=4 \
		--set train_loop_config.fail_once="$PWD/failed" &&
	slurmd_end n2 && : >gate && wait $pid &&
	ran_on barred 1 n1 n3 n4 &&
	slurmd_begin n2 && cluster clean 60
'
slurmctld () {
	kill "-$1" "$(cat /run/cluster/slurmctld.pid)"
}
test_expect_success 'a start waits for a slurmctld that does not respond, and reports it' '
	cat >away.sh <<-EOF &&
	kill -STOP \$(cat /run/cluster/slurmctld.pid)
	raytrain-run --storage runs --name away -n 2 --mem-per-worker 64M "$train" 2>err &
	echo \$! >pid
	wait \$!
	echo \$? >status
	EOF
	>err && { salloc -Q -N2 bash away.sh & } &&
	eventually grep -q "controller does not answer" err && test_path_is_missing status &&
	slurmctld CONT && wait $! && test "$(cat status)" -eq 0 && cluster clean
'
test_done
