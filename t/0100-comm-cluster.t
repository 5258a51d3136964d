#!/bin/sh

test_description='Wireup, PMI bridge and collectives across several Slurm nodes'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

# ranks NODES TASKS [OPTION...]: print the place that each rank reports, sorted.
ranks () {
	nodes=$1 tasks=$2
	shift 2
	srun -Q -N "$nodes" -n "$tasks" --mpi=pmix "$@" "$check/comm" "$tasks" >out &&
	sed 's/ on n.*: / /' out | sort
}

test_expect_success 'collectives work with one worker per node' '
	ranks 4 4 >got &&
	cat >expected <<-\EOF &&
	rank 0 of 4, local 0 of 1, node 0 of 4 0 failures
	rank 1 of 4, local 0 of 1, node 1 of 4 0 failures
	rank 2 of 4, local 0 of 1, node 2 of 4 0 failures
	rank 3 of 4, local 0 of 1, node 3 of 4 0 failures
	EOF
	test_cmp expected got
'

test_expect_success 'collectives work with different numbers of workers per node' '
	ranks 2 5 --distribution=block >got &&
	test 5 = $(grep -c " of 2 0 failures$" got) &&
	grep "^rank 0 of 5, local 0 of [34], node 0 " got &&
	grep "^rank 4 of 5, local [01] of [12], node 1 " got
'

test_expect_success 'with a cyclic distribution, nodes are numbered by first appearance' '
	ranks 2 4 --distribution=cyclic --ntasks-per-node=2 >got &&
	cat >expected <<-\EOF &&
	rank 0 of 4, local 0 of 2, node 0 of 2 0 failures
	rank 1 of 4, local 0 of 2, node 1 of 2 0 failures
	rank 2 of 4, local 1 of 2, node 0 of 2 0 failures
	rank 3 of 4, local 1 of 2, node 1 of 2 0 failures
	EOF
	test_cmp expected got
'

test_expect_success 'a group of unexpected size is an error with both numbers' '
	test_must_fail srun -Q -n 2 --mpi=pmix "$check/comm" 3 >out 2>err &&
	grep "2 workers in this group, but raytrain-run started 3" err
'

test_expect_success 'a step without PMIx is an error that names --mpi=pmix' '
	test_must_fail srun -Q -n 2 --mpi=none "$check/comm" 2 >out 2>err &&
	grep "needs --mpi=pmix" err
'

test_done
