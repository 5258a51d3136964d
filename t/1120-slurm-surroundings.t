#!/bin/sh
test_description='raytrain-run started by srun, in a shell of srun or salloc, or in parts of a cluster'
CLUSTER_NODES=2
CLUSTER_CONF='LaunchParameters=use_interactive_step'
export CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

# at_terminal COMMAND: on a terminal of its own, which reads standard input.
at_terminal () {
	timeout 120 script -qec "$1" /dev/null
}

test_expect_success 'srun starts copies: one of them says so, and no run is begun' '
	expect_status 2 srun -n 3 raytrain-run --storage runs --name copies -n 2 "$train" 2>err &&
	test "$(grep -c "leave out srun, and say --workers 3" err)" -eq 1 &&
	! grep -e --resume err && test_path_is_missing runs/copies
'
test_expect_success 'in a shell that srun started, a step shares with that of the shell' '
	at_terminal "srun -n 1 -c 2 --pty sh -c \"raytrain-run -n 2 --storage runs --name shell $train\"" \
		</dev/null >out && test -f runs/shell/checkpoint_000005.h5
'
test_expect_success 'so it does in a shell of several tasks, all but one of which have ended' '
	printf "%s\n" "raytrain-run -n 4 --storage runs --name tasks $train" exit |
	at_terminal "srun -n 4 -N 1 --pty sh" >out && test -f runs/tasks/checkpoint_000005.h5
'
test_expect_success 'in a shell that salloc started on a node, a step has what is allocated' '
	printf "%s\n" "raytrain-run -n 2 --storage runs --name salloc $train" exit |
	at_terminal "salloc -n 2" >out && test -f runs/salloc/checkpoint_000005.h5
'
test_expect_success 'a heterogeneous allocation is refused, and nothing is trained anywhere' '
	expect_status 3 salloc -n 1 -N 1 : -n 2 -N 1 \
		raytrain-run --storage runs --name het -n 2 "$train" 2>err &&
	grep "heterogeneous: it has 2 components" err && test_path_is_missing runs/het
'
test_expect_success 'nothing is left' '
	cluster clean 60
'
test_done
