#!/bin/sh
test_description='lost nodes: spare nodes, elastic runs, and reports of what is missing'
CLUSTER_NODES=4 CLUSTER_SLURMD_TIMEOUT=300
export CLUSTER_SLURMD_TIMEOUT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so

# start_on NODES ARG...: start_run in an allocation of this many nodes.
start_on () {
	nodes=$1
	shift
	start_run salloc -Q --no-kill --exclusive -N "$nodes" raytrain-run --storage runs \
		--placement STRICT_SPREAD --set run_config.failure_config.node_timeout_s=3 \
		--set run_config.failure_config.start_timeout_s=15 "$@" >out
}
# causes_are RUN CAUSE...: its attempts ended for these causes. Attempts whose workers could
# not connect are left out, since that happens to Slurm's PMIx while a node is cut off.
causes_are () {
	jq -r ".cause" runs/$1/logs/attempt-*/attempt.json | grep -vx start | tr "\n" " " >actual
	shift
	echo "$* " | tr -d "\n" >expected
	test_cmp expected actual
}
# ran_on ATTEMPT NODE...: that attempt of the run $name used these nodes.
ran_on () {
	attempt=$1 && shift &&
	jq -r ".nodes[].name" "runs/$name/logs/attempt-$attempt/attempt.json" >actual &&
	printf "%s\n" "$@" >expected && test_cmp expected actual
}

test_expect_success 'an undisturbed run finishes, for comparison' '
	salloc -Q -N2 raytrain-run --storage runs --name calm -n 2 \
		--placement STRICT_SPREAD "$train" 2>err &&
	cluster clean
'
test_expect_success 'a powered-off node is replaced by the spare one, with the same bits' '
	start_on 3 --name power -n 2 --set scaling_config.spare_nodes=1 &&
	cluster poweroff n2 && eventually grep -q "lost node n2" err && : >gate &&
	wait $pid &&
	causes_are power node_lost null &&
	name=power && ran_on 1 n1 n3 &&
	same_model runs/calm/checkpoint_000005.h5 runs/power/checkpoint_000005.h5 &&
	cluster revive n2 && cluster clean 60
'
test_expect_success 'a node that is cut off is replaced, and its old workers do no harm when it is back' '
	start_on 3 --name cut -n 2 --set scaling_config.spare_nodes=1 &&
	cluster cut n1 && eventually grep -q "lost node n1" err && : >gate &&
	wait $pid &&
	causes_are cut node_lost null &&
	same_model runs/calm/checkpoint_000005.h5 runs/cut/checkpoint_000005.h5 &&
	jq -es "map(.training_iteration) | unique == [1, 2, 3, 4, 5]" \
		runs/cut/result.json &&
	cluster mend n1 && cluster clean 60
'
test_expect_success 'a lost node that is back in time is used again' '
	start_on 2 --name back -n 2 &&
	cluster cut n2 && eventually grep -q "lost node n2" err && cluster mend n2 &&
	: >gate && wait $pid && grep "node n2 is back" err &&
	causes_are back node_lost null &&
	same_model runs/calm/checkpoint_000005.h5 runs/back/checkpoint_000005.h5 &&
	cluster clean 60
'
test_expect_success 'without a spare node the run stops with status 75 and names what is missing' '
	start_on 2 --name none -n 2 &&
	cluster poweroff n2 && expect_status 75 wait $pid &&
	grep "without n2, which is lost: 2 workers need a node each" err &&
	grep -e "--resume in an allocation" err &&
	cluster revive n2 && cluster clean 60
'
test_expect_success 'a run that stopped for a missing node is resumed on other nodes' '
	: >gate && salloc -Q -N2 raytrain-run --storage runs --name none --resume -n 2 \
		--placement STRICT_SPREAD "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/none/checkpoint_000005.h5 &&
	cluster clean
'
# on_node NODE COMMAND...: run the command on a node, with the process id of the run's worker
# there as its last argument.
on_node () {
	node=$1 worker=$(worker_on "$1" "$name") && shift &&
	cluster on "$node" "$@" "$worker"
}

test_expect_success 'after a preemption all workers save and the run continues on the spare node' '
	name=sigterm && start_on 3 --name sigterm -n 2 --set scaling_config.spare_nodes=1 &&
	on_node n2 kill -TERM && : >gate && wait $pid &&
	causes_are sigterm preempted null && ran_on 1 n1 n3 &&
	grep "rank 1 received SIGTERM from outside" err && grep "preemption 1)" err &&
	grep "starting from .*checkpoint_000003.h5" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/sigterm/checkpoint_000005.h5 &&
	cluster clean 60
'
test_expect_success 'a worker preempted and killed before it saves is restarted on the same node' '
	name=killed && start_on 2 --name killed -n 2 && on_node n2 kill -TERM &&
	eventually grep -aq SIGTERM runs/killed/logs/attempt-0/whereabouts &&
	on_node n2 kill -KILL && : >gate && wait $pid &&
	causes_are killed preempted null && ran_on 1 n1 n2 &&
	same_model runs/calm/checkpoint_000005.h5 runs/killed/checkpoint_000005.h5 &&
	cluster clean 60
'
test_expect_success 'a node lost after its preemption does not count as a failure' '
	name=gone && start_on 3 --name gone -n 2 --set scaling_config.spare_nodes=1 &&
	on_node n2 kill -TERM && eventually grep -aq SIGTERM runs/gone/logs/attempt-0/whereabouts &&
	cluster poweroff n2 && eventually grep -q "was preempted" err && : >gate &&
	wait $pid && causes_are gone preempted null && ran_on 1 n1 n3 &&
	same_model runs/calm/checkpoint_000005.h5 runs/gone/checkpoint_000005.h5 &&
	cluster revive n2 && cluster clean 60
'
test_expect_success 'an elastic run goes from 4 to 3 nodes and back to 4' '
	start_on 4 --name elastic -n 2:4 --set train_loop_config.iterations=120 \
		--set scaling_config.elastic_resize_monitor_interval_s=1 &&
	cluster cut n3 && : >gate && eventually grep -q "with 3 workers on 3 nodes" err &&
	eventually grep -q "\"world_size\": *3" runs/elastic/result.json && rm gate &&
	cluster mend n3 && eventually grep -q "node n3 is back" err &&
	eventually grep -q "there is room for more than 3 workers" err && : >gate &&
	eventually grep -q "with 4 workers on 4 nodes" err &&
	wait $pid &&
	causes_are elastic node_lost resize null &&
	jq -es "map(.training_iteration) | unique | length == 120" \
		runs/elastic/result.json &&
	jq -es "map(.world_size) | unique == [3, 4]" runs/elastic/result.json &&
	cluster clean 60
'
test_done
