#!/bin/sh
# The script runs in a private mount namespace: the small disks are not visible outside, and
# they disappear with its last process.
if test -z "$own_mounts" && unshare -m true 2>/dev/null; then
	own_mounts=yes
	export own_mounts
	exec unshare -m sh "$0" "$@"
fi
test_description='really full disks, and limits on file sizes'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local -n 2"
train=$modules/train_model.so
ulimit -c 0

# disk_new NAME SIZE: mount a small disk on this directory.
disk_new () {
	mkdir "$1" && mount -t tmpfs -o "size=$2" none "$PWD/$1"
}
if test -n "$own_mounts" && disk_new probe 64k 2>/dev/null; then
	umount "$PWD/probe"
	test_set_prereq DISK
else
	say 'tests that need a full disk are skipped: mounting a small one requires root'
fi

test_expect_success 'undisturbed runs with models of 800 KB and 8 KB finish, for comparison' '
	$run --storage runs --name calm --set train_loop_config.size=100000 "$train" 2>err &&
	$run --storage runs --name small "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000005.h5) &&
	small=$(model_of runs/small/checkpoint_000005.h5) && test -n "$calm$small"
'
big="$run --storage disk --name r --set train_loop_config.size=100000"
test_expect_success DISK 'a checkpoint that does not fit ends the run with status 5 and advice' '
	disk_new disk 3m &&
	expect_status 5 $big --max-failures 1 "$train" 2>err && ! grep "restart 1" err &&
	grep "/disk/r/checkpoint_000004.h5: No space left on device: free space" err &&
	test "$(ls disk/r | grep -c ^checkpoint_)" -eq 3 && no_temporary disk &&
	raytrain-inspect --verify disk/r >inspect.out && cksum disk/r/checkpoint_* >sums
'
test_expect_success DISK 'resuming with the disk still full fails and loses nothing' '
	expect_status 5 $big --resume "$train" 2>err &&
	grep "/disk/r/checkpoint_000004.h5: No space left" err &&
	cksum disk/r/checkpoint_* >sums.now && test_cmp sums sums.now
'
test_expect_success DISK '--resume continues after space was freed' '
	mount -o remount,size=16m "$PWD/disk" && $big --resume "$train" 2>err &&
	test "$(model_of disk/r/checkpoint_000005.h5)" = "$calm" && no_temporary disk
'
test_expect_success DISK 'a full directory for temporary files is named, with TMPDIR' '
	disk_new temporary 64k && { dd if=/dev/zero of=temporary/ballast bs=4k 2>/dev/null || :; } &&
	TMPDIR=$PWD/temporary expect_status 5 $run --storage runs --name temporary "$train" \
		2>err &&
	grep "/temporary/.*No space left on device: free space .*TMPDIR" err &&
	! grep -e --storage err
'
# With other libraries MPI may start in less.
ldd "$stage/lib/libraytrain.so" | grep -q libucp && test_set_prereq UCX
test_expect_success DISK,UCX 'a /dev/shm that is too small for MPI is named, with what to do' '
	mount -t tmpfs -o size=1m none /dev/shm &&
	test_when_finished "umount /dev/shm" &&
	expect_status 1 $run --storage runs --name shm "$train" 2>err &&
	grep "MPI could not start, and /dev/shm has only .* MiB left" err &&
	UCX_TLS=^posix $run --storage runs --name posix "$train" 2>err
'
tiny="$run --storage brim --name r"
test_expect_success DISK 'a run fails cleanly with no block left even for the failure record' '
	disk_new brim 2m && rm -f ready gate &&
	{
		$tiny --set "train_loop_config.ready=$PWD/ready" \
			--set "train_loop_config.gate=$PWD/gate" "$train" 2>err &
	} &&
	pid=$! && eventually test -e ready &&
	eventually test -e brim/r/checkpoint_000002.h5 && cksum brim/r/checkpoint_* >sums &&
	{ dd if=/dev/zero of=brim/ballast bs=4k 2>/dev/null || :; } &&
	: >gate && expect_status 5 wait $pid &&
	grep "/brim/r/.*No space left on device: free space" err &&
	cksum brim/r/checkpoint_* >sums.now && test_cmp sums sums.now
'
test_expect_success DISK 'a run that had no block left continues after space was freed' '
	rm brim/ballast && $tiny --resume "$train" 2>err &&
	test "$(model_of brim/r/checkpoint_000005.h5)" = "$small" &&
	raytrain-inspect --verify brim/r >inspect.out && no_temporary brim
'

test_expect_success DISK 'a read-only storage path is refused with status 5 before anything starts' '
	disk_new fixed 64k && mount -o remount,ro "$PWD/fixed" &&
	expect_status 5 $run --storage fixed --name r "$train" 2>err &&
	grep "/fixed/r: Read-only file system" err && ! grep "attempt 0" err
'
# Messages go to a pipe, because the limit would also apply to a file.
test_expect_success 'a worker over the file size limit (ulimit -f) reports it' '
	{
		(ulimit -f 32768 && $run --storage runs --name limit \
			--set train_loop_config.size=3000000 "$train" 2>&1)
		echo $? >status
	} | cat >err &&
	test "$(cat status)" -eq 5 &&
	grep "limit/checkpoint_000001.h5: File too large: raise the limit" err &&
	no_temporary runs/limit
'
test_expect_success 'raytrain-run itself survives the file size limit (ulimit -f)' '
	{
		(ulimit -f 0 && $run --storage runs --name nothing "$train" 2>&1)
		echo $? >status
	} | cat >err &&
	test "$(cat status)" -eq 5 && grep "File too large: raise the limit" err
'
for disk in disk brim; do
	umount "$PWD/$disk" 2>/dev/null
done
test_done
