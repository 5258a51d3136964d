#!/bin/sh
test_description='GPUs of workers on one machine, seen through a stand-in for the library of the driver'
. "$(dirname "$0")/setup.sh"

# The stand-in is no NVML (t/device/standin_nvml.c): it answers what a file says.
mkdir standin && ln -s "$builddir/t/device/libnvidia-ml.so.1" standin/ || exit 1
STANDIN_NVML=$PWD/devices
STANDIN_NVML_LOG=$PWD/log
CUDA_VISIBLE_DEVICES=0,1
LD_LIBRARY_PATH=$PWD/standin:$LD_LIBRARY_PATH
export STANDIN_NVML STANDIN_NVML_LOG CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH
run="raytrain-run --launcher local --storage runs"
gib=1073741824

# devices USED USED: two GPUs of 80 GiB; USED is the number of GiB in use.
devices () {
	cat >devices <<-EOF
	driver 550.54.14
	device GPU-aaaaaaaa-1 00000000:41:00.0 $((80 * gib)) $(($1 * gib)) 83
	device GPU-bbbbbbbb-2 00000000:C1:00.0 $((80 * gib)) $(($2 * gib)) 41
	EOF
}
# until_seen NAME WORD: a command for one worker, which reports until a report has this word.
until_seen () {
	cat >"$1".sh <<-EOF
	i=0
	until grep -q "$2" runs/$1/result.json runs/$1/logs/attempt-0/* 2>/dev/null; do
		i=\$((i + 1))
		test \$i -lt 600 && raytrain-report n=\$i && sleep 0.05 || exit 1
	done
	EOF
}
devices 2 4

test_expect_success 'without --gpu the library is not opened' '
	$run --name none -n 2 "$modules/toy.so" 2>err && test_path_is_missing log &&
	! grep gpu_ runs/none/result.json
'
test_expect_success 'workers that share GPUs have them in the order of their ranks' '
	CUDA_VISIBLE_DEVICES=6,GPU-x $run --name half -n 4 --gpu --gpus-per-worker 0.5 \
		"$check/train_gpu" 2>err &&
	printf "node 0 gpus %s\n" 6 6 GPU-x GPU-x >expected &&
	cat runs/half/logs/attempt-0/rank-*.out >actual && test_cmp expected actual &&
	expect_status 4 $run --name full -n 5 --gpu --gpus-per-worker 0.5 "$check/train_gpu" 2>err &&
	grep "0.5 of a GPU" err && grep "room for 4 per node, limited by the GPUs" err
'
test_expect_success 'how full and how busy the GPUs are is in the reports' '
	until_seen seen gpu_utilization &&
	$run --name seen -n 1 --gpu -- sh seen.sh 2>err &&
	tail -n1 runs/seen/result.json >last && jq -e ".gpu_utilization == 83 and
		.gpu_memory_used_bytes == 2 * $gib and .gpu_memory_total_bytes == 80 * $gib" last
'
test_expect_success 'of several workers it is the mean, with the extremes' '
	$run --name two -n 2 --gpu --set train_loop_config.sleep_ms=100 \
		--set train_loop_config.iterations=30 "$modules/toy.so" 2>err &&
	tail -n1 runs/two/result.json >last && jq -e ".gpu_utilization == 62 and
		.by_rank.gpu_utilization == {rank0: 83, min: 41, max: 83} and
		.gpu_memory_used_bytes == 3 * $gib and
		.by_rank.gpu_memory_used_bytes.max == 4 * $gib and
		(.by_rank | has(\"gpu_memory_total_bytes\") | not)" last &&
	raytrain-inspect --csv runs/two | head -n1 | grep gpu_utilization
'
test_expect_success 'a metric of the user with such a name stays' '
	cat >own.sh <<-\EOF &&
	i=0
	until grep -q gpu_memory_used runs/own/result.json 2>/dev/null; do
		i=$((i + 1))
		test $i -lt 600 && raytrain-report gpu_utilization=7 && sleep 0.05 || exit 1
	done
	EOF
	$run --name own -n 1 --gpu -- sh own.sh 2>err &&
	tail -n1 runs/own/result.json | jq -e ".gpu_utilization == 7 and .gpu_memory_used_bytes > 0" &&
	test "$(tail -n1 runs/own/result.json | grep -o "\"gpu_utilization\"" | wc -l)" = 2
'
test_expect_success 'an instance of a GPU has its own memory, and no utilisation' '
	echo "instance 1 MIG-cccccccc-3 $((10 * gib)) $((1 * gib))" >>devices &&
	until_seen mig gpu_memory_used &&
	CUDA_VISIBLE_DEVICES=MIG-cccccccc-3 $run --name mig -n 1 --gpu -- sh mig.sh 2>err &&
	tail -n1 runs/mig/result.json | jq -e ".gpu_memory_used_bytes == $gib and
		.gpu_memory_total_bytes == 10 * $gib and (has(\"gpu_utilization\") | not)"
'
test_expect_success 'a GPU that others fill is named, with their processes' '
	sleep 600 & other=$! &&
	devices 2 78 && echo "process 1 $other $((77 * gib))" >>devices &&
	until_seen filled "GiB free" &&
	CUDA_VISIBLE_DEVICES=1 $run --name filled -n 1 --gpu -- sh filled.sh 2>err
	status=$? && kill $other && test $status = 0 &&
	grep "GPU 1 (PCI 00000000:C1:00.0) of node .* has 2.0 of 80.0 GiB free: process $other (.*sleep.*) uses 77.0 GiB" err
'
test_expect_success 'one that workers of this run fill is not' '
	RAYTRAIN_RUN_DIR=$PWD/runs/shared sleep 600 & own=$! &&
	devices 2 78 && echo "process 1 $own $((77 * gib))" >>devices &&
	until_seen shared gpu_memory &&
	CUDA_VISIBLE_DEVICES=1 $run --name shared -n 1 --gpu -- sh shared.sh 2>err
	status=$? && kill $own && test $status = 0 && ! grep "GiB free" err
'
test_expect_success 'one with room is not' '
	devices 39 78 && until_seen room gpu_memory &&
	CUDA_VISIBLE_DEVICES=0 $run --name room -n 1 --gpu -- sh room.sh 2>err &&
	! grep "GiB free" err
'
# fails NAME LINE: the GPU gets into this state, and the worker fails.
fails () {
	devices 2 4
	echo "echo $2 >>devices; exit 3" >fail.sh
	expect_status 1 $run --name "$1" -n 1 --gpu -- sh fail.sh 2>err
}
test_expect_success 'an error of the GPU is named as the cause' '
	fails bus "xid 0 79" &&
	grep "GPU 0 (PCI 00000000:41:00.0) of node .* reported Xid 79 (the GPU has fallen off the bus): .*exit" err &&
	json_is runs/bus/logs/attempt-0/attempt.json .cause gpu
'
test_expect_success 'a GPU that does not answer any more is named as the cause' '
	fails gone "lost 0" && grep "GPU 0 .* is lost" err &&
	json_is runs/gone/logs/attempt-0/attempt.json .cause gpu
'
test_expect_success 'an error that a program causes is reported as that of the program' '
	fails fault "xid 0 31" && grep "reported Xid 31 (a kernel of the program" err &&
	json_is runs/fault/logs/attempt-0/attempt.json .cause worker
'
test_expect_success 'errors of a GPU of other workers are none of this one' '
	devices 2 4 && echo "echo xid 0 79 >>devices; exit 3" >fail.sh &&
	CUDA_VISIBLE_DEVICES=1 expect_status 1 $run --name other -n 1 --gpu -- sh fail.sh 2>err &&
	! grep Xid err
'
test_expect_success 'a library that is too old, or a driver that is not loaded, changes nothing' '
	mkdir old && printf "int nvmlInit_v2(void) { return 9; }\n" >old.c &&
	cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o old/libnvidia-ml.so.1 old.c &&
	LD_LIBRARY_PATH=$PWD/old:$LD_LIBRARY_PATH $run --name old -n 2 --gpu "$modules/toy.so" 2>err &&
	! grep gpu_ runs/old/result.json
'
test_expect_success '--check says how workers share GPUs, and that a mode forbids it' '
	devices 2 78 && check="raytrain-run --check --json --launcher local --storage runs --gpu -n 4" &&
	$check --gpus-per-worker 0.5 >json
	jq -e ".findings | any(.topic == \"GPUs\" and .name == \"sharing\" and .verdict == \"ok\")" json &&
	jq -e ".findings | any(.name == \"driver of workers\" and .detail == \"550.54.14\")" json &&
	jq -e ".findings | any(.name == \"memory\" and (.detail | test(\"has 2.0 of 80.0 GiB free\")))" json &&
	echo "mode 1 3" >>devices &&
	expect_status 4 $check --gpus-per-worker 0.5 >json &&
	jq -e ".findings | any(.name == \"compute mode\" and .verdict == \"wrong\")" json
'
test_expect_success 'each process that opened the library has closed it' '
	test "$(grep -c ^open log)" = "$(grep -c ^close log)"
'
# The GPUs themselves are others' than NVML's: they have stand-ins of their own.
# tries [OPTION]...: a check of two workers, each with a GPU of these, into the file json.
tries () {
	devices 2 4
	LD_LIBRARY_PATH=$PWD/cuda:$LD_LIBRARY_PATH raytrain-run --check --json --launcher local \
		--storage runs --gpu -n 2 "$@" >json 2>err
}
# found VERDICT NAME TEXT: there is such a finding about GPUs, with this in its detail.
found () {
	jq -e --arg verdict "$1" --arg name "$2" --arg text "$3" ".findings | any(
		.topic == \"GPUs\" and .verdict == \$verdict and .name == \$name and
		(.detail | contains(\$text)) and (.remedy != null or .verdict == \"ok\"))" json >/dev/null ||
	{ jq -c ".findings[] | select(.topic == \"GPUs\")" json >&2; return 1; }
}
# with NAME VALUE COMMAND...: with this in the environment.
with () {
	( export "$1=$2" && shift 2 && "$@" )
}
mkdir cuda host && ln -s "$builddir/t/device/libcuda.so.1" "$builddir/t/device/libnccl.so.2" cuda/
STANDIN_CUDA_FIRST=visible
export STANDIN_CUDA_FIRST
test_expect_success '--check copies to each GPU and back, and adds over the GPUs by NCCL' '
	tries && found ok copy "2 GPUs" && found ok "sum over GPUs" "right result" &&
	found ok NCCL "version 2.28.9" &&
	LD_LIBRARY_PATH=$PWD/cuda:$LD_LIBRARY_PATH raytrain-run --check --launcher local \
		--storage runs --gpu -n 2 >out && grep "ok  *copy  *2 GPUs, there and back" out
'
test_expect_success 'without NCCL, or on a GPU that they share, workers add through the host, and why' '
	ln -sf "$builddir/t/device/empty/libnccl.so.2" host/ &&
	with LD_LIBRARY_PATH "$PWD/host:$PWD/cuda:$LD_LIBRARY_PATH" raytrain-run --check --json \
		--launcher local --storage runs --gpu -n 2 >json && found ok "sum over GPUs" "right" &&
	found skipped NCCL "update it to NCCL 2.10" &&
	tries -n 4 --gpus-per-worker 0.5 && found ok "sum over GPUs" "right" &&
	found skipped NCCL "share GPU"
'
test_expect_success 'a GPU that cannot be copied to is wrong, with the rank and the error' '
	expect_status 4 with STANDIN_CUDA_FAIL cuMemcpyHtoDAsync_v2:0 tries &&
	found wrong copy "GPU 0: CUDA" && found skipped "sum over GPUs" "copies to and from a GPU"
'
test_expect_success 'a GPU in exclusive mode that another process has is wrong' '
	expect_status 4 with STANDIN_CUDA_BUSY 1 tries && found wrong copy "compute mode"
'
test_expect_success 'a driver that is too old is wrong, and so is a worker that sees no GPU' '
	expect_status 4 with STANDIN_CUDA_VERSION 10020 tries && found wrong copy "update it" &&
	expect_status 4 with STANDIN_CUDA_DEVICES 0 tries && found wrong copy "no CUDA GPU"
'
test_expect_success 'an NCCL that fails, or kills a worker, is wrong' '
	expect_status 4 with STANDIN_NCCL_FAIL ncclCommInitRankConfig:1 tries &&
	found ok copy "2 GPUs" && found wrong "sum over GPUs" "ncclCommInitRank" &&
	expect_status 4 with STANDIN_NCCL_DIE 1 tries &&
	found wrong "sum over GPUs" "did not return" && no_process_left
'
test_expect_success 'a worker that does not connect its GPU is named in the report' '
	expect_status 4 with STANDIN_NCCL_STUCK 1 tries --set=run_config.failure_config.start_timeout_s=5 &&
	found wrong "sum over GPUs" "waited 5 s (start_timeout_s) for rank 1" && no_process_left
'
test_expect_success 'without a driver, what it would do is skipped, with the reason' '
	CUDA_VISIBLE_DEVICES=0,1 LD_LIBRARY_PATH= raytrain-run --check --json --launcher local \
		--storage runs --gpu -n 2 >json && found skipped copy "install the driver" &&
	raytrain-run --check --json --launcher local --storage runs >json &&
	found skipped copy "without GPUs"
'
test_done
