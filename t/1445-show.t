#!/bin/sh
test_description='--show: what workers print is printed by raytrain-run, and stays in their logs'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
tab=$(printf "\t")

# log NAME RANK STREAM [ATTEMPT]: the path of a log.
log () {
	printf "runs/$1/logs/attempt-${4:-0}/rank-0000$2.$3"
}
# tees_gone: no process that reads what workers print is left of the runs in this directory.
tees_gone () {
	! grep -lz "^raytrain-keeper" /proc/[0-9]*/cmdline 2>/dev/null | sed "s/cmdline/fd/" |
	while read fd; do ls -l $fd 2>/dev/null; done | grep " $PWD/runs/"
}

test_expect_success 'the output of rank 0 appears byte by byte, stream by stream, and is in its logs' '
	cat >bytes.sh <<-\EOF &&
	printf "rank %s\000\001\n\rhalf\r" $RANK
	printf "warning %s\n" $RANK >&2
	EOF
	$run -n 2 --show rank0 -q --name bytes -- sh bytes.sh >out 2>err &&
	printf "rank 0\000\001\n\rhalf\r" >want && cmp want out &&
	echo "warning 0" >want && test_cmp want err &&
	cmp out "$(log bytes 0 out)" && cmp err "$(log bytes 0 err)" &&
	grep -a "rank 1" "$(log bytes 1 out)" && eventually tees_gone
'
test_expect_success 'with --show none nothing of the workers is printed' '
	$run -n 2 --show none -q --name none -- sh bytes.sh >out 2>err &&
	test_must_be_empty out && test_must_be_empty err &&
	grep -a "rank 0" "$(log none 0 out)"
'
test_expect_success 'lines of several ranks have their rank, and equal lines are printed once' '
	cat >ranks.sh <<-\EOF &&
	echo "loaded"
	test "$RANK" != 1 || echo "I am special" >&2
	printf "\r10%%\r20%%\r100%%\n"
	printf "bye"
	EOF
	$run -n 3 --show all -q --name several -- sh ranks.sh >out 2>err &&
	sed "s/^[^ ]*:1: /HOST:1: /" err >got && echo "HOST:1: I am special" >want &&
	test_cmp want got &&
	test_must_fail grep "[12]0%.*10" out && grep "^ranks 0-2: bye$" out &&
	loaded=$(grep -c loaded out) && test "$loaded" -le 3 && grep "100%$" out
'
test_expect_success 'a list chooses the ranks' '
	$run -n 3 --show 1-2 -q --name list -- sh -c "echo I am \$RANK" >out 2>err &&
	sed "s/^[^ ]*:\([0-9]\): /HOST:\1: /" out | sort >got &&
	printf "HOST:1: I am 1\nHOST:2: I am 2\n" >want && test_cmp want got
'
test_expect_success 'a program in C is shown like a command' '
	$run -n 2 --show rank0 -q --name program "$check/train_main" a b >out 2>err &&
	echo "2: a, b" >want && test_cmp want out && test_must_be_empty err
'
test_expect_success 'with --json standard output is the Result, and the output is on the other' '
	$run -n 2 --show rank0 --json -q --name json "$check/train_main" a b >out 2>err &&
	json_is out .status finished && echo "2: a, b" >want && test_cmp want err
'
test_expect_success 'the last words of a rank that is killed are shown once, and are in its log' '
	cat >killed.sh <<-\EOF &&
	echo "last output"
	printf "last words" >&2
	kill -9 $$
	EOF
	expect_status 1 $run -n 1 --show rank0 --name killed -- sh killed.sh >out 2>err &&
	echo "last output" >want && test_cmp want out &&
	test "$(grep -c "last words" err)" = 1 && grep "its log: .*rank-00000.err" err &&
	test "$(cat "$(log killed 0 err)" | head -1 | cut -c 1-10)" = "last words"
'
test_expect_success 'a message begins a line, also when the output does not end one' '
	$run -n 1 --show rank0 --progress plain --name half -- sh -c "printf half >&2" 2>err &&
	grep "^raytrain: finished" err && grep "^half$" err
'
test_expect_success 'each attempt is shown' '
	cat >twice.sh <<-\EOF &&
	echo "started" && test -e second || { : >second; exit 1; }
	EOF
	$run -n 1 --show rank0 --max-failures 1 --name twice -- sh twice.sh >out 2>err &&
	printf "started\nstarted\n" >want && test_cmp want out &&
	grep started "$(log twice 0 out 1)"
'
test_expect_success 'a pipe that is not read holds up no worker, and what is not shown is said' '
	mkfifo unread && exec 9<>unread &&
	cat >many.sh <<-\EOF &&
	seq 200000
	echo "done" >done.$RANK
	EOF
	$run -n 1 --show rank0 --progress none --name many -- sh many.sh >unread 2>err &&
	exec 9>&- && test -f done.0 && grep "not shown.*logs/attempt-0" err &&
	test "$(wc -l <"$(log many 0 out)")" = 200000
'
test_expect_success 'all lines arrive if they are read' '
	$run -n 1 --show rank0 -q --name all -- sh many.sh >out 2>err &&
	seq 200000 >want && cmp want out
'
test_expect_success 'a process that keeps the output of a worker open does not keep the run' '
	cat >daemon.sh <<-\EOF &&
	env -i setsid sh -c "echo \$\$ >daemon && exec sleep 1000" &
	until test -s daemon; do sleep 0.02; done
	echo "the end"
	EOF
	test_when_finished "kill \"\$(cat daemon)\"" &&
	$run -n 1 --show rank0 -q --name daemon -- sh daemon.sh >out 2>err &&
	grep "the end" out && no_process_left && eventually tees_gone
'
test_expect_success 'what does not name ranks is refused with what does' '
	for value in rank1 3-1 1, all,0; do
		expect_status 3 $run -n 1 --show "$value" -- true 2>err &&
		grep "run_config.show: expected none, rank0, all, or ranks such as 0,3-5" err ||
		return 1
	done
'
test_expect_success 'a rank that there is not is named' '
	$run -n 2 --show 0,7 -q --name absent -- sh -c "echo \$RANK" >out 2>err &&
	grep "there is no rank 7 in attempt 0, which has 2 workers" err && test "$(cat out)" = 0
'
test_expect_success 'a command has no other descriptors, and its worker no child that they do not know' '
	cat >clean.sh <<-\EOF &&
	ls -l /proc/$$/fd >fds
	pgrep -P $PPID >children; echo $$ >self
	EOF
	$run -n 1 --show rank0 -q --name clean -- sh clean.sh >out 2>err &&
	test_cmp self children && test "$(grep -c "pipe:" fds)" = 2
'
test_done
