#!/bin/sh
test_description='A failing test script ends, and with it the processes that it started'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# inner [OPTION]: run a script with one test, whose body is standard input, in a directory of
# its own.
inner () {
	{
		printf '%s\n' 'test_description=inner SETUP_WITHOUT_STAGE=1 train=x' \
			". '$srcdir/t/setup.sh'" "test_expect_success test '"
		cat
		printf '%s\n' "'" test_done
	} >inner.t
	mkdir -p built/t &&
	top_builddir=$PWD/built top_srcdir=$srcdir sh ./inner.t "$@" --root="$PWD/built" >out 2>&1
}
is_gone () {
	! test -e "/proc/$1" || grep -q "^State:.Z" "/proc/$1/status"
}

test_expect_success 'a background process ends with its test script' '
	pid_file=$PWD/pid && export pid_file &&
	test_must_fail inner -v <<-\END &&
	sleep 1000 & echo $! >"$pid_file"; false
	END
	grep "failed 1 among 1" out && test -s pid && eventually is_gone "$(cat pid)"
'
test_expect_success 'start_run fails when the run ends before it is ready' '
	test_must_fail inner -v <<-\END &&
	start_run sh -c "echo no luck >&2"
	END
	grep "the run is over" out && grep "no luck" out
'
test_expect_success 'a test that fails shows what it printed and the text files that it wrote' '
	test_must_fail inner <<-\END &&
	: >empty; head -c 99 /dev/zero >binary; echo who >said; echo why >err
	echo words; grep what said
	END
	sed -n "s/^# \(words$\|[a-z][a-z]*: \)/\1/p" out >shown &&
	printf "%s\n" words "err: why" "said: who" >expect && test_cmp expect shown
'
test_expect_success 'json_is compares values of a JSON file' '
	echo "{\"word\": \"a b\", \"number\": 3, \"nothing\": null}" >file.json &&
	json_is file.json .word "a b" .number 3 .nothing null &&
	test_must_fail json_is file.json .number 3 .word a 2>err &&
	grep "file.json: .word is .a b., expected .a." err
'
case $PWD in
/tmp/* | /dev/shm/*) ;; # a test of chaos does not see this one
*)
	test "$(id -u)" -ne 0 || ! unshare --mount --ipc --pid --fork --mount-proc sh -c "
		echo 1000 >/proc/sys/kernel/ns_last_pid && mount -t tmpfs none /dev/shm" 2>/dev/null ||
		! /usr/bin/python3 -c "import sys; sys.exit(sys.version_info < (3, 9))" ||
		test_set_prereq NAMESPACES
	;;
esac
test_expect_success NAMESPACES 'chaos runs a test twice with the same process ids, and lists what it left' '
	cat >leaves <<-\END && printf "#!/bin/sh\nexit 0\n" >good && chmod +x leaves good &&
	#!/bin/sh
	echo $$ >>pids; mkdir /dev/shm/of-$$
	END
	test_must_fail "$srcdir/t/chaos/chaos" --jobs 1 --chance 0 leaves good >out 2>&1 &&
	test "$(sort pids | uniq -c | sed "s/^ *\([0-9]*\) .*/\1/")" = 2 &&
	grep "^passed: leaves, round 1" out && grep "^FAILED (1): leaves, round 2" out &&
	grep "left: /dev/shm/of-$(head -n 1 pids)$" out && grep "^passed: good, round 2" out &&
	grep "^1 passed, 1 failed$" out
'
# has_children PID: a test and what keeps the processors busy have started; children: their ids.
has_children () {
	pgrep -P "$1" -x chaos && pgrep -P "$1" >children -x "chaos|unshare" && test -s up
}
test_expect_success NAMESPACES 'what keeps the processors busy ends with chaos' '
	printf "#!/bin/sh\necho >up; exec sleep 1\n" >slow && chmod +x slow &&
	{ "$srcdir/t/chaos/chaos" --jobs 1 --rounds 1 slow >out 2>&1 & } && pid=$! &&
	eventually has_children $pid && kill -KILL $pid && for child in $(cat children); do
		eventually is_gone $child || return 1
	done
'
test_done
