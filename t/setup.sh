# setup.sh - sourced first by every sharness script, after test_description is set:
#
#     test_description='what it shows'
#     . "$(dirname "$0")/setup.sh"
#
# t/README.md says how to write a test. The programs under test are those of an installed
# tree ($stage, made by `make check`), so that paths, libexec and libraries are found as they
# are for a user.
#
#   $stage      the prefix of the installed tree $check    t/check in the build tree
#   $srcdir     the source tree                  $modules  training functions for tests
#   $builddir   the build tree
#   $PYTHON     Debian's Python, which has its packages (another may come first in PATH)

srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
builddir=${top_builddir:-$srcdir/build}
stage=$builddir/stage/usr/local
check=$builddir/t/check
modules=$check
export srcdir builddir stage check modules

SHARNESS_TEST_DIRECTORY=$builddir/t/trash
SHARNESS_TEST_SRCDIR=/usr/share/sharness
SHARNESS_BUILD_DIRECTORY=$stage/bin
mkdir -p "$SHARNESS_TEST_DIRECTORY" || exit 1

# The tests must not see a job or a run in which they are started.
for name in $(env | sed -n 's/^\(\(SLURM\|SBATCH\|SALLOC\|SRUN\|PMI\|PMIX\|RAYTRAIN\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
# Nor the site's file of this machine.
RAYTRAIN_SITE_CONFIG=
export RAYTRAIN_SITE_CONFIG
# salloc and srun --pty start $SHELL; it may be unset, or not be a POSIX shell.
SHELL=/bin/sh
export SHELL
PYTHON=/usr/bin/python3
export PYTHON
# The modules are compiled once, and not by each process that imports them.
unset PYTHONDONTWRITEBYTECODE
LD_LIBRARY_PATH=$stage/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

. "$SHARNESS_TEST_SRCDIR/sharness.sh"

# If a test fails, the ends of what its commands printed, and of the text files in its directory
# that it has written, follow its result: a grep or a comparison that fails says little without.
# A process id alone is not unique: each cluster has its own.
test_said=$SHARNESS_TEST_DIRECTORY/.said.${0##*/}.$$
test_began=$SHARNESS_TEST_DIRECTORY/.began.${0##*/}.$$
files_written () {
	find . -maxdepth 1 -type f -newer "$test_began" -size -128k | LC_ALL=C sort |
	while read -r file; do
		LC_ALL=C grep -Iq . "$file" && tail -n 20 "$file" | sed "s|^|# ${file#./}: |"
	done | head -n 120
}
if test "$verbose" != t; then
	exec 3>>"$test_said" 4>&3
	: >"$test_began"
	test_ok_ () {
		: >"$test_said" >"$test_began"
		test_success=$((test_success + 1))
		say_color "" "ok $test_count - $*"
	}
	test_failure_ () {
		test_failure=$((test_failure + 1))
		say_color error "not ok $test_count - $1"
		tail -n 60 "$test_said" | sed "s/^/# /"
		files_written
		: >"$test_said" >"$test_began"
		test "$immediate" = "" || { EXIT_OK=t; exit 1; }
	}
fi

# Processes that a failed test leaves running hold the pipe for its results open, and
# `make check` would wait for them forever.
end_jobs () {
	left=$SHARNESS_TEST_DIRECTORY/.jobs.${0##*/}.$$
	jobs -p >"$left"
	while read -r job; do
		kill -KILL "$job" 2>/dev/null
	done <"$left"
	rm -f "$left" "$test_said" "$test_began"
}
trap 'code=$?; end_jobs; (exit $code); die' EXIT

PATH=$stage/bin:$PATH
export PATH
if ! test -x "$stage/bin/raytrain-run" && test -z "$SETUP_WITHOUT_STAGE"; then
	echo "Bail out! no $stage/bin/raytrain-run: run make check"
	exit 1
fi

# expect_status N COMMAND...: it ends with exactly this exit status.
expect_status () {
	expected=$1
	shift
	"$@"
	status=$?
	test "$status" -eq "$expected" && return 0
	echo >&2 "expected exit status $expected, got $status: $*"
	return 1
}

# test_path_is_missing PATH
test_path_is_missing () {
	test -e "$1" || return 0
	echo >&2 "$1 exists"
	return 1
}

# eventually COMMAND...: it succeeds within two minutes. This is bounded polling, because
# shells have no events to wait for: often at first, then less often, so that waiting does not
# take the processors from what is waited for.
eventually () {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		test $tries -lt 1250 || { echo >&2 "timed out waiting for: $*"; return 1; }
		if test $tries -lt 20; then sleep 0.02; else sleep 0.1; fi
	done
}
# is_empty DIRECTORY
is_empty () {
	test -z "$(ls -A "$1")"
}

# own_tmp: processes that this script starts have a directory for temporary files, which is
# removed with all that killed ones leave. Its path is short, as that of a socket must be.
own_tmp () {
	TMPDIR=$(mktemp -d /tmp/raytrain-test-XXXXXX) && export TMPDIR &&
	cleanup 'rm -rf "$TMPDIR"'
}

# json_is FILE PATH VALUE [PATH VALUE]...: what jq prints for each path, such as .status, is
# the value.
json_is () {
	file=$1
	shift
	while test $# -gt 0; do
		value=$(jq -r "$1" "$file") || return 1
		test "$value" = "$2" ||
		{ echo >&2 "$file: $1 is '$value', expected '$2'"; return 1; }
		shift 2
	done
}

# -- runs of $train (t/check/train_model.c) in the directory `runs` --

# start_run COMMAND...: start a raytrain-run in the background and wait until it has reported
# iteration 2; then it waits at its gate until the file `gate` exists. $pid is its process
# id, its messages are in `err`. Its checkpoints may not be published yet: a test that needs
# one waits for it with `eventually`.
is_ready_or_over () {
	test -e ready || ! test -e /proc/$pid || grep -q "^State:.Z" /proc/$pid/status
}
start_run () {
	rm -f ready gate
	"$@" --set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$train" 2>err &
	pid=$!
	eventually is_ready_or_over
	test -e ready || { echo >&2 "the run is over:"; cat >&2 err; return 1; }
}
# worker_pids [NAME]: print the process ids of the workers of a run, or of all runs in the
# working directory, one per line.
worker_pids () {
	grep -lz "^RAYTRAIN_RUN_DIR=$PWD/${1:+runs/$1\$}" /proc/[0-9]*/environ 2>/dev/null |
	tr -dc "0-9\n"
}
# no_process_left: no worker of a run in the working directory is alive.
no_process_left () {
	left=$(worker_pids)
	test -z "$left" || { echo >&2 "left:" $left; return 1; }
}
# no_temporary DIRECTORY: there is no temporary file below it.
no_temporary () {
	test -z "$(find "$1" -name ".*.tmp-*")"
}
# may_finish PID: do all workers of this raytrain-run know that they are to stop, so that they
# finish even if it is killed? Its keeper has the lock of the run open then.
may_finish () {
	ls -l /proc/$(pgrep -P "$1" -x raytrain-keeper)/fd | grep -q "/runs/[^/]*/[.]lock"
}
# model_of CHECKPOINT: print a checksum of the bits of the model.
model_of () {
	h5dump -d /model/weight -b LE -o model.bin "$1" >/dev/null && cksum <model.bin
}
# same_model CHECKPOINT CHECKPOINT: the models have the same bits.
same_model () {
	h5dump -d /model/weight -b LE -o a.bin "$1" >/dev/null &&
	h5dump -d /model/weight -b LE -o b.bin "$2" >/dev/null &&
	cmp a.bin b.bin
}
