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
# salloc and srun --pty start it; not every machine sets it, and some people's is not POSIX's.
SHELL=/bin/sh
export SHELL
LD_LIBRARY_PATH=$stage/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

. "$SHARNESS_TEST_SRCDIR/sharness.sh"

# What a failed test leaves running holds the pipe through which its results go, and
# `make check` would wait for it forever.
end_jobs () {
	left=$SHARNESS_TEST_DIRECTORY/.jobs.$$
	jobs -p >"$left"
	while read -r job; do
		kill -KILL "$job" 2>/dev/null
	done <"$left"
	rm -f "$left"
}
trap 'code=$?; end_jobs; (exit $code); die' EXIT

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

# eventually COMMAND...: it succeeds within two minutes. Bounded polling, where a shell has
# no event to wait for.
eventually () {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		test $tries -lt 12000 || { echo >&2 "waited in vain: $*"; return 1; }
		sleep 0.01
	done
}
is_empty () {
	test -z "$(ls -A "$1")"
}

# -- runs, of $train (t/check/train_model.c) in the directory `runs` --

# start_run COMMAND...: a raytrain-run in the background, until its ready file says that
# iteration 2 has been reported; $pid is its process id. It waits at its gate. What is
# saved in the background may not be published yet: who needs a checkpoint waits for it.
is_ready_or_over () {
	test -e ready || ! test -e /proc/$pid || grep -q "^State:.Z" /proc/$pid/status
}
start_run () {
	rm -f ready gate
	"$@" --set "train_loop_config.ready=\"$PWD/ready\"" \
		--set "train_loop_config.gate=\"$PWD/gate\"" "$train" 2>err &
	pid=$!
	eventually is_ready_or_over
	test -e ready || { echo >&2 "the run is over:"; cat >&2 err; return 1; }
}
# worker_pids [NAME]: the workers on this machine of a run, or of all; one a line.
worker_pids () {
	grep -lz "^RAYTRAIN_RUN_DIR=$PWD/${1:+runs/$1\$}" /proc/[0-9]*/environ 2>/dev/null |
	tr -dc "0-9\n"
}
no_process_left () {
	left=$(worker_pids)
	test -z "$left" || { echo >&2 "left:" $left; return 1; }
}
# no_temporary DIRECTORY
no_temporary () {
	test -z "$(find "$1" -name ".*.tmp-*")"
}
# model_of CHECKPOINT: a checksum of the model's bits.
model_of () {
	h5dump -d /model/weight -b LE -o model.bin "$1" >/dev/null && cksum <model.bin
}
# same_model CHECKPOINT CHECKPOINT: their models have the same bits.
same_model () {
	h5dump -d /model/weight -b LE -o a.bin "$1" >/dev/null &&
	h5dump -d /model/weight -b LE -o b.bin "$2" >/dev/null &&
	cmp a.bin b.bin
}
