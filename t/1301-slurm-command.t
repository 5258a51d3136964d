#!/bin/sh
test_description='commands as workers on a Slurm cluster'
CLUSTER_KILL_WAIT=2
export CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1
start="raytrain-run --launcher slurm --storage runs -n 4 --placement SPREAD"

# processes_left: print the processes of commands that are alive on any node.
processes_left () {
	grep -lz "^RAYTRAIN_TEST=$1" /proc/[0-9]*/environ 2>/dev/null | tr -dc "0-9\n"
}
nothing_left () {
	test -z "$(processes_left "$1")"
}

test_expect_success 'a command runs on four nodes, without the place of its worker in the step' '
	$start --name env -- sh -c "env >env-\$RANK" 2>err &&
	for rank in 0 1 2 3; do
		grep -x "RANK=$rank" env-$rank && grep -x "NODE_RANK=$rank" env-$rank &&
		grep -x "LOCAL_RANK=0" env-$rank && grep "^SLURM_JOB_ID=" env-$rank &&
		! grep -E "^(PMI|PMIX|SLURM_(NTASKS|NPROCS|PROCID|LOCALID|NODEID|STEP|TASK_PID|GTIDS))" \
			env-$rank || return 1
	done
'
test_expect_success 'scripts report from four nodes' '
	cat >three.py <<-\PY &&
	import raytrain
	from raytrain.collective import broadcast_from_rank_zero
	rank = raytrain.get_context().get_world_rank()
	assert raytrain.get_context().get_node_count() == 4
	assert broadcast_from_rank_zero(rank) == 0
	for i in range(3):
	    raytrain.report({"rank": rank})
	PY
	$start --name three -- $PYTHON three.py 2>err &&
	tail -n 1 runs/three/result.json >last &&
	jq -e ".training_iteration == 3 and .rank == 0 and .by_rank.rank.mean == 1.5 and .by_rank.rank.max == 3" last
'
test_expect_success 'a script that raises on one node ends the run at once' '
	cat >raises.py <<-\PY &&
	import raytrain, time
	if raytrain.get_context().get_world_rank() == 2:
	    raise ValueError("boom")
	time.sleep(1000)
	PY
	expect_status 1 env RAYTRAIN_TEST=raises $start --name raises -- $PYTHON raises.py 2>err &&
	grep "rank 2 on n[1-4]: ValueError: boom" err && eventually nothing_left raises
'
test_expect_success 'a request to stop reaches a script by its session, and a plain command as SIGTERM' '
	cat >asks.py <<-\PY &&
	import raytrain, os
	i = 0
	while not raytrain.should_stop():
	    raytrain.report({"i": i})
	    i += 1
	    if i == 3 and raytrain.get_context().get_world_rank() == 0:
	        open("up", "w")
	PY
	rm -f up && { $start --name asks -- $PYTHON asks.py 2>err & } && pid=$! &&
	eventually test -e up && kill -TERM $pid && expect_status 75 wait $pid &&
	rm -f up && { $start --name plain -- sh -c "trap \"touch saved-\$RANK; exit 1\" TERM
		touch up-\$RANK; while :; do sleep 0.1; done" 2>err & } && pid=$! &&
	for rank in 0 1 2 3; do eventually test -e up-$rank || return 1; done &&
	kill -TERM $pid && expect_status 75 wait $pid &&
	for rank in 0 1 2 3; do test -e saved-$rank || return 1; done
'
test_expect_success 'processes below a command die with its worker, on every node' '
	rm -f left-* && { RAYTRAIN_TEST=widow $start --name widow -- sh -c "(trap \"\" TERM HUP; touch left-\$RANK; exec sleep 1000) & wait" \
		2>err & } && pid=$! &&
	for rank in 0 1 2 3; do eventually test -e left-$rank || return 1; done &&
	kill -KILL $(worker_pids widow | head -n 1) && expect_status 1 wait $pid &&
	eventually nothing_left widow
'
test_expect_success 'what ranks print on other nodes comes through srun, and is in their logs' '
	cat >prints.sh <<-\EOF &&
	echo "loaded"
	printf "\000\001 %s\n" $RANK >&2
	printf "end of %s" $RANK
	EOF
	$start -q --show all --name prints -- sh prints.sh >out 2>err &&
	grep loaded out && for rank in 0 1 2 3; do
		grep "^n[1-4]:$rank: end of $rank$" out &&
		printf "loaded\nend of %s" $rank | cmp - runs/prints/logs/attempt-0/rank-0000$rank.out &&
		printf "\000\001 %s\n" $rank | cmp - runs/prints/logs/attempt-0/rank-0000$rank.err ||
		return 1
	done &&
	$start -q --name prints0 -- sh prints.sh >out 2>err &&
	printf "loaded\nend of 0" | cmp - out && grep -a " 0$" err &&
	$start -q --show none --name prints1 -- sh prints.sh >out 2>err && test_must_be_empty out
'
test_expect_success 'the last output of a rank that is killed on another node is in its log' '
	expect_status 1 $start -q --show 3 --name killed3 -- \
		sh -c "if test \$RANK = 3; then seq 5000; kill -9 \$\$; fi; exec sleep 1000" >out 2>err &&
	seq 5000 | cmp - runs/killed3/logs/attempt-0/rank-00003.out && seq 5000 | cmp - out
'
test_expect_success 'no socket is left on any node' '
	cluster clean 60 &&
	for node in n1 n2 n3 n4; do
		cluster on $node find /tmp -maxdepth 1 -name "raytrain-private-*" >found && test_must_be_empty found ||
		return 1
	done
'

test_done
