#!/bin/sh
test_description='fit(): checkpoints of the caller to start from, failures, and Ctrl-C'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

cat >common.py <<\EOF
import os, sys
import raytrain
from raytrain import Checkpoint, DataParallelTrainer, RunConfig, ScalingConfig

def trainer(function, config=None, workers=2, start=None, **run):
    run.setdefault("storage_path", "runs")
    return DataParallelTrainer(function, train_loop_config=config,
                               scaling_config=ScalingConfig(num_workers=workers),
                               run_config=RunConfig(launcher="local", **run),
                               resume_from_checkpoint=start)
EOF

cat >dicts.py <<\EOF
from common import *
import numpy as np

def train():
    checkpoint = raytrain.get_checkpoint()
    state = checkpoint.to_dict()
    assert state["name"] == "warm" and state["w"].dtype == np.float32, state
    assert checkpoint.get_metadata() == {"from": "caller"}, checkpoint.get_metadata()
    if raytrain.get_context().get_attempt() == 0 and state["fails"]:
        raise RuntimeError("before the first report")
    raytrain.report({"sum": float(state["w"].sum())})

def start(fails):
    made = Checkpoint.from_dict({"w": np.arange(5, dtype=np.float32), "name": "warm",
                                 "nested": {"n": 3}, "fails": fails})
    made.set_metadata({"from": "caller"})
    return made

result = trainer(train, start=start(False), name="dict").fit()
assert result.metrics["sum"] == 10 and result.metrics["training_iteration"] == 1, result
for name in "again", "failed":
    try:
        trainer(train, start=start(True), name=name).fit()
        assert False
    except raytrain.TrainingFailedError:
        pass
os.rename("runs/again", "runs/moved")
os.rename("runs/again.start.h5", "runs/moved.start.h5")
assert DataParallelTrainer.restore("runs/moved").fit().metrics["sum"] == 10
print("all started")
EOF
cat >resumed.py <<\EOF
from common import *

def train():
    state = raytrain.get_checkpoint().to_dict()
    if raytrain.get_context().get_attempt() == 0:
        raise RuntimeError("before the first report")
    raytrain.report({"value": state["value"]})

def fit(value):
    return trainer(train, start=Checkpoint.from_dict({"value": value}), name="resumed",
                   on_existing="resume").fit()

try:
    fit(1)
    assert False
except raytrain.TrainingFailedError:
    pass
assert fit(2).metrics["value"] == 1
assert fit(3).metrics["value"] == 1
EOF
test_expect_success 'a run starts from a dict of the caller, and so does the run that is restored' '
	"$PYTHON" dicts.py >out 2>err && grep "all started" out &&
	raytrain-inspect --verify runs/dict.start.h5 &&
	grep "dict.start.h5" runs/dict/run.cfg && no_temporary runs
'
test_expect_success 'a script that runs again continues from the dict of its first run' '
	"$PYTHON" resumed.py 2>err
'
test_expect_success 'raytrain-run continues one that has no checkpoint yet from the same start' '
	raytrain-run --launcher local -c runs/failed/run.cfg --name failed --storage "$PWD/runs" \
		--resume -n 1 2>err && jq -e ".sum == 10" runs/failed/result.json
'
test_expect_success 'a run starts from a directory of the caller' '
	mkdir -p given/sub && echo hello >given/sub/file && : >given/empty &&
	cat >directories.py <<-\EOF &&
	from common import *
	def train():
	    with raytrain.get_checkpoint().as_directory() as path:
	        assert os.path.getsize(path + "/empty") == 0
	        raytrain.report({"found": open(path + "/sub/file").read() == "hello\n"})
	for start in Checkpoint.from_directory("given"), Checkpoint("given"):
	    assert trainer(train, start=start).fit().metrics["found"] == 1
	EOF
	"$PYTHON" directories.py 2>err
'
test_expect_success 'a start that cannot be read is an error before anything runs' '
	ln -s /dev/null given/device &&
	cat >unreadable.py <<-\EOF &&
	from common import *
	try:
	    trainer(lambda: None, start=Checkpoint.from_directory("given"), name="no").fit()
	except ValueError as error:
	    assert "leads out of" in str(error), error
	    print("refused")
	EOF
	"$PYTHON" unreadable.py >out 2>err && grep refused out &&
	test_path_is_missing runs/no && test_path_is_missing runs/no.start.h5
'

cat >fails.py <<\EOF
from common import *
import signal
def train(config):
    if raytrain.get_context().get_world_rank() == 1:
        if config["killed"]:
            print("last words", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("that does not compute")
    raytrain.report({"x": 1})
trainer(train, {"killed": len(sys.argv) > 1}, name="fails").fit()
EOF
test_expect_success 'the text of a failure is shown by the exception and its cause, and no more' '
	expect_status 1 "$PYTHON" fails.py 2>err &&
	test 2 -eq "$(grep -c "^ValueError: that does not compute" err)" &&
	grep "was the direct cause" err &&
	grep "raytrain-run: the training failed: rank 1" err
'
test_expect_success 'of a worker that is killed the last lines are shown' '
	expect_status 1 "$PYTHON" fails.py killed 2>err &&
	grep "WorkerGroupError: rank 1 .* killed by signal 9" err &&
	test 1 -eq "$(grep -c "last words" err)"
'

test_expect_success 'a run whose workers die before they come to the function is restored' '
	cat >early.py <<-\EOF && mkdir dying &&
	from common import *
	def train():
	    raytrain.report({"x": 1})
	if len(sys.argv) == 1:
	    trainer(train, name="early").fit()
	print(DataParallelTrainer.restore("runs/early").fit().metrics["x"])
	EOF
	echo "import os; \"RAYTRAIN_FIT\" in os.environ and os._exit(7)" >dying/sitecustomize.py &&
	expect_status 1 env PYTHONPATH="$PWD/dying:$PYTHONPATH" "$PYTHON" early.py 2>err &&
	grep "WorkerGroupError: rank . .* ended with exit status 7" err &&
	test "$(stat -c %a runs/early/trainer.pkl)" = 600 &&
	test "$("$PYTHON" early.py again)" = 1
'

cat >stops.py <<\EOF
from common import *
import time
def train(config):
    saved = raytrain.get_checkpoint()
    n = saved.to_dict()["n"] if saved else 0
    while not (config["polite"] and raytrain.should_stop()):
        n += 1
        raytrain.report({"n": n}, checkpoint=Checkpoint.from_dict({"n": n}))
        if config["deaf"] and n == 2:
            open("ready", "w").close()
            time.sleep(1000)
        if n == 2 and raytrain.get_context().get_world_rank() == 0:
            open("ready", "w").close()
try:
    trainer(train, {"polite": "polite" in sys.argv, "deaf": "deaf" in sys.argv},
            name="stops", on_existing="fresh").fit()
except raytrain.TrainingStopped as stopped:
    assert stopped.result is None or stopped.result.status == "stopped", stopped.result
    with open("stopped", "w") as file:
        print(stopped.result.checkpoint.to_dict()["n"], file=file)
    raise
EOF
# interrupt.py TIMES COMMAND...: SIGINT to a whole process group, as a terminal sends it.
cat >interrupt.py <<\EOF
import os, signal, subprocess, sys, time
times, *command = sys.argv[1:]
child = subprocess.Popen(command, process_group=0) if sys.version_info >= (3, 11) else \
    subprocess.Popen(command, preexec_fn=os.setpgrp)
def wait_for(condition):
    until = time.monotonic() + 120
    while not condition() and child.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
wait_for(lambda: os.path.exists("ready"))
os.killpg(child.pid, signal.SIGINT)
if int(times) > 1:
    wait_for(lambda: "a second SIGINT stops at once" in open("err").read())
    os.killpg(child.pid, signal.SIGINT)
sys.exit(child.wait() % 256)
EOF
for manners in polite rude; do
	test_expect_success "Ctrl-C: a $manners run stops with a checkpoint, and fit() raises TrainingStopped" '
		rm -rf ready stopped runs/stops &&
		expect_status 75 "$PYTHON" interrupt.py 1 "$PYTHON" stops.py $manners 2>err &&
		! grep Traceback err && jq -e ". >= 2" stopped &&
		json_is runs/stops/logs/attempt-0/attempt.json .outcome stopped &&
		eventually no_process_left
	'
done
test_expect_success 'a second Ctrl-C ends a training function that does not report' '
	rm -rf ready stopped runs/stops &&
	expect_status 75 "$PYTHON" interrupt.py 2 "$PYTHON" stops.py deaf 2>err &&
	! grep Traceback err && eventually no_process_left
'
cat >cell.py <<\EOF
import os, sys, time
from queue import Empty
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")

def said(request):
    text, until = "", time.monotonic() + 60
    while time.monotonic() < until:
        try:
            message = client.get_iopub_msg(timeout=1)
        except Empty:
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["content"].get("execution_state") == "idle":
            break
        text += str(message["content"].get("text") or message["content"].get("traceback", ""))
    return text

request = client.execute("import sys; sys.argv = ['stops.py']\n" + open("stops.py").read(),
                         stop_on_error=False)
until = time.monotonic() + 120
while not os.path.exists("ready") and time.monotonic() < until:
    time.sleep(0.01)
manager.interrupt_kernel()
text = said(request)
assert "the run was stopped on request" in text, text
request = client.execute("print('continues:', sys.last_value.result.status)")
text = said(request)
assert "continues: stopped" in text, text
client.stop_channels()
manager.shutdown_kernel(now=True)
os._exit(0)
EOF
"$PYTHON" -c "import jupyter_client, ipykernel" 2>/dev/null && test_set_prereq JUPYTER
test_expect_success JUPYTER 'the kernel of a notebook is interrupted: the run stops, the kernel continues' '
	rm -rf ready stopped runs/stops &&
	{ JUPYTER_CONFIG_DIR=$PWD IPYTHONDIR=$PWD/.ipython "$PYTHON" cell.py 2>err ||
		{ cat err; false; }; } &&
	json_is runs/stops/logs/attempt-0/attempt.json .outcome stopped
'
cat >backends.py <<\EOF
from common import *
import contextlib, threading
from raytrain import Backend, BackendConfig


def note(what, *more):
    rank = raytrain.get_context().get_world_rank()
    # Of the process: what cloudpickle brings has copies of the globals of this script.
    sys.__dict__.setdefault("calls", []).append(what)
    with open(f"calls-{rank}", "a") as file:
        print(what, *more, file=file)
    return rank, what

def meets(barrier):
    raytrain.barrier()  # all ranks are in their calls at once
    return barrier

def fails(rank):
    if raytrain.get_context().get_world_rank() == rank:
        raise KeyError("of rank", rank)

class Own(Backend):
    def on_start(self, worker_group, backend_config):
        assert len(worker_group) == worker_group.num_workers == backend_config.workers
        self.group = worker_group
        everywhere = [(r, "start") for r in range(backend_config.workers)]
        assert worker_group.execute(note, "start") == everywhere
        last = backend_config.workers - 1
        assert worker_group.execute_single(last, note, "last", "more") == (last, "last")
        waiting = [worker_group.execute_single_async(r, meets, barrier=r)
                   for r in range(backend_config.workers)]
        assert [w.result() for w in waiting] == list(range(backend_config.workers))
        try:
            worker_group.execute(fails, last)
            raise AssertionError("no exception")
        except KeyError as error:
            assert error.args == ("of rank", last), error
            assert f"on rank {last}" in str(error.__cause__) and "in fails" in str(error.__cause__)
        for wrong, words in ((lambda: worker_group.execute_single(9, note), "no rank 9"),
                             (lambda: worker_group.execute(threading.Lock().acquire), "cannot be sent"),
                             (lambda: worker_group.workers, "get_context()")):
            try:
                wrong()
                raise AssertionError(words)
            except (ValueError, raytrain.RaytrainError, AttributeError) as error:
                assert words in str(error), error
    def on_training_start(self, worker_group, backend_config):
        try:
            self.group.execute(note)
            raise AssertionError("an old group")
        except ValueError as error:
            assert "only in the method" in str(error)
        worker_group.execute_async(note, "training")  # not waited for
        if backend_config.fault:
            worker_group.execute_async(fails, 1)
    def on_shutdown(self, worker_group, backend_config):
        worker_group.execute(note, "shutdown")

class OwnConfig(BackendConfig):
    def __init__(self, workers, fault=False):
        self.workers, self.fault = workers, fault
    @property
    def backend_cls(self):
        return Own
    @property
    def train_func_context(self):
        @contextlib.contextmanager
        def context():
            note("enter")
            yield
            note("leave")
        return context

def train(config):
    assert sys.calls[-2:] == ["training", "enter"], sys.calls
    raytrain.report({"x": 1})
    note("trained")
    raytrain.report({"x": 2})

def fit(name, workers=2, fault=False, **run):
    return DataParallelTrainer(
        train, train_loop_config={}, backend_config=OwnConfig(workers, fault),
        scaling_config=ScalingConfig(num_workers=0 if name == "local" else workers),
        run_config=RunConfig(name=name, storage_path="runs", launcher="local", **run)).fit()

def calls(workers):
    found = [open(f"calls-{r}").read().split("\n")[:-1] for r in range(workers)]
    for r in range(workers):
        os.unlink(f"calls-{r}")
    return found

if __name__ == "__main__":
    whole = ["start", "training", "enter", "trained", "leave", "shutdown"]
    with_last = ["start", "last more", *whole[1:]]
    assert fit("own").metrics == {"x": 2} and calls(2) == [whole, with_last]
    again = DataParallelTrainer.restore("runs/own")
    assert type(again.backend_config).__name__ == "OwnConfig" and again.fit().metrics == {"x": 2}
    assert calls(2) == [whole, with_last]
    # A report ends the function
    fit("stops", stop={"x": 1})
    assert calls(2) == [[c for c in w if c not in ("trained", "leave")] for w in (whole, with_last)]
    fit("local", workers=1)
    assert calls(1) == [with_last]
    try:
        fit("fault", fault=True)
        raise AssertionError("no failure")
    except raytrain.WorkerGroupError as error:
        assert type(error.worker_failures[0]) is KeyError and "rank 1" in str(error), error
    print("all called")
EOF
for pickled in "" "sys.modules[\"cloudpickle\"] = None"; do
	test_expect_success "a Backend executes functions on all workers around the training, ${pickled:-cloudpickle}" '
		rm -rf runs/own calls-* && { echo "import sys; $pickled"; cat backends.py; } >own.py &&
		{ "$PYTHON" own.py >out 2>err || { cat err; false; }; } && grep "all called" out
	'
done
test_done
