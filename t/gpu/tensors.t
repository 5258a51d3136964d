#!/bin/sh
test_description='memory of real GPUs: checkpoints, collectives, gradients, wrong pointers'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/gpu/gpu.sh"

test_expect_success 'a training function for GPUs is compiled' '
	compile_c tensors.so "$srcdir/t/gpu/tensors.c"
'
test_expect_success 'tensors are saved, and restored by another number of workers' '
	$run --gpu -n "$devices" --name state ./tensors.so state 2>err &&
	raytrain-inspect --verify runs/state/checkpoint_000001.h5 &&
	$run -n 3 --name state --resume ./tensors.so state 2>err &&
	$run -n 1 --name state --resume ./tensors.so state 2>err
'
test_expect_success 'tensors that change after a report are saved as they were' '
	$run --gpu -n "$devices" --name overlap ./tensors.so overlap 2>err &&
	raytrain-inspect --verify runs/overlap/checkpoint_000003.h5 &&
	$run -n 2 --name overlap --resume ./tensors.so overlap 2>err
'
test_expect_success 'batches of a dataset come to the GPU' '
	{ echo x && seq 0 9999; } >x.csv &&
	$run -n 2 --name batches --dataset train=x.csv ./tensors.so batches 2>err
'
for n in $devices 1 2 3; do
	test_expect_success "collectives of $n workers have the right results" '
		$run -n $n --name collect-$n --fresh ./tensors.so collect 2>err
	'
	test_expect_success "gradients of $n workers are averaged" '
		$run -n $n --name reduce-$n --fresh ./tensors.so reduce 2>err
	'
done
test_expect_success 'workers with a GPU each, by --gpu' '
	$run --gpu -n "$devices" --name own ./tensors.so collect 2>err &&
	$run --gpu -n "$devices" --name own-reduce ./tensors.so reduce 2>err
'
test_expect_success 'wrong pointers are refused' '
	$run --name wrong ./tensors.so wrong 2>err
'
test_done
