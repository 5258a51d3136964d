#!/bin/sh
test_description='fit() of the Python trainers: what it ships to the workers, and what it returns'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

# without_cloudpickle SCRIPT: the same script, but cloudpickle cannot be imported there.
without_cloudpickle () {
	{ echo "import sys; sys.modules['cloudpickle'] = None" && cat "$1"; } >"without-$1"
}

cat >common.py <<\EOT
import os, sys
import raytrain
from raytrain import DataParallelTrainer, RunConfig, ScalingConfig

def trainer(function, config=None, workers=2, **run):
    run.setdefault("storage_path", "runs")
    return DataParallelTrainer(function, train_loop_config=config,
                               scaling_config=ScalingConfig(num_workers=workers),
                               run_config=RunConfig(launcher="local", **run))
EOT
cat >two.py <<\EOT
from common import *

FACTOR = 2

def train(config):
    rank = raytrain.get_context().get_world_rank()
    for i in range(3):
        raytrain.report({"loss": FACTOR * config["scale"] + rank, "i": i})

def nothing():
    raytrain.report({"size": raytrain.get_context().get_world_size()})

if __name__ == "__main__":
    first = trainer(train, {"scale": 10, "pair": (1, 2)}, name="first").fit()
    assert first.metrics["by_rank"]["loss"]["min"] == 20, first.metrics
    assert first.metrics["by_rank"]["loss"]["max"] == 21, first.metrics
    assert first.metrics["training_iteration"] == 3
    assert first.status == "finished" and first.error is None and first.checkpoint is None
    assert first.path == os.path.abspath("runs/first")
    assert first.config == {"scale": 10, "pair": (1, 2)}
    assert [m["i"] for m in first.metrics_history] == [0, 1, 2]
    second = trainer(nothing, workers=3).fit()
    assert second.metrics["size"] == 3, second.metrics
    assert os.path.basename(second.path).startswith("DataParallelTrainer_2")
    again = raytrain.Result.from_path(first.path)
    assert again.metrics == first.metrics and again.config == first.config
    print("both are there")
EOT

test_expect_success 'two fits in a script return the metrics of their workers' '
	"$PYTHON" two.py >out 2>err && grep "both are there" out
'
test_expect_success 'the configuration that raytrain.cfg can express is in run.cfg' '
	grep "scale = 10;" runs/first/run.cfg && ! grep pair runs/first/run.cfg
'
test_expect_success 'the file with the function is its owner'"'"'s alone, and no other file is left' '
	test "$(stat -c %a runs/first/trainer.pkl)" = 600 &&
	test -z "$(find runs -name ".fit-*")"
'
cat >goes_on.py <<\EOT
from common import *
from raytrain import Checkpoint

def train(config):
    start = raytrain.get_checkpoint()
    first = start.to_dict()["epoch"] + 1 if start else 0
    for epoch in range(first, config["epochs"]):
        raytrain.report({"epoch": epoch, "first": first}, checkpoint=Checkpoint.from_dict({"epoch": epoch}))

def other(config):
    train(config)

def fit(epochs, function=train, **settings):
    return trainer(function, {"epochs": epochs}, name="goes-on", **settings).fit()

if __name__ == "__main__":
    assert fit(2).metrics["epoch"] == 1
    result = fit(4, workers=3)
    assert result.metrics["epoch"] == 3 and result.metrics["first"] == 2, result
    calls = len(os.listdir("runs/goes-on/logs"))
    again = fit(4)  # the same settings: the function is called, and has nothing to do
    assert again.status == "finished" and again.checkpoint.to_dict() == {"epoch": 3}
    assert len(os.listdir("runs/goes-on/logs")) == calls + 1
    fit(5, other)
    result = fit(1, on_existing="fresh")
    assert result.metrics["epoch"] == 0 and os.path.isdir("runs/goes-on.1")
    assert trainer(train, {"epochs": 1}).fit().metrics["first"] == 0
    try:
        fit(2, on_existing="error")
        assert False
    except ValueError as error:
        assert "exists already" in str(error), error
    print("continues")
EOT
test_expect_success 'a run of the same name continues from its newest checkpoint' '
	"$PYTHON" goes_on.py >out 2>err && grep continues out &&
	grep "run goes-on exists, and continues from checkpoint_000002.h5; .*on_existing=.fresh" err &&
	grep "checkpoint_000004.h5, which __main__.train has written, with __main__.other;" err
'
test_expect_success 'fit() works without cloudpickle' '
	rm -rf runs && without_cloudpickle two.py &&
	"$PYTHON" without-two.py >out 2>err && grep "both are there" out
'
test_expect_success 'fit() works without cloudpickle in a script without a guard' '
	rm -rf runs && sed "s/^if __name__.*/if True:/" without-two.py >unguarded.py &&
	"$PYTHON" unguarded.py >out 2>err && grep "both are there" out
'

test_expect_success 'a function of it that is defined after another fit(), with its result' '
	cat >after.py <<-\EOT &&
	import sys
	sys.modules["cloudpickle"] = None
	from common import *
	def train():
	    raytrain.report({"x": 3})
	with open("started", "a") as file:
	    file.write("one\n")
	first = trainer(train).fit()
	BASE = first.metrics["x"]
	def add(config):
	    raytrain.report({"x": BASE + config["more"]})
	second = trainer(add, {"more": 4}).fit()
	assert second.metrics["x"] == 7, second
	with open("ended", "a") as file:
	    file.write("one\n")
	EOT
	"$PYTHON" after.py 2>err && test "$(wc -l <started)" = 5 && test "$(wc -l <ended)" = 1
'

cat >closure.py <<\EOT
from common import *
import functools

def make(values):
    def train(config, extra=0):
        raytrain.report({"sum": sum(values) + config["more"] + extra})
    return train

assert trainer(make([1, 2]), {"more": 4}).fit().metrics["sum"] == 7
assert trainer(functools.partial(make([1, 2]), extra=1), {"more": 4}).fit().metrics["sum"] == 8
assert trainer(lambda: raytrain.report({"x": 5})).fit().metrics["x"] == 5
print("closures are fine")
EOT
test_expect_success 'closures, partial functions and lambdas are shipped by cloudpickle' '
	"$PYTHON" closure.py >out 2>err && grep "closures are fine" out
'
test_expect_success 'without cloudpickle a closure is refused, with advice' '
	without_cloudpickle closure.py &&
	test_must_fail "$PYTHON" without-closure.py >out 2>err &&
	grep "ShippingError.*defined inside another function.*python3-cloudpickle" err
'
test_expect_success 'a script on standard input has no file to import' '
	"$PYTHON" - <closure.py >out 2>err && grep "closures are fine" out
'
test_expect_success 'what raytrain-run prints reaches a sys.stderr that is not a file, as in a notebook' '
	cat >notebook.py <<-\EOT &&
	from common import *
	import io
	sys.stderr = io.StringIO()
	trainer(lambda: raytrain.report({"loss": 0.5}), name="cell").fit()
	text, sys.stderr = sys.stderr.getvalue(), sys.__stderr__
	assert "iteration 1  loss 0.5" in text and "raytrain: finished" in text, text
	EOT
	"$PYTHON" notebook.py 2>err && test_must_be_empty err
'
test_expect_success 'what rank 0 prints reaches sys.stdout and sys.stderr, also when these are not files' '
	cat >prints.py <<-\EOT &&
	from common import *
	import io
	def train():
	    rank = raytrain.get_context().get_world_rank()
	    print("rank", rank, "prints")
	    sys.stderr.write(f"\r10%\r100% of rank {rank}\n")
	    raytrain.report({"loss": 0.5})
	trainer(train, name="terminal", verbose=0).fit()
	sys.stdout.flush()
	sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
	trainer(train, name="cell2", verbose=0).fit()
	out, err = sys.stdout.getvalue(), sys.stderr.getvalue()
	sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
	assert out == "rank 0 prints\n", out
	assert err == "\r10%\r100% of rank 0\n", err
	EOT
	"$PYTHON" prints.py >out 2>err && echo "rank 0 prints" >want && test_cmp want out &&
	printf "\r10%%\r100%% of rank 0\n" >want && test_cmp want err
'
test_expect_success 'RunConfig(show=) chooses the ranks' '
	cat >chooses.py <<-\EOT &&
	from common import *
	def train():
	    print("rank", raytrain.get_context().get_world_rank(), "prints")
	    raytrain.report({"loss": 0.5})
	for show in ("none", [1], "0-1"):
	    print("show", show, flush=True)
	    assert trainer(train, name="chooses", verbose=0, on_existing="fresh", show=show).fit().path
	for show in ("rank1", [-1], 1.5, [True]):
	    try:
	        RunConfig(show=show)
	        raise AssertionError(show)
	    except ValueError as error:
	        assert "list of ranks" in str(error), error
	EOT
	"$PYTHON" chooses.py >out 2>err &&
	sed "s/^[^ ]*:\([01]\): /HOST:\1: /" out >got && sed -n 1,3p got >first &&
	printf "show none\nshow [1]\nrank 1 prints\n" >want && test_cmp want first &&
	sed 1,4d got | sort >last &&
	printf "HOST:0: rank 0 prints\nHOST:1: rank 1 prints\n" >want && test_cmp want last
'

cat >fails.py <<\EOT
from common import *

def inner():
    raise ValueError("that does not compute: \u00e9\nline two")

def train():
    raytrain.report({"loss": 1})
    if raytrain.get_context().get_world_rank() == 1:
        inner()
    raytrain.report({"loss": 2})

try:
    trainer(train, name="fails").fit()
except raytrain.TrainingFailedError as error:
    text = str(error)
    assert "rank 1 on" in text and "that does not compute: \u00e9" in text, text
    assert text.count("Traceback") == 1 and "in inner" in text and "in train" in text, text
    assert "_worker.py" not in text and "trainer.py" not in text, text
    assert error.result.status == "failed" and error.result.metrics["loss"] == 1
    assert error.result.error.rank == 1 and error.result.error.log.endswith("00001.err")
    assert "does not" in error.result.error.message
    again = raytrain.Result.from_path(error.result.path)
    assert str(again.error) == str(error.result.error) and again.status == "failed"
    raise
EOT
test_expect_success 'an exception of the function is raised with its traceback' '
	expect_status 1 "$PYTHON" fails.py 2>err && grep "WorkerGroupError: rank 1" err &&
	grep "once the cause is corrected, call restore(path).fit()" err && ! grep -e "--resume" err
'
test_expect_success 'a traceback is shown as lines by raytrain-inspect, and when a run is followed' '
	raytrain-inspect runs/fails >shown && grep "^        line two" shown &&
	expect_status 1 raytrain-inspect --follow runs/fails >followed &&
	grep "^  line two" followed && ! grep x0a shown followed
'
cat >objects.py <<\EOT
from common import *
import threading

class Odd(Exception):
    def __init__(self, number, text):
        super().__init__(number, text)
        self.number = number

class Locked(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()

def train(config):
    raise {"odd": lambda: Odd(7, "seven"), "key": lambda: KeyError("k"),
           "locked": lambda: Locked("no pickle")}[config["kind"]]()

def failure(kind, **settings):
    try:
        trainer(train, {"kind": kind}, workers=1, **settings).fit()
    except raytrain.WorkerGroupError as error:
        assert isinstance(error, raytrain.TrainingFailedError)
        [(rank, cause)] = error.worker_failures.items()
        assert rank == 0 and error.__cause__ in (cause, None), error.__cause__
        assert "in train" in str(error), error
        return cause

if __name__ == "__main__":
    odd = failure("odd", name="odd")
    assert type(odd) is Odd and odd.number == 7, type(odd)
    assert type(failure("key")) is KeyError
    locked = failure("locked")
    assert type(locked) is raytrain.WorkerError, locked
    assert "Locked: no pickle" in locked.message and "in train" in locked.traceback
    os.chmod("runs/odd/logs/attempt-0/rank-00000.exception", 0o666)
    from raytrain import _failures
    assert _failures.load("runs/odd", 0) == {}
    print("objects")
EOT
test_expect_success 'the exceptions of workers are there as objects, or named if they cannot be' '
	"$PYTHON" objects.py >out 2>err && grep objects out &&
	without_cloudpickle objects.py && rm -r runs/odd &&
	"$PYTHON" without-objects.py >out 2>err && grep objects out
'
test_expect_success 'what raytrain-run has said is in the exception of a run that did not start' '
	cat >refused.py <<-\EOT &&
	from common import *
	try:
	    DataParallelTrainer(lambda: None, run_config=RunConfig(launcher="local", storage_path="runs"),
	                        scaling_config=ScalingConfig(use_gpu=True)).fit()
	except raytrain.ControllerError as error:
	    assert isinstance(error, raytrain.TrainingFailedError) and "GPU" in str(error), error
	    assert error.__cause__ is error.controller_failure
	    print("refused")
	EOT
	env -u CUDA_VISIBLE_DEVICES "$PYTHON" refused.py >out 2>err && grep refused out &&
	expect_status 4 raytrain-run --json --launcher local --gpu --storage runs -- true >json 2>err &&
	json_is json .status refused && jq -e ".error.message | contains(\"GPU\")" json
'
test_expect_success 'a worker that is killed is named' '
	cat >killed.py <<-\EOT &&
	from common import *
	import os, signal
	try:
	    trainer(lambda: os.kill(os.getpid(), signal.SIGKILL), workers=1).fit()
	except raytrain.TrainingFailedError as error:
	    assert "signal 9" in str(error), error
	    print("killed")
	EOT
	"$PYTHON" killed.py >out 2>err && grep killed out
'

cat >restore.py <<\EOT
from common import *

def train(config):
    attempt = raytrain.get_context().get_attempt()
    raytrain.report({"attempt_seen": attempt, "lr": config["lr"]})
    if attempt == 0:
        raise RuntimeError("at first")

assert not DataParallelTrainer.can_restore("runs/again")
try:
    trainer(train, {"lr": 1}, name="again").fit()
    assert False
except raytrain.TrainingFailedError:
    pass
assert DataParallelTrainer.can_restore("runs/again")
result = DataParallelTrainer.restore("runs/again").fit()
assert result.metrics["attempt_seen"] == 1 and result.metrics["lr"] == 1, result
os.rename("runs/again", "runs/moved")
result = DataParallelTrainer.restore("runs/moved", train, train_loop_config={"lr": 2}).fit()
assert result.metrics["lr"] == 2 and result.path == os.path.abspath("runs/moved"), result
try:
    DataParallelTrainer.restore("runs/none")
    assert False
except FileNotFoundError as error:
    assert "runs/none" in str(error)
print("restored")
EOT
test_expect_success 'restore() continues a run, also one that has moved' '
	"$PYTHON" restore.py >out 2>err && grep restored out
'
test_expect_success 'restore() follows no link to the function, and does not wait for a FIFO' '
	mkdir -p runs/linked && ln -s ../moved/trainer.pkl runs/linked && mkfifo fifo &&
	cat >linked.py <<-\EOT &&
	from common import *
	from raytrain import _shipping
	for path, part, call in (("runs/linked", "is a link", DataParallelTrainer.restore),
	                         ("fifo", "not a regular file", _shipping.read)):
	    try:
	        call(path)
	    except _shipping.ShippingError as error:
	        assert part in str(error), error
	    else:
	        raise AssertionError(path)
	EOT
	timeout 60 "$PYTHON" linked.py
'
test_expect_success 'what is shown of a run that comes from elsewhere is read without running code' '
	cat >received.py <<-\EOT &&
	import pickle, shutil
	from common import *
	from raytrain import Result, _shipping

	class Code:
	    def __reduce__(self):
	        return os.mkdir, ("has-run",)

	def train():
	    raytrain.report({"loss": 1}, checkpoint=raytrain.Checkpoint.from_dict({}))

	known = trainer(train, {"lr": 2, "of": {"a": (1, {2})}, "path": Code}, name="known").fit()
	assert Result.from_path(known.path).config == {"lr": 2, "of": {"a": (1, {2})}}
	for name, first in ("summary", Code()), ("function", {"name": "their\n.train", "config": Code}):
	    shutil.copytree("runs/known", "runs/" + name)
	    with open(f"runs/{name}/trainer.pkl", "wb") as file:
	        file.write(_shipping.MAGIC + pickle.dumps(first) + pickle.dumps(Code()))
	    assert Result.from_path("runs/" + name).config is None
	    trainer(train, name=name).fit()
	    assert not os.path.exists("has-run")
	EOT
	"$PYTHON" received.py 2>err && grep "exists, and continues from" err
'
test_expect_success 'raytrain-run continues a run of fit() by itself' '
	raytrain-run --launcher local -c runs/moved/run.cfg --name moved --storage "$PWD/runs" --resume \
		-n 1 --set train_loop_config.lr=0.5 2>err &&
	json_is runs/moved/logs/attempt-3/attempt.json .workers 1 .outcome finished &&
	tail -n 1 runs/moved/result.json >last && json_is last .lr 0.5
'

cat >saves.py <<\EOT
from common import *
from raytrain import Checkpoint, CheckpointConfig
import numpy as np

def train(config):
    checkpoint = raytrain.get_checkpoint()
    state = checkpoint.to_dict() if checkpoint else {"epoch": -1, "w": np.zeros(4)}
    assert raytrain.get_context().get_metadata() == {"source": "here"}
    for epoch in range(state["epoch"] + 1, config["epochs"]):
        state = {"epoch": epoch, "w": state["w"] + epoch}
        raytrain.report({"off": abs(epoch - 2.2), "w": state["w"][0]},
                        checkpoint=Checkpoint.from_dict(state))

def saves(epochs, **more):
    return DataParallelTrainer(
        train, train_loop_config={"epochs": epochs}, metadata={"source": "here"},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name=more.pop("name"), storage_path="runs", launcher="local",
                             checkpoint_config=CheckpointConfig(num_to_keep=4)), **more)

first = saves(6, name="saves").fit()
assert first.checkpoint.file == first.path + "/checkpoint_000006.h5"
assert first.checkpoint.to_dict()["epoch"] == 5 and first.metrics["w"] == 15
assert first.checkpoint.get_metadata() == {"source": "here"}
kept = [(c.to_dict()["epoch"], m["off"]) for c, m in first.best_checkpoints]
assert [e for e, _ in kept] == [2, 3, 4, 5] and round(kept[0][1], 9) == 0.2, kept
assert first.get_best_checkpoint("off", "min").to_dict()["epoch"] == 2
assert first.get_best_checkpoint("off", "max").to_dict()["epoch"] == 5
again = raytrain.Result.from_path("runs/saves")
assert again.checkpoint == first.checkpoint and len({again.checkpoint, first.checkpoint}) == 1
try:
    again.get_best_checkpoint("accuracy", "max")
    assert False
except ValueError as error:
    assert "the metrics are off, w" in str(error), error
for start in again.get_best_checkpoint("off", "min"), again.best_checkpoints[0][0].path, again.best_checkpoints[0][0].file:
    other = saves(4, name="other", resume_from_checkpoint=start).fit()
    assert other.metrics["w"] == 6 and other.metrics["training_iteration"] == 4, other
restored = DataParallelTrainer.restore("runs/saves", train_loop_config={"epochs": 8}).fit()
assert restored.metrics["w"] == 28 and restored.metrics["training_iteration"] == 8
assert restored.metrics["iterations_since_restore"] == 2
print("saved and restored")
EOT
test_expect_success 'checkpoints of a Result can be read, ranked, restored and started from' '
	"$PYTHON" saves.py >out 2>err && grep "saved and restored" out
'

cat >directories.py <<\EOT
import fcntl, os, sys, tempfile, shutil, json, pickle
import raytrain
from raytrain import Checkpoint, CheckpointConfig, DataParallelTrainer, RunConfig, ScalingConfig

def train(config):
    ctx = raytrain.get_context()
    start = raytrain.get_checkpoint()
    if start:
        with start.as_directory() as path, start.as_directory() as again:
            assert path == again and sorted(os.listdir(path)) == ["model.txt", "sub"], path
            open(f"inode-{ctx.get_world_rank()}", "w").write(str(os.stat(path + "/model.txt").st_ino))
            raytrain.report({"x": 0})  # all have it now
        assert not start.path.startswith(ctx.get_trial_dir()), start.path
        assert open(start.path + "/model.txt").read() == "model 5"
        assert not os.path.exists(ctx.get_trial_dir() + "/checkpoint_000006")
        return
    for i in range(6):
        checkpoint = None
        if ctx.get_world_rank() == 0:
            d = tempfile.mkdtemp()
            os.mkdir(d + "/sub")
            open(d + "/model.txt", "w").write(f"model {i}")
            open(d + "/sub/part", "w").write("part")
            checkpoint = Checkpoint.from_directory(d)
        raytrain.report({"off": abs(i - 2.2)}, checkpoint=checkpoint)

def run(name, **more):
    return DataParallelTrainer(train, train_loop_config={}, scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name=name, storage_path="runs", launcher="local",
            checkpoint_config=CheckpointConfig(num_to_keep=4, checkpoint_score_attribute="off",
                                               checkpoint_score_order="min")), **more).fit()

result = run("dirs")
worst = [m["off"] for _, m in result.best_checkpoints]
assert worst == sorted(worst, reverse=True) and len(worst) == 5, worst
path = result.checkpoint.path
assert path == result.path + "/checkpoint_000006", path
assert open(os.path.join(path, "model.txt")).read() == "model 5"
assert sorted(os.listdir(path)) == ["model.txt", "sub"]
inode = os.stat(path).st_ino
assert result.checkpoint.path == path and os.stat(path).st_ino == inode
for again in Checkpoint(path), Checkpoint(result.checkpoint.file), pickle.loads(pickle.dumps(result.checkpoint)):
    assert again == result.checkpoint and hash(again) == hash(result.checkpoint)
    assert again.file == result.checkpoint.file and again.path == path
assert Checkpoint.from_directory(path).path == path
assert Checkpoint("/nowhere/bucket/1").path == "/nowhere/bucket/1"
assert result.checkpoint.filesystem.type_name == result.filesystem.type_name == "local"
# A file that was saved again
os.utime(result.checkpoint.file, ns=(1, 1))
assert result.checkpoint.path == path and os.stat(path).st_ino != inode
# Another process removes a directory that is not locked yet
mkdtemp, swept = tempfile.mkdtemp, []
def make_and_sweep(*args, **kwargs):
    made = mkdtemp(*args, **kwargs)
    if len(swept) < 2:
        os.rmdir(made)
        swept.append(made)
    return made
flock = fcntl.flock
def sweep_and_lock(fd, how):
    held = os.readlink(f"/proc/self/fd/{fd}")
    if len(swept) == 2 and "/.extract-" in held:
        os.rmdir(held)
        swept.append(held)
    flock(fd, how)
tempfile.mkdtemp, fcntl.flock = make_and_sweep, sweep_and_lock
os.utime(result.checkpoint.file, ns=(2, 2))
assert result.checkpoint.path == path and len(swept) == 3
tempfile.mkdtemp, fcntl.flock = mkdtemp, flock
assert not [n for n in os.listdir(result.path) if n.startswith(".extract-")]
# Not ours
first = result.best_checkpoints[1][0]
os.mkdir(first.file[:-3])
elsewhere = first.path
assert not elsewhere.startswith(result.path) and os.listdir(first.file[:-3]) == [], elsewhere
assert open(elsewhere + "/model.txt").read() == "model %d" % (first.training_iteration - 1)
os.rmdir(first.file[:-3])
second = run("next", resume_from_checkpoint=result.checkpoint.path)
a, b = (open(f"inode-{r}").read() for r in (0, 1))
assert a == b, (a, b)
# Names of report()
names = ["epoch=0", "epoch=1", "epoch=1", "logs"]
def named():
    d = tempfile.mkdtemp()
    for i, name in enumerate(names):
        open(d + "/i", "w").write(str(i))
        raytrain.report({"i": i}, Checkpoint(d), checkpoint_dir_name=name)
        path = raytrain.get_checkpoint().path
        assert os.path.basename(path) == name and open(path + "/i").read() == str(i), path
    shutil.rmtree(d)
def fit_named(**config):
    return DataParallelTrainer(named, run_config=RunConfig(
        name="named", storage_path="runs", launcher="local", verbose=0,
        checkpoint_config=CheckpointConfig(**config))).fit()
third = fit_named()
for i, (checkpoint, _) in enumerate(third.best_checkpoints):
    path = checkpoint.path
    expected = ["epoch=0", "epoch=1", "checkpoint_000003", "checkpoint_000004"][i]
    assert path == third.path + "/" + expected and checkpoint.path == path, path
    assert open(path + "/i").read() == str(i) and Checkpoint(path).file == checkpoint.file
    assert checkpoint.get_metadata() == {}, checkpoint.get_metadata()
assert "attempt-0" in os.listdir(third.path + "/logs")
# Without its directory, the name is still that of the checkpoint that had it first.
shutil.rmtree(third.path + "/epoch=1")
shutil.rmtree(third.path + "/checkpoint_000003")
os.remove(third.path + "/.checkpoint_000003.extracted")
assert os.path.basename(third.best_checkpoints[2][0].path) == "checkpoint_000003"
fit_named(num_to_keep=1)
left = [n for n in os.listdir(third.path) if "epoch" in n or "checkpoint_" in n]
assert left == ["checkpoint_000008.h5"], left
print("directories are there")
EOT
cat >returned.py <<\EOT
from common import *
import threading, warnings
from raytrain import Checkpoint, Result

class Answer:
    def __init__(self, rank):
        self.rank = rank

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)

def train(config):
    rank = raytrain.get_context().get_world_rank()
    raytrain.report({"x": 1})
    if config["what"] == "stop":
        raytrain.report({"x": 2})
    if config["what"] == "raise" and rank == 1:
        raise ValueError("no value")
    return {"answer": Answer(rank), "plain": {"x": [1, 2.5]}, "lambda": lambda: rank, "none": None,
            "odd": Odd(1, 2),
            "lock": threading.Lock()}.get(config["what"])

def fit(what, **run):
    return trainer(train, {"what": what}, name="returns", on_existing="fresh", **run).fit()

result = fit("answer")
assert type(result.return_value) is Answer and result.return_value.rank == 0
def found():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        return Result.from_path("runs/returns").return_value, [str(w.message) for w in seen]

value, said = found()
assert value is None and "is not plain data" in said[0], said
assert fit("plain").return_value == {"x": [1, 2.5]} and found() == ({"x": [1, 2.5]}, [])
file = "runs/returns/logs/attempt-0/rank-00000.returned"
assert os.stat(file).st_mode & 0o777 == 0o600
os.chmod(file, 0o620)
value, said = found()
assert value is None and "may be written by other users" in said[0], said
assert fit("none").return_value is None and fit("stop", stop={"x": 2}).return_value is None
assert fit("lambda").return_value() == 0
try:
    fit("raise")
    assert False
except raytrain.WorkerGroupError as error:
    assert error.result.return_value is None
assert fit("lock").return_value is None
assert fit("odd").return_value is None  # it is loaded as Odd(1)
made = Result({"iter": 0}, Checkpoint("/bucket/path/0"), None, "/bucket/path",
              best_checkpoints=[(Checkpoint(f"/bucket/path/{i}"), {"x": -i}) for i in (1, 2)])
assert made.get_best_checkpoint("x", "max").file == "/bucket/path/1"
assert "Checkpoint(filesystem=local, path=/bucket/path/0)" in repr(made), made
for kind, call in ((RuntimeError, lambda: result.get_best_checkpoint("x", "max")),
                   (ValueError, lambda: made.get_best_checkpoint("x", "most")),
                   (RuntimeError, lambda: made.get_best_checkpoint("y", "max")),
                   (RuntimeError, lambda: Result.from_path("runs/none")),
                   (FileNotFoundError, lambda: Result.from_path("runs"))):
    try:
        call()
        raise AssertionError(kind)
    except kind as error:
        assert type(error).__module__ == "raytrain.errors", error
print("returned")
EOT
test_expect_success 'what the function returns on rank 0 is Result.return_value' '
	"$PYTHON" returned.py >out 2>err && grep "^returned" out &&
	grep "return_value is None, since the lock that .* cannot be pickled" err
'

test_expect_success 'checkpoint.path is a directory: of the run here, once for each node in workers' '
	mkdir -p tmp && TMPDIR=$PWD/tmp "$PYTHON" directories.py >out 2>err && grep "directories are there" out &&
	! ls tmp | grep raytrain-checkpoints
'

cat >stops.py <<\EOT
from common import *

def train():
    raytrain.report({"x": 0})
    if raytrain.get_context().get_world_rank() == 0:
        open("ready", "w").close()
    while not raytrain.should_stop():
        raytrain.report({"x": 1})

try:
    trainer(train, name="stops").fit()
except raytrain.TrainingStopped as stopped:
    assert stopped.result.status == "stopped", stopped.result
    raise
EOT
# The process group of the test is not that of a terminal: the signal goes to one process.
cat >send_signal.py <<\EOT
import os, signal, subprocess, sys, time
name, *command = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)
child = subprocess.Popen(command)
until = time.monotonic() + 120
while not os.path.exists("ready") and child.poll() is None and time.monotonic() < until:
    time.sleep(0.01)
child.send_signal(getattr(signal, name))
sys.exit(child.wait() % 256)
EOT
for name in SIGINT SIGTERM SIGUSR1; do
	test_expect_success "$name to the caller of fit() stops the run, and the script ends with 75" '
		rm -f ready && expect_status 75 "$PYTHON" send_signal.py $name "$PYTHON" stops.py 2>err &&
		! grep Traceback err && json_is runs/stops/logs/attempt-0/attempt.json .outcome stopped
	'
done
test_expect_success 'the nodes and ranks that were preempted are the cause of TrainingStopped' '
	cat >preempted.py <<-\EOT &&
	import pickle, signal, sys
	from common import *
	def train(config):
	    name = config["signal"]
	    raytrain.report({"x": 0})  # all have joined
	    if raytrain.get_context().get_world_rank() == 0:
	        with open(f"/proc/{os.getppid()}/stat") as stat:
	            run = int(stat.read().rsplit(")", 1)[1].split()[1])
	        os.kill(run, getattr(signal, name))
	    while True:
	        raytrain.report({"x": 1}, checkpoint=raytrain.Checkpoint.from_dict({"x": 1}))
	def cause_of(name):
	    try:
	        trainer(train, {"signal": name}, name=name).fit()
	    except raytrain.TrainingStopped as error:
	        return error.__cause__
	assert cause_of("SIGINT") is None
	cause = cause_of("SIGTERM")
	assert isinstance(cause, raytrain.TrainingFailedError), cause
	assert cause.preempted_ranks == [0, 1] and not cause.deadline_exceeded
	assert cause.preempted_node_ids == [os.uname().nodename]
	again = pickle.loads(pickle.dumps(cause))
	assert str(again) == str(cause) and again.preemption_info == cause.preemption_info
	EOT
	"$PYTHON" preempted.py 2>err
'
is_stopped () {
	test "$(jq -r .outcome runs/stops/logs/attempt-0/attempt.json)" = stopped
}
test_expect_success 'a run whose caller is killed stops, too' '
	rm -rf ready runs/stops &&
	expect_status 247 "$PYTHON" send_signal.py SIGKILL "$PYTHON" stops.py 2>err &&
	eventually is_stopped
'

test_expect_success 'spaces and other letters in paths' '
	mkdir -p "ein Ordner/größer" && cp common.py two.py "ein Ordner/größer" &&
	(
		cd "ein Ordner/größer" &&
		sed "s|\"runs\"|\"läufe (1); \$HOME *\"|" common.py >c && mv c common.py &&
		sed "s|\"runs/first\"|first.path|" two.py >"mein skript.py" &&
		"$PYTHON" "mein skript.py" >out 2>err && grep "both are there" out &&
		rm -rf l* && without_cloudpickle "mein skript.py" &&
		"$PYTHON" "without-mein skript.py" >out 2>err && grep "both are there" out
	)
'
test_expect_success 'workers have the path, the directory and the arguments of the caller' '
	mkdir -p lib && echo "VALUE = 11" >lib/only_here.py &&
	cat >place.py <<-\EOT &&
	from common import *
	sys.path.append("lib")
	def train():
	    import only_here
	    assert sys.argv[1:] == ["--epochs", "3"], sys.argv
	    raytrain.report({"x": only_here.VALUE, "same": os.getcwd() == os.environ["HERE"]})
	metrics = trainer(train).fit().metrics
	assert metrics["x"] == 11 and metrics["same"] == 1
	EOT
	HERE=$PWD "$PYTHON" place.py --epochs 3 2>err
'
test_expect_success 'fit() in a worker of raytrain-run calls the function there' '
	cat >inside.py <<-\EOT &&
	from common import *
	def train(config):
	    raytrain.report({"x": config["x"], "size": raytrain.get_context().get_world_size()})
	result = trainer(train, {"x": 3}, workers=7).fit()
	print("goes on", result.path)
	EOT
	raytrain-run --launcher local --storage runs --name inside -n 2 -- "$PYTHON" inside.py 2>err &&
	jq -e ".x == 3 and .size == 2" runs/inside/result.json &&
	grep "goes on $PWD/runs/inside" runs/inside/logs/attempt-0/rank-00001.out
'

test_expect_success 'settings that raytrain does not have are refused, with what to do' '
	cat >refused.py <<-\EOT &&
	from common import *
	from raytrain import CheckpointConfig, FailureConfig

	def refused(words, call):
	    try:
	        call()
	    except (ValueError, TypeError, UserWarning) as error:
	        assert words in str(error), error
	    else:
	        assert False, words

	train = lambda: None
	def fit(**arguments):
	    DataParallelTrainer(train, run_config=RunConfig(storage_path="runs"), **arguments).fit()
	refused("takes one argument", lambda: trainer(lambda a, b: None))
	refused("is a function", lambda: DataParallelTrainer(3))
	refused("ScalingConfig of raytrain", lambda: DataParallelTrainer(train, scaling_config={}))
	refused("at least 1, not 0", lambda: ScalingConfig(resources_per_worker={"CPU": 0}))
	refused("use_gpu is False", lambda: ScalingConfig(resources_per_worker={"GPU": 1}))
	refused("TPUs", lambda: ScalingConfig(use_gpu=True, use_tpu=True))
	refused("--srun-args", lambda: ScalingConfig(resources_per_worker={"TPU": 1}))
	refused("GraceTime", lambda: FailureConfig(relax_collectives_on_preemption=True))
	refused("give one of them",
	        lambda: FailureConfig(max_preemptions=1, max_preemption_failures=2))
	refused("no effect", lambda: FailureConfig(controller_failure_limit=3))
	for name in "controller_failure_limit", "max_preemption_failures", "preemption_grace_s":
	    refused(name + " is an integer", lambda: FailureConfig(**{name: -2}))
	FailureConfig(controller_failure_limit=-1, relax_collectives_on_preemption=False)
	refused("not by those that they do not", lambda: ScalingConfig(label_selector={"z": "!a"}))
	refused("sinfo -o %f", lambda: ScalingConfig(label_selector={"zone": "a b"}))
	refused("a list of equal ones", lambda: ScalingConfig(label_selector=[{"z": "a"}, {}]))
	for workers in 2, (1, 2):
	    refused("a list of 1 for 2 workers",
	            lambda: ScalingConfig(workers, label_selector=[{"z": "a"}]))
	zone = ScalingConfig(label_selector={"zone": "in(a, b)", "cpu": "rome"})
	refused("launcher=" + repr("slurm"), lambda: fit(scaling_config=zone))
	os.environ["SLURM_JOB_ID"] = "7"
	refused("--constraint=" + repr("(a|b)&rome"), lambda: fit(scaling_config=zone))
	del os.environ["SLURM_JOB_ID"]
	refused("a fraction of a GPU", lambda: ScalingConfig(
	    use_gpu=True, resources_per_worker={"GPU": 1.5}))
	refused("such as " + repr("4G"), lambda: ScalingConfig(
	    resources_per_worker={"memory": "4 cows"}).total_resources)
	refused("mount that storage", lambda: RunConfig(storage_path="s3://bucket/x"))
	refused("file:///PATH", lambda: RunConfig(storage_path="file://elsewhere/runs"))
	refused("is not a callback of raytrain", lambda: RunConfig(callbacks=[object()]))
	refused("is \"max\" or \"min\"".replace(chr(34), chr(39)),
	        lambda: CheckpointConfig(checkpoint_score_order="best"))
	refused("read_hdf5", lambda: fit(datasets={"train": [1, 2]}))
	refused("checkpoint file", lambda: fit(resume_from_checkpoint="none.h5"))
	refused("its messages", lambda: fit(scaling_config=ScalingConfig(num_workers=1,
	                                    placement_strategy="DIAGONAL")))
	EOT
	"$PYTHON" -W error refused.py 2>err && grep "placement_strategy" err
'
test_expect_success 'the resources of a ScalingConfig are those that were asked for' '
	"$PYTHON" - <<-\EOT
	from common import *
	def has(total, cpus, gpus, more={}, **asked):
	    config = ScalingConfig(num_workers=4, **asked)
	    assert config.total_resources == total, config.total_resources
	    assert (config.num_cpus_per_worker, config.num_gpus_per_worker) == (cpus, gpus)
	    assert config.additional_resources_per_worker == more
	has({"CPU": 4}, 1, 0)
	has({"GPU": 4}, 0, 1, use_gpu=True)
	has({"CPU": 8, "GPU": 2.0}, 2, 0.5, use_gpu=True, resources_per_worker={"CPU": 2, "GPU": 0.5})
	has({"memory": 6 << 30}, 0, 0, {"memory": 3 << 29}, resources_per_worker={"memory": "1.5G"})
	has({"CPU": 4, "memory": 4096}, 1, 0, {"memory": 1024},
	    resources_per_worker={"CPU": 1, "memory": 1024})
	assert ScalingConfig(num_workers=(2, 8)).total_resources == {"CPU": 8}
	EOT
'
cat >written.py <<\EOT
from common import *
import urllib.parse, warnings
import raytrain.data
from raytrain import Result

here = os.environ["HOME"] = os.getcwd()
assert RunConfig(storage_path="~/a b").storage_path == here + "/a b"
url = "file://" + urllib.parse.quote(here + "/a b")
assert RunConfig(storage_path=url).storage_path == here + "/a b"
assert Result.from_path("~/runs/first").path == here + "/runs/first"
assert DataParallelTrainer.can_restore("file://" + urllib.parse.quote(here) + "/runs/first")
again = DataParallelTrainer.restore("~/runs/first", print, {})
assert again.run_config.storage_path == here + "/runs"
open("rows.csv", "w").write("a\n1\n")
assert raytrain.data.read_csv("~/rows.csv").path == here + "/rows.csv"
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    keys = ScalingConfig(resources_per_worker={"CPU": 1.5})._keys()
assert keys["resources_per_worker"] == {"cpu": 2} and "whole cores, 2" in str(seen[0].message)
EOT
test_expect_success 'paths with ~ and file://, and shares of a core, are taken as in Ray' '
	"$PYTHON" written.py
'

test_expect_success 'a score whose name says that low is good causes one warning, and is high' '
	cat >score.py <<-\EOT &&
	import warnings
	from raytrain import CheckpointConfig
	with warnings.catch_warnings(record=True) as caught:
	    warnings.simplefilter("always")
	    for name in "accuracy", "neg_log_loss", None:
	        CheckpointConfig(checkpoint_score_attribute=name)
	    CheckpointConfig(checkpoint_score_attribute="loss", checkpoint_score_order="max")
	    assert not caught, caught
	    config = CheckpointConfig(checkpoint_score_attribute="val_loss")
	assert len(caught) == 1 and caught[0].filename == __file__, caught
	assert "val_loss" in str(caught[0].message), caught
	assert config.checkpoint_score_order == "max"
	EOT
	"$PYTHON" score.py 2>err
'
test_expect_success 'all settings arrive in run.cfg' '
	cat >settings.py <<-\EOT &&
	from common import *
	from raytrain import CheckpointConfig, FailureConfig, SyncConfig
	DataParallelTrainer(
	    lambda: raytrain.report({"val/loss": 1.0}),
	    scaling_config=ScalingConfig(num_workers=(1, 2), placement_strategy="SPREAD",
	                                 resources_per_worker={"CPU": 1, "memory": 2 ** 26},
	                                 elastic_resize_monitor_interval_s=7),
	    run_config=RunConfig(name="all", storage_path="runs", launcher="local", verbose=0,
	                         failure_config=FailureConfig(
	                             max_failures=3, hang_timeout_s=50, max_preemption_failures=4,
	                             preemption_grace_s=6.5, restart="same_step"),
	                         checkpoint_config=CheckpointConfig(
	                             num_to_keep=2, checkpoint_score_attribute="val/loss",
	                             checkpoint_score_order="min", mode="sync"),
	                         stop={"val/loss": 0}, exit_grace_s=8,
	                         device_collectives="auto",
	                         options=["--set=seed=5"])).fit()
	EOT
	"$PYTHON" settings.py 2>err && test_must_be_empty err &&
	for line in "num_workers = \"1:2\"" "placement_strategy = \"SPREAD\"" "max_failures = 3" \
		"hang_timeout_s = 50" "num_to_keep = 2" "checkpoint_score_order = \"min\"" \
		"metric = \"val/loss\"" "grace_s = 7" "max_preemptions = 4" "restart = \"same_step\"" "exit_grace_s = 8" "device_collectives = \"auto\"" "seed = 5" "memory = 67108864" \
		"elastic_resize_monitor_interval_s = 7"
	do
		grep -F "$line" runs/all/run.cfg || { echo "no $line"; return 1; }
	done
'

"$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null && test_set_prereq TORCH
"$PYTHON" -c "import nbconvert, ipykernel" 2>/dev/null && test_set_prereq NBCONVERT
test_expect_success TORCH 'TorchTrainer, the example fit.py: the process group is set up, torch is not imported before' '
	cp "$srcdir/share/examples/python/fit.py" . && "$PYTHON" fit.py >out 2>err &&
	grep "after 10 reports" out && grep "bias of the last layer" out &&
	cat >group.py <<-\EOT &&
	from common import *
	from raytrain.torch import TorchConfig, TorchTrainer
	def train():
	    import torch.distributed as dist
	    raytrain.report({"size": dist.get_world_size(), "rank": dist.get_rank()})
	result = TorchTrainer(train, torch_config=TorchConfig(backend="gloo", timeout_s=300),
	                      scaling_config=ScalingConfig(num_workers=2),
	                      run_config=RunConfig(name="group", storage_path="runs")).fit()
	assert result.metrics["size"] == 2 and result.metrics["by_rank"]["rank"]["max"] == 1
	both = TorchConfig(backend="cuda:nccl, cpu:gloo")
	assert both == TorchConfig(backend="cpu:gloo,cuda:nccl") and both.backend == "cpu:gloo,cuda:nccl"
	again = DataParallelTrainer(train, backend_config=both,
	                            scaling_config=ScalingConfig(num_workers=1),
	                            run_config=RunConfig(name="both", storage_path="runs")).fit()
	assert again.metrics == {"size": 1, "rank": 0}
	assert "torch" not in sys.modules
	EOT
	"$PYTHON" group.py 2>err && grep "timeout_s = 300" runs/group/run.cfg &&
	grep "backend = \"cpu:gloo,cuda:nccl\"" runs/both/run.cfg
'
test_expect_success 'the variables of the other frameworks are set by their trainers' '
	cat >frameworks.py <<-\EOT &&
	from common import *
	from raytrain.horovod import HorovodTrainer
	from raytrain.jax import JaxTrainer
	from raytrain.tensorflow import TensorflowTrainer
	def train(config):
	    raytrain.report({"found": int(config["variable"] in os.environ)})
	for kind, variable in ((HorovodTrainer, "HOROVOD_RANK"), (TensorflowTrainer, "TF_CONFIG")):
	    trainer = kind(train, train_loop_config={"variable": variable},
	                   scaling_config=ScalingConfig(num_workers=2),
	                   run_config=RunConfig(name=kind.__name__, storage_path="runs"))
	    assert trainer.fit().metrics["found"] == 1, kind
	one = JaxTrainer(train, train_loop_config={"variable": "JAX_COORDINATOR_ADDRESS"},
	                 run_config=RunConfig(name="one", storage_path="runs"))
	assert one.fit().metrics["found"] == 1
	assert type(JaxTrainer.restore("runs/one")) is JaxTrainer
	EOT
	"$PYTHON" frameworks.py 2>err
'
test_expect_success 'JaxTrainer initialises JAX before the function, which may do so again' '
	cat >jaxes.py <<-\EOT &&
	from common import *
	from raytrain.jax import JaxTrainer
	def train():
	    from jax import distributed
	    assert distributed.is_initialized()
	    rank = raytrain.get_context().get_world_rank()
	    assert (distributed.process_id, distributed.num_processes) == (rank, 2)
	    address = os.environ["JAX_COORDINATOR_ADDRESS"]
	    assert distributed.bound == (None if rank else address), distributed.bound
	    distributed.initialize()
	    distributed.initialize(address, 2, rank)
	    try:
	        distributed.initialize(address, 4, rank)
	        raise AssertionError("initialize() for another group")
	    except RuntimeError as error:
	        assert f"process {rank} of 2" in str(error), error
	    distributed.shutdown()
	    assert not distributed.is_initialized()
	    raytrain.report({"ok": 1})
	result = JaxTrainer(train, scaling_config=ScalingConfig(num_workers=2),
	                    run_config=RunConfig(storage_path="runs")).fit()
	assert result.metrics["ok"] == 1
	EOT
	PYTHONPATH=$PYTHONPATH:$srcdir/t/check/standins "$PYTHON" jaxes.py 2>err
'
test_expect_success 'the example fit_jax.py trains with a stand-in for JAX, and continues' '
	for epochs in 20 60; do
		PYTHONPATH=$PYTHONPATH:$srcdir/t/check/standins \
			"$PYTHON" "$srcdir/share/examples/python/fit_jax.py" $epochs >out 2>err || return 1
	done &&
	grep "^weights .1.0, -2.0, 0.5, 3.0. " out &&
	grep "exists, and continues from checkpoint_000020.h5" err
'
test_expect_success 'JaxTrainer without JAX says what to install, and has no TPUs' '
	cat >nojax.py <<-\EOT &&
	from common import *
	from raytrain.jax import JaxConfig, JaxTrainer
	def train():
	    pass
	try:
	    JaxConfig(use_tpu=True)
	    raise AssertionError("TPUs")
	except ValueError as error:
	    assert "use_gpu" in str(error), error
	sys.path.insert(0, os.path.abspath("without"))
	try:
	    JaxTrainer(train, scaling_config=ScalingConfig(num_workers=2),
	               run_config=RunConfig(storage_path="runs")).fit()
	    raise AssertionError("without JAX")
	except raytrain.TrainingFailedError as error:
	    assert "install JAX" in str(error), error
	EOT
	mkdir -p without && echo "raise ImportError(\"no JAX\")" >without/jax.py &&
	"$PYTHON" nojax.py 2>err
'
test_expect_success NBCONVERT 'a notebook calls fit() and sees its progress' '
	cp "$srcdir/share/examples/python/notebook.ipynb" . &&
	JUPYTER_CONFIG_DIR=$PWD IPYTHONDIR=$PWD/.ipython \
		"$PYTHON" -m nbconvert --to notebook --execute --output done notebook.ipynb 2>err &&
	jq -r ".cells[].outputs[]? | select(.name == \"stderr\") | .text[]" done.ipynb >progress &&
	grep "^iteration 1  loss" progress && grep "raytrain: finished" progress
'
test_done
