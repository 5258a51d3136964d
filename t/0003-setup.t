#!/bin/sh
test_description='A test script that fails comes to its end, and takes what it has started along'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# inner TEST...: a script with this one test, in a directory of its own; its status.
inner () {
	cat >inner.t <<-EOF
	test_description=inner
	SETUP_WITHOUT_STAGE=1
	train=x
	. "$srcdir/t/setup.sh"
	test_expect_success test '$*'
	test_done
	EOF
	mkdir -p built/t &&
	top_builddir=$PWD/built top_srcdir=$srcdir sh ./inner.t -v --root="$PWD/built" >out 2>&1
}
is_gone () {
	! test -e "/proc/$1" || grep -q "^State:.Z" "/proc/$1/status"
}

test_expect_success 'a process in the background ends with the script' '
	pid_file=$PWD/pid && export pid_file &&
	test_must_fail inner "sleep 1000 & echo \$! >\"\$pid_file\"; false" &&
	grep "failed 1 among 1" out && test -s pid && eventually is_gone "$(cat pid)"
'
test_expect_success 'a run that ends before it is ready is not waited for' '
	test_must_fail inner "start_run sh -c \"echo no luck >&2\"" &&
	grep "the run is over" out && grep "no luck" out
'
test_done
