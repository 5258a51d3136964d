#!/bin/sh
test_description='collectives of tensors on GPUs, with stand-ins for the driver and for NCCL'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/devices.sh"

# The stand-ins are no CUDA and no NCCL (t/device): these tests show that raytrain follows the
# rules of the libraries, not that it works with GPUs.
mkdir files && standins libcuda.so.1 libnccl.so.2 || exit 1
STANDIN_CUDA_DEVICES=4
STANDIN_NCCL_LOG=$PWD/log.nccl STANDIN_NCCL_DIR=$PWD/files
export STANDIN_CUDA_DEVICES STANDIN_NCCL_LOG STANDIN_NCCL_DIR

train=$modules/device_model.so

# with_devices NAME N [KEY=VALUE | OPTION]...: such a run, which makes collectives, with a GPU for
# each worker unless a setting says otherwise.
with_devices () {
	called=$1 workers=$2
	shift 2
	rm -f log log.nccl
	run_on_devices "$called" "$workers" collect=true devices=4 "$@"
}
# near RUN RUN: the models differ by rounding at most. same RUN RUN: not at all.
near () {
	h5diff -d 1e-9 "runs/$1/checkpoint_000005.h5" "runs/$2/checkpoint_000005.h5" /model
}
same () {
	same_model "runs/$1/checkpoint_000005.h5" "runs/$2/checkpoint_000005.h5"
}
# staged PATTERN: collectives went through host memory, for this reason, which was said once.
staged () {
	test "$(grep -c "through host memory" err)" = 1 && grep "through host memory: .*$1" err
}
not_staged () {
	test_must_fail grep "through host memory" err
}

test_expect_success 'collectives on GPUs have the numbers of those on the host' '
	with_devices host 3 device=false && test_path_is_missing log && test_path_is_missing log.nccl &&
	with_devices gpus 3 && not_staged && none_left 3 && none_left 3 log.nccl &&
	near host gpus && test -z "$(ls files)"
'
test_expect_success 'collectives on GPUs repeat their bits, also while training waits for saves' '
	with_devices again 3 --set=run_config.checkpoint_config.mode=sync && not_staged &&
	same gpus again
'
test_expect_success 'one worker needs no other library' '
	with_devices one 1 && not_staged && none_left 1 && test_path_is_missing log.nccl
'
test_expect_success 'calls of NCCL that do not block' '
	(export NCCL_COMM_BLOCKING=0 && with_devices slow 3) && not_staged && none_left 3 log.nccl && same gpus slow
'
test_expect_success 'workers that share a GPU: the bits of the host, said once' '
	with_devices shared 3 devices=2 && staged "ranks 0 and 2 share GPU 0000:00:00.0" &&
	test_path_is_missing log.nccl && none_left 3 && same host shared
'
test_expect_success 'GPU memory and host memory together: the bits of the host' '
	with_devices mixed 3 mixed=true && not_staged && test_path_is_missing log.nccl &&
	none_left 2 && same host mixed
'
test_expect_success 'without NCCL: the bits of the host, said once' '
	mkdir without && ln -s "$builddir/t/device/libcuda.so.1" without/ && echo >without/libnccl.so.2 &&
	libraries=$PWD/without && test_when_finished "libraries=\$PWD/standin" &&
	with_devices without 3 && staged "libnccl.so.2" && none_left 3 && same host without
'
test_expect_success 'with an NCCL that is too old: the bits of the host, said once' '
	(export STANDIN_NCCL_VERSION=2708 && with_devices old 3) &&
	staged "libnccl.so.2 is NCCL 2.7: update it to 2.10 or later" && same host old
'
test_expect_success 'with --device-collectives=auto, NCCL that fails is said once: the bits of the host' '
	(export STANDIN_NCCL_FAIL=ncclCommInitRankConfig:1 &&
		with_devices auto 3 --device-collectives=auto) &&
	staged "ncclCommInitRankConfig of libnccl.so.2 returned 2" && same host auto && none_left 3 &&
	rm -f files/*
'
test_expect_success 'with auto and NCCL that works, or without NCCL, it is as without the option' '
	with_devices works 3 --device-collectives=auto && not_staged && same gpus works &&
	libraries=$PWD/without && test_when_finished "libraries=\$PWD/standin" &&
	with_devices absent 3 --device-collectives=auto && staged "libnccl.so.2" && same host absent
'
test_expect_success 'with --device-collectives=host NCCL is not opened, and nothing is said' '
	with_devices asked 3 --device-collectives=host && not_staged && test_path_is_missing log.nccl &&
	same host asked
'
test_expect_success 'a worker that does not come is named, and not waited for' '
	(export STANDIN_NCCL_STUCK=1 && expect_status 1 with_devices stuck 3 --device-collectives=auto \
		--set=run_config.failure_config.start_timeout_s=3) &&
	grep "waited 3 s (start_timeout_s) for rank 1 to connect its GPU" err && not_staged &&
	no_process_left && rm -f files/*
'
test_expect_success 'an error of NCCL fails the attempt, and the next one continues' '
	with_devices broken 3 fail=break fail_at=4 fail_rank=1 "fail_once=$PWD/broken" --max-failures=1 &&
	grep "attempt 0 failed: .*libnccl.so.2.* 2, unhandled system error" err &&
	test comm = "$(jq -r .kind runs/broken/logs/attempt-0/error.json)" && near host broken
'
test_expect_success 'an error of NCCL at the first collective fails the attempt' '
	(export STANDIN_NCCL_FAIL=ncclCommInitRankConfig:1 && expect_status 1 with_devices init 2) &&
	grep "raytrain_broadcast_tensor\|raytrain_allgather_tensor" err &&
	grep "ncclCommInitRankConfig of libnccl.so.2 returned 2.*/dev/shm" err &&
	grep -e "NCCL_DEBUG=INFO.*--device-collectives=host" err && not_staged
'
# died_inside NAME: a worker is killed while the GPUs of the others wait for its GPU. They end,
# and the failure is that of the worker.
died_inside () {
	rm -f died &&
	with_devices "$1" 3 fail=inside fail_at=4 fail_rank=1 "fail_once=$PWD/$1.once" --max-failures=1 &&
	date +%s.%N | awk '{ getline death <"died"; printf "# from the death to the end of the next attempt: %.2f s\n", $1 - death }' &&
	grep "attempt 0 failed: rank 1 on .*: killed by signal 9" err && near host "$1"
}
test_expect_success 'a worker that is killed inside of a collective' '
	died_inside unnoticed && test_path_is_missing runs/unnoticed/logs/attempt-0/error.json
'
test_expect_success 'so if NCCL notices it' '
	(export STANDIN_NCCL_NOTICE=1 && died_inside noticed)
'
test_expect_success 'a worker that is killed while the communicator is made' '
	(export STANDIN_NCCL_DIE=1 && expect_status 1 with_devices start 3) &&
	grep "rank 1 on .*: killed by signal 9" err && rm -f files/*
'
test_expect_success 'ranks whose calls differ get an error that says so' '
	expect_status 1 with_devices apart 3 fail=apart fail_at=3 fail_rank=2 &&
	grep "ranks 0-1 called raytrain_allreduce() of 1000 float64 (mean), but rank 2 called raytrain_allreduce() of 999" err &&
	no_process_left && test -z "$(ls files)"
'
test_done
