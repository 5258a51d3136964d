# faults.sh - sourced after setup.sh by a script that arms fault points
# (src/common/util/fault.h). Such a script has a table in the file `points`: in each row the
# name of a point, and what the script wants to know of it.

ulimit -c 0

has_fault_points () {
	grep -q "define RAYTRAIN_FAULTS" "$builddir/config.h"
}
# The whole script is about them.
fault_points_needed () {
	has_fault_points && return
	skip_all='this build has no fault points (configure --enable-fault-points)'
	test_done
}
# ranks_of COLUMN: "all" are the two of a run, "-" is none of them; else "0" or "0,1".
ranks_of () {
	case $1 in
	all) echo 0 1 ;;
	-) ;;
	*) echo "$1" | tr , " " ;;
	esac
}
# points_are_those_of FILE...: the table has just the points that are in these sources.
points_are_those_of () {
	cut -d" " -f1 points | sort >known &&
	grep -hoE "[a-z]+_point\((s, )?\"[a-z.]+\"" "$@" | sed "s/.*\"\(.*\)\"/\1/" |
	sort -u >found &&
	test_cmp found known
}
