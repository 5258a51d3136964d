#!/bin/sh
test_description='checkpoints in memory and staged, before they are on storage

replicas = 1 keeps them in /dev/shm, staging_path on a local disk. Death and errors at each
step of saving there and of moving on to storage.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

memory="--set run_config.checkpoint_config.replicas=1"
staging="--set run_config.sync_config.staging_path=stage"
sync="--set run_config.checkpoint_config.mode=sync"
run="raytrain-run --launcher local --storage runs -n 2"
train=$modules/train_model.so

# in_memory RUN: the directory of its images.
in_memory () {
	echo "/dev/shm/raytrain-$(id -u)-$(cut -d" " -f1 "runs/$1/.id")"
}
nothing_left () {
	test_path_is_missing "$(in_memory "$1")" &&
	no_temporary "runs/$1"
}
# same_end RUN: it came to the end of an undisturbed run, tidily.
same_end () {
	test "$(model_of "runs/$1/checkpoint_000005.h5")" = "$calm" && nothing_left "$1" &&
	for f in "runs/$1"/checkpoint_*; do
		raytrain-inspect --verify "$f" >verify.out || return 1
	done
}
staged () {
	find stage -name "checkpoint_*" 2>/dev/null
}
# worker RUN RANK: its process id.
worker () {
	for p in $(worker_pids "$1"); do
		! grep -qz "^PMIX_RANK=$2\$" /proc/$p/environ || echo $p
	done
}

test_expect_success 'an undisturbed run' '
	$run --name calm "$train" 2>err && calm=$(model_of runs/calm/checkpoint_000005.h5) &&
	test -n "$calm"
'
for tier in memory staging both; do
	case $tier in
	memory) with=$memory ;;
	staging) with=$staging ;;
	both) with="$memory $staging" ;;
	esac
	test_expect_success "$tier: everything comes to storage, and nothing stays" '
		$run --name $tier $with "$train" 2>err && same_end $tier &&
		test "$(ls runs/$tier | grep -c ^checkpoint_)" -eq 5 && test -z "$(staged)"

	'
	test_expect_success "$tier: retention goes on" '
		$run --name $tier-keep $with --keep 2 "$train" 2>err && same_end $tier-keep &&
		test "$(ls runs/$tier-keep | grep -c ^checkpoint_)" -eq 2
	'
done
test_expect_success 'a worker is killed: the restart takes the state from memory, not from storage' '
	start_run $run --name killed $memory $sync --max-failures 1 && rm runs/killed/checkpoint_* &&
	kill -KILL "$(worker killed 1)" && eventually grep "taken from memory" err &&
	: >gate && wait $pid && grep "iteration 2 is taken from memory" err &&
	test_path_is_missing runs/killed/checkpoint_000001.h5 && same_end killed &&
	test -e runs/killed/checkpoint_000002.h5
'
test_expect_success 'what is damaged in memory is not taken' '
	start_run $run --name damaged $memory $sync --max-failures 1 &&
	printf x | dd of="$(in_memory damaged)/checkpoint_000002.h5" bs=1 seek=12000 \
		conv=notrunc 2>/dev/null &&
	kill -KILL "$(worker damaged 0)" && eventually grep "starting from" err &&
	: >gate && wait $pid && grep "in memory is passed over" err &&
	grep "starting from .*runs/damaged/checkpoint_000002.h5" err && same_end damaged
'
test_expect_success 'a request to stop leaves nothing in memory' '
	start_run $run --name stopped $memory $staging && kill -INT $pid &&
	eventually grep -q "stopping at the next report" err && : >gate &&
	expect_status 75 wait $pid && nothing_left stopped && test -z "$(staged)" &&
	test -e runs/stopped/checkpoint_000003.h5
'
test_expect_success 'nor does a run that has failed for good' '
	expect_status 1 $run --name failed $memory --set train_loop_config.fail=kill \
		"$train" 2>err && test_path_is_missing "$(in_memory failed)"
'
test_expect_success 'a directory that is not ours is refused' '
	mkdir -p stage && $run --name foreign $staging "$train" 2>err &&
	id=$(cut -d" " -f1 runs/foreign/.id) && rm runs/foreign/result.h5 &&
	mkdir "stage/raytrain-$(id -u)-$id" && chmod 755 "stage/raytrain-$(id -u)-$id" &&
	expect_status 5 $run --name foreign --resume $staging "$train" 2>err &&
	grep "closed to others" err && rm -r stage
'

has_fault_points || test_done

# POINT RANKS WRITE: the ranks that come by; write, where an error of the system call fails
# the run. "-": no checkpoint on its way; that of room is tried below, those of several
# nodes in t/1170-slurm-tiers.t.
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
test_expect_success 'the list of points is that of the store' '
	points_are_those_of "$srcdir"/src/common/replica/*.c \
		"$srcdir/src/common/checkpoint/new_file.c"
'
test_expect_success 'no room in memory: refused with numbers' '
	RAYTRAIN_FAULT=image.room:0:enospc expect_status 4 $run --name room $memory "$train" 2>err &&
	grep "must fit in twice, and /dev/shm/.* has .* left" err && nothing_left room
'
test_expect_success 'no room in the staging area, although all is moved: storage' '
	RAYTRAIN_FAULT=image.room:0:enospc expect_status 5 $run --name room2 $staging "$train" 2>err &&
	grep "staging_path" err && nothing_left room2
'
# The first save of the first attempt of a run that has none; what is staged is found.
while read -r point ranks write; do
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "rank $rank killed at $point, and resumed" '
			rm -rf runs/case && RAYTRAIN_FAULT=$point:$rank:kill expect_status 1 \
				$run --name case $memory $staging "$train" 2>err &&
			grep "signal 9" err && test_path_is_missing "$(in_memory case)" &&
			$run --name case --resume $memory $staging "$train" 2>err && same_end case &&
			test -z "$(staged)"
		'
	done
	if test "$write" = write; then
		test_expect_success "no space at $point, and resumed" '
			rm -rf runs/case && RAYTRAIN_FAULT=$point:0:enospc expect_status 5 \
				$run --name case $memory $staging "$train" 2>err &&
			grep -i "no space" err && nothing_left case &&
			$run --name case --resume $memory $staging "$train" 2>err && same_end case &&
			test -z "$(staged)"
		'
	fi
done <points
test_expect_success 'killed between staged and moved: the next start moves it first' '
	rm -rf runs/case && RAYTRAIN_FAULT=move.data:1:kill expect_status 1 \
		$run --name case $sync $staging "$train" 2>err &&
	test_path_is_missing runs/case/checkpoint_000001.h5 && test -n "$(staged)" &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "the staged checkpoint of iteration 1 is on storage now" err &&
	grep "starting from .*runs/case/checkpoint_00000[1-5].h5" err && same_end case &&
	test -z "$(staged)"
'
# staged_until POINT RANK: a run that died there on the way of iteration 1 to storage,
# before it came to a second one.
staged_until () {
	rm -rf runs/case stage && RAYTRAIN_FAULT=$1:$2:kill expect_status 1 \
		$run --name case $sync $staging --set train_loop_config.ready_at=1 \
		--set train_loop_config.gate=closed "$train" 2>err
}
# staged_only: it is staged, and nothing is on storage.
staged_only () {
	staged_until move.data 1 &&
	image=$(staged | grep "1.h5$") && test_path_is_missing runs/case/checkpoint_000001.h5
}
# byte_put FILE BYTE: at a place that belongs to a tensor.
byte_put () {
	printf "$2" | dd of="$1" bs=1 seek=12000 conv=notrunc 2>/dev/null
}
test_expect_success 'what cannot be used now stays until storage has a checkpoint as new' '
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
test_expect_success 'a node that does not see the new file says so, and nothing staged is lost' '
	staged_only && RAYTRAIN_FAULT=file.join:all:enoent expect_status 5 \
		$run --name case --resume $staging "$train" 2>err &&
	grep "does not see the file that rank 0 has made" err && test -e "$image" &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "the staged checkpoint of iteration 1 is on storage now" err && same_end case
'
test_expect_success 'a checkpoint is damaged on storage: it is moved again from where it is staged' '
	staged_until move.end 0 && test -e runs/case/checkpoint_000001.h5 && test -n "$(staged)" &&
	byte_put runs/case/checkpoint_000001.h5 y &&
	$run --name case --resume $staging "$train" 2>err &&
	grep "starting from .*runs/case/checkpoint_000001.h5" err && same_end case
'
for damage in missing damaged; do
	test_expect_success "no room to restore in memory, storage's is $damage: by way of storage" '
		RAYTRAIN_FAULT=assemble.room:0:enospc start_run $run --name whole-$damage \
			$memory $sync --max-failures 1 &&
		if test $damage = damaged
		then byte_put runs/whole-$damage/checkpoint_000002.h5 y
		else rm runs/whole-$damage/checkpoint_*
		fi &&
		kill -KILL "$(worker whole-$damage 1)" && eventually grep "starting from" err &&
		: >gate && wait $pid && grep "goes to storage to be restored" err &&
		grep "starting from .*runs/whole-$damage/checkpoint_000002.h5" err &&
		rm -f runs/whole-$damage/*.damaged && same_end whole-$damage
	'
done
# No room from now on, and a tier that cannot be written.
for point in image.room image.data; do
	test_expect_success "$point fails later in a run: storage takes the checkpoints, one warning" '
		rm -rf runs/case stage && start_run $run --name case $memory $staging &&
		kill -INT $pid && eventually grep -q "stopping at the next report" err &&
		: >gate && expect_status 75 wait $pid &&
		RAYTRAIN_FAULT=$point:0:enospc $run --name case --resume $memory $staging \
			"$train" 2>err &&
		test 1 -eq "$(grep -c "saved without copies in memory" err)" &&
		test 1 -eq "$(grep -c "saved straight to storage" err)" && same_end case
	'
done
test_expect_success 'a lost staging area is not an error, only older' '
	rm -rf runs/case && RAYTRAIN_FAULT=move.data:1:kill expect_status 1 \
		$run --name case $sync $staging "$train" 2>err &&
	rm -r stage && $run --name case --resume $staging "$train" 2>err && same_end case
'
test_done
