#!/bin/sh
test_description='death, a full disk and I/O errors at every step of a save lose nothing

One run with two checkpoints is the base. Each case copies it, goes on with it while one
fault point (src/common/util/fault.h) is armed, looks at what is there, and resumes.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher local --storage runs -n 2 --keep 2"
train=$modules/train_model.so
three="--set train_loop_config.iterations=3"
fault_points_needed

# POINT RANKS WRITE ASYNC SYNC: the ranks that come by; write, where an error of the
# system call fails the run; and for either mode, the checkpoint of iteration 1 stays, or
# retention has deleted it, or may have (rank 0 goes on when another one dies); "-" where
# that mode does not come by.
cat >points <<\END
save.begin all write stays stays
save.snapshot all - stays -
file.create 0 write stays stays
file.reserve 0 write stays stays
file.join 0 - stays stays
layout.head 0 write stays stays
save.data all write stays stays
save.sync all write stays stays
save.synced all write stays stays
save.hashed all - stays stays
publish.metadata 0 write stays stays
publish.mark 0 write stays stays
file.sync 0 write stays stays
file.rename 0 write stays stays
file.directory 0 write stays stays
save.end all - either either
report.line 0 write stays gone
report.written 0 - stays gone
retention.delete 0 - stays stays
retention.deleted 0 - gone gone
END

# earlier_intact RUN STAYS: byte for byte what the base has.
earlier_intact () {
	cmp runs/base/checkpoint_000002.h5 "$1/checkpoint_000002.h5" || return 1
	if test "$2" = gone || { test "$2" = either && ! test -e "$1/checkpoint_000001.h5"; }; then
		test_path_is_missing "$1/checkpoint_000001.h5"
	else
		cmp runs/base/checkpoint_000001.h5 "$1/checkpoint_000001.h5"
	fi
}
# all_final_valid RUN: whatever has a final name is complete, down to its last byte.
all_final_valid () {
	for f in "$1"/checkpoint_*; do
		raytrain-inspect --verify "$f" >verify.out 2>&1 || { cat verify.out; return 1; }
	done
}
# resumes RUN: to the end, with the model of an undisturbed run, and tidy.
resumes () {
	$run --name "$1" --resume $three "$train" 2>err || { cat err; return 1; }
	test "$(model_of "runs/$1/checkpoint_000003.h5")" = "$calm" &&
	cmp runs/base/checkpoint_000002.h5 "runs/$1/checkpoint_000002.h5" &&
	test "$(ls "runs/$1" | grep -c ^checkpoint_)" -eq 2 &&
	all_final_valid "runs/$1" && no_temporary "runs/$1" &&
	test "$(jq -s "map(.training_iteration) | unique | length" "runs/$1/result.json")" -eq 3
}
# with_fault POINT RANK ACTION STATUS: the case's run, up to the fault.
with_fault () {
	rm -rf runs/case && cp -r runs/base runs/case && rm runs/case/result.h5 &&
	RAYTRAIN_FAULT=$1:$2:$3 expect_status "$4" \
		$run --name case --resume $mode $three "$train" 2>err
}

# point_test MODE POINT: with $ranks, $write and $stays of the point's row.
point_test () {
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "$1: rank $rank killed at $point" '
			with_fault $point $rank kill 1 && grep "signal 9" err &&
			earlier_intact runs/case $stays && all_final_valid runs/case &&
			resumes case
		'
	done
	test_expect_success "$1: all killed at $point" '
		with_fault $point 0 killall 137 && eventually no_process_left &&
		earlier_intact runs/case $stays && all_final_valid runs/case &&
		resumes case
	'
	test "$write" = write || return 0
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "$1: no space for rank $rank at $point" '
			with_fault $point $rank enospc 5 &&
			grep "rank $rank[ :].*runs/case/.*No space left on device: free space" err &&
			earlier_intact runs/case $stays && all_final_valid runs/case &&
			no_temporary runs/case
		'
	done
	test_expect_success "$1: an I/O error at $point" '
		with_fault $point $rank eio 5 &&
		grep "runs/case/.*Input/output error: the disk or" err &&
		earlier_intact runs/case $stays && all_final_valid runs/case &&
		no_temporary runs/case && resumes case
	'
}

test_expect_success 'the list of points is that of the store' '
	points_are_those_of "$srcdir"/src/common/checkpoint/*.c "$srcdir"/src/common/run/*.c
'
test_expect_success 'the base, and an undisturbed run' '
	$run --name base --set train_loop_config.iterations=2 "$train" 2>err &&
	$run --name calm $three "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000003.h5) && test -n "$calm"
'
mode=
test_expect_success 'a point that nobody comes by changes nothing' '
	with_fault no.point all kill 0 && resumes case
'
for how in async sync; do
	mode="--set run_config.checkpoint_config.mode=$how"
	while read -r point ranks write async sync; do
		eval "stays=\$$how"
		test "$stays" = - || point_test $how $point
	done <points
done

test_expect_success 'a deletion that fails is told, and no error' '
	with_fault retention.delete 0 eio 0 &&
	grep "checkpoint_000001.h5: Input/output error" err &&
	earlier_intact runs/case stays && all_final_valid runs/case
'
test_done
