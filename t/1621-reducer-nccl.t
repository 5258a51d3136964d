#!/bin/sh
test_description='gradients on GPUs are averaged by NCCL, with stand-ins for it and for the library of the driver'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/devices.sh"

# The stand-ins are no CUDA and no NCCL (t/device): nothing happens before something waits for it.
# Each worker has a GPU.
standins libcuda.so.1 libnccl.so.2 || exit 1
STANDIN_NCCL_LOG=$PWD/nccl STANDIN_CUDA_DEVICES=4
export STANDIN_NCCL_LOG STANDIN_CUDA_DEVICES

train=$modules/device_reducer.so

# with_devices NAME N [KEY=VALUE | OPTION]...: such a run.
with_devices () {
	called=$1 workers=$2
	shift 2
	run_on_devices "$called" "$workers" devices=4 "$@"
}
same_end () {
	same_model "runs/$1/checkpoint_000005.h5" "runs/$2/checkpoint_000005.h5" &&
	same_model "runs/$1/checkpoint_000003.h5" "runs/$2/checkpoint_000003.h5"
}
# same_bits KEY=VALUE...: two workers train the same model, bit by bit, as on the host: a mean of
# two numbers is the same if each is divided first.
same_bits () {
	rm -rf runs log nccl &&
	with_devices host 2 "$@" device=false && test_path_is_missing log &&
	with_devices nccl 2 "$@" && none_left 2 log nccl && same_end host nccl
}

for layout in block reverse scattered own mixed; do
	test_expect_success "gradients in layout $layout" '
		same_bits layout=$layout && same_bits layout=$layout types=all bucket_bytes=200 &&
		same_bits layout=$layout sharded=true types=all &&
		same_bits layout=$layout sharded=true bucket_bytes=200 back=true
	'
done
test_expect_success 'gradients in allocations that touch each other are not combined as one' '
	same_bits layout=touching types=float64 &&
	same_bits layout=touching types=float64 sharded=true back=true
'
test_expect_success 'a graph that is captured while gradients are averaged is not spoiled' '
	same_bits capture=true
'
test_expect_success 'work is queued on a stream of the training function' '
	same_bits stream=true types=all && same_bits stream=true layout=own sharded=true back=true
'
test_expect_success 'the numbers of three workers do not depend on where the gradients are' '
	rm -rf runs log nccl && with_devices block 3 types=all &&
	for layout in reverse scattered own mixed; do
		with_devices $layout 3 types=all layout=$layout && same_end block $layout || return 1
	done &&
	with_devices parts 3 types=all layout=reverse sharded=true bucket_bytes=300 &&
	same_end block parts && none_left 18 log nccl
'
# most_calls N: the most calls of NCCL that a worker has made in a run of N workers.
most_calls () {
	rm -rf runs log nccl && with_devices calls "$1" devices=8 sharded=true >&2 &&
	awk "/^calls/ { n[\$2] += \$3; if (n[\$2] > most) most = n[\$2] } END { print most }" nccl
}
test_expect_success 'the calls of NCCL for sharded buckets do not grow with the number of workers' '
	STANDIN_CUDA_DEVICES=8 && test_when_finished "STANDIN_CUDA_DEVICES=4" &&
	test "$(most_calls 2)" -gt 20 && test "$(most_calls 2)" -le 90 && test "$(most_calls 7)" -le 90
'
test_expect_success 'workers that share a GPU average through host memory, which is reported' '
	rm -rf runs log nccl &&
	with_devices host 3 device=false && with_devices share 3 devices=2 && same_end host share &&
	test "$(grep -c "through host memory: .*share" err)" = 1 &&
	with_devices share-all 3 devices=2 layout=own sharded=true types=all bucket_bytes=1 &&
	test "$(grep -c "through host memory: .*share" err)" = 1
'
test_expect_success 'a worker dies while gradients are averaged: the next attempt has the same bits' '
	rm -rf runs && with_devices whole 3 &&
	with_devices killed 3 --max-failures=1 fail=kill fail_at=4 fail_rank=1 "fail_once=$PWD/once" &&
	grep "attempt 1: 3 workers" err && same_end whole killed && no_process_left
'
# broken VARIABLE VALUE [SETTING...]: if this makes a call fail on rank 1 in iteration 3, the run fails,
# and another one can continue.
broken () {
	variable=$1 value=$2
	shift 2
	rm -rf runs &&
	with_devices whole 3 "$@" &&
	expect_status 1 with_devices broken 3 "fail=$variable=$value" fail_at=3 fail_rank=1 "$@" &&
	grep -i "nccl" err && test_path_is_missing runs/broken/checkpoint_000003.h5 &&
	with_devices broken 3 --resume "$@" && same_end whole broken
}
test_expect_success 'a call of NCCL that fails, or a collective that breaks, ends the run' '
	broken STANDIN_NCCL_FAIL ncclGroupEnd:1 && broken STANDIN_NCCL_FAIL ncclAllReduce:1 &&
	broken STANDIN_NCCL_BREAK 1 && broken STANDIN_NCCL_BREAK 1 layout=own sharded=true &&
	no_process_left
'
test_done
