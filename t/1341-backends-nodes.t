#!/bin/sh
test_description='Backends of commands on several nodes'
CLUSTER_NODES=2
export CLUSTER_NODES
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1
. "$srcdir/t/mpi-programs.sh"
run="raytrain-run --launcher slurm --storage runs --placement SPREAD"
meet="$PYTHON $srcdir/t/check/meet.py"

# met NAME SIZE: all ranks of the run's first attempt have met.
met () {
	for rank in $(seq 0 $(($2 - 1))); do
		grep -x "met $rank of $2" runs/$1/logs/attempt-0/rank-*$rank.out || return 1
	done
}
"$PYTHON" -c "import torch" 2>/dev/null && test_set_prereq TORCH

for framework in tensorflow jax horovod; do
	test_expect_success "ranks of $framework on two nodes meet" '
		$run --name $framework -n 3 --backend $framework -- $meet $framework 2>err &&
		met $framework 3
	'
done
"$PYTHON" -c "import numpy, xgboost" 2>/dev/null && test_set_prereq XGBOOST
test_expect_success XGBOOST 'a function of XGBoostTrainer on two nodes trains with all ranks' '
	cat >trees.py <<-\PY &&
	import numpy, raytrain, xgboost
	from raytrain.xgboost import XGBoostTrainer

	def train():
	    rank = raytrain.get_context().get_world_rank()
	    seen = xgboost.collective.allreduce(numpy.array([1.0 + rank]),
	                                        xgboost.collective.Op.SUM)
	    assert seen[0] == 6 and xgboost.collective.get_rank() == rank, seen

	XGBoostTrainer(train).fit()
	PY
	$run --name trees -n 3 --backend xgboost -- "$PYTHON" trees.py 2>err
'
test_expect_success TORCH 'ranks of torch.distributed on two nodes meet' '
	$run --name torch -n 2 --backend torch -- $meet torch 2>err && met torch 2
'
test_expect_success 'the address is one that both nodes reach, and gloo gets its interface' '
	$run --name address -n 2 --backend torch -- \
		sh -c "echo \$MASTER_ADDR \$GLOO_SOCKET_IFNAME; ip -o addr" 2>err &&
	for rank in 0 1; do
		head -1 runs/address/logs/attempt-0/rank-*$rank.out >here &&
		read -r address interface <here &&
		test 127.0.0.1 != "$address" &&
		grep -w "$interface" runs/address/logs/attempt-0/rank-*$rank.out || return 1
	done &&
	grep " $interface .*$address/" runs/address/logs/attempt-0/rank-*0.out
'
test_expect_success 'with torch a rank sees the GPUs of all ranks on its node' '
	for backend in torch command; do
		salloc -Q -N2 --exclusive --gpus-per-node=4 $run --name gpus-$backend -n 4 --gpu \
			--backend $backend -- sh -c "echo \$NODE_RANK \$CUDA_VISIBLE_DEVICES" 2>err &&
		cat runs/gpus-$backend/logs/attempt-0/rank-*.out | sort >$backend.seen || return 1
	done &&
	printf "%s\n" "0 0,1" "0 0,1" "1 0,1" "1 0,1" >expect && test_cmp expect torch.seen &&
	printf "%s\n" "0 0" "0 1" "1 0" "1 1" >expect && test_cmp expect command.seen
'
# Where raytrain is built with Open MPI, there is no program with MPICH.
if test_have_prereq MPICH; then
	test_expect_success 'a program with MPICH on two nodes comes together as all ranks' '
		$run --name mpich -n 3 --backend mpi -- "$(mpi_child MPICH)" sum 2>err &&
		met mpich 3
	'
fi
test_expect_success OPEN_MPI 'a program with Open MPI on two nodes comes together as all ranks' '
	$run --name open-mpi -n 4 --backend mpi -- "$(mpi_child OPEN_MPI)" 2>err &&
	met open-mpi 4
'
test_expect_success OPEN_MPI 'a killed rank of a program with Open MPI on two nodes fails the run' '
	expect_status 1 $run --name killed -n 4 --backend mpi -- \
		"$(mpi_child OPEN_MPI)" kill 2>err &&
	grep "rank 3.*killed by signal 9" err
'
test_expect_success 'nothing is left on the nodes' 'cluster clean 60'
test_done
