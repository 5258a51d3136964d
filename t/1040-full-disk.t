#!/bin/sh
# In a mount namespace of its own: nobody else sees the small disks, and they go with
# the last process.
if test -z "$own_mounts" && unshare -m true 2>/dev/null; then
	own_mounts=yes
	export own_mounts
	exec unshare -m sh "$0" "$@"
fi
test_description='a disk that is really full, and limits on file sizes'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local -n 2"
train=$modules/train_model.so
ulimit -c 0

# disk_new NAME SIZE
disk_new () {
	mkdir "$1" && mount -t tmpfs -o "size=$2" none "$PWD/$1"
}
if test -n "$own_mounts" && disk_new probe 64k 2>/dev/null; then
	umount "$PWD/probe"
	test_set_prereq DISK
else
	say 'skipped what needs a full disk: it takes root, to mount a small one'
fi

test_expect_success 'undisturbed runs, with a model of 800 KB and of 8 KB' '
	$run --storage runs --name calm --set train_loop_config.size=100000 "$train" 2>err &&
	$run --storage runs --name small "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000005.h5) &&
	small=$(model_of runs/small/checkpoint_000005.h5) && test -n "$calm$small"
'
big="$run --storage disk --name r --set train_loop_config.size=100000"
test_expect_success DISK 'a checkpoint that does not fit: status 5, and what to do' '
	disk_new disk 3m &&
	expect_status 5 $big --max-failures 1 "$train" 2>err && ! grep "restart 1" err &&
	grep "/disk/r/checkpoint_000004.h5: No space left on device: free space" err &&
	test "$(ls disk/r | grep -c ^checkpoint_)" -eq 3 && no_temporary disk &&
	raytrain-inspect --verify disk/r >inspect.out && cksum disk/r/checkpoint_* >sums
'
test_expect_success DISK 'to try again without a remedy fails as well, and loses nothing' '
	expect_status 5 $big --resume "$train" 2>err &&
	grep "/disk/r/checkpoint_000004.h5: No space left" err &&
	cksum disk/r/checkpoint_* >sums.now && test_cmp sums sums.now
'
test_expect_success DISK 'after space is made, --resume goes on' '
	mount -o remount,size=16m "$PWD/disk" && $big --resume "$train" 2>err &&
	test "$(model_of disk/r/checkpoint_000005.h5)" = "$calm" && no_temporary disk
'
tiny="$run --storage brim --name r"
test_expect_success DISK 'not one block left, also not for the record of the failure' '
	disk_new brim 2m && rm -f ready gate &&
	{
		$tiny --set "train_loop_config.ready=\"$PWD/ready\"" \
			--set "train_loop_config.gate=\"$PWD/gate\"" "$train" 2>err &
	} &&
	pid=$! && eventually test -e ready &&
	eventually test -e brim/r/checkpoint_000002.h5 && cksum brim/r/checkpoint_* >sums &&
	{ dd if=/dev/zero of=brim/ballast bs=4k 2>/dev/null || :; } &&
	: >gate && expect_status 5 wait $pid &&
	grep "/brim/r/.*No space left on device: free space" err &&
	cksum brim/r/checkpoint_* >sums.now && test_cmp sums sums.now
'
test_expect_success DISK 'and once there are some, --resume goes on' '
	rm brim/ballast && $tiny --resume "$train" 2>err &&
	test "$(model_of brim/r/checkpoint_000005.h5)" = "$small" &&
	raytrain-inspect --verify brim/r >inspect.out && no_temporary brim
'

# A pipe, because the limit would hold for a file of messages, too.
test_expect_success DISK 'a place that cannot be written to: status 5, and nothing starts' '
	disk_new fixed 64k && mount -o remount,ro "$PWD/fixed" &&
	expect_status 5 $run --storage fixed --name r "$train" 2>err &&
	grep "/fixed/r: Read-only file system" err && ! grep "attempt 0" err
'
test_expect_success 'ulimit -f: a worker that may not write so much says so' '
	{
		(ulimit -f 32768 && $run --storage runs --name limit \
			--set train_loop_config.size=3000000 "$train" 2>&1)
		echo $? >status
	} | cat >err &&
	test "$(cat status)" -eq 5 &&
	grep "limit/checkpoint_000001.h5: File too large: raise the limit" err &&
	no_temporary runs/limit
'
test_expect_success 'ulimit -f: neither does raytrain-run die of it' '
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
