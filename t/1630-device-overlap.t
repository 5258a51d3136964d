#!/bin/sh
test_description='checkpoints are copied from cards while training goes on, with a stand-in for the library of the driver'
. "$(dirname "$0")/setup.sh"

# The stand-in is no CUDA (t/device/standin_cuda.c). With late=true, what the library waits for
# in the background runs after the next step, which has changed the model: without an order
# between the two, the checkpoint has the wrong bits every time.
mkdir standin &&
ln -s "$builddir/t/device/libcuda.so.1" "$builddir/t/device/empty/libnccl.so.2" standin/ || exit 1
STANDIN_CUDA_LOG=$PWD/log
export STANDIN_CUDA_LOG

run="raytrain-run --launcher local --storage runs"
train=$modules/device_model.so
sync="--set run_config.checkpoint_config.mode=sync"

# with_card NAME N [KEY=VALUE | OPTION]...: a run of this name with so many workers, these
# settings, and the stand-in. $more: more options.
with_card () {
	name=$1 n=$2
	shift 2
	for setting; do
		case $setting in
		--*) set -- "$@" "$setting" ;;
		*) set -- "$@" --set "train_loop_config.$setting" ;;
		esac
		shift
	done
	LD_LIBRARY_PATH=$PWD/standin:$LD_LIBRARY_PATH \
		$run --name "$name" -n "$n" $more "$@" "$train" 2>err
}
more=
# same_numbers CHECKPOINT CHECKPOINT: copies and rows of the models have the same bits.
same_numbers () {
	same_model "$1" "$2" &&
	h5dump -d /model/rows -b LE -o c.bin "$1" >/dev/null && cmp b.bin c.bin &&
	h5dump -d /model/rows -b LE -o c.bin "$2" >/dev/null && cmp b.bin c.bin
}
# same_run NAME: each checkpoint of a run has the numbers of one on the host.
same_run () {
	for i in 1 2 3 4 5; do
		same_numbers runs/calm/checkpoint_00000$i.h5 "runs/$1/checkpoint_00000$i.h5" ||
			return 1
	done
}
# none_left N: N processes have opened the stand-in, and each has given back all it had.
none_left () {
	test "$(grep -c ^open log)" = "$1" && test "$(grep -c "^left [0-9]* 0$" log)" = "$1" || {
		cat >&2 log
		return 1
	}
}

test_expect_success 'a run on the host, for comparison' '
	with_card calm 1 card=false && test_path_is_missing log
'
test_expect_success 'the model may change as soon as a report has returned' '
	with_card late 3 late=true && same_run late && none_left 3
'
test_expect_success 'with a fence, copies that are only started have the bits of the report' '
	rm log && with_card fence 3 late=true overlap=fence && same_run fence && none_left 3
'
test_expect_success 'without a fence the step changes what is copied: that is not allowed' '
	with_card unfenced 2 late=true overlap=unfenced &&
	test_must_fail same_run unfenced
'
test_expect_success 'memory that is handed over is copied later, and given back after that' '
	rm log && with_card give 2 late=true give=true scribble=true && same_run give &&
	none_left 2
'
test_expect_success 'it is given back once it is copied, while the file is still written' '
	mkfifo fifo && RAYTRAIN_FAULT=save.data:0:wait RAYTRAIN_FAULT_FIFO=$PWD/fifo &&
	export RAYTRAIN_FAULT RAYTRAIN_FAULT_FIFO &&
	test_when_finished "unset RAYTRAIN_FAULT RAYTRAIN_FAULT_FIFO" &&
	with_card early 1 iterations=1 give=true scribble=true late=true \
		"early=\"$PWD/fifo\"" &&
	same_numbers runs/calm/checkpoint_000001.h5 runs/early/checkpoint_000001.h5
'
test_expect_success 'so it is while training waits for saves' '
	more=$sync && test_when_finished "more=" && rm log &&
	with_card sync 2 late=true && same_run sync &&
	with_card sync-fence 2 late=true overlap=fence && same_run sync-fence &&
	with_card sync-unfenced 2 late=true overlap=unfenced && same_run sync-unfenced &&
	with_card sync-give 2 late=true give=true scribble=true && same_run sync-give &&
	none_left 8
'
test_expect_success 'so it is with copies in the memory of nodes, and staged on their disks' '
	rm log && mkdir stage && staged="--set=run_config.sync_config.staging_path=$PWD/stage" &&
	more="--set run_config.checkpoint_config.replicas=1" && test_when_finished "more=" &&
	with_card tiers 2 late=true overlap=fence "$staged" && same_run tiers &&
	with_card tiers-give 2 late=true give=true scribble=true "$staged" && same_run tiers-give &&
	none_left 4
'
test_expect_success 'a part of the ranks is on the host' '
	with_card mixed 3 mixed=true late=true overlap=fence && same_run mixed
'
test_expect_success 'memory that cannot be pinned: copies go through pieces, and are complete' '
	rm log && with_card unpinned 2 late=true fail=cuMemHostRegister_v2:1 fail_at=1 fail_rank=-1 &&
	grep "training waits while tensors on cards are copied.*cuMemHostRegister_v2" err &&
	same_run unpinned && none_left 2 &&
	with_card unpinned-fence 2 late=true overlap=fence fail=cuMemHostRegister_v2:1 fail_at=1 &&
	same_run unpinned-fence &&
	with_card unpinned-give 2 late=true give=true scribble=true fail=cuMemHostRegister_v2:1 \
		fail_at=1 && same_run unpinned-give
'
test_expect_success 'a copy that fails after the report fails the save, and the run can be resumed' '
	expect_status 1 with_card copy 2 overlap=fence fail=cuEventSynchronize:1 fail_at=3 fail_rank=1 &&
	grep "cuEventSynchronize.*CUDA_ERROR_ILLEGAL_ADDRESS" err &&
	test_path_is_missing runs/copy/checkpoint_000003.h5 && no_temporary runs/copy &&
	with_card copy 2 overlap=fence --resume && same_run copy
'
test_expect_success 'a copy that cannot be started does so, too' '
	expect_status 1 with_card start 2 overlap=fence fail=cuMemcpyDtoHAsync_v2:2 fail_at=3 \
		fail_rank=0 &&
	grep "tensor .model/rows.*cuMemcpyDtoHAsync_v2" err &&
	test_path_is_missing runs/start/checkpoint_000003.h5 && no_temporary runs/start &&
	with_card start 2 overlap=fence --resume && same_run start
'
test_expect_success 'a killed worker: the next attempt goes on from the checkpoint before' '
	more="--max-failures 1" && test_when_finished "more=" &&
	with_card killed 3 overlap=fence fail=kill fail_at=4 fail_rank=1 "fail_once=$PWD/once" &&
	grep "attempt 1: 3 workers" err &&
	grep "starting from .*checkpoint_00000[23].h5" err && same_run killed
'
test_expect_success 'a run that is killed at each iteration, with another number of workers each time' '
	resume= n=3 &&
	for at in 2 3 4 5; do
		expect_status 1 with_card storm $n $resume overlap=fence fail=kill fail_at=$at \
			fail_rank=$((n - 1)) || return 1
		resume=--resume n=$((n % 3 + 1))
	done &&
	with_card storm $n --resume overlap=fence &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/storm/checkpoint_000005.h5 &&
	no_process_left
'
test_done
