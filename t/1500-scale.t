#!/bin/sh
test_description='the cost of a run for each worker does not grow with the number of workers'
. "$(dirname "$0")/setup.sh"

# column NAME RANKS: print what t/scale/scale has measured with RANKS workers.
column () {
	awk -F"\t" -v name="$1" -v ranks="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR > 1 && $1 == ranks { print $c }' table
}
# at_most NAME EXTRA: with 8 workers, it is at most EXTRA more than with 2.
at_most () {
	awk -v few="$(column "$1" 2)" -v many="$(column "$1" 8)" -v extra="$2" "BEGIN {
		if (few == \"\" || many == \"\" || many > few + extra) {
			print \"$1: \" few \" with 2 workers, \" many \" with 8\"; exit 1 } }" >&2
}

test_expect_success 'runs with 2 and 8 workers are measured' '
	TMPDIR=$PWD "$srcdir/t/scale/scale" --tsv --quiet 1 2 8 >table 2>err &&
	cat table
'
test_expect_success 'the memory of a worker beyond that of MPI does not grow' '
	at_most mib 4
'
test_expect_success 'each worker adds its two logs to the files of a run, and nothing else' '
	at_most files 12
'
test_expect_success 'files opened for a report, and bytes written, do not grow' '
	awk -v n="$(column opens 2)" "BEGIN { exit !(n > 0) }" && at_most opens 0.5 &&
	awk -v n="$(column bytes 2)" "BEGIN { exit !(n > 100) }" && at_most bytes 100
'
test_expect_success 'workers open no files while they do not report' '
	test "$(column quiet 8)" = 0.0
'
test_expect_success 'the memory of raytrain-run does not grow' '
	at_most launcher 4
'
test_done
