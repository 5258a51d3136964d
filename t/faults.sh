# faults.sh - sourced after setup.sh by a script that arms fault points
# (src/common/util/fault.h). Such a script writes a table to the file `points`: each row has
# the name of a point and what the tests need to know about it.

ulimit -c 0

# has_fault_points: this build has them.
has_fault_points () {
	grep -q "define RAYTRAIN_FAULTS" "$builddir/config.h"
}
# fault_points_needed: skip the whole script if this build has none.
fault_points_needed () {
	has_fault_points && return
	skip_all='this build has no fault points (configure --enable-fault-points)'
	test_done
}
# ranks_of COLUMN: print the ranks of a column of the table: "all" means the two ranks of a
# run, "-" none of them; otherwise it is a list such as "0" or "0,1". With FAULTS_ONCE in the
# environment, for slower builds, one rank stands for the others.
ranks_of () {
	case $1 in
	all) if test -n "$FAULTS_ONCE"; then echo 1; else echo 0 1; fi ;;
	-) ;;
	*) echo "$1" | tr , " " ;;
	esac
}
# points_are_those_of FILE...: the table has exactly the points of these sources.
points_are_those_of () {
	cut -d" " -f1 points | sort >known &&
	grep -hoE "[a-z]+_point\((s, )?\"[a-z.]+\"" "$@" | sed "s/.*\"\(.*\)\"/\1/" |
	sort -u >found &&
	test_cmp found known
}
