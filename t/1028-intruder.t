#!/bin/sh
test_description='another user of this machine cannot join a run, and finds none of its secrets'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/mpi-programs.sh"

if test "$(id -u)" -ne 0; then
	skip_all='needs root, to be another user'
	test_done
fi

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
# Where another user can execute it.
tools=$(mktemp -d) && chmod 755 "$tools" || exit 1
trap 'code=$?; rm -rf "$tools"; end_jobs; (exit $code); die' EXIT
cp "$check/pmix_intruder" "$tools" || exit 1

# other COMMAND...: run it as a user that has no rights here.
other () {
	timeout 30 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
# variables_of PID: print the PMIx variables of a process, and whose it is.
variables_of () {
	tr "\0" "\n" <"/proc/$1/environ" | grep "^PMIX_" | grep -v TMPDIR
	echo "INTRUDER_AS=$(id -u):$(id -g)"
}
# intrude HOW [USER]: with all that a worker knows; USER is `other` or nothing.
intrude () {
	$2 env $(cat variables) timeout 30 "$tools/pmix_intruder" "$1"
}

test_expect_success 'a run has a PMIx server' '
	start_run $run -n 2 --name joined &&
	worker=$(worker_pids joined | head -n1) && variables_of $worker >variables &&
	grep "^PMIX_NAMESPACE=" variables &&
	at=$(sed -n "s,^PMIX_SERVER_URI41=.*//,,p" variables) && test -n "$at"
'
# The server closes the connection. Otherwise its thread waits for this user to speak.
test_expect_success 'another user that connects and is silent does not hold the server up' '
	other "$tools/pmix_intruder" silent ${at%:*} ${at##*:}
'
test_expect_success 'another user cannot join, though it knows all that a worker knows' '
	test_must_fail intrude rank other
'
test_expect_success 'another user cannot join as a tool' '
	test_must_fail intrude tool other
'
# It may connect, but PMIx_Abort, which always succeeds, does nothing.
test_expect_success 'a tool of the same user cannot abort the run' '
	intrude tool || : &&
	: >gate && expect_status 0 wait $pid && test_must_fail grep "aborted by" err
'

# secrets_find N: write the namespaces of the processes in this directory, which are N.
secrets_find () {
	for process in /proc/[0-9]*; do
		test "$(readlink $process/cwd)" = "$PWD" &&
		tr "\0" "\n" <$process/environ 2>/dev/null | sed -n "s/^PMIX_NAMESPACE=//p"
	done | sort -u >secrets
	cat secrets && test $1 -eq $(wc -l <secrets)
}
# look_around: print all that another user sees of the processes, and of places for
# temporary files.
look_around () {
	other sh -c "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; ls -R /tmp /dev/shm \
		\"\${TMPDIR:-/tmp}\" /run" >seen 2>/dev/null || :
	tr "\0" "\n" <seen >lines && test $(wc -l <lines) -gt 10
}
are_secret () {
	secrets_find $1 && look_around && test_must_fail grep -F -f secrets lines &&
	test_must_fail grep -r -F -f secrets runs
}
test_expect_success 'no secret of a run is seen by another user, or in its files' '
	start_run $run -n 2 --name secret &&
	are_secret 1 && : >gate && expect_status 0 wait $pid &&
	test_must_fail grep -r -F -f secrets runs
'
# The variables of rank 0's child are in `store`.
cat >hold <<\EOF
#!/bin/sh
test $RANK -ne 0 || { env >"$1/store.new" && mv "$1/store.new" "$1/store"; }
until test -e "$1/gate"; do sleep 0.1; done
EOF
chmod +x hold
# put USER: put a value into the store; USER is `other` or `env`.
put () {
	"$1" "$PYTHON" -c "import sys, urllib.request as r
r.urlopen(r.Request(sys.argv[1], data=b\"x\", method=\"PUT\"))" \
		"$(sed -n "s,^HOROVOD_GLOO_RENDEZVOUS_ADDR=,http://,p" store):$(
		sed -n "s/^HOROVOD_GLOO_RENDEZVOUS_PORT=//p" store)/global_/0"
}
test_expect_success 'another user cannot write into the store of Horovod' '
	rm -f gate && {
		$run --name horovod -n 2 --backend horovod -- ./hold "$PWD" 2>err &
	} && pid=$! &&
	eventually test -e store && test_must_fail put other && put env &&
	: >gate && expect_status 0 wait $pid
'
# is_waiting RUN N: do N of its programs wait?
is_waiting () {
	cat runs/$1/logs/attempt-0/rank-*.out 2>/dev/null | grep -c waiting >count
	test $2 -eq $(cat count)
}
for mpi in MPICH OPEN_MPI; do
	test_expect_success $mpi "no secret of a command with $mpi is seen by another user" '
		rm -f gate && {
			$run --name child-$mpi -n 2 --backend mpi -- \
				"$(mpi_child $mpi)" wait "$PWD/gate" 2>err &
		} && pid=$! &&
		eventually is_waiting child-$mpi 2 &&
		are_secret 2 && : >gate && expect_status 0 wait $pid
	'
done
test_done
