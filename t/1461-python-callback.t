#!/bin/sh
test_description='objects of raytrain.UserCallback, whose methods fit() calls'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

cat >common.py <<\EOT
import math, os, sys, threading, time, warnings
import raytrain
from raytrain import Checkpoint, DataParallelTrainer, FailureConfig, RunConfig, ScalingConfig

class Recorder(raytrain.UserCallback):
    def __init__(self):
        self.calls = []
        self.lock = threading.Lock()  # cannot be pickled: it stays in this process
    def note(self, *what):
        self.calls.append(what)
    def after_controller_start(self, run_context):
        self.note("start", run_context.name, run_context.attempt)
    def before_worker_group_start(self, group):
        self.note("group", group.run_attempt_id, group.num_workers, len(group.nodes))
    def after_report(self, run_context, metrics, checkpoint):
        self.context, self.metrics, self.checkpoint = run_context, metrics, checkpoint
        self.note("report", run_context.report["training_iteration"])
    def after_exception(self, run_context, worker_exceptions):
        self.failed = worker_exceptions
        self.note("exception", run_context.attempt)
    def after_worker_group_shutdown(self, group):
        self.note("gone", group.run_attempt_id)
    def before_run(self, run_context):
        self.note("before", run_context.name)
    def after_run(self, run_context, result):
        self.note("after", run_context.attempt, result and result.status)
    def after_controller_finish(self, result):
        self.result = result
        self.note("finish", result.status)

def trainer(function, callbacks, config=None, workers=2, failures=0, **run):
    return DataParallelTrainer(
        function, train_loop_config=config, scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(launcher="local", storage_path="runs", callbacks=callbacks,
                             failure_config=FailureConfig(max_failures=failures), **run))

def nothing_left():
    """No thread and no descriptor of a fit() that is over."""
    assert [t.name for t in threading.enumerate()] == ["MainThread"], threading.enumerate()
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            pass
    assert not [link for link in links if "raytrain-fit-" in link], links
    left = [name for name in os.listdir("tmp") if name.startswith("raytrain-fit-")]
    assert left == [], left
EOT
cat >steps.py <<\EOT
from common import *

def train(config):
    rank = raytrain.get_context().get_world_rank()
    start = raytrain.get_checkpoint()
    first = start.to_dict()["i"] + 1 if start else 1
    for i in range(first, 5):
        if config.get("fail") and i == 4 and not start:
            raise ValueError("on purpose")
        raytrain.report({"loss": 10 * i + rank, "note": "n%d" % rank, "bad": math.nan},
                        checkpoint=Checkpoint.from_dict({"i": i}))
EOT

test_expect_success 'the methods are called in order, with metrics and checkpoints' '
	cat >order.py <<-\EOT &&
	from steps import *
	if __name__ == "__main__":
	    calls = Recorder()
	    result = trainer(train, ["csv", calls], {}, name="order").fit()
	    assert calls.calls == [("before", "order"), ("start", "order", -1),
	        ("group", 0, 2, 1), ("report", 1),
	        ("report", 2), ("report", 3), ("report", 4), ("gone", 0),
	        ("finish", "finished"), ("after", 0, "finished")], calls.calls
	    for rank, metrics in enumerate(calls.metrics):
	        assert metrics["loss"] == 40 + rank and metrics["note"] == f"n{rank}", metrics
	        assert math.isnan(metrics["bad"]) and len(metrics) == 3
	    assert rank == 1
	    report = calls.context.report
	    assert report["loss"] == 40 and report["by_rank"]["loss"]["mean"] == 40.5, report
	    assert calls.context.world_size == 2
	    assert calls.context.path == result.path == os.path.abspath("runs/order")
	    assert calls.context.attempt == 0 and len(calls.context.run_id) == 32
	    assert calls.context.get_run_config().name == "order"
	    assert calls.checkpoint == result.checkpoint
	    assert calls.checkpoint.to_dict() == {"i": 4}
	    assert repr(calls.result.metrics) == repr(result.metrics)
	    from raytrain import _helper
	    _helper._helper.end()
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" order.py >out 2>err && grep ok out && test -s runs/order/progress.csv &&
	! grep -e n1 -e workers runs/order/result.json &&
	grep "callbacks = ( \"csv\" );" runs/order/run.cfg
'
test_expect_success 'after_report() has the metrics of each worker, unless they are too large' '
	cat >each.py <<-\EOT &&
	from steps import *
	from raytrain.callback import hears_reports
	class Exits(raytrain.UserCallback):
	    after_exception = print
	class Other:
	    after_run = print
	def each():
	    rank = raytrain.get_context().get_world_rank()
	    for length in 10, 900000:
	        raytrain.report({f"of {rank}": {"text": "x" * length}, "rank": rank})
	if __name__ == "__main__":
	    assert hears_reports(Recorder()) and not hears_reports(Exits())
	    assert not hears_reports(Other())
	    class Seen(raytrain.UserCallback):
	        metrics = []
	        def after_report(self, run_context, metrics, checkpoint):
	            self.metrics.append(metrics)
	    trainer(each, [Seen()], workers=3, name="each").fit()
	    first, second = Seen.metrics
	    assert first == [{f"of {r}": {"text": "x" * 10}, "rank": r} for r in range(3)], first
	    assert [m["rank"] for m in second] == [0] and len(second[0]["of 0"]["text"]) == 900000
	    print("ok")
	EOT
	"$PYTHON" each.py >out 2>err && grep ok out &&
	grep "after_report() has those of rank 0 alone" err
'
test_expect_success 'an attempt that fails is an exception of its rank, and another one follows' '
	cat >again.py <<-\EOT &&
	from steps import *
	if __name__ == "__main__":
	    calls = Recorder()
	    trainer(train, [calls], {"fail": True}, workers=1, failures=1, name="again").fit()
	    kinds = [c[0] for c in calls.calls]
	    assert kinds == ["before", "start", "group"] + ["report"] * 3 + ["exception", "gone",
	        "group", "report", "gone", "finish", "after"], calls.calls
	    [(rank, error)] = calls.failed.items()
	    assert rank == 0 and type(error) is ValueError and error.args == ("on purpose",)
	    assert ("group", 1, 1, 1) in calls.calls
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" again.py >out 2>err && grep ok out &&
	! grep "callbacks = ( \"csv\"" runs/again/run.cfg
'
# A function that never saves ends only when its workers are killed.
test_expect_success 'an exception in a method ends the run, and is the cause of a ControllerError' '
	cat >bad.py <<-\EOT &&
	from steps import *
	import pickle
	class Bad(Recorder):
	    def after_report(self, run_context, metrics, checkpoint):
	        super().after_report(run_context, metrics, checkpoint)
	        {"exit": lambda: sys.exit("not the end"), "key": lambda: {}["missing"]}[kind]()
	def forever():
	    while True:
	        raytrain.report({"x": 1})
	        time.sleep(0.01)
	if __name__ == "__main__":
	    for kind, cause in ("key", KeyError), ("exit", SystemExit):
	        calls, other = Bad(), Recorder()
	        try:
	            trainer(forever, [calls, other], name="bad-" + kind).fit()
	            raise AssertionError
	        except raytrain.ControllerError as error:
	            assert type(error.__cause__) is cause, error.__cause__
	            assert error.controller_failure is error.__cause__
	            assert "Bad.after_report() has failed: " + cause.__name__ in str(error), error
	            assert error.result.status == "failed" and error.result.metrics["x"] == 1
	            for result in error.result, raytrain.Result.from_path("runs/bad-" + kind):
	                assert type(result.error) is raytrain.ControllerError, result.error
	                assert "Bad.after_report() has failed: " + cause.__name__ in str(result.error)
	            assert str(pickle.loads(pickle.dumps(error))) == str(error)
	        kinds = [c[0] for c in calls.calls]
	        assert kinds == ["before", "start", "group", "report", "after"], kinds
	        assert [c[0] for c in other.calls] == ["before", "start", "group", "after"]
	        nothing_left()
	    print("ok")
	EOT
	timeout -k 9 40 "$PYTHON" bad.py >out 2>err && grep ok out && no_process_left &&
	grep "the training failed: Bad.after_report() has failed: KeyError" err
'
test_expect_success 'the record of a run that a method has ended says so, with its name' '
	said="Bad.after_report() has failed: KeyError: .missing." &&
	json_is runs/bad-key/logs/attempt-0/attempt.json .outcome failed .cause callback .rank -1 &&
	raytrain-inspect runs/bad-key >out && grep "^status *failed" out &&
	grep "0 *failed (callback), 2 workers" out && grep "$said" out &&
	h5dump -a /error runs/bad-key/result.h5 >out && grep "$said" out &&
	raytrain-inspect -o page.html runs/bad-key && grep "failed</span> (callback)" page.html &&
	grep "Bad.after_report() has failed" page.html
'
# The workers fail, too, since they are asked to stop; and between two attempts.
test_expect_success 'a method that fails is what the run failed by, whatever its workers do then' '
	cat >first.py <<-\EOT &&
	from steps import *
	from raytrain import _events
	class First(Recorder):
	    def after_report(self, run_context, metrics, checkpoint):
	        raise KeyError("first")
	class Late(First):
	    def after_report(self, run_context, metrics, checkpoint):
	        _events.STOP_AFTER_S = (60.0,)  # one request to stop, and not another at once
	        super().after_report(run_context, metrics, checkpoint)
	class Between(Recorder):
	    def after_exception(self, run_context, worker_exceptions):
	        self.note("exception")
	        if len([c for c in self.calls if c[0] == "exception"]) == 2:
	            raise KeyError("between")  # raytrain-run waits for a second before the next attempt
	def fails():
	    while not raytrain.should_stop():
	        raytrain.report({"x": 1})
	        time.sleep(0.01)
	    raise OSError("second")
	def sleeps():  # longer than its time to stop
	    raytrain.report({"x": 1})
	    time.sleep(600)
	def killed():
	    os.kill(os.getpid(), 9)
	if __name__ == "__main__":
	    for function, callback in (fails, First()), (killed, Between()), (sleeps, Late()):
	        try:
	            trainer(function, [callback], workers=1, failures=-1, name=type(callback).__name__,
	                    grace_s=1 if function is sleeps else 0).fit()
	            raise AssertionError
	        except raytrain.ControllerError as error:
	            assert type(error.__cause__) is KeyError, error
	            assert error.result.status == "failed", error.result
	            assert type(error.result.error) is raytrain.ControllerError, error.result.error
	    print("ok")
	EOT
	timeout -k 9 60 "$PYTHON" first.py >out 2>err && grep ok out &&
	json_is runs/First/logs/attempt-0/attempt.json .outcome failed .cause callback &&
	json_is runs/Late/logs/attempt-0/attempt.json .outcome failed .cause callback &&
	grep "Late.after_report() has failed: KeyError" runs/Late/logs/attempt-0/attempt.json
'
test_expect_success 'before_run() comes before all, and after_run() after failures, too' '
	cat >around.py <<-\EOT &&
	from steps import *
	class No(Recorder):
	    def before_run(self, run_context):
	        assert not os.path.exists(run_context.path)
	        raise ValueError("not today")
	class NotAfter(Recorder):
	    def after_run(self, run_context, result):
	        raise OSError("no mail today")
	if __name__ == "__main__":
	    calls = No()
	    try:
	        trainer(train, [calls], {}, name="never").fit()
	        raise AssertionError
	    except raytrain.ControllerError as error:
	        assert error.controller_failure.args == ("not today",) and error.result is None
	    assert calls.calls == [("after", -1, None)] and not os.path.exists("runs/never")
	    calls = Recorder()
	    try:
	        trainer(train, [calls], {"fail": True}, name="failed").fit()
	        raise AssertionError
	    except raytrain.WorkerGroupError:
	        pass
	    assert calls.calls[-1] == ("after", 0, "failed"), calls.calls
	    calls = Recorder()
	    try:
	        trainer(train, [NotAfter(), calls], {"fail": True}, workers=1, name="twice").fit()
	        raise AssertionError
	    except raytrain.ControllerError as error:
	        assert isinstance(error.__cause__, OSError)
	        assert isinstance(error.__cause__.__context__, raytrain.WorkerGroupError)
	    assert calls.calls[-1] == ("after", 0, "failed"), calls.calls
	    calls = Recorder()
	    raytrain._launch.run = None
	    try:
	        trainer(train, [calls], {}, name="unstarted").fit()
	        raise AssertionError
	    except TypeError:
	        pass
	    assert calls.calls[-1][0] == "after", calls.calls
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" around.py >out 2>err && grep ok out
'
test_expect_success 'a slow method holds up nothing and misses nothing; fit() waits for it' '
	cat >slow.py <<-\EOT &&
	from steps import *
	class Slow(Recorder):
	    def after_controller_start(self, run_context):
	        while not os.path.exists("runs/slow/result.h5"):  # the whole run
	            time.sleep(0.01)
	if __name__ == "__main__":
	    calls = Slow()
	    trainer(train, [calls], {}, name="slow").fit()
	    assert [c[0] for c in calls.calls] == ["before", "group"] + ["report"] * 4 + [
	        "gone", "finish", "after"], calls.calls
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" slow.py >out 2>err && grep ok out
'
test_expect_success 'events that are too many for slow methods are counted' '
	cat >many.py <<-\EOT &&
	from steps import *
	from raytrain import _events
	_events.WAITING_BYTES = 3000
	class Slow(Recorder):
	    def after_controller_start(self, run_context):
	        while not os.path.exists("runs/many/result.h5"):
	            time.sleep(0.01)
	def many():
	    for i in range(100):
	        raytrain.report({"i": i})
	if __name__ == "__main__":
	    with warnings.catch_warnings(record=True) as seen:
	        warnings.simplefilter("always")
	        calls = Slow()
	        trainer(many, [calls], workers=1, name="many").fit()
	    [text] = [str(w.message) for w in seen]
	    reported = len([c for c in calls.calls if c[0] == "report"])
	    assert "too slow for" in text and 0 < reported < 100, (text, calls.calls)
	    print("ok")
	EOT
	"$PYTHON" many.py >out 2>err && grep ok out
'
test_expect_success 'a configuration that is refused, and raytrain-run killed: no call, no wait' '
	cat >killed.py <<-\EOT &&
	from steps import *
	import signal
	class Kill(Recorder):
	    def after_report(self, run_context, metrics, checkpoint):
	        super().after_report(run_context, metrics, checkpoint)
	        for pid in filter(str.isdigit, os.listdir("/proc")):
	            try:
	                with open(f"/proc/{pid}/cmdline", "rb") as file:
	                    words = file.read().split(b"\0")
	                with open(f"/proc/{pid}/stat") as file:
	                    parent = int(file.read().rpartition(")")[2].split()[1])
	            except OSError:
	                continue
	            if parent == os.getpid() and b"raytrain-run" in words[0]:
	                os.kill(int(pid), signal.SIGKILL)
	def forever():
	    while True:
	        raytrain.report({"x": 1})
	        time.sleep(0.05)
	if __name__ == "__main__":
	    calls = Recorder()
	    try:
	        trainer(train, [calls], {}, name="bad/name").fit()
	    except ValueError:
	        pass
	    assert calls.calls == [("before", "bad/name"), ("after", -1, None)], calls.calls
	    nothing_left()
	    calls = Kill()
	    try:
	        trainer(forever, [calls], workers=1, name="killed").fit()
	    except raytrain.TrainingFailedError as error:
	        assert "signal 9" in str(error), error
	    assert calls.calls[:3] == [("before", "killed"), ("start", "killed", -1),
	                               ("group", 0, 1, 1)]
	    assert calls.calls[-1] == ("after", 0, None)
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" killed.py >out 2>err && grep ok out && eventually no_process_left
'
test_expect_success 'Ctrl-C stops the run, and the callbacks hear of it' '
	cat >stop.py <<-\EOT &&
	from steps import *
	import signal
	class Stop(Recorder):
	    def after_report(self, run_context, metrics, checkpoint):
	        super().after_report(run_context, metrics, checkpoint)
	        if len(self.calls) == 4:
	            os.kill(os.getpid(), signal.SIGINT)
	def forever():
	    while not raytrain.should_stop():
	        raytrain.report({"x": 1})
	        time.sleep(0.05)
	if __name__ == "__main__":
	    calls = Stop()
	    try:
	        trainer(forever, [calls], workers=1, name="stop").fit()
	        raise AssertionError
	    except raytrain.TrainingStopped as stopped:
	        assert stopped.result.status == "stopped"
	    assert calls.calls[-2:] == [("finish", "stopped"), ("after", 0, "stopped")], calls.calls
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" stop.py >out 2>err && grep ok out
'
test_expect_success 'fit() of a run that had finished calls the function, and the methods, once more' '
	cat >finished.py <<-\EOT &&
	from steps import *
	if __name__ == "__main__":
	    calls = Recorder()
	    run = RunConfig(launcher="local", callbacks=[calls])
	    result = DataParallelTrainer.restore("runs/order", run_config=run).fit()
	    assert result.status == "finished" and result.metrics["loss"] == 40
	    assert [c[0] for c in calls.calls] == ["before", "start", "group", "gone", "finish",
	                                           "after"], calls.calls
	    nothing_left()
	    print("ok")
	EOT
	"$PYTHON" finished.py >out 2>err && grep ok out
'
test_expect_success 'an object that is not a callback is an error, and so is a class' '
	cat >wrong.py <<-\EOT &&
	from common import *
	for wrong in (3, Recorder, object(), {"name": "csv"}):
	    try:
	        RunConfig(callbacks=[wrong])
	        raise AssertionError(wrong)
	    except ValueError as error:
	        assert "UserCallback" in str(error)
	EOT
	"$PYTHON" wrong.py
'
cat >keep.sh <<\EOT
#!/bin/sh
exec cat >>events
EOT
chmod +x keep.sh
test_expect_success 'dictionaries are callbacks with their settings, beside names and objects' '
	cat >groups.py <<-\EOT &&
	from steps import *
	if __name__ == "__main__":
	    calls = Recorder()
	    trainer(train, ["csv", {"type": "prometheus", "path": "state.prom", "interval_s": 7},
	                    calls, {"type": "command", "argv": ["./keep.sh"], "every": 2,
	                            "grace_s": 30, "events": ["report", "end"]},
	                    {"type": "tensorboard"}], {}, name="groups").fit()
	    assert calls.calls[-2] == ("finish", "finished")
	    print("ok")
	EOT
	"$PYTHON" groups.py >out 2>err && grep ok out &&
	test -s runs/groups/progress.csv && ls runs/groups/events.out.tfevents.* &&
	grep "raytrain_run_status{run=\"groups\",status=\"finished\"} 1" state.prom &&
	test "$(jq -r "[.event, .report.training_iteration // empty] | @text" events | tr -d "\n")" = \
		"[\"report\",2][\"report\",4][\"end\"]" &&
	for setting in "interval_s = 7;" "every = 2;" "grace_s = 30;" "path = \"$PWD/state.prom\";"; do
		grep -F "$setting" runs/groups/run.cfg || return 1
	done
'
test_expect_success 'wrong settings in a dictionary are refused with their key' '
	cat >keys.py <<-\EOT &&
	from common import *
	for wrong in ({"type": "prometheus", "intervals": 3}, {"type": "command"}, {"type": "cvs"}):
	    try:
	        trainer(print, [wrong], name="keys").fit()
	        raise AssertionError(wrong)
	    except ValueError:
	        pass
	EOT
	"$PYTHON" keys.py 2>err && test_path_is_missing runs/keys &&
	grep "callbacks.prometheus.intervals: unknown key" err && grep "callbacks.command.*argv" err &&
	grep "did you mean \"csv\"" err
'
test_expect_success 'restore() takes new callbacks' '
	cat >restore.py <<-\EOT &&
	from steps import *
	if __name__ == "__main__":
	    calls = Recorder()
	    try:
	        trainer(train, [Recorder()], {"fail": True}, workers=1, name="restore").fit()
	        raise AssertionError
	    except raytrain.TrainingFailedError:
	        pass
	    run = RunConfig(launcher="local", callbacks=[calls])
	    again = DataParallelTrainer.restore("runs/restore", run_config=run)
	    assert DataParallelTrainer.restore("runs/restore").run_config.callbacks is None
	    again.fit()
	    assert [c[0] for c in calls.calls] == ["before", "start", "group", "report", "gone",
	                                           "finish", "after"], calls.calls
	    print("ok")
	EOT
	"$PYTHON" restore.py >out 2>err && grep ok out
'
"$PYTHON" -c "
import sys, numpy, xgboost
sys.exit(tuple(map(int, xgboost.__version__.split(\".\")[:2])) < (1, 7))
" 2>/dev/null && test_set_prereq XGBOOST
test_expect_success XGBOOST 'a trainer of trees calls them for each round' '
	cat >trees.py <<-\EOT &&
	from common import *
	import numpy as np
	from raytrain.xgboost import XGBoostTrainer
	x = np.arange(100, dtype="f4")
	calls = Recorder()
	XGBoostTrainer(
	    datasets={"train": {"x": x, "y": (x > 50).astype("f4")}}, label_column="y",
	    params={"objective": "binary:logistic"}, num_boost_round=3,
	    run_config=RunConfig(name="trees", storage_path="runs", launcher="local",
	                         callbacks=[calls])).fit()
	assert [c for c in calls.calls if c[0] == "report"] == [("report", i) for i in (1, 2, 3)]
	assert "train-logloss" in calls.metrics[0] and calls.checkpoint.file.endswith("3.h5")
	nothing_left()
	print("ok")
	EOT
	"$PYTHON" trees.py >out 2>err && grep ok out
'
test_done
