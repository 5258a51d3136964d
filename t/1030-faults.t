#!/bin/sh
test_description='crashes, a full disk and I/O errors at each step of a save lose nothing

The base is a run with two checkpoints. Each case copies it, continues the copy with one fault
point (src/common/util/fault.h) armed, checks what is left, and resumes it. With FAULTS_ONCE, as
with sanitizers, of several ranks one is killed, and what differs in the files alone is left out:
all processes killed, and another error of the same call.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher local --storage runs -n 2 --keep 2"
train=$modules/train_model.so
three="--set train_loop_config.iterations=3"
fault_points_needed

# POINT RANKS WRITE ASYNC SYNC: the ranks that reach the point; "write" if an error of the
# system call fails the run; and for each mode whether the checkpoint of iteration 1 stays,
# is gone (deleted by retention), or either (rank 0 continues when another rank dies); "-" if
# the mode does not reach the point.
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

# earlier_intact RUN STAYS: the earlier checkpoints are byte for byte those of the base.
earlier_intact () {
	cmp runs/base/checkpoint_000002.h5 "$1/checkpoint_000002.h5" || return 1
	if test "$2" = gone || { test "$2" = either && ! test -e "$1/checkpoint_000001.h5"; }; then
		test_path_is_missing "$1/checkpoint_000001.h5"
	else
		cmp runs/base/checkpoint_000001.h5 "$1/checkpoint_000001.h5"
	fi
}
# all_final_valid RUN: every file with a final name is valid, down to its last byte.
all_final_valid () {
	for f in "$1"/checkpoint_*; do
		raytrain-inspect --verify "$f" >verify.out 2>&1 || { cat verify.out; return 1; }
	done
}
# resumes RUN: it continues to the end, with the model of an undisturbed run and no leftovers.
resumes () {
	$run --name "$1" --resume $three "$train" 2>err || { cat err; return 1; }
	test "$(model_of "runs/$1/checkpoint_000003.h5")" = "$calm" &&
	cmp runs/base/checkpoint_000002.h5 "runs/$1/checkpoint_000002.h5" &&
	test "$(ls "runs/$1" | grep -c ^checkpoint_)" -eq 2 &&
	all_final_valid "runs/$1" && no_temporary "runs/$1" &&
	test "$(jq -s "map(.training_iteration) | unique | length" "runs/$1/result.json")" -eq 3
}
# with_fault POINT RANK ACTION STATUS: continue a copy of the base with this fault, and
# expect this exit status.
with_fault () {
	rm -rf runs/case && cp -r runs/base runs/case && rm runs/case/result.h5 &&
	RAYTRAIN_FAULT=$1:$2:$3 expect_status "$4" \
		$run --name case --resume $mode $three "$train" 2>err
}

# point_test MODE POINT: all tests of a point; $ranks, $write and $stays are from its row.
point_test () {
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "$1: rank $rank killed at $point" '
			with_fault $point $rank kill 1 && grep "signal 9" err &&
			no_temporary runs/case &&
			earlier_intact runs/case $stays && all_final_valid runs/case &&
			resumes case
		'
	done
	test -n "$FAULTS_ONCE" || test_expect_success "$1: all processes killed at $point" '
		with_fault $point 0 killall 137 && eventually no_process_left &&
		earlier_intact runs/case $stays && all_final_valid runs/case &&
		resumes case
	'
	test "$write" = write || return 0
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "$1: no space on rank $rank at $point" '
			with_fault $point $rank enospc 5 &&
			grep "rank $rank[ :].*runs/case/.*No space left on device: free space" err &&
			earlier_intact runs/case $stays && all_final_valid runs/case &&
			no_temporary runs/case
		'
	done
	test -n "$FAULTS_ONCE" || test_expect_success "$1: an I/O error at $point" '
		with_fault $point $rank eio 5 &&
		grep "runs/case/.*Input/output error: the disk or" err &&
		earlier_intact runs/case $stays && all_final_valid runs/case &&
		no_temporary runs/case && resumes case
	'
}

test_expect_success 'the table lists all fault points of saving' '
	points_are_those_of "$srcdir"/src/common/checkpoint/*.c "$srcdir"/src/common/run/*.c \
		"$srcdir"/src/worker/session/report.c
'
test_expect_success 'a base run and an undisturbed run finish, for comparison' '
	$run --name base --set train_loop_config.iterations=2 "$train" 2>err &&
	$run --name calm $three "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000003.h5) && test -n "$calm"
'
mode=
test_expect_success 'an unknown fault point changes nothing' '
	with_fault no.point all kill 0 && resumes case
'
for how in async sync; do
	mode="--set run_config.checkpoint_config.mode=$how"
	while read -r point ranks write async sync; do
		eval "stays=\$$how"
		test "$stays" = - || point_test $how $point
	done <points
done

test_expect_success 'a failed deletion is reported and does not fail the run' '
	with_fault retention.delete 0 eio 0 &&
	grep "checkpoint_000001.h5: Input/output error" err &&
	earlier_intact runs/case stays && all_final_valid runs/case
'
test_done
