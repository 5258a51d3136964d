#!/bin/sh
test_description='raytrain-run started by srun, in a shell of srun or salloc, in a heterogeneous job'
CLUSTER_NODES=2
CLUSTER_CONF='LaunchParameters=use_interactive_step'
export CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

# at_terminal COMMAND: run it on a new terminal, whose input is standard input.
at_terminal () {
	timeout 120 script -qec "$1" /dev/null
}

test_expect_success 'copies started by srun are refused, one of them at length, and no run starts' '
	expect_status 2 srun -n 3 raytrain-run --storage runs --name copies -n 2 "$train" 2>err &&
	test "$(grep -c "leave out srun, and use --workers 3" err)" -eq 1 &&
	grep "copy 1 of 3 that srun has started" err && grep "copy 2 of 3" err &&
	! grep -e --resume err && test_path_is_missing runs/copies
'
test_expect_success 'in a shell started by srun, a step shares the resources of the shell' '
	echo "raytrain-run -n 2 --storage runs --name shell $train" >shell.sh &&
	at_terminal "srun -n 1 -c 2 --pty sh shell.sh" </dev/null >out &&
	test -f runs/shell/checkpoint_000005.h5
'
test_expect_success 'in a shell of several tasks, only one of which is left, a step uses all of them' '
	printf "%s\n" "raytrain-run -n 4 --storage runs --name tasks $train" exit |
	at_terminal "srun -n 4 -N 1 --pty sh" >out && test -f runs/tasks/checkpoint_000005.h5
'
test_expect_success 'in a shell started by salloc on a node, a step uses the allocation' '
	printf "%s\n" "raytrain-run -n 2 --storage runs --name salloc $train" exit |
	at_terminal "salloc -n 2" >out && test -f runs/salloc/checkpoint_000005.h5
'
test_expect_success 'a heterogeneous allocation is refused' '
	expect_status 3 salloc -n 1 -N 1 : -n 2 -N 1 \
		raytrain-run --storage runs --name het -n 2 "$train" 2>err &&
	grep "heterogeneous: it has 2 components" err && test_path_is_missing runs/het
'
test_expect_success 'no job or process is left' '
	cluster clean 60
'
test_done
