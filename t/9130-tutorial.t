#!/bin/sh
test_description='every command of the tutorial, raytrain(7), works, up to batch jobs'
CLUSTER_NODES=2
export CLUSTER_NODES
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

page=$srcdir/share/man/raytrain.7
files=$srcdir/share/examples/tutorial

# examples FILE: the text between .nf and .fi, as a reader sees it.
examples () {
	sed -n '/^\.nf$/,/^\.fi$/p' "$1" |
	sed -e '/^\.[nf][fi]$/d' -e 's/^\\&//' -e 's/\\-/-/g' -e 's/\\e/\\/g'
}
# commands FILE: those that begin with "$ ", with the lines that continue them.
commands () {
	examples "$1" | awk '/^\$ / { sub(/^\$ /, ""); on = 1 } on { print } !/\\$/ { on = 0 }'
}
# section HEADING: the commands of a section, as a script; what submits a job waits for it.
section () {
	sed -n "/^\.SH $1\$/,\$p" "$page" | sed '1d; /^\.SH /,$d' >part &&
	{ cat "$here/prelude" && commands part |
	sed -E 's/^(sbatch|raytrain-run --submit) .*[^\\]$/& \&\& eventually no_job/'; } \
		>"$here/script"
}
# follow HEADING: type the commands of a section, in the directory of the files.
follow () {
	section "$1" && test "$(wc -l <script)" -gt "$(wc -l <prelude)" &&
	(cd "$CLUSTER_SHARED/tutorial" && sh -ex "$here/script") >out 2>&1 ||
	{ cat out; return 1; }
}
# finished RUN [STATUS]
finished () {
	raytrain-inspect --json "$CLUSTER_SHARED/tutorial/raytrain_results/$1" >json &&
	jq -e ".status == \"${2:-finished}\"" json
}

# The tools of a user who has installed raytrain, in PATH.
here=$PWD
mkdir bin && ln -s "$PYTHON" bin/python3 && cp -R "$files" "$CLUSTER_SHARED/tutorial" &&
cat >bin/pkg-config <<EOF &&
#!/bin/sh
PKG_CONFIG_PATH=$stage/lib/pkgconfig exec $(command -v pkg-config) \
	--define-variable=prefix=$stage "\$@"
EOF
chmod +x bin/pkg-config && PATH=$here/bin:$PATH || exit 1
cat >prelude <<\EOF
no_job () { test -z "$(squeue --noheader)"; }
eventually () { n=0; until "$@"; do n=$((n + 1)); test $n -lt 1200 || return 1; sleep 0.1; done; }
EOF
# Sanitizers require that all parts of a program are built with them.
! nm -D "$stage/lib/libraytrain.so" | grep -q __asan_init ||
	echo 'cc () { command cc -fsanitize=address,undefined "$@"; }' >>prelude

! "$PYTHON" -c "import torch" 2>/dev/null || test_set_prereq TORCH

test_expect_success 'the files that the page shows are those of share/examples/tutorial' '
	examples "$page" >shown &&
	for file in line.cfg line.py line.sbatch; do
		awk "NR == FNR { text = text \$0 RS; next } { all = all \$0 RS }
			END { exit !index(all, text) }" "$files/$file" shown ||
		{ echo "$file is another one"; return 1; }
	done &&
	sed -n "/^int train_func/,\$p" "$files/line.c" >train_func &&
	awk "NR == FNR { text = text \$0 RS; next } { all = all \$0 RS }
		END { exit !index(all, text) }" train_func shown
'
test_expect_success 'no section with commands is left out here' '
	for heading in "THE FIRST RUN" SETTINGS "FAILURES AND INTERRUPTIONS" CHECKPOINTS PYTHON \
		SLURM; do
		section "$heading" && cat script
	done | grep -vxF -f prelude | grep -c "" >tested &&
	commands "$page" | grep -c "" >all && test_cmp all tested
'
test_expect_success 'the first run, and four workers' '
	follow "THE FIRST RUN" && finished first && finished four &&
	jq -e "[.attempts[].workers] == [4]" json
'
test_expect_success 'settings, on the command line and in a file' '
	follow SETTINGS && finished configured && finished longer &&
	jq -e ".reports == 20" json
'
test_expect_success 'a worker dies, a run is stopped and continued' '
	follow "FAILURES AND INTERRUPTIONS" && finished crash &&
	jq -e ".attempts | length == 2" json && finished parts && jq -e ".reports == 20" json
'
test_expect_success 'checkpoints are read and exported, and begin another run' '
	follow CHECKPOINTS && finished tuned && grep "DATASET .*line" out &&
	test -n "$(find "$CLUSTER_SHARED/tutorial/model" -name "line.npy")"
'
test_expect_success TORCH 'a Python script' 'follow PYTHON && finished python'
test_expect_success 'allocations, and a batch job' '
	follow SLURM && for run in allocated asked submitted batch elastic; do
		finished $run || { cat json; return 1; }
	done && grep -x "#SBATCH --ntasks=4" out && cluster clean
'
test_done
