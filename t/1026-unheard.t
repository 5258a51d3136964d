#!/bin/sh
test_description='output that is not read and inherited signal settings do not affect a run'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher local --storage runs -n 2"
train=$modules/train_model.so

# unread.py pipe|terminal|closed COMMAND...: execute COMMAND with standard error on a full
# pipe, on a terminal that is paused with Ctrl-S, or on a pipe without a reader.
cat >unread.py <<'END'
import os, signal, sys, termios
def full_pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer
def held_terminal():
    master, slave = os.openpty()
    termios.tcflow(slave, termios.TCOOFF)
    return master, slave
def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer, writer
kept, out = {"pipe": full_pipe, "terminal": held_terminal, "closed": closed_pipe}[sys.argv[1]]()
os.set_inheritable(kept, True)
os.dup2(out, 2)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execvp(sys.argv[2], sys.argv[2:])
END

# stops_with_checkpoint NAME COMMAND...: a long run in the background stops on SIGTERM, with
# a checkpoint, status 75 and its Result.
stops_with_checkpoint () {
	name=$1
	shift
	start_run "$@" --json --name "$name" --set train_loop_config.iterations=100000 \
		>result.json &&
	kill -TERM $pid && : >gate && expect_status 75 wait $pid &&
	json_is result.json .status stopped .cause signal &&
	jq -e .checkpoint result.json &&
	test -f runs/$name/result.h5 && no_process_left
}
for output in terminal pipe closed; do
	test_expect_success "SIGTERM stops a run whose standard error is a blocked or closed $output" '
		stops_with_checkpoint $output /usr/bin/python3 unread.py $output $run
	'
done
test_expect_success 'a run finishes although its terminal is not read' '
	/usr/bin/python3 unread.py terminal $run --progress bar --name held "$train" &&
	raytrain-inspect --json runs/held >shown && json_is shown .status finished
'
test_expect_success 'the exit status is that of the run if its Result is not read' '
	mkfifo fifo && { head -c 1 <fifo >first & } &&
	expect_status 1 $run --json --name failed --set train_loop_config.fail=return \
		"$train" >fifo 2>err
'
test_expect_success 'inherited ignored and blocked signals do not affect a stop' '
	stops_with_checkpoint ignored env --ignore-signal=CHLD,PIPE,TERM,INT,USR1 \
		--block-signal=CHLD,TERM,INT,USR1 $run
'
test_expect_success 'a run finishes with inherited ignored and blocked signals' '
	env --ignore-signal=CHLD --block-signal $run --name finishes "$train" 2>err
'
test_expect_success 'an ignored SIGHUP, as under nohup, stays ignored' '
	start_run env --ignore-signal=HUP $run --name nohup && kill -HUP $pid &&
	for worker in $(worker_pids nohup); do
		kill -HUP $worker || return 1
	done && : >gate && expect_status 0 wait $pid
'

# Starts that fail or are slow, in builds with fault points.
has_fault_points && test_set_prereq FAULTS
for helper in keeper.hello pmix.server; do
	test_expect_success FAULTS "SIGINT twice while $helper is stopped ends the run" '
		{ RAYTRAIN_FAULT=$helper:all:stop $run --json --name $helper "$train" \
			2>err >result.json & } && pid=$! &&
		eventually test -e runs/$helper/logs/attempt-0/attempt.json && kill -INT $pid &&
		eventually grep -q "stopping at the next report" err && kill -INT $pid &&
		expect_status 75 wait $pid && json_is result.json .status stopped &&
		no_process_left
	'
done
# stopped_at POINT COMMAND...: start a run in the background that stops itself there
# (SIGSTOP), send it SIGTERM, and let it continue.
stopped_at () {
	RAYTRAIN_FAULT=$1:0:stop
	export RAYTRAIN_FAULT
	shift
	"$@" "$train" 2>err >result.json &
	pid=$!
	unset RAYTRAIN_FAULT
	eventually grep -q "^State:.T" /proc/$pid/status &&
	kill -TERM $pid && kill -CONT $pid
}
test_expect_success FAULTS 'SIGTERM before the workers start stops the run at its first report' '
	stopped_at run.config $run --json --name early \
		--set train_loop_config.iterations=100000 &&
	expect_status 75 wait $pid && json_is result.json .status stopped &&
	test -f runs/early/result.h5
'
test_expect_success FAULTS 'SIGTERM after the workers have finished does not prevent the Result' '
	stopped_at run.attempts $run --json --name late &&
	expect_status 0 wait $pid && json_is result.json .status finished &&
	test -f runs/late/result.h5
'
test_expect_success FAULTS 'a PMIx server that does not respond is replaced' '
	RAYTRAIN_FAULT=pmix.server:0:stop $run --name replaced \
		--set run_config.failure_config.start_timeout_s=3 "$train" 2>err &&
	grep "attempt 0 failed: the workers have not come together within 3 s" err
'
test_expect_success FAULTS 'a PMIx server that is stopped during a run is given up, and the run continues' '
	RAYTRAIN_FAULT=pmix.stopped:all:eio start_run $run --name midway --max-failures 1 &&
	for helper in $(pgrep -P $pid); do
		! grep -q raytrain-pmix /proc/$helper/comm || kill -STOP $helper || return 1
	done && eventually grep -q "attempt 0 failed: the PMIx server of this run has died" err &&
	: >gate && expect_status 0 wait $pid && no_process_left
'
test_expect_success FAULTS 'workers that find no free resources are started a moment later' '
	RAYTRAIN_FAULT=child.spawn:1:eagain $run --json --name refused "$train" \
		2>err >result.json && jq -e ".attempts == 2" result.json &&
	grep "attempt 0 failed: the workers could not be started: .*temporarily unavailable" err &&
	grep "restarting from the latest checkpoint in 1 s" err && no_process_left
'
test_done
