#!/bin/sh
test_description='gradients in GPU memory are averaged, with a stand-in for the library of the driver'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/devices.sh"

# The stand-in is no CUDA (t/device/standin_cuda.c): it does nothing before something waits for
# it, so that whatever is not waited for has old bytes.
standins libcuda.so.1 empty/libnccl.so.2 || exit 1

train=$modules/device_reducer.so

# with_device NAME N [KEY=VALUE | OPTION]...: such a run. Two workers have one GPU, three have two:
# so gradients go through host memory, whatever else this machine has.
with_device () {
	test "$2" != 2 || set -- "$@" devices=1
	run_on_devices "$@"
}

# same_bits N KEY=VALUE...: N workers whose gradients are on GPUs train the same model, bit by
# bit, as N workers whose gradients are on the host, and give back all they had.
same_bits () {
	rm -rf runs log &&
	with_device host "$@" device=false && test_path_is_missing log &&
	with_device gpu "$@" && none_left "$1" &&
	same_model runs/host/checkpoint_000005.h5 runs/gpu/checkpoint_000005.h5 &&
	same_model runs/host/checkpoint_000003.h5 runs/gpu/checkpoint_000003.h5
}

for n in 1 2; do
	test_expect_success "$n workers: layouts of gradients in memory" '
		same_bits $n layout=own && same_bits $n layout=mixed types=all
	'
done
test_expect_success "3 workers: each layout of gradients in memory" '
	same_bits 3 layout=reverse types=float64 &&
	same_bits 3 layout=scattered && same_bits 3 layout=own &&
	same_bits 3 layout=mixed types=all &&
	same_bits 3 layout=block && cp runs/gpu/checkpoint_000005.h5 block.h5
'
# Other titles have all types and layouts together. With FAULTS_ONCE, as with sanitizers, these have
# some of them.
types="float32 float64 float16 bfloat16"
layouts="block reverse scattered own mixed"
test -z "$FAULTS_ONCE" || types=bfloat16 layouts="scattered own"
for type in $types; do
	test_expect_success "gradients of type $type, in the reducer's memory" '
		same_bits 3 types=$type layout=own back=true
	'
done
test_expect_success "gradients of several types, in their own memory and in the reducer's" '
	same_bits 3 types=all && same_bits 3 types=all layout=own back=true
'
test_expect_success 'ranks average what differs between them' '
	rm -rf runs && with_device three 3 && with_device one 1 &&
	test_must_fail same_model runs/three/checkpoint_000005.h5 runs/one/checkpoint_000005.h5 &&
	same_model runs/three/checkpoint_000005.h5 block.h5
'
test_expect_success 'many small buckets, and a single one' '
	same_bits 3 bucket_bytes=1 types=all && same_bits 3 bucket_bytes=1000000 &&
	same_bits 2 bucket_bytes=1 back=true layout=own
'
test_expect_success 'work is queued on a stream of the training function' '
	same_bits 3 stream=true types=all && same_bits 2 stream=true layout=own back=true &&
	same_bits 2 stream=true sharded=true
'
test_expect_success 'gradients in allocations that touch each other are not copied as one' '
	same_bits 2 layout=touching types=float64 && same_bits 3 layout=touching types=all &&
	same_bits 2 layout=touching types=float64 sharded=true bucket_bytes=2000
'
test_expect_success "a sharded reducer of two workers, with one type in one bucket" '
	same_bits 2 sharded=true layout=own && same_bits 2 sharded=true layout=block
'
test_expect_success 'a graph that is captured while gradients are averaged is not spoiled' '
	same_bits 2 capture=true && same_bits 2 capture=true sharded=true layout=own
'
for layout in $layouts; do
	test_expect_success "a sharded reducer, with gradients in layout $layout" '
		same_bits 3 sharded=true layout=$layout types=all bucket_bytes=200
	'
done
test_expect_success 'memory of the communicator that cannot be pinned is copied once more' '
	test_when_finished "unset STANDIN_CUDA_FAIL" &&
	STANDIN_CUDA_FAIL=cuMemHostRegister_v2:0 && export STANDIN_CUDA_FAIL &&
	same_bits 3 layout=own types=all && same_bits 3 layout=own sharded=true &&
	same_bits 3 sharded=true types=all bucket_bytes=200
'
test_expect_success 'a worker dies while gradients are averaged: the next attempt has the same bits' '
	rm -rf runs && with_device whole 3 device=false &&
	with_device killed 3 --max-failures=1 fail=kill fail_at=4 fail_rank=1 "fail_once=$PWD/once" &&
	grep "attempt 1: 3 workers" err &&
	same_model runs/whole/checkpoint_000005.h5 runs/killed/checkpoint_000005.h5 &&
	no_process_left
'
test_expect_success 'killed at each iteration, with another number of workers each time' '
	rm -rf runs && all="same=true iterations=6 layout=own types=all sharded=true" &&
	with_device calm 1 device=false $all &&
	resume= n=3 &&
	for at in 2 3 4 5 6; do
		expect_status 1 with_device storm $n $all $resume fail=kill fail_at=$at \
			fail_rank=$((n - 1)) || return 1
		resume=--resume n=$((n % 3 + 1))
	done &&
	with_device storm $n $all --resume &&
	same_model runs/calm/checkpoint_000006.h5 runs/storm/checkpoint_000006.h5 &&
	no_process_left
'
# refused HOW PATTERN [FAIL-RANK [SETTING...]]: a reducer that FAIL-RANK (1) creates from a wrong
# list is refused on all ranks, with exit status $status.
status=3
refused () {
	how=$1 pattern=$2 rank=${3:-1}
	shift $(($# < 3 ? $# : 3))
	rm -rf runs &&
	expect_status $status with_device refused 2 "fail=$how" fail_rank=$rank fail_at=0 "$@" &&
	grep -e "$pattern" err &&
	test_path_is_missing runs/refused/checkpoint_000001.h5
}
test_expect_success 'wrong pointers are refused when the reducer is created' '
	refused host "rank 1.*gradient 1: .*is not memory of a CUDA GPU" &&
	refused other "gradient 0: .*is memory of CUDA GPU 0, and device_id says 1" &&
	refused id "there is no CUDA GPU 5: this process may use 2" &&
	refused id "reducer_create: .*there is no CUDA GPU 5: this process may use 2" 1 layout=own &&
	refused freed "gradient 1: .*or was freed" &&
	refused parameter "parameter 3: .*is not memory of a CUDA GPU" 1 sharded=true
'
test_expect_success 'tensors of one reducer are in one place, on every rank' '
	refused mixture "gradient 1 is in host memory, and gradient 0 on CUDA GPU" -1 &&
	status=1 &&
	refused mixture "do not agree: .*on a GPU" 1 &&
	refused elsewhere "do not agree: .*rank 0 called .*, on a GPU.*rank 1 called"
'
# broken FUNCTION:CALL [SETTING...]: if this call fails on rank 1 in iteration 3, the run fails with a
# sentence that names it, and another one can continue.
broken () {
	call=$1
	shift
	rm -rf runs &&
	with_device whole 2 device=false "$@" &&
	expect_status 1 with_device broken 2 "fail=$call" fail_at=3 fail_rank=1 "$@" &&
	grep "${call%:*}.*CUDA_ERROR_ILLEGAL_ADDRESS" err &&
	test_path_is_missing runs/broken/checkpoint_000003.h5 &&
	with_device broken 2 --resume "$@" &&
	same_model runs/whole/checkpoint_000005.h5 runs/broken/checkpoint_000005.h5
}
test_expect_success 'a call of the library that fails ends the run, which can be resumed' '
	broken cuEventRecord:1 && broken cuStreamWaitEvent:1 &&
	broken cuMemcpyDtoHAsync_v2:1 && broken cuMemcpyHtoDAsync_v2:1 && broken cuEventQuery:1 &&
	broken cuMemcpyDtoHAsync_v2:5 sharded=true layout=own &&
	no_process_left
'
test_done
