#!/bin/sh
test_description='any command as a worker: how it starts, stops, ends, and misbehaves

The protocol is spoken by wire.py, which needs no module of raytrain.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

run="raytrain-run --launcher local --storage runs"

# A client of the session that knows nothing but the format of a message.
cat >wire.py <<\END_OF_PYTHON
import json, os, signal, socket, struct, sys, time
HEAD = struct.Struct("<4I")
class Wire:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["RAYTRAIN_SESSION"])
    def put(self, message, data=b""):
        text = json.dumps(message).encode()
        self.socket.sendall(HEAD.pack(0x31535452, len(text), len(data), 0) + text + data)
    def take(self, n):
        got = b""
        while len(got) < n:
            more = self.socket.recv(n - len(got))
            if not more:
                sys.exit("the worker has closed the connection")
            got += more
        return got
    def get(self):
        magic, text, data, zero = HEAD.unpack(self.take(HEAD.size))
        reply = json.loads(self.take(text))
        self.take(data)
        return reply
    def call(self, op, **args):
        self.put({"op": op, **args})
        return self.get()
    def report(self, **metrics):
        return self.call("report", metrics=metrics)
rank = int(os.environ["RANK"])
def hello():
    wire = Wire()
    assert wire.call("hello", version=1)["rank"] == rank
    return wire
END_OF_PYTHON
# script NAME: a Python script from standard input, which begins with wire.py.
script () {
	{ cat wire.py && cat; } >"$1"
}
# err_of RANK NAME: the standard error of a rank of the first attempt of a run.
err_of () {
	cat "runs/$2/logs/attempt-0/rank-0000$1.err"
}
own_tmp
no_socket_left () {
	is_empty "$TMPDIR"
}

test_expect_success 'a command runs on every worker, with its place in the environment' '
	$run -n 3 --name place -- sh -c "echo \$RANK \$WORLD_SIZE \$LOCAL_RANK \$LOCAL_WORLD_SIZE \
		\$NODE_RANK \$GROUP_RANK >place-\$RANK" 2>err &&
	cat place-0 place-1 place-2 >got &&
	printf "%s\n" "0 3 0 3 0 0" "1 3 1 3 0 0" "2 3 2 3 0 0" >expect && test_cmp expect got &&
	json_is runs/place/logs/attempt-0/attempt.json .outcome finished
'
test_expect_success 'the worker'\''s own place in its group does not reach the command' '
	$run -n 2 --name scrub -- env >out 2>err &&
	! grep -E "^(PMI|PMIX|RAYTRAIN_(RUN_DIR|ATTEMPT|WORKERS|BACKEND|MARKER))" \
		runs/scrub/logs/attempt-0/rank-00000.out &&
	grep "^RAYTRAIN_SESSION=" runs/scrub/logs/attempt-0/rank-00000.out
'
test_expect_success 'a place that the user has set is replaced, with a warning' '
	RANK=7 WORLD_SIZE=1 $run -n 1 --name replaced -- sh -c "test \$RANK = 0" 2>err &&
	grep "sets RANK to \"7\"; the command gets the value of this run" err &&
	! grep "sets WORLD_SIZE" err
'
test_expect_success 'lists of directories keep what the user has set' '
	env -u PYTHONUNBUFFERED PYTHONPATH=/first APPTAINER_BIND=/data $run -n 1 --name lists -- \
		env 2>err && out=runs/lists/logs/attempt-0/rank-00000.out &&
	grep -x "PYTHONPATH=/first:$stage/share/raytrain/python" $out && grep -x "PYTHONUNBUFFERED=1" $out &&
	grep -x "APPTAINER_BIND=/data,/.*,$stage/share/raytrain/python" $out
'
test_expect_success 'a run is named after the script, not after its interpreter' '
	echo pass >some_script.py &&
	$run -n 1 -- $PYTHON -u some_script.py 2>err && test -d runs/some_script &&
	$run -n 1 -- /bin/true 2>err && test -d runs/true
'
test_expect_success 'the socket is private, and gone with the run' '
	$run -n 1 --name private -- sh -c "stat -c %a \$RAYTRAIN_SESSION \
		\"\$(dirname \"\$RAYTRAIN_SESSION\")\" >modes" 2>err &&
	printf "600\n700\n" >expect && test_cmp expect modes && no_socket_left
'
test_expect_success 'the path of the socket is short, however long the paths of the run are' '
	long=$(printf "%0200d" 1) && mkdir "$long" &&
	TMPDIR=$PWD/$long $run -n 1 --storage "$long/runs" --name long -- \
		sh -c "echo \$RAYTRAIN_SESSION >path" 2>err &&
	test $(wc -c <path) -lt 108 && no_socket_left
'
test_expect_success 'spaces and UTF-8 in paths and arguments arrive as they are' '
	mkdir "d é" && printf "#!/bin/sh\nprintf \"%%s\\n\" \"\$@\" >args\n" >"d é/my prog" &&
	chmod +x "d é/my prog" &&
	$run -n 1 --name "spaced" -- "./d é/my prog" "a b" "" "ü\$HOME" 2>err &&
	printf "%s\n" "a b" "" "ü\$HOME" >expect && test_cmp expect args
'

script three.py <<\END_OF_PYTHON
wire = hello()
for i in range(3):
    reply = wire.report(loss=1 / (i + 1), rank=rank)
    assert reply["iteration"] == i + 1 and not reply["should_stop"], reply
END_OF_PYTHON
test_expect_success 'a command reports over its session' '
	$run -n 2 --name three -- $PYTHON three.py 2>err &&
	tail -n 1 runs/three/result.json >last &&
	jq -e ".training_iteration == 3 and .rank == 0.5 and .by_rank.rank.max == 1" last
'
test_expect_success 'two runs on one machine do not meet' '
	$run -n 2 --name one -- $PYTHON three.py 2>err.one & first=$! &&
	$run -n 2 --name two -- $PYTHON three.py 2>err.two && wait $first &&
	for name in one two; do
		test 3 -eq $(wc -l <runs/$name/result.json) || return 1
	done
'

# -- how it ends --

test_expect_success 'a command that fails is the failure of the run, by its words' '
	expect_status 1 $run -n 2 --name seven -- sh -c "test \$RANK = 0 && exit 7; sleep 1000" 2>err &&
	grep "rank 0 on .*: the command .*sh -c .* ended with exit status 7" err && no_process_left &&
	no_socket_left
'
test_expect_success 'a command that kills itself is reported with the signal' '
	expect_status 1 $run -n 2 --name nine -- sh -c "test \$RANK = 1 && kill -9 \$\$; sleep 1000" 2>err &&
	grep "rank 1 on .* was killed by signal 9 (Killed)" err
'
test_expect_success 'a command that does not exist, or cannot be executed, is a configuration error' '
	expect_status 3 $run -n 1 --name nothing -- ./no_such 2>err && grep "no file.*no_such" err &&
	echo text >text && expect_status 3 $run -n 1 --name text -- ./text 2>err && cat err
'
test_expect_success 'a command that only one rank lets report is named, and does not hang' '
	cat three.py >lonely.py && sed -i "s/^for/if rank == 1: sys.exit(0)\n&/" lonely.py &&
	expect_status 1 $run -n 2 --name lonely -- $PYTHON lonely.py 2>err &&
	grep "rank 0 called report(), but the command of rank 1 had ended" err
'
test_expect_success 'a command that is killed in the middle of a report does not hang' '
	script mid.py <<-\PY &&
	wire = hello()
	if rank == 0:
	    wire.put({"op": "report", "metrics": {}})
	    os.kill(os.getpid(), signal.SIGKILL)
	open("up", "w")
	time.sleep(1000)
	PY
	expect_status 1 $run -n 2 --name mid -- $PYTHON mid.py 2>err &&
	grep "rank 0 .*was killed by signal 9 (Killed), in the middle of a call" err && no_process_left
'
test_expect_success 'a restart after a kill continues' '
	script once.py <<-\PY &&
	wire = hello()
	wire.report(loss=1)
	if rank == 1 and not os.path.exists("once"):
	    open("once", "w")
	    os.kill(os.getpid(), signal.SIGKILL)
	wire.report(loss=0)
	PY
	$run -n 2 --name once --max-failures 1 -- $PYTHON once.py 2>err &&
	grep "killed by signal 9" err && json_is runs/once/logs/attempt-1/attempt.json .outcome finished
'

# -- what it leaves --

test_expect_success 'kill 0 in a script does not reach its worker' '
	expect_status 1 $run -n 1 --name group -- sh -c "kill -TERM 0; sleep 1000" 2>err &&
	grep "killed by signal 15 (Terminated)" err
'
# A process of the run's that ignores signals, in a session of its own: its pid is in the
# file `left`.
forker='(trap "" TERM HUP; exec setsid sh -c "echo \$\$ >left.new; mv left.new left; exec sleep 1000") & '
is_gone () {
	! test -e "/proc/$1" || grep -q "^State:.Z" "/proc/$1/status"
}
test_expect_success 'processes that a command leaves behind are killed with it' '
	rm -f left && $run -n 1 --name leaves -- sh -c "$forker until test -e left; do :; done" 2>err &&
	eventually is_gone $(cat left)
'
# A process in the background that reads the terminal would be stopped.
test_expect_success 'a command has no terminal' '
	cat >terminal.py <<-\PY &&
	import os, pty, sys
	pid, terminal = pty.fork()
	if pid == 0:
	    os.execvp(sys.argv[1], sys.argv[1:])
	try:
	    while os.read(terminal, 4096):
	        pass
	except OSError:
	    pass
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PY
	$PYTHON terminal.py $run -n 1 --name terminal --progress none -- \
		sh -c "if (: </dev/tty) 2>/dev/null; then echo yes; else echo no; fi >terminal" &&
	test no = "$(cat terminal)" &&
	$PYTHON terminal.py sh -c "(: </dev/tty) && echo yes >terminal" && test yes = "$(cat terminal)"
'
test_expect_success 'processes below a command die if its worker is killed' '
	rm -f left && { $run -n 1 --name widow -- sh -c "$forker wait" 2>err & } && pid=$! &&
	eventually test -e left && kill -KILL $(worker_pids widow) && expect_status 1 wait $pid &&
	eventually is_gone $(cat left) && no_process_left
'
test_expect_success 'processes below a command die if raytrain-run is killed' '
	rm -f left && { $run -n 1 --name orphan -- sh -c "$forker wait" 2>err & } && pid=$! &&
	eventually test -e left && kill -KILL $pid && expect_status 137 wait $pid 2>/dev/null &&
	eventually is_gone $(cat left) && eventually no_process_left && eventually no_socket_left
'
test_expect_success 'a gigabyte of output is passed on' '
	$run -n 1 --name loud -- sh -c "head -c 1G /dev/zero" 2>err &&
	test 1073741824 -eq $(stat -c %s runs/loud/logs/attempt-0/rank-00000.out) &&
	rm runs/loud/logs/attempt-0/rank-00000.out
'

# -- stopping --

test_expect_success 'a request to stop reaches a command without a session as SIGTERM' '
	rm -f up && { $run -n 2 --name plain -- sh -c "trap \"touch saved-\$RANK; exit 3\" TERM
		touch up-\$RANK; while :; do sleep 0.1; done" 2>err & } && pid=$! &&
	eventually test -e up-0 && eventually test -e up-1 &&
	kill -TERM $pid && expect_status 75 wait $pid && test -e saved-0 && test -e saved-1 &&
	json_is runs/plain/logs/attempt-0/attempt.json .outcome stopped && no_process_left
'
# Rank 1 sleeps; the others make a call, and exit with a status.
script early.py <<\PY
if rank == 1:
    open("up-1", "w")
    time.sleep(1000)
wire = hello()
open("up-0", "w")
if sys.argv[1] == "report":
    reply = wire.report(i=1)
elif sys.argv[1].startswith("predict_"):
    output = {"name": "y", "dtype": "float32", "shape": []}
    assert "error" not in wire.call("predict_begin", outputs=[output], batch_size=10)
    if sys.argv[1] == "predict_next":
        reply = wire.call("predict_next", slot=0, put=False)
    else:
        reply = wire.call("barrier")
else:
    reply = wire.call(sys.argv[1])
    assert wire.call("barrier")["error"]["code"] == "ESTOPPED"
assert reply["error"]["code"] == "ESTOPPED", reply
sys.exit(int(sys.argv[2]))
PY
# stops_early DIR CALL STATUS COMMAND...: what the command starts is stopped before rank 1 has
# used its session.
stops_early () {
	dir=$1 call=$2 status=$3 && shift 3 && rm -f up-0 up-1 &&
	{ "$@" -- $PYTHON early.py $call $status 2>err & } && pid=$! &&
	eventually test -e up-0 && eventually test -e up-1 &&
	kill -TERM $pid && expect_status 75 wait $pid && no_process_left &&
	json_is $dir/logs/attempt-0/attempt.json .outcome stopped
}
test_expect_success 'a stop before a command uses its session ends collective calls of other ranks' '
	stops_early runs/early barrier 0 $run -n 2 --name early &&
	stops_early runs/late checkpoint_wait 75 $run -n 2 --name late
'
test_expect_success 'a stop before a command uses its session ends reports of other ranks' '
	stops_early runs/reports report 3 $run -n 2 --name reports
'
test_expect_success 'a stop before a command uses its session ends the prediction of other ranks' '
	make_model && make_rows 100 &&
	stops_early p.h5.run predict_next 75 raytrain-predict --launcher local \
		--checkpoint runs/model --data rows.npz -n 2 -o p.h5 &&
	stops_early q.h5.run predict_barrier 75 raytrain-predict --launcher local \
		--checkpoint runs/model --data rows.npz -n 2 -o q.h5
'
test_expect_success 'a command that ignores SIGTERM is killed after the grace time' '
	rm -f up && { $run -n 1 --grace 1 --name deaf -- sh -c "trap \"\" TERM USR1; touch up
		while :; do sleep 0.1; done" 2>err & } && pid=$! &&
	eventually test -e up && kill -TERM $pid && expect_status 75 wait $pid && no_process_left
'
test_expect_success 'a connected client learns of it by its session alone' '
	script asks.py <<-\PY &&
	signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
	wire = hello()
	i = 0
	while True:
	    reply = wire.call("report", metrics={"i": i}, asks_stop=True)
	    i += 1
	    if i == 2 and rank == 0:
	        open("up", "w")
	    if reply["should_stop"]:
	        assert not reply["exit"]
	        break
	    time.sleep(0.01)
	PY
	rm -f up && { $run -n 2 --name asks -- $PYTHON asks.py 2>err & } && pid=$! &&
	eventually test -e up && kill -TERM $pid && expect_status 75 wait $pid &&
	json_is runs/asks/logs/attempt-0/attempt.json .outcome stopped
'
test_expect_success 'criteria end a command that never asks, and the run is finished' '
	script never.py <<-\PY &&
	wire = hello()
	while not wire.report(i=1)["exit"]:
	    pass
	PY
	$run -n 2 --name never --set run_config.stop.training_iteration=5 -- $PYTHON never.py 2>err &&
	test 5 -eq $(wc -l <runs/never/result.json)
'

# -- misbehaviour on the socket --

test_expect_success 'garbage on the socket closes the connection, with a reason' '
	script garbage.py <<-\PY &&
	wire = hello()
	wire.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
	assert "not a message" in wire.get()["error"]["text"]
	assert wire.socket.recv(1) == b""
	wire = hello()
	wire.report(loss=1)
	PY
	$run -n 1 --name garbage -- $PYTHON garbage.py 2>err && grep "is not a message" err
'
test_expect_success 'a header that claims 4 GiB is refused before memory is taken' '
	script huge.py <<-\PY &&
	wire = hello()
	wire.socket.sendall(HEAD.pack(0x31535452, 100, 0xffffffff, 0))
	assert "larger than the session takes" in wire.get()["error"]["text"]
	PY
	$run -n 1 --name huge -- $PYTHON huge.py 2>err
'
test_expect_success 'wrong requests get an error, and the session continues' '
	script wrong.py <<-\PY &&
	wire = hello()
	for request, text in (({}, "op"), ({"op": 3}, "op"), ({"op": "none"}, "no request"),
	                      ({"op": "hello"}, "version"), ({"op": "hello", "version": 2}, "version 2"),
	                      ({"op": "report"}, "no metrics"),
	                      ({"op": "report", "metrics": {"a": [1]}}, "not a number"),
	                      ({"op": "report", "metrics": {"a b": 1}}, "not a valid name"),
	                      ({"op": "report", "metrics": {}, "refused": "my reason"}, "my reason")):
	    wire.put(request)
	    reply = wire.get()
	    assert text in reply["error"]["text"], (request, reply)
	wire.report(loss="nan")
	wire.socket.close()
	wire = hello()
	wire.report(loss="inf")
	PY
	$run -n 1 --name wrong -- $PYTHON wrong.py 2>err && cat err &&
	test 2 -eq $(wc -l <runs/wrong/result.json)
'
test_expect_success 'a second client at a time is refused' '
	script second.py <<-\PY &&
	wire = hello()
	assert "has the session" in Wire().get()["error"]["text"]
	wire.report(loss=1)
	PY
	$run -n 1 --name second -- $PYTHON second.py 2>err
'
test_expect_success 'metrics of different names are those of rank 0' '
	script names.py <<-\PY &&
	wire = hello()
	wire.report(**{"loss": 1, "rank%d" % rank: 2})
	PY
	$run -n 2 --name names -- $PYTHON names.py 2>err && grep "different names: those of rank 0" err &&
	jq -e ".rank0 == 2 and .loss == 1 and .rank1 == null" runs/names/result.json
'

test_done
