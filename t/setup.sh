# setup.sh - sourced first by every sharness script, after test_description is set:
#
#     test_description='what it shows'
#     . "$(dirname "$0")/setup.sh"
#
# The programs under test are those of an installed tree ($stage, made by `make check`),
# so that paths, libexec and libraries are found as they are for a user.
#
#   $stage      the installed tree's prefix      $check    t/check in the build tree
#   $srcdir     the source tree                  $modules  training functions for tests

srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
builddir=${top_builddir:-$srcdir/build}
stage=$builddir/stage/usr/local
check=$builddir/t/check
modules=$builddir/t/check/.libs
export srcdir builddir stage check modules

SHARNESS_TEST_DIRECTORY=$builddir/t/trash
SHARNESS_TEST_SRCDIR=/usr/share/sharness
SHARNESS_BUILD_DIRECTORY=$stage/bin
mkdir -p "$SHARNESS_TEST_DIRECTORY" || exit 1

# A job or a run around the tests is not theirs.
for name in $(env | sed -n 's/^\(\(SLURM\|SBATCH\|SALLOC\|SRUN\|PMI\|PMIX\|RAYTRAIN\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
LD_LIBRARY_PATH=$stage/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

. "$SHARNESS_TEST_SRCDIR/sharness.sh"

PATH=$stage/bin:$PATH
export PATH
if ! test -x "$stage/bin/raytrain-run" && test -z "$SETUP_WITHOUT_STAGE"; then
	echo "Bail out! no $stage/bin/raytrain-run: run make check"
	exit 1
fi

# expect_status N command...: it ends with exactly this exit status.
expect_status () {
	expected=$1
	shift
	"$@"
	status=$?
	test "$status" -eq "$expected" && return 0
	echo >&2 "expected exit status $expected, got $status: $*"
	return 1
}

test_path_is_missing () {
	test -e "$1" || return 0
	echo >&2 "$1 is there"
	return 1
}
