#!/bin/sh
test_description='GPUs under Slurm: workers that share them, shards, instances of a type, and --gpu-bind'
CLUSTER_NODES=2
CLUSTER_GPU_TYPE=1g.10gb
CLUSTER_SHARDS=16
export CLUSTER_GPU_TYPE CLUSTER_SHARDS
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1
run="raytrain-run --launcher slurm --storage runs"
train=$check/train_gpu

# in_job OPTION... -- ARG...: a run in an allocation that was taken with these options.
in_job () {
	options=
	while test "$1" != --; do
		options="$options $1"
		shift
	done
	shift
	salloc -Q $options raytrain-run --storage runs "$@" 2>err
}
# gpus_are NAME LINE...: of each rank, its node and what it sees: "0 0,1".
gpus_are () {
	name=$1
	shift
	printf "node %s\n" "$@" | sed "s/ / /; s/\(node [0-9]*\) /\1 gpus /" >expected
	cat runs/"$name"/logs/attempt-0/rank-*.out >actual && test_cmp expected actual
}

test_expect_success 'two workers share a GPU, in the order of their ranks' '
	in_job -N2 --exclusive --gpus-per-node=4 -- --name half -n 8 --gpu --gpus-per-worker 0.5 \
		"$train" &&
	gpus_are half "0 0" "0 0" "0 1" "0 1" "1 0" "1 0" "1 1" "1 1"
'
test_expect_success 'a third of a GPU has three workers, and the last GPU fewer' '
	in_job -N2 --exclusive --gpus-per-node=4 -- --name third -n 4 --gpu \
		--set scaling_config.resources_per_worker.gpu=0.33333 "$train" &&
	gpus_are third "0 0" "0 0" "0 0" "0 1"
'
test_expect_success 'nodes with different numbers of workers and of GPUs' '
	in_job -N2 -n5 --gpus-per-node=2 -- --name uneven -n 5 --gpu --gpus-per-worker 0.5 "$train" &&
	gpus_are uneven "0 0" "0 0" "0 1" "0 1" "1 0" &&
	in_job -N2 -n5 --gpus=3 -- --name few -n 5 --gpu --gpus-per-worker 0.5 "$train" &&
	cat runs/few/logs/attempt-0/rank-*.out | sort | uniq -c >each &&
	test "$(awk "\$1 > 2" each | wc -l)" = 0 && test "$(grep -c , each)" = 0
'
test_expect_success 'workers that share GPUs and do not fit are refused at once' '
	expect_status 4 in_job -N1 -n4 --gpus-per-node=1 -- --name full -n 3 --gpu \
		--gpus-per-worker 0.5 "$train" &&
	grep "each worker asks for 1 CPU, 0.5 of a GPU" err &&
	grep "1 GPU of type 1g.10gb.*: room for 2 per node, limited by the GPUs" err
'
test_expect_success 'an allocation is taken with whole GPUs if a node needs several' '
	$run --name taken -n 8 --gpu --gpus-per-worker 0.5 --dry-run "$train" >shown &&
	grep -e "--nodes=2 --ntasks-per-node=4 .*--gpus-per-node=2" shown &&
	$run --name taken -n 8 --gpu --gpus-per-worker 0.5 "$train" 2>err &&
	gpus_are taken "0 0" "0 0" "0 1" "0 1" "1 0" "1 0" "1 1" "1 1"
'
test_expect_success 'an allocation is taken with shards if one GPU of each node is enough' '
	set -- -n 4 --gpu --gpus-per-worker 0.5 --placement SPREAD "$train" &&
	$run --name shards --dry-run "$@" >shown && grep -e "--gres=shard:4" shown &&
	$run --name shards "$@" 2>err && gpus_are shards "0 0" "0 0" "1 0" "1 0"
'
test_expect_success 'a job with shards has room for as many workers as these are' '
	in_job -N1 -n4 --gres=shard:2 -- --name part -n 2 --gpu --gpus-per-worker 0.25 "$train" &&
	gpus_are part "0 0" "0 0" &&
	expect_status 4 in_job -N1 -n4 --gres=shard:2 -- --name part3 -n 3 --gpu \
		--gpus-per-worker 0.25 "$train" &&
	grep "1 GPU (2 shards of 4),.* room for 2 per node, limited by the GPUs" err &&
	expect_status 4 in_job -N1 -n4 --gres=shard:4 -- --name whole -n 1 --gpu "$train"
'
test_expect_success 'a batch job asks for the same' '
	$run --submit --dry-run -n 4 --gpu --gpus-per-worker 0.5 --placement SPREAD "$train" >script &&
	grep -xe "#SBATCH --gres=shard:4" script && grep -xe "#SBATCH --ntasks-per-node=2" script &&
	$run --submit --dry-run -n 8 --gpu --gpus-per-worker 0.5 --accelerator-type 1g.10gb \
		"$train" >script &&
	grep -xe "#SBATCH --gpus-per-node=1g.10gb:2" script && ! grep shard script &&
	job=$($run --submit --name batch -n 8 --gpu --gpus-per-worker 0.5 "$train" 2>err | head -n1) &&
	eventually test -e runs/batch/result.json && cluster clean &&
	gpus_are batch "0 0" "0 0" "0 1" "0 1" "1 0" "1 0" "1 1" "1 1"
'
test_expect_success 'instances of a type are GPUs of that type' '
	$run --name mig -n 2 --gpu --accelerator-type 1g.10gb "$train" 2>err &&
	gpus_are mig "0 0" "0 1" &&
	expect_status 4 $run --name other -n 2 --gpu --accelerator-type 3g.40gb "$train" 2>err &&
	grep "each worker asks for 1 CPU, 1 GPU of type 3g.40gb" err && grep "type 1g.10gb" err
'
# What Slurm gives a task is what its device cgroup lets it open.
test_expect_success 'each worker sees its own GPU, and may open those of its node' '
	cat >open.sh <<-\EOF &&
	tr "\0" "\n" </proc/$PPID/environ |
	sed -n "s/^SLURM_STEP_GPUS=/$CUDA_VISIBLE_DEVICES of /p"
	EOF
	in_job -N1 -n4 --gpus-per-node=4 -- --name open -n 3 --gpu -- sh open.sh &&
	printf "%s of 0,1,2\n" 0 1 2 >expected &&
	cat runs/open/logs/attempt-0/rank-*.out >actual && test_cmp expected actual &&
	in_job -N2 -n5 --gpus-per-node=4 -- --name spread -n 5 --gpu -- sh open.sh &&
	cat runs/spread/logs/attempt-0/rank-*.out >actual &&
	test 5 -eq $(grep -cx "[0-3] of [0-3,]*" actual)
'
test_expect_success 'a binding that the user asks for is kept' '
	in_job -N1 -n4 --gpus-per-node=4 -- --name bound -n 4 --gpu \
		--srun-args=--gpu-bind=map_gpu:3,2,1,0 "$train" &&
	gpus_are bound "0 3" "0 2" "0 1" "0 0"
'
# The stand-in for NVML is none (t/device/standin_nvml.c). The GPU of the first node fails.
test_expect_success 'a node whose GPU has failed is left out of the next attempt' '
	mkdir standin && ln -s "$builddir/t/device/libnvidia-ml.so.1" standin/ &&
	for node in n1 n2; do
		echo "device GPU-$node-0 00000000:41:00.0 1000 100 50" >devices.$node || return 1
	done &&
	cat >fail.sh <<-\EOF &&
	test $(hostname) = n2 && exec raytrain-report n=1
	echo "xid 0 79" >>devices.n1
	exit 1
	EOF
	export STANDIN_NVML="$PWD/devices.%h" LD_LIBRARY_PATH="$PWD/standin:$LD_LIBRARY_PATH" &&
	in_job -N2 --exclusive --gpus-per-node=4 -- --name falls -n 1 --gpu --max-failures 1 \
		-- sh fail.sh &&
	grep "GPU 0 (PCI 00000000:41:00.0) of node n1 reported Xid 79 (the GPU has fallen off the bus)" err &&
	grep "node n1 is left out from now on" err &&
	json_is runs/falls/logs/attempt-0/attempt.json .cause gpu &&
	json_is runs/falls/logs/attempt-1/attempt.json .outcome finished &&
	jq -e ".nodes == [\"n2\"] or (.nodes | tostring | test(\"n2\"))" \
		runs/falls/logs/attempt-1/attempt.json
'
test_expect_success 'the only node with room stays in use' '
	printf "%s\n" "echo xid 0 79 >>devices.\$(hostname)" "exit 1" >all.sh &&
	expect_status 1 in_job -N1 -n4 --gpus-per-node=4 -- --name stays -n 4 --gpu \
		--max-failures 1 -- sh all.sh &&
	grep "node n1 stays in use despite its GPU, because the others have no room" err && test -d runs/stays/logs/attempt-1
'
test_expect_success 'a run that is prepared for it does not count this as a failure' '
	in_job -N2 --exclusive --gpus-per-node=4 -- --name prepared -n 1:2 --gpu -- sh fail.sh &&
	grep "node n1 is left out from now on" err &&
	expect_status 1 in_job -N1 -n2 --gpus-per-node=2 -- --name alone -n 1:2 --gpu -- sh all.sh &&
	grep "stays in use" err && ! test -e runs/alone/logs/attempt-1
'
test_expect_success 'no job or process is left' '
	cluster clean
'
test_done
