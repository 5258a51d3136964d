#!/bin/sh
test_description='the Python module: reports, the end of a script, and what it prints

t/1300-command.t tests the other end of its socket.'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"

# script NAME: a Python script from standard input.
script () {
	cat >"$1"
}
# fails_with TEXT NAME SCRIPT...: the run fails, with TEXT (a pattern) in its messages.
fails_with () {
	text=$1
	shift
	expect_status 1 $run --name "$1" -n 2 -- $PYTHON "$2" 2>err || return 1
	grep "$text" err || { cat err; return 1; }
}

script calls.py <<\END_OF_PYTHON
import raytrain as train
from raytrain import collective

context = train.get_context()
rank, size = context.get_world_rank(), context.get_world_size()
assert (size, context.get_local_world_size(), context.get_node_rank()) == (2, 2, 0)
assert context.get_local_rank() == rank
assert context.get_experiment_name() == "calls", context.get_experiment_name()
assert context.get_storage().storage_path.endswith("/runs")
assert context.get_config() == train.config == {"lr": 0.5, "sizes": [1, 2]}
assert train.get_checkpoint() is None
assert train.should_checkpoint() and not train.should_stop()
train.barrier()
assert collective.broadcast_from_rank_zero({"rank": rank}) == {"rank": 0}
train.report({"loss": 1, "nested": {"a": 2.5}, "good": True, "note": "text",
	"what": object(), "long": "x" * 5000})
train.report({"loss": float("nan"), "nested": {"a": float("inf")}, "good": False})
END_OF_PYTHON
test_expect_success 'the calls of a training function' '
	$run --name calls -n 2 --set "train_loop_config={lr=0.5; sizes=[1,2];}" -- $PYTHON calls.py \
		2>err && sed -n 1p runs/calls/result.json >first &&
	jq -e ".loss == 1 and .[\"nested/a\"] == 2.5 and .good == 1 and .note == \"text\"" first &&
	grep "are not kept: what" err && grep "in result.json only: long" err &&
	grep "metric loss is NaN" err
'
test_expect_success 'arrays and tensors of one element are numbers, larger ones are lists' '
	script arrays.py <<-\PY &&
	import numpy, torch, raytrain
	raytrain.report({"np": numpy.float32(0.5), "one": numpy.array([2]), "t": torch.tensor(3.0)})
	raytrain.report({"np": numpy.arange(2), "good": numpy.bool_(True), "half": torch.ones(2).half(),
	                 "t": torch.zeros(2, 2), "huge": numpy.zeros(1 << 20)})
	PY
	$run --name arrays -n 2 -- $PYTHON arrays.py 2>err &&
	sed -n 1p runs/arrays/result.json | jq -e ".np == 0.5 and .one == 2 and .t == 3" &&
	sed -n 2p runs/arrays/result.json | jq -e ".np == [0, 1] and .half == [1, 1] and
		.reported == {np: [0, 1], good: true, half: [1.0, 1.0], t: [[0.0, 0.0], [0.0, 0.0]]}" &&
	grep "are not kept: huge" err
'
test_expect_success 'a metric that cannot be kept as it is does not end the training' '
	script values.py <<-\PY &&
	import fractions, raytrain
	class Odd:
	    def __float__(self):
	        raise RuntimeError("no")
	raytrain.report({"nul": "a\0b", "half": "\ud800x", "both": "\ud83d\ude00", "big": -10**400,
	                 "ratio": fractions.Fraction(10**400), "list": [1, 10**400, 2**70],
	                 "odd": Odd()})
	raytrain.report({"nul": "a\0b", "good": 1})
	PY
	$run --name values -n 1 -- $PYTHON values.py 2>err &&
	sed -n 1p runs/values/result.json >first &&
	jq -e ".nul == \"a\ufffdb\" and .half == \"\ufffdx\" and .list[0] == 1" first &&
	jq -e "has(\"big\") and has(\"ratio\") and (has(\"odd\") | not)" first &&
	test 1 -eq "$(grep -c "metric nul has U+FFFD" err)" && grep "metric half has U+FFFD" err &&
	grep "metric big is infinite" err && grep "are not kept: odd" err
'
test_expect_success 'one rank whose metrics are wrong is an error on all ranks' '
	script wrong.py <<-\PY &&
	import raytrain
	rank = raytrain.get_context().get_world_rank()
	try:
	    raytrain.report(["loss"] if rank == 1 else {"loss": 1})
	except raytrain.RaytrainError as e:
	    assert "takes a dict" in str(e), e
	    assert rank == 1 or "rank 1" in str(e), e
	else:
	    raise SystemExit("it was accepted")
	PY
	$run --name wrong -n 2 -- $PYTHON wrong.py 2>err
'
test_expect_success 'a script that raises fails the run with its exception and where it was raised' '
	script raises.py <<-\PY &&
	import raytrain, time
	def the_function():
	    raise ValueError("boom é\nagain")
	if raytrain.get_context().get_world_rank() == 1:
	    the_function()
	time.sleep(1000)
	PY
	expect_status 1 $run --name raises -n 2 --max-failures 1 -- $PYTHON raises.py 2>err &&
	test 2 -eq $(grep -c "rank 1 on .*: ValueError: boom" err) && grep the_function err &&
	grep "^    File .*raises.py.*line 3" err && test 4 -eq $(grep -c "^  again" err) &&
	! grep -E "^(Traceback|ValueError|again)" err &&
	json_is runs/raises/logs/attempt-0/attempt.json .rank 1
'
test_expect_success 'an exception ends the run while other threads of the script live' '
	script threads.py <<-\PY &&
	import concurrent.futures, sys, threading, time, raytrain
	raytrain.report({"x": 1})
	threading.Thread(target=time.sleep, args=(1000,)).start()
	pool = concurrent.futures.ThreadPoolExecutor(2)
	pool.submit(time.sleep, 1000)
	if sys.argv[1:]:
	    if raytrain.get_context().get_world_rank() == 0:
	        pool.submit(raytrain.barrier)
	        while not raytrain._session.session()._connection._owner:
	            time.sleep(0.01)
	    else:
	        time.sleep(1000)
	raise ValueError("threads live")
	PY
	grace="--set run_config.exit_grace_s=2" &&
	{ timeout -k 1 200 $run $grace --name calling -n 2 -- $PYTHON threads.py calls 2>calling & } &&
	timeout -k 1 200 $run $grace --name threads -n 2 -- $PYTHON threads.py 2>err
	test $? = 1 && grep "ValueError: threads live" err && grep "make them daemons" err &&
	grep "still runs 2 s after an exception" err &&
	expect_status 1 wait $! && grep "ValueError: threads live" calling
'
test_expect_success 'sys.exit() with a status is a failure, without one it is not' '
	echo "import raytrain, sys; raytrain.report({}); sys.exit(3)" >exits.py &&
	fails_with "ended with exit status 3" exits exits.py &&
	echo "import raytrain, sys; raytrain.report({}); sys.exit()" >leaves.py &&
	$run --name leaves -n 2 -- $PYTHON leaves.py 2>err
'
test_expect_success 'a script that reports from one rank only is named' '
	script lonely.py <<-\PY &&
	import raytrain
	if raytrain.get_context().get_world_rank() == 0:
	    raytrain.report({"loss": 1})
	PY
	fails_with "rank 0 called report(), but the command of rank 1 had ended" lonely lonely.py
'
test_expect_success 'a forked process cannot use the session, and does not end it' '
	script forks.py <<-\PY &&
	import os, raytrain
	raytrain.report({"i": 0})
	pid = os.fork()
	if pid == 0:
	    try:
	        raytrain.report({"i": 1})
	    except raytrain.RaytrainError as e:
	        os._exit(0 if "forked" in str(e) else 1)
	    os._exit(2)
	assert os.waitpid(pid, 0)[1] == 0
	raytrain.report({"i": 2})
	PY
	$run --name forks -n 2 -- $PYTHON forks.py 2>err && test 2 -eq $(wc -l <runs/forks/result.json)
'
# At module level, where children that are spawned come by, too.
script children.py <<\END_OF_PYTHON
import multiprocessing, os, subprocess, sys
import raytrain
context = raytrain.get_context()
FACTS = (context.get_world_rank(), context.get_world_size(), context.get_local_rank(),
         context.get_experiment_name(), context.get_trial_dir(), context.get_attempt(),
         raytrain.config)

def facts(i):
    return FACTS

def reports(i):
    try:
        raytrain.report({"x": 1})
    except raytrain.RaytrainError as e:
        return str(e)

if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(FACTS == eval(sys.argv[1]))
        raise SystemExit
    pid = os.getpid()
    for method in "spawn", "forkserver", "fork":
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(facts, range(4)) == [FACTS] * 4, method
            for said in pool.map(reports, range(2)):
                assert f"process {pid}" in said and "get_context()" in said, said
    said = subprocess.check_output([sys.executable, __file__, repr(FACTS)], text=True)
    assert said == "True\n", said
    raytrain.report({"rank": FACTS[0]})
END_OF_PYTHON
test_expect_success 'children that are forked or spawned have the facts of the worker, and cannot report' '
	timeout -k 5 100 $run --name children -n 2 --set "train_loop_config.lr=0.5" -- $PYTHON children.py \
		2>err && jq -e ".by_rank.rank.max == 1" runs/children/result.json
'
test_expect_success 'a child that is first to ask where it is does not take the session' '
	script first.py <<-\PY &&
	import multiprocessing, raytrain
	def rank(i):
	    return raytrain.get_context().get_world_rank()
	if __name__ == "__main__":
	    for method in "fork", "spawn", "forkserver":
	        with multiprocessing.get_context(method).Pool(2) as pool:
	            ranks = pool.map(rank, range(2))
	            if method == "forkserver":
	                raytrain.report({"rank": ranks[0]})
	    assert ranks == [rank(0)] * 2
	PY
	timeout -k 5 100 $run --name first -n 2 -- $PYTHON first.py 2>err &&
	jq -e ".by_rank.rank.max == 1" runs/first/result.json
'
test_expect_success 'SIGTERM ends forked processes, and not the script' '
	script term.py <<-\PY &&
	import os, raytrain, signal, time
	early = False # in the child, before anything of raytrain runs there
	os.register_at_fork(after_in_child=lambda: early and os.kill(os.getpid(), signal.SIGTERM))
	raytrain.report({"i": 0})
	ready, go = os.pipe()
	pid = os.fork()
	if pid == 0:
	    os.write(go, b"!")
	    time.sleep(1000)
	os.read(ready, 1)
	os.kill(pid, signal.SIGTERM)
	status = os.waitpid(pid, 0)[1]
	assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
	early = True
	pid = os.fork()
	if pid == 0:
	    time.sleep(1000)
	status = os.waitpid(pid, 0)[1]
	assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
	os.kill(os.getpid(), signal.SIGTERM)
	raytrain.report({"i": 1})
	PY
	timeout -k 5 100 $run --name term -n 1 -- $PYTHON term.py 2>err && test 2 -eq $(wc -l <runs/term/result.json)
'
test_expect_success 'a script whose worker is killed ends' '
	script widow.py <<-\PY &&
	import os, raytrain, sys, time
	raytrain.report({"i": 0})
	open("pid.new", "w").write(str(os.getpid()))
	os.rename("pid.new", "pid")
	while True:
	    raytrain.report({"i": 0})
	PY
	rm -f pid && { $run --name widow -n 1 -- $PYTHON widow.py 2>err & } && pid=$! &&
	eventually test -e pid && kill -KILL $(worker_pids widow) && expect_status 1 wait $pid &&
	eventually test_path_is_missing /proc/$(cat pid) 2>/dev/null
'
# This script is neither in the session of its worker, nor does it get a signal at its end.
test_expect_success 'a script that makes no calls ends when its worker is killed' '
	script alone.py <<-\PY &&
	import ctypes, os, raytrain, time
	raytrain.report({"i": 0})
	os.setsid()
	ctypes.CDLL(None).prctl(1, 0)
	open("pid.new", "w").write(str(os.getpid()))
	os.rename("pid.new", "pid")
	time.sleep(1000)
	PY
	rm -f pid && { $run --name watch -n 1 -- $PYTHON -c "
import os
if os.fork() == 0:
    os.execlp(\"$PYTHON\", \"python3\", \"alone.py\")
os.wait()" 2>err & } && pid=$! &&
	eventually test -e pid && kill -KILL $(worker_pids watch) && expect_status 1 wait $pid &&
	eventually test_path_is_missing /proc/$(cat pid) 2>/dev/null
'
test_expect_success 'a call in the middle of another, and after one that was interrupted, is refused' '
	script handler.py <<-\PY &&
	import os, raytrain, signal
	rank = raytrain.get_context().get_world_rank()
	said = []
	def handler(number, frame):
	    try:
	        raytrain.report({"i": 1})
	    except raytrain.RaytrainError as e:
	        said.append(str(e))
	        raise KeyboardInterrupt
	signal.signal(signal.SIGALRM, handler)
	if rank == 0:
	    signal.setitimer(signal.ITIMER_REAL, 0.2)
	    try:
	        raytrain.barrier()
	    except KeyboardInterrupt:
	        assert "in the middle of another" in said[0], said
	    try:
	        raytrain.report({"i": 2})
	    except raytrain.RaytrainError as e:
	        assert "was interrupted" in str(e), e
	        open("refused", "w")
	    raise SystemExit(1)
	while not os.path.exists("refused"):
	    pass
	PY
	expect_status 1 $run --name handler -n 2 -- $PYTHON handler.py 2>err && test -e refused
'
test_expect_success 'a script that asks should_stop() ends by itself when it is asked to' '
	script asks.py <<-\PY &&
	import raytrain
	i = 0
	while not raytrain.should_stop():
	    raytrain.report({"i": i})
	    i += 1
	    if i == 2:
	        open("up", "w")
	open("by-itself", "w")
	PY
	rm -f up && { $run --name asks -n 2 -- $PYTHON asks.py 2>err & } && pid=$! &&
	eventually test -e up && kill -TERM $pid && expect_status 75 wait $pid && test -e by-itself
'
test_expect_success 'criteria of the configuration end a script that never asks' '
	script never.py <<-\PY &&
	import raytrain
	try:
	    while True:
	        raytrain.report({"i": 1})
	finally:
	    open("tidied", "w")
	PY
	$run --name never -n 2 --set run_config.stop.training_iteration=3 -- $PYTHON never.py 2>err &&
	test 3 -eq $(wc -l <runs/never/result.json) && test -e tidied
'
test_expect_success 'outside raytrain-run a script is one worker' '
	sed -e "s/(2, 2, 0)/(1, 1, 0)/" -e "/experiment_name\|storage_path\|get_config/d" calls.py \
		>alone.py &&
	PYTHONPATH=$stage/share/raytrain/python $PYTHON -W ignore alone.py
'
test_expect_success 'the module imports nothing that costs time' '
	script imports.py <<-\PY &&
	import sys
	before = set(sys.modules)
	import raytrain
	more = {m.split(".")[0] for m in set(sys.modules) - before}
	assert more <= {"raytrain", "__future__"}, more
	PY
	PYTHONPATH=$stage/share/raytrain/python $PYTHON imports.py
'
test_expect_success 'every public name can be loaded, or says what it needs' '
	PYTHONPATH=$stage/share/raytrain/python $PYTHON -c "
import raytrain
for name in raytrain.__all__: getattr(raytrain, name)"
'
grep -q "define RAYTRAIN_FAULTS" "$builddir/config.h" && test_set_prereq FAULTS
# A busy machine is slow, and so is giving back much memory. Here it takes the time of a run:
# the worker is at it when the command ends.
test_expect_success FAULTS 'a script that ends well has done so, however slow its worker notices it' '
	echo "import raytrain; raytrain.report({\"x\": 1})" >short.py && mkfifo slow &&
	{ RAYTRAIN_FAULT=companion.drop:0:wait RAYTRAIN_FAULT_FIFO=$PWD/slow \
		$run --name late -n 1 -- sh -c "\"$PYTHON\" short.py && : >slow" 2>err & } && pid=$! &&
	$run --name meanwhile -n 1 -- "$PYTHON" short.py 2>err2 3>slow &&
	wait $pid && json_is runs/late/logs/attempt-0/attempt.json .outcome finished
'
# Waits for a preemption, whose deadline is at most that number of seconds away.
script preempted.py <<\END_OF_PYTHON
import os, sys, time
import raytrain as train

rank, host = train.get_context().get_world_rank(), os.uname().nodename
info = train.get_preemption_info()
open(f"ready-{rank}", "w").close()
while info is None or info.deadline_ms is None:
	time.sleep(0.01)
	info = train.get_preemption_info()
left = info.deadline_ms / 1000 - time.time()
assert 0 < left <= float(sys.argv[1]), left
assert info.preempted_ranks == [0, 1] and info.preempted_node_ids == [host], info
assert info.preempted_node_to_ranks == {host: [0, 1]}
for step in range(3):
	train.report({"step": step}, checkpoint=train.Checkpoint.from_dict({"step": step}))
	assert train.get_preemption_info() == info
END_OF_PYTHON
# begin NAME ARG... -- SCRIPT...: start a run of two workers, and wait until both are ready.
begin () {
	rm -f ready-* && name=$1 && shift &&
	{ $run --name $name -n 2 "$@" 2>err & } && pid=$! &&
	eventually test -e ready-0 && eventually test -e ready-1
}
test_expect_success 'a preemption is known to all workers, and training that returns has finished' '
	begin notice --grace 600 -- "$PYTHON" preempted.py 601 && kill -TERM $pid && wait $pid &&
	json_is runs/notice/logs/attempt-0/attempt.json .outcome finished &&
	jq -e ".step == 2" runs/notice/result.json
'
test_expect_success 'the end of the job is the deadline' '
	mkdir -p bin && printf "#!/bin/sh\necho 7 7 N/A %s %s N/A RUNNING 1 1\n" \
		"$(($(date +%s) - 100000))" "$(($(date +%s) + 10000))" >bin/squeue &&
	chmod +x bin/squeue && (
		PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 && export PATH SLURM_JOB_ID &&
		begin ends -- "$PYTHON" preempted.py 10001 && kill -TERM $pid && wait $pid
	)
'
test_expect_success 'a stop that a user requests is not a preemption, and ends training at a report' '
	script asked.py <<-\PY &&
	import raytrain as train
	open(f"ready-{train.get_context().get_world_rank()}", "w").close()
	while True:
	    assert train.get_preemption_info() is None
	    train.report({"x": 1}, checkpoint=train.Checkpoint.from_dict({"x": 1}))
	PY
	begin asked -- "$PYTHON" asked.py && kill -INT $pid && expect_status 75 wait $pid
'
test_expect_success 'a stop before a script uses its session is a SystemExit in reports of other ranks' '
	script early.py <<-\PY &&
	import os, raytrain, time
	rank = os.environ["RANK"]
	if rank == "0":
	    assert not raytrain.should_stop()
	open(f"up-{rank}", "w").close()
	if rank == "1":
	    time.sleep(1000)
	try:
	    raytrain.report({"i": 0})
	except Exception:
	    open("caught", "w").close()
	PY
	{ $run --name early -n 2 -- $PYTHON early.py 2>err & } && pid=$! &&
	eventually test -e up-0 && eventually test -e up-1 &&
	kill -TERM $pid && expect_status 75 wait $pid && test_path_is_missing caught &&
	json_is runs/early/logs/attempt-0/attempt.json .outcome stopped &&
	! grep Traceback runs/early/logs/attempt-0/rank-00000.err
'
test_expect_success 'SIGTERM to a worker names its rank, until the next attempt' '
	script taken.py <<-\PY &&
	import os, time
	import raytrain as train
	context = train.get_context()
	rank = context.get_world_rank()
	if context.get_attempt() == 1:
	    assert train.get_checkpoint().to_dict()["x"] == 1
	    assert train.get_preemption_info() is None
	    raise SystemExit
	with open(f"companion-{rank}", "w") as out:
	    out.write(str(os.getppid()))
	open(f"ready-{rank}", "w").close()
	while True:
	    info = train.get_preemption_info()
	    if info is not None:
	        break
	    time.sleep(0.01)
	assert (info.preempted_ranks, info.deadline_ms) == ([1], None), info
	train.report({"x": 1}, checkpoint=train.Checkpoint.from_dict({"x": 1}))
	open(f"saved-{rank}", "w").close()
	while train.get_preemption_info() == info:
	    time.sleep(0.01)
	PY
	begin taken -- "$PYTHON" taken.py && kill -TERM $(cat companion-1) &&
	eventually test -e saved-1 && eventually test -e saved-0 &&
	eventually test -f runs/taken/checkpoint_000001.h5 && kill -KILL $(cat companion-1) && wait $pid &&
	json_is runs/taken/logs/attempt-0/attempt.json .outcome stopped .cause preempted
'
# Rank 0 has 1.0 in all reports, the mean is 1.5.
script kinds.py <<\END_OF_PYTHON
import raytrain as train
for _ in range(2):
	train.report({"score": 1.0 + train.get_context().get_world_rank()},
		checkpoint=train.Checkpoint.from_dict({"x": 1}))
END_OF_PYTHON
cat >kinds.sh <<\END
test $KIND = mean || exec "$PYTHON" kinds.py
echo $RANK >of-$RANK && for i in 1 2; do
	raytrain-report score=$((RANK + 1)) --checkpoint of-$RANK || exit
done
END
# kinds NAME WORKERS FIRST SECOND [NEXT]: a run that reports the one kind, and then continues with the
# other, with NEXT workers.
kinds () {
	export PYTHON KIND &&
	KIND=$3 && $run --name $1 -n $2 --score score -- sh kinds.sh 2>err.1 &&
	KIND=$4 && $run --name $1 -n ${5:-$2} --score score --resume --set seed=2 -- sh kinds.sh 2>err.2 &&
	! grep "checkpoint_score_attribute" err.1
}
test_expect_success 'a score that is a mean first and then of rank 0, or the reverse, has a warning' '
	kinds mean 2 mean rank0 &&
	test "$(grep -c "score is the value of rank 0 from iteration 3 on, and was the mean" err.2)" = 1 &&
	kinds rank0 2 rank0 mean &&
	grep "score is the mean over the workers from iteration 3 on, and was the value of rank 0" err.2 &&
	kinds same 2 rank0 rank0 && ! grep "from iteration" err.2 &&
	kinds alone 1 mean rank0 && ! grep "from iteration" err.2 &&
	kinds grows 1 rank0 mean 2 && ! grep "from iteration" err.2 &&
	kinds shrinks 2 mean rank0 1 && ! grep "from iteration" err.2
'
test_expect_success 'raytrain-inspect says what the metrics are where means and values of rank 0 meet' '
	raytrain-inspect runs/mean >out && grep "the values are means, rank 0.s from 3 on" out &&
	raytrain-inspect runs/same >out && ! grep "values are" out &&
	raytrain-inspect --compare runs/mean runs/same >out &&
	grep "^they are  *means, rank 0.s from 3 on  *rank 0.s$" out &&
	raytrain-inspect --compare runs/same runs/alone >out && ! grep "they are" out &&
	raytrain-inspect --compare --json runs/rank0 runs/alone | jq -c ".runs[].metrics_are" >got &&
	printf "%s\n" "[{\"iteration\":1,\"of\":\"rank0\"},{\"iteration\":3,\"of\":\"mean\"}]" "[]" >want &&
	test_cmp want got
'
test_expect_success 'best_checkpoints and get_best_checkpoint() warn of such a score, once' '
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" - <<-\EOT
	import warnings
	from raytrain import Result
	for name, texts in ("mean", ["score is the value of rank 0 from the checkpoint of iteration 3 on, "
	                    "and the mean over the workers before"]), ("same", []), ("alone", []):
	    with warnings.catch_warnings(record=True) as seen:
	        warnings.simplefilter("always")
	        result = Result.from_path("runs/" + name)
	        for _ in range(2):
	            assert len(result.best_checkpoints) == 4
	            assert result.get_best_checkpoint("score", "max")
	    assert [str(w.message).split(":")[0] for w in seen] == texts, [str(w.message) for w in seen]
	EOT
'
test_expect_success 'outside raytrain-run there is no preemption' '
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" -c "
import raytrain
assert raytrain.get_preemption_info() is None
info = raytrain.PreemptionInfo(None, {\"b\": [3, 2], \"a\": [0, 2]})
assert info.preempted_node_ids == [\"a\", \"b\"] and info.preempted_ranks == [0, 2, 3]"
'
test_done
