#!/bin/sh
test_description='files that one node writes are read by another on storage that each node caches

Each node sees the run directories through its own page cache: pages are written back whole,
and a node keeps the size that it first saw of a file. raytrain-run is on n3, rank 0 on n1.'
CLUSTER_NODES=3 CLUSTER_SLURMD_TIMEOUT=300 CLUSTER_KILL_WAIT=2
export CLUSTER_SLURMD_TIMEOUT CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so

# The environment for a raytrain-run that must not see the batch job.
kept="PATH=$PATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH LSAN_OPTIONS=${LSAN_OPTIONS:-}"

# start_far NODE NAME ARG...: submit a batch job on NODE that runs raytrain-run with its
# workers on n1 and n2. The messages are in err.NAME, the exit status in status.NAME.
start_far () {
	node=$1 name=$2 && shift 2
	rm -f ready "status.$name" &&
	cat >"job.$name" <<-EOF
	#!/bin/sh
	#SBATCH -N 1 -n 1 -c 1 --oversubscribe
	env -i $kept \
		salloc -Q --no-kill -N 2 -n 2 -c 1 -w n1,n2 raytrain-run --storage runs \
		-n 2 --placement STRICT_SPREAD --progress plain --name $name \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" $* "$train" 2>>err.$name
	echo \$? >status.$name
	EOF
	sbatch --parsable -Q -w "$node" -o job.out "job.$name" >job
}
ended () {
	eventually test -s "status.$name" && test "$(cat "status.$name")" = "$1" &&
	cluster clean 60
}
# the_launcher SIGNAL: send it to the raytrain-run of the run $name.
the_launcher () {
	pid=$(sed -n "s/.*, pid \([0-9]*\), since.*/\1/p" "runs/$name/.lock") &&
	cluster on "$node" kill "-$1" "$pid"
}
iterations_are () {
	jq -es "map(.training_iteration) == $1" "runs/$name/result.json" 2>/dev/null
}
# forget NODE FILE: the node has no page of it in its cache, as if memory had been short.
forget () {
	cluster on "$1" dd if="$2" iflag=nocache count=0 2>/dev/null
}
unsaved="--set train_loop_config.checkpoint_every=1000"
timeout="--set run_config.failure_config.hang_timeout_s"

test_expect_success 'each node gets a cache' '
	mkdir runs && for n in n1 n2 n3; do cluster cache $n runs || return 1; done
'
test_expect_success 'reports and events arrive in time not to be taken for a hang' '
	rm -f gate && start_far n3 seen $unsaved $timeout=8 \
		--set train_loop_config.iteration_ms=800 \
		--set train_loop_config.iterations=14 --set train_loop_config.fail=nan &&
	eventually test -e ready &&
	eventually iterations_are "[1, 2]" && forget n3 runs/seen/result.json && : >gate &&
	eventually grep "is NaN at iteration 3" err.seen &&
	ended 0 && iterations_are "[range(1; 15)]" && ! grep "no report" err.seen &&
	grep "NaN at iteration 3" runs/seen/logs/attempt-0/events.json &&
	test_path_is_missing runs/seen/logs/attempt-0/reports.0 &&
	test_path_is_missing runs/seen/logs/attempt-0/events
'
# Each node has its own locks here: n2 does not see that of raytrain-run on n3.
test_expect_success 'another node shows that a run is running, and follows it to its end' '
	rm -f gate && start_far n3 far $unsaved && eventually test -e ready &&
	cluster on n2 env -i $kept raytrain-inspect --json runs/far >view &&
	json_is view .status running &&
	cluster on n2 env -i $kept raytrain-inspect --json runs >view &&
	jq -e ".runs | map(select(.name == \"far\").status) == [\"running\"]" view &&
	{ cluster on n2 env -i $kept raytrain-inspect --follow runs/far >followed & } && follower=$! &&
	eventually grep "^iteration 2 " followed && : >gate && wait $follower && ended 0 &&
	grep "^iteration" followed | cut -d" " -f2 >actual &&
	printf "%s\n" 1 2 3 4 5 >expected && test_cmp expected actual &&
	grep "^the run has finished" followed &&
	cluster on n2 env -i $kept raytrain-inspect --json runs/far >view &&
	json_is view .status finished
'
test_expect_success 'for a hang, raytrain-run reports the positions of ranks on both nodes' '
	: >gate && start_far n3 hung $unsaved $timeout=5 --set train_loop_config.fail=hang \
		--set train_loop_config.fail_rank=1 && ended 1 &&
	grep "no report for 5 s: rank 1 has not reached report, where rank 0 is" err.hung
'
test_expect_success 'a stopped run has all its reports' '
	rm -f gate && start_far n3 stopped $unsaved --grace 60 &&
	eventually test -e ready && the_launcher USR1 &&
	eventually grep "stopping at the next report" err.stopped && : >gate && ended 75 &&
	jq -es "length >= 3" runs/stopped/result.json
'
test_expect_success 'SIGTERM to a worker on another node is reported as a preemption' '
	rm -f gate && start_far n3 sigterm $unsaved && eventually test -e ready &&
	worker=$(worker_on n2 sigterm) &&
	cluster on n2 kill -TERM "$worker" &&
	eventually grep -aq SIGTERM runs/sigterm/logs/attempt-0/whereabouts &&
	cluster on n2 kill -KILL "$worker" && : >gate && ended 0 &&
	grep "rank 1 received SIGTERM from outside" err.sigterm
'
test_expect_success 'a killed raytrain-run that is resumed on another node loses no report' '
	rm -f gate && start_far n3 killed $unsaved && eventually test -e ready &&
	eventually iterations_are "[1, 2]" && the_launcher KILL &&
	eventually test -e status.killed && cluster clean 60 &&
	start_far n2 killed --resume $unsaved && : >gate && ended 0 &&
	iterations_are "[1, 2, 1, 2, 3, 4, 5]"
'
# ends_under_a_wait NAME: a run on n3 ends while a second raytrain-run, on n2, waits for its
# lock; $status is the exit status of the second one.
ends_under_a_wait () {
	rm -f gate && start_far n3 "$1" $unsaved && eventually test -e ready &&
	{ cluster on n2 env -i $kept raytrain-run \
		--launcher local --storage runs --name "$1" --resume -n 2 $unsaved "$train" \
		2>err.second & } && second=$! &&
	eventually grep "is locked by another raytrain-run (host n3" err.second && : >gate &&
	{ status=0; wait $second || status=$?; } && ended 0
}
# The first one touches its lock every three seconds. If the second one sees that, it gives up,
# as it should, and names the holder.
test_expect_success 'a raytrain-run that waits on another node continues when the first one ends' '
	for round in 1 2 3 4 5; do
		ends_under_a_wait "twice-$round" || return 1
		test $status -ne 0 || break
		test $status -eq 5 &&
		grep "in use by another raytrain-run (host n3" err.second || return 1
	done &&
	test $status -eq 0
'
test_expect_success 'a lost node is detected' '
	rm -f gate && start_far n3 lost $unsaved \
		--set run_config.failure_config.node_timeout_s=3 &&
	eventually test -e ready && cluster poweroff n2 &&
	eventually test -s status.lost && test "$(cat status.lost)" = 75 &&
	grep "lost node n2" err.lost && cluster revive n2 && cluster clean 60
'
test_done
