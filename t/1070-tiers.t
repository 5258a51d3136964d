#!/bin/sh
test_description='checkpoints in memory and on staging disks, before they are on storage

With replicas = 1 they are kept in /dev/shm, with staging_path on a local disk. Crashes and
errors at each step of saving there and of moving to storage.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

memory="--set run_config.checkpoint_config.replicas=1"
staging="--set run_config.sync_config.staging_path=stage"
sync="--set run_config.checkpoint_config.mode=sync"
run="raytrain-run --launcher local --storage runs -n 2"
train=$modules/train_model.so

# in_memory RUN: print the directory of its images.
in_memory () {
	echo "/dev/shm/raytrain-$(id -u)-$(cut -d" " -f1 "runs/$1/.id")"
}
nothing_left () {
	test_path_is_missing "$(in_memory "$1")" &&
	no_temporary "runs/$1"
}
# same_end RUN: it ended like an undisturbed run, without leftovers.
same_end () {
	test "$(model_of "runs/$1/checkpoint_000005.h5")" = "$calm" && nothing_left "$1" &&
	for f in "runs/$1"/checkpoint_*; do
		raytrain-inspect --verify "$f" >verify.out || return 1
	done
}
staged () {
	find stage -name "checkpoint_*" 2>/dev/null
}
# worker RUN RANK: print its process id.
worker () {
	for p in $(worker_pids "$1"); do
		! grep -qz "^PMIX_RANK=$2\$" /proc/$p/environ || echo $p
	done
}

test_expect_success 'an undisturbed run finishes, for comparison' '
	$run --name calm "$train" 2>err && calm=$(model_of runs/calm/checkpoint_000005.h5) &&
	test -n "$calm"
'
for tier in memory staging both; do
	case $tier in
	memory) with=$memory ;;
	staging) with=$staging ;;
	both) with="$memory $staging" ;;
	esac
	test_expect_success "$tier: all checkpoints are moved to storage and nothing is left" '
		$run --name $tier $with "$train" 2>err && same_end $tier &&
		test "$(ls runs/$tier | grep -c ^checkpoint_)" -eq 5 && test -z "$(staged)"

	'
	test_expect_success "$tier: --keep applies" '
		$run --name $tier-keep $with --keep 2 "$train" 2>err && same_end $tier-keep &&
		test "$(ls runs/$tier-keep | grep -c ^checkpoint_)" -eq 2
	'
done
test_expect_success 'a restart after a killed worker takes the state from memory' '
	start_run $run --name killed $memory $sync --max-failures 1 && rm runs/killed/checkpoint_* &&
	kill -KILL "$(worker killed 1)" && eventually grep "taken from memory" err &&
	: >gate && wait $pid && grep "iteration 2 is taken from memory" err &&
	test_path_is_missing runs/killed/checkpoint_000001.h5 && same_end killed &&
	test -e runs/killed/checkpoint_000002.h5
'
test_expect_success 'a damaged copy in memory is not used' '
	start_run $run --name damaged $memory $sync --max-failures 1 &&
	printf x | dd of="$(in_memory damaged)/checkpoint_000002.h5" bs=1 seek=12000 \
		conv=notrunc 2>/dev/null &&
	kill -KILL "$(worker damaged 0)" && eventually grep "starting from" err &&
	: >gate && wait $pid && grep "in memory is passed over" err &&
	grep "starting from .*runs/damaged/checkpoint_000002.h5" err && same_end damaged
'
test_expect_success 'a stopped run leaves nothing in memory' '
	start_run $run --name stopped $memory $staging && kill -INT $pid &&
	eventually grep -q "stopping at the next report" err && : >gate &&
	expect_status 75 wait $pid && nothing_left stopped && test -z "$(staged)" &&
	test -e runs/stopped/checkpoint_000003.h5
'
test_expect_success 'a failed run leaves nothing in memory' '
	expect_status 1 $run --name failed $memory --set train_loop_config.fail=kill \
		"$train" 2>err && test_path_is_missing "$(in_memory failed)"
'
test_expect_success 'a staging directory of another owner or mode is refused' '
	mkdir -p stage && $run --name foreign $staging "$train" 2>err &&
	id=$(cut -d" " -f1 runs/foreign/.id) && rm runs/foreign/result.h5 &&
	mkdir "stage/raytrain-$(id -u)-$id" && chmod 755 "stage/raytrain-$(id -u)-$id" &&
	expect_status 5 $run --name foreign --resume $staging "$train" 2>err &&
	grep "closed to others" err && rm -r stage
'

has_fault_points || test_done

# POINT RANKS WRITE: the ranks that reach the point; "write" if an error of the system call
# fails the run. "-": not on the way of a checkpoint; those of room are tested below, those
# of several nodes in t/1170-slurm-tiers.t.
cat >points <<\END
image.begin all write
image.data all write
image.metadata all write
image.synced all write
image.complete all -
image.room - -
image.copies - -
image.assemble - -
assemble.room - -
file.create 0 write
file.reserve 0 write
file.join - -
move.data all write
move.metadata 0 write
file.sync 0 write
file.rename 0 write
file.directory 0 write
move.end all -
END
test_expect_success 'the table lists all fault points of images' '
	points_are_those_of "$srcdir"/src/common/replica/*.c \
		"$srcdir/src/common/checkpoint/new_file.c"
'
test_expect_success 'a run without room in memory is refused with the numbers' '
	RAYTRAIN_FAULT=image.room:0:enospc expect_status 4 $run --name room $memory "$train" 2>err &&
	grep "must fit in twice, and /dev/shm/.* has .* left" err && nothing_left room
'
test_expect_success 'a run without room in the staging directory is refused' '
	RAYTRAIN_FAULT=image.room:0:enospc expect_status 5 $run --name room2 $staging "$train" 2>err &&
	grep "staging_path" err && nothing_left room2
'
# Each point is tested in the first save of a new run, which is then resumed.
while read -r point ranks write; do
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "a run with rank $rank killed at $point is resumed" '
			rm -rf runs/case && RAYTRAIN_FAULT=$point:$rank:kill expect_status 1 \
				$run --name case $memory $staging "$train" 2>err &&
			grep "signal 9" err && test_path_is_missing "$(in_memory case)" &&
			$run --name case --resume $memory $staging "$train" 2>err && same_end case &&
			test -z "$(staged)"
		'
	done
	if test "$write" = write; then
		test_expect_success "a run with no space at $point is resumed" '
			rm -rf runs/case && RAYTRAIN_FAULT=$point:0:enospc expect_status 5 \
				$run --name case $memory $staging "$train" 2>err &&
			grep -i "no space" err && nothing_left case &&
			$run --name case --resume $memory $staging "$train" 2>err && same_end case &&
			test -z "$(staged)"
		'
	fi
done <points
test_expect_success 'a staged checkpoint of a killed run is moved first by the next start' '
	rm -rf runs/case && RAYTRAIN_FAULT=move.data:1:kill expect_status 1 \
		$run --name case $sync $staging "$train" 2>err &&
	test_path_is_missing runs/case/checkpoint_000001.h5 && test -n "$(staged)" &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "the staged checkpoint of iteration 1 is on storage now" err &&
	grep "starting from .*runs/case/checkpoint_00000[1-5].h5" err && same_end case &&
	test -z "$(staged)"
'
# staged_until POINT RANK: start a run that is killed there while its first checkpoint is moved
# to storage, before there is a second one.
staged_until () {
	rm -rf runs/case stage && RAYTRAIN_FAULT=$1:$2:kill expect_status 1 \
		$run --name case $sync $staging --set train_loop_config.ready_at=1 \
		--set train_loop_config.gate=closed "$train" 2>err
}
# staged_only: the same, with the checkpoint staged, as $image, and nothing on storage.
staged_only () {
	staged_until move.data 1 &&
	image=$(staged | grep "1.h5$") && test_path_is_missing runs/case/checkpoint_000001.h5
}
# byte_put FILE BYTE: overwrite a byte that belongs to a tensor.
byte_put () {
	printf "$2" | dd of="$1" bs=1 seek=12000 conv=notrunc 2>/dev/null
}
test_expect_success 'an unusable staged checkpoint stays until storage has one as new' '
	staged_only && byte=$(od -An -to1 -j12000 -N1 "$image" | tr -d " ") &&
	byte_put "$image" y && RAYTRAIN_FAULT=save.begin:0:kill expect_status 1 \
		$run --name case --resume $staging "$train" 2>err &&
	grep "iteration 1 in the staging area is passed over" err && test -e "$image" &&
	cp -r runs/case whole.run && cp -r stage whole.stage &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "passed over" err && same_end case && test -z "$(staged)" &&
	rm -r runs/case && mv whole.run runs/case && rm -rf stage && mv whole.stage stage &&
	byte_put "$image" "\\$byte" && $run --name case --resume $staging "$train" 2>err &&
	grep "the staged checkpoint of iteration 1 is on storage now" err && same_end case &&
	test -z "$(staged)"
'
test_expect_success 'a node that does not see the new file is reported, and nothing staged is lost' '
	staged_only && RAYTRAIN_FAULT=file.join:all:enoent expect_status 5 \
		$run --name case --resume $staging "$train" 2>err &&
	grep "does not see the file that rank 0 has created" err && test -e "$image" &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "the staged checkpoint of iteration 1 is on storage now" err && same_end case
'
test_expect_success 'a checkpoint that is damaged on storage is moved again from staging' '
	staged_until move.end 0 && test -e runs/case/checkpoint_000001.h5 && test -n "$(staged)" &&
	byte_put runs/case/checkpoint_000001.h5 y &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "starting from .*runs/case/checkpoint_000001.h5" err && same_end case
'
for damage in missing damaged; do
	test_expect_success "without room to restore in memory, and with $damage storage, the state goes through storage" '
		RAYTRAIN_FAULT=assemble.room:0:enospc start_run $run --name whole-$damage \
			$memory $sync --max-failures 1 &&
		if test $damage = damaged
		then byte_put runs/whole-$damage/checkpoint_000002.h5 y
		else rm runs/whole-$damage/checkpoint_*
		fi &&
		kill -KILL "$(worker whole-$damage 1)" && eventually grep "starting from" err &&
		: >gate && wait $pid && grep "is written to storage, and restored from there" err &&
		grep "starting from .*runs/whole-$damage/checkpoint_000002.h5" err &&
		rm -f runs/whole-$damage/*.damaged && same_end whole-$damage
	'
done
# There is no more room, or the images cannot be written any more.
for point in image.room image.data; do
	test_expect_success "after $point fails, checkpoints go to storage with one warning" '
		rm -rf runs/case stage && start_run $run --name case $memory $staging &&
		kill -INT $pid && eventually grep -q "stopping at the next report" err &&
		: >gate && expect_status 75 wait $pid &&
		RAYTRAIN_FAULT=$point:0:enospc $run --name case --resume $memory $staging \
			"$train" 2>err &&
		test 1 -eq "$(grep -c "saved without copies in memory" err)" &&
		test 1 -eq "$(grep -c "saved straight to storage" err)" && same_end case
	'
done
test_expect_success 'a run continues from an older checkpoint after its staging directory is lost' '
	rm -rf runs/case && RAYTRAIN_FAULT=move.data:1:kill expect_status 1 \
		$run --name case $sync $staging "$train" 2>err &&
	rm -r stage && $run --name case --resume $staging "$train" 2>err && same_end case
'
test_done
