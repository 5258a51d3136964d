#!/bin/sh
test_description='a model in GPU memory is saved and restored, with a stand-in for the library of the driver'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/devices.sh"

# The stand-in is no CUDA (t/device/standin_cuda.c): these tests show that raytrain follows the
# rules of the library, not that it works with a GPU.
standins libcuda.so.1 empty/libnccl.so.2 || exit 1

train=$modules/device_model.so


test_expect_success 'a run on the host does not open the library' '
	run_on_devices calm 1 device=false && run_on_devices calm-large 1 device=false size=3000001 iterations=2 &&
	test_path_is_missing log
'
test_expect_success 'a model on GPUs is saved with the bits of one on the host' '
	run_on_devices first 3 &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/first/checkpoint_000005.h5 &&
	same_numbers runs/calm/checkpoint_000002.h5 runs/first/checkpoint_000002.h5 &&
	none_left 3
'
test_expect_success 'so it is while training waits for saves' '
	more="--set run_config.checkpoint_config.mode=sync" && rm log &&
	run_on_devices sync 2 && more= &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/sync/checkpoint_000005.h5 &&
	same_numbers runs/calm/checkpoint_000002.h5 runs/sync/checkpoint_000002.h5 &&
	none_left 2
'
test_expect_success 'a model that is larger than the pieces in which it is copied' '
	rm log && run_on_devices large 2 size=3000001 iterations=1 &&
	run_on_devices large 1 size=3000001 iterations=2 --resume &&
	same_numbers runs/calm-large/checkpoint_000002.h5 runs/large/checkpoint_000002.h5 &&
	none_left 3
'
test_expect_success 'GPU memory that is handed over is copied and given back' '
	rm log && run_on_devices give 2 give=true &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/give/checkpoint_000005.h5 &&
	more="--set run_config.checkpoint_config.mode=sync" &&
	run_on_devices give-sync 2 give=true && more= &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/give-sync/checkpoint_000005.h5 &&
	none_left 4
'
test_expect_success 'a killed worker: the next attempt has the same bits' '
	more="--max-failures 1" &&
	run_on_devices killed 3 fail=kill fail_at=4 fail_rank=1 "fail_once=$PWD/once" && more= &&
	grep "attempt 1: 3 workers" err && grep "starting from .*checkpoint_00000[23].h5" err &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/killed/checkpoint_000005.h5
'
test_expect_success 'a killed run is resumed by another number of workers, on the host and on GPUs' '
	expect_status 1 run_on_devices moved 3 fail=kill fail_at=4 fail_rank=2 &&
	test -f runs/moved/checkpoint_000002.h5 && cp -R runs/moved runs/moved-host &&
	run_on_devices moved 2 --resume &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/moved/checkpoint_000005.h5 &&
	run_on_devices moved-host 1 device=false --resume &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/moved-host/checkpoint_000005.h5 &&
	expect_status 1 run_on_devices back 2 device=false fail=kill fail_at=4 &&
	run_on_devices back 3 --resume &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/back/checkpoint_000005.h5
'
test_expect_success 'a run that is killed at each iteration, with another number of workers each time' '
	resume= n=3 &&
	for at in 2 3 4 5; do
		expect_status 1 run_on_devices storm $n $resume fail=kill fail_at=$at \
			fail_rank=$((n - 1)) || return 1
		resume=--resume n=$((n % 3 + 1))
	done &&
	run_on_devices storm $n --resume &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/storm/checkpoint_000005.h5 &&
	no_process_left
'
test_expect_success 'collectives of tensors on GPUs, and on the host, have the same bits' '
	run_on_devices collect-host 3 device=false collect=true && rm log &&
	run_on_devices collect 3 collect=true && none_left 3 &&
	same_model runs/collect-host/checkpoint_000005.h5 runs/collect/checkpoint_000005.h5 &&
	run_on_devices collect-mixed 3 collect=true mixed=true && none_left 5 &&
	same_model runs/collect-host/checkpoint_000005.h5 runs/collect-mixed/checkpoint_000005.h5 &&
	test_must_fail same_model runs/calm/checkpoint_000005.h5 runs/collect/checkpoint_000005.h5 &&
	run_on_devices collect-host-1 1 device=false collect=true && run_on_devices collect-1 1 collect=true &&
	same_model runs/collect-host-1/checkpoint_000005.h5 runs/collect-1/checkpoint_000005.h5
'
# The library in place of MPI is loaded before that of AddressSanitizer.
test_expect_success 'an MPI library that takes GPU memory gets it as it is' '
	rm log &&
	(
		LD_PRELOAD=$builddir/t/device/libdevicempi.so STANDIN_MPI_LOG=$PWD/direct &&
		ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 &&
		export LD_PRELOAD STANDIN_MPI_LOG ASAN_OPTIONS &&
		run_on_devices collect-direct 3 collect=true && test -s direct &&
		run_on_devices collect-half 3 collect=true mixed=true
	) && none_left 5 &&
	same_model runs/collect-host/checkpoint_000005.h5 runs/collect-direct/checkpoint_000005.h5 &&
	same_model runs/collect-host/checkpoint_000005.h5 runs/collect-half/checkpoint_000005.h5
'
# refused HOW STATUS PATTERN [FAIL-RANK [REPORTED]]: what FAIL-RANK puts (1; -1: all ranks put
# something) is refused with this exit status and message, of the rank REPORTED (1).
refused () {
	expect_status $2 run_on_devices "bad-$1" 2 fail=$1 fail_at=3 fail_rank=${4:-1} &&
	grep -e "$3" err && grep "rank ${5:-1}" err &&
	test -f "runs/bad-$1/checkpoint_000002.h5" &&
	test_path_is_missing "runs/bad-$1/checkpoint_000003.h5"
}
test_expect_success 'host memory, other GPUs and freed memory are refused at once' '
	refused host 3 "tensor .wrong.*is not memory of a CUDA GPU" &&
	refused other 3 "is memory of CUDA GPU 1, and device_id says 0" &&
	refused id 3 "there is no CUDA GPU 5: this process may use 2" &&
	refused freed 3 "tensor .wrong.*or was freed" &&
	cp -R runs/first runs/read &&
	expect_status 3 run_on_devices read 2 --resume iterations=6 fail=read fail_at=6 &&
	grep ".model/weight.: .*is not memory of a CUDA GPU" err &&
	refused mean 3 "raytrain_allreduce_tensor: .*is not memory of a CUDA GPU"
'
test_expect_success 'memory that is freed before the report fails the save, on every rank' '
	more="--set run_config.checkpoint_config.mode=sync" &&
	refused late 3 "rank 1.*tensor .wrong.*or was freed" -1 &&
	rm -r runs/bad-late && more= &&
	refused late 3 "rank 1.*tensor .wrong.*or was freed" -1
'
test_expect_success 'if a copy fails, earlier checkpoints stay, and the run can be resumed' '
	expect_status 1 run_on_devices copy 2 fail=cuMemcpyDtoHAsync_v2:1 fail_at=3 fail_rank=1 &&
	grep "cuMemcpyDtoHAsync_v2.*CUDA_ERROR_ILLEGAL_ADDRESS" err &&
	test_path_is_missing runs/copy/checkpoint_000003.h5 && no_temporary runs/copy &&
	run_on_devices copy 2 --resume &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/copy/checkpoint_000005.h5
'
test_expect_success 'a graph that is captured while a checkpoint is written is not spoiled' '
	rm log && run_on_devices capture 2 capture=true && none_left 2 &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/capture/checkpoint_000005.h5 &&
	run_on_devices capture-overlap 2 capture=true overlap=fence && none_left 4 &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/capture-overlap/checkpoint_000005.h5
'
test_expect_success 'a GPU may be reset as soon as the last report has returned' '
	rm log && run_on_devices reset 2 reset=true && none_left 2 &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/reset/checkpoint_000005.h5
'
test_expect_success 'a reset while copies are under way is a failure that says what to do' '
	expect_status 1 run_on_devices lost 2 reset=true overlap=fence late=true &&
	grep "was reset, as by cudaDeviceReset().*raytrain_checkpoint_wait()" err &&
	test -f runs/lost/checkpoint_000004.h5 &&
	test_path_is_missing runs/lost/checkpoint_000005.h5
'
# failed_kernel HOW [KEY=VALUE]...: a kernel of rank 1 fails in iteration 3, whose checkpoint is not published.
failed_kernel () {
	how=$1 && shift &&
	expect_status 1 run_on_devices $how 2 fail=$how fail_at=3 fail_rank=1 "$@" &&
	grep "rank 1.*CUDA_ERROR_ILLEGAL_ADDRESS.*a kernel of this process has failed" err &&
	test -f runs/$how/checkpoint_000002.h5 &&
	test_path_is_missing runs/$how/checkpoint_000003.h5
}
test_expect_success 'what a kernel that fails leaves behind is not saved' '
	failed_kernel fault iterations=3
'
test_expect_success 'a kernel that has failed is named by the next report, also without a checkpoint' '
	failed_kernel unseen &&
	test "$(tail -n 1 runs/unseen/result.json | jq .training_iteration)" = 2
'
test_expect_success 'a kernel that fails after the last report fails the run' '
	expect_status 1 run_on_devices end 2 fail=unseen fail_at=6 fail_rank=1 &&
	grep "rank 1.*CUDA_ERROR_ILLEGAL_ADDRESS.*a kernel of this process has failed" err
'
# The functions of the stand-in are those of CUDA by other names, so these show what is AMD's own.
test_expect_success 'GPUs of AMD: the same saves, restarts and collectives' '
	ln -s "$builddir/t/device/libamdhip64.so.6" standin/ && rm log &&
	run_on_devices hip 3 hip=true && none_left 3 &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/hip/checkpoint_000005.h5 &&
	run_on_devices hip-give 2 hip=true give=true && none_left 5 &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/hip-give/checkpoint_000005.h5 &&
	expect_status 1 run_on_devices hip-moved 3 hip=true fail=kill fail_at=4 fail_rank=2 &&
	run_on_devices hip-moved 2 hip=true --resume &&
	same_numbers runs/calm/checkpoint_000005.h5 runs/hip-moved/checkpoint_000005.h5 &&
	run_on_devices hip-collect 3 hip=true collect=true &&
	same_model runs/collect-host/checkpoint_000005.h5 runs/hip-collect/checkpoint_000005.h5
'
test_expect_success 'memory that is not that of the GPU is refused at once, for AMD, too' '
	test_when_finished "more=" && more="--set train_loop_config.hip=true" &&
	rm -rf runs/bad-* && refused host 3 "tensor .wrong.*is not memory of a HIP GPU" &&
	refused other 3 "is memory of HIP GPU 1, and device_id says 0" &&
	expect_status 1 run_on_devices hip-copy 2 fail=hipMemcpyAsync:1 fail_at=3 fail_rank=1 &&
	grep "hipMemcpyAsync.*hipErrorIllegalAddress" err
'
test_expect_success 'a driver that is too old is refused' '
	test_when_finished "unset STANDIN_CUDA_VERSION" &&
	STANDIN_CUDA_VERSION=10020 && export STANDIN_CUDA_VERSION &&
	expect_status 3 run_on_devices old 1 && grep "is for CUDA 10.2: update it" err
'
if "$PYTHON" -c "import ctypes; ctypes.CDLL(\"libcuda.so.1\")" 2>/dev/null; then
	test_set_prereq DRIVER
fi
test_expect_success !DRIVER 'without the library, a sentence names it' '
	rm standin/libcuda.so.1 &&
	expect_status 3 run_on_devices missing 1 device=false fail=host fail_at=1 &&
	grep "libcuda.so.1.*install the driver" err
'
test_done
