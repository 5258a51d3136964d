#!/bin/sh
test_description='checkpoints are copied from GPUs while training continues, with a stand-in for the library of the driver'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/devices.sh"

# The stand-in is no CUDA (t/device/standin_cuda.c). With late=true, what the library waits for
# in the background runs after the next step, which has changed the model: without an order
# between the two, the checkpoint has the wrong bits every time.
standins libcuda.so.1 empty/libnccl.so.2 || exit 1

train=$modules/device_model.so
sync="--set run_config.checkpoint_config.mode=sync"

# same_run NAME: each checkpoint of a run has the numbers of one on the host.
same_run () {
	for i in 1 2 3 4 5; do
		same_numbers runs/calm/checkpoint_00000$i.h5 "runs/$1/checkpoint_00000$i.h5" ||
			return 1
	done
}

test_expect_success 'a run on the host, for comparison' '
	run_on_devices calm 1 device=false && test_path_is_missing log
'
test_expect_success 'the model may change as soon as a report has returned' '
	run_on_devices late 3 late=true && same_run late && none_left 3
'
test_expect_success 'with a fence, copies that are only started have the bits of the report' '
	rm log && run_on_devices fence 3 late=true overlap=fence && same_run fence && none_left 3
'
test_expect_success 'without a fence the step changes what is copied: that is not allowed' '
	run_on_devices unfenced 2 late=true overlap=unfenced &&
	test_must_fail same_run unfenced
'
test_expect_success 'memory that is handed over is copied later, and given back after that' '
	rm log && run_on_devices give 2 late=true give=true scribble=true && same_run give &&
	none_left 2
'
test_expect_success 'memory is given back once it is copied, while the file is still written' '
	mkfifo fifo && RAYTRAIN_FAULT=save.data:0:wait RAYTRAIN_FAULT_FIFO=$PWD/fifo &&
	export RAYTRAIN_FAULT RAYTRAIN_FAULT_FIFO &&
	test_when_finished "unset RAYTRAIN_FAULT RAYTRAIN_FAULT_FIFO" &&
	run_on_devices early 1 iterations=1 give=true scribble=true late=true \
		"early=\"$PWD/fifo\"" &&
	same_numbers runs/calm/checkpoint_000001.h5 runs/early/checkpoint_000001.h5
'
test_expect_success 'so it is while training waits for saves' '
	more=$sync && test_when_finished "more=" && rm log &&
	run_on_devices sync 2 late=true && same_run sync &&
	run_on_devices sync-fence 2 late=true overlap=fence && same_run sync-fence &&
	run_on_devices sync-unfenced 2 late=true overlap=unfenced && same_run sync-unfenced &&
	run_on_devices sync-give 2 late=true give=true scribble=true && same_run sync-give &&
	none_left 8
'
test_expect_success 'so it is with copies in the memory of nodes, and staged on their disks' '
	rm log && mkdir stage && staged="--set=run_config.sync_config.staging_path=$PWD/stage" &&
	more="--set run_config.checkpoint_config.replicas=1" && test_when_finished "more=" &&
	run_on_devices tiers 2 late=true overlap=fence "$staged" && same_run tiers &&
	run_on_devices tiers-give 2 late=true give=true scribble=true "$staged" && same_run tiers-give &&
	none_left 4
'
test_expect_success 'a part of the ranks is on the host' '
	run_on_devices mixed 3 mixed=true late=true overlap=fence && same_run mixed
'
# refused NAME N [KEY=VALUE]...: a run whose processes cannot pin the memory that they ask for
# first. It is set before they start: another thread may pin it as soon as a tensor is put.
refused () {
	STANDIN_CUDA_FAIL=cuMemHostRegister_v2:1 && export STANDIN_CUDA_FAIL &&
	run_on_devices "$@"
	status=$?
	unset STANDIN_CUDA_FAIL
	return $status
}
test_expect_success 'memory that cannot be pinned: copies go through pieces, and are complete' '
	rm log && refused unpinned 2 late=true &&
	grep "training waits while tensors on GPUs are copied.*cuMemHostRegister_v2" err &&
	same_run unpinned && none_left 2 &&
	refused unpinned-fence 2 late=true overlap=fence && same_run unpinned-fence &&
	refused unpinned-give 2 late=true give=true scribble=true && same_run unpinned-give
'
# ahead NAME N [KEY=VALUE]...: a run whose first checkpoint is filled before the first step; the
# stand-in writes to `calls` which threads pin memory and copy.
ahead () {
	rm -f calls log && STANDIN_CUDA_CALLS=$PWD/calls && export STANDIN_CUDA_CALLS &&
	run_on_devices "$@" "ahead=\"$PWD/calls\""
	status=$?
	unset STANDIN_CUDA_CALLS
	return $status
}
test_expect_success 'memory is pinned by another thread while the first checkpoint is filled' '
	ahead ahead 1 && same_run ahead && none_left 1 && grep "copy main" calls &&
	head -n 1 calls | grep "pin other" && ! grep "pin main" calls &&
	ahead ahead-sync 2 --set=run_config.checkpoint_config.mode=sync && same_run ahead-sync &&
	none_left 2 && ! grep "pin main" calls
'
test_expect_success 'pinning memory does not spoil a graph that is captured meanwhile' '
	ahead ahead-capture 1 capture=true && same_run ahead-capture && none_left 1
'
test_expect_success 'a checkpoint that is filled and never reported leaves nothing' '
	ahead dropped 2 dropped=true iterations=0 && none_left 2 && ! grep copy calls &&
	ahead dropped-first 1 dropped=true && same_run dropped-first && none_left 1
'
test_expect_success 'memory that could not be pinned ahead is said once, and copied to all the same' '
	STANDIN_CUDA_FAIL=cuMemHostRegister_v2:1 && export STANDIN_CUDA_FAIL &&
	test_when_finished "unset STANDIN_CUDA_FAIL" && ahead refused 1 && same_run refused &&
	test "$(grep -c "training waits while tensors on GPUs are copied" err)" = 1
'
test_expect_success 'a run that is resumed pins memory while it restores the model' '
	ahead resumed 2 iterations=2 && STANDIN_CUDA_CALLS=$PWD/later && export STANDIN_CUDA_CALLS &&
	test_when_finished "unset STANDIN_CUDA_CALLS" && run_on_devices resumed 2 --resume &&
	same_run resumed && grep "pin other" later && ! grep "pin main" later
'
test_expect_success 'a copy that fails after the report fails the save, and the run can be resumed' '
	expect_status 1 run_on_devices copy 2 overlap=fence fail=cuEventSynchronize:1 fail_at=3 fail_rank=1 &&
	grep "cuEventSynchronize.*CUDA_ERROR_ILLEGAL_ADDRESS" err &&
	test_path_is_missing runs/copy/checkpoint_000003.h5 && no_temporary runs/copy &&
	run_on_devices copy 2 overlap=fence --resume && same_run copy
'
test_expect_success 'a copy that cannot be started does so, too' '
	expect_status 1 run_on_devices start 2 overlap=fence fail=cuMemcpyDtoHAsync_v2:2 fail_at=3 \
		fail_rank=0 &&
	grep "tensor .model/rows.*cuMemcpyDtoHAsync_v2" err &&
	test_path_is_missing runs/start/checkpoint_000003.h5 && no_temporary runs/start &&
	run_on_devices start 2 overlap=fence --resume && same_run start
'
test_expect_success 'after a worker was killed the next attempt continues from the checkpoint before' '
	more="--max-failures 1" && test_when_finished "more=" &&
	run_on_devices killed 3 overlap=fence fail=kill fail_at=4 fail_rank=1 "fail_once=$PWD/once" &&
	grep "attempt 1: 3 workers" err &&
	grep "starting from .*checkpoint_00000[23].h5" err && same_run killed
'
test_expect_success 'a run that is killed at each iteration, with another number of workers each time' '
	resume= n=3 &&
	for at in 2 3 4 5; do
		expect_status 1 run_on_devices storm $n $resume overlap=fence fail=kill fail_at=$at \
			fail_rank=$((n - 1)) || return 1
		resume=--resume n=$((n % 3 + 1))
	done &&
	run_on_devices storm $n --resume overlap=fence &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/storm/checkpoint_000005.h5 &&
	no_process_left
'
test_done
