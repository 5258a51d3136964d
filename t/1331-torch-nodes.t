#!/bin/sh
test_description='PyTorch on several nodes of a Slurm cluster'
CLUSTER_NODES=2
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
cd "$CLUSTER_SHARED" || exit 1
run="raytrain-run --launcher slurm --storage runs --progress none --backend torch"
cases=$srcdir/t/check/ddp_cases.py

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

test_expect_success 'workers on two nodes get the gradients that gloo computes' '
	$run --name two -n 2 --placement STRICT_SPREAD -- "$PYTHON" "$cases" plain \
		many_buckets two_types sparse find_unused_parameters 2>err &&
	test 10 -eq "$(cat runs/two/logs/attempt-0/rank-*.out | grep -c "^ok ")"
'
test_expect_success 'workers on two nodes, two on one of them, get the same bits' '
	$run --name three -n 3 --placement SPREAD -- "$PYTHON" "$cases" plain many_buckets \
		2>err &&
	test 6 -eq "$(cat runs/three/logs/attempt-0/rank-*.out | grep -c "^ok ")"
'
test_done
