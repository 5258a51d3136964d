#!/bin/sh
test_description='kills and errors at each step of a prediction cost the parts in progress alone

Each case predicts with one fault point (src/common/util/fault.h) armed into a directory that
has an earlier output, checks that this is whole, and continues, with another number of workers.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
. "$srcdir/t/predict.sh"
fault_points_needed

predict="raytrain-predict --launcher local --checkpoint runs/model --data rows.npz
	--columns id,x --set train_loop_config.batch=10"

# POINT NUMBERS WRITE: the ranks, or else the part, that reach the point; "write" if an error
# of the system call fails the prediction.
cat >points <<\END
predict.batch all -
predict.write 5 write
predict.part 5 -
predict.assembly all write
predict.publish 0 write
END

# with_fault POINT NUMBER ACTION STATUS: predict with this fault, and expect this exit status.
with_fault () {
	rm -rf case && mkdir case && echo earlier >case/out.$format &&
	RAYTRAIN_FAULT=$1:$2:$3 expect_status "$4" \
		$predict -n 2 -o case/out.$format "$model" 2>err &&
	grep -e --resume err && echo earlier | test_cmp - case/out.$format
}
# goes_on: the output becomes that of an undisturbed prediction, and nothing else is left.
goes_on () {
	$predict -n 3 -o case/out.$format --resume "$model" 2>err &&
	cmp calm.$format case/out.$format && echo out.$format >only &&
	ls -A case | test_cmp only -
}

test_expect_success 'an undisturbed prediction, for comparison' '
	make_rows 1003 && make_model &&
	for format in h5 csv; do
		$predict -o calm.$format "$model" 2>err || return 1
	done
'
test_expect_success 'the table above has all fault points of predictions' '
	points_are_those_of "$srcdir"/src/worker/predict/*.c
'
while read -r point numbers write; do
	for number in $(ranks_of "$numbers"); do
		for format in h5 csv; do
			test_expect_success "$format: killed at $point, $number" '
				with_fault $point $number kill 1 && grep "signal 9" err && goes_on
			'
		done
		format=csv
		test "$write" = write || continue
		test_expect_success "the disk is full at $point, $number" '
			with_fault $point $number enospc 5 && grep "No space left" err && goes_on
		'
		test_expect_success "an I/O error at $point, $number" '
			with_fault $point $number eio 5 && grep "Input/output error" err && goes_on
		'
	done
done <points
test_expect_success 'after a kill another prediction into the same file begins again with --fresh' '
	format=csv && with_fault predict.assembly 0 kill 1 &&
	$predict --last -n 2 -o case/out.csv --fresh "$model" 2>err &&
	! cmp calm.csv case/out.csv && printf "%s\n" out.csv out.csv.run.1 >both &&
	ls -A case | test_cmp both -
'
test_done
