#!/bin/sh
test_description='local mode: fit() with num_workers=0 calls the function in its own process'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE RAYTRAIN_SESSION
"$PYTHON" -c "import numpy" 2>err && test_set_prereq NUMPY
"$PYTHON" -c "import sys, torch; sys.exit(not hasattr(torch, 'frombuffer'))" 2>err && test_set_prereq TORCH

own_tmp # torchrun leaves files
cat >common.py <<\EOT
import os, sys, tempfile, warnings
import raytrain
from raytrain import (Checkpoint, CheckpointConfig, DataParallelTrainer, Result, RunConfig,
                      ScalingConfig)

def trainer(function, config=None, kind=DataParallelTrainer, more={}, **run):
    run.setdefault("storage_path", "runs")
    return kind(function, train_loop_config=config, run_config=RunConfig(**run),
                scaling_config=ScalingConfig(num_workers=0), **more)

def refused(kind, words, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError(f"{words}: nothing was refused")
EOT

test_expect_success 'the function runs in this process, and the Result has its reports' '
	cat >here.py <<-\EOT &&
	from common import *
	seen = []
	def train(config):
	    context = raytrain.get_context()
	    seen.append((os.getpid(), context.get_world_rank(), context.get_world_size(),
	                 context.get_local_rank(), context.get_node_rank()))
	    assert context.get_experiment_name() == "here" and raytrain.config == {"lr": 2}
	    assert os.path.isdir(context.get_trial_dir())
	    assert os.path.isdir(context.get_storage().artifacts_path)
	    assert context.get_metadata() == {"by": "me"} and not raytrain.get_checkpoint()
	    raytrain.collective.barrier()
	    assert raytrain.broadcast_from_rank_zero([1]) == [1]
	    for i in range(3):
	        with tempfile.TemporaryDirectory() as folder:
	            with open(os.path.join(folder, "i.txt"), "w") as file:
	                file.write(str(i))
	            raytrain.report({"loss": (5 - i) * config["lr"], "deep": {"i": i}},
	                            checkpoint=Checkpoint.from_directory(folder))
	    raytrain.report({"loss": 1, "inf": float("inf")})
	    return 7
	import raytrain.collective
	result = trainer(train, {"lr": 2}, more={"metadata": {"by": "me"}}, name="here").fit()
	assert seen == [(os.getpid(), 0, 1, 0, 0)], seen
	assert result.metrics == {"loss": 1, "inf": float("inf")}, result.metrics
	assert result.metrics["training_iteration"] == 4 and result.error is None
	assert [m["loss"] for m in result.metrics_history] == [10, 8, 6, 1]
	assert result.by_rank["loss"]["max"] == 1 and result.config == {"lr": 2}
	with result.checkpoint.as_directory() as folder:
	    assert open(os.path.join(folder, "i.txt")).read() == "2"
	assert os.listdir(result.checkpoint.path) == ["i.txt"]
	assert [m["deep"]["i"] for _, m in result.best_checkpoints] == [0, 1, 2]
	assert result.checkpoint.get_metadata() == {"by": "me"}
	best = result.get_best_checkpoint("loss", "max")
	assert best.file == os.path.abspath("runs/here.local/checkpoint_000001.h5"), best
	assert raytrain.get_context().get_experiment_name() == ""
	EOT
	"$PYTHON" here.py
'

test_expect_success 'local mode continues by the name, fresh sets aside, and no run is touched' '
	mkdir -p runs/again && >runs/again/run.cfg &&
	cat >again.py <<-\EOT &&
	from common import *
	started = []
	def train():
	    start = raytrain.get_checkpoint()
	    started.append(start and start.to_dict()["step"])
	    raytrain.report({"x": 1}, Checkpoint.from_dict({"step": (started[-1] or 0) + 1}))
	    raytrain.report({"x": 1.5})
	    # the newest one
	    assert raytrain.get_checkpoint().to_dict() == {"step": (started[-1] or 0) + 1}
	    return list(started)
	def fit(**more):
	    return trainer(train, name="again", **more).fit()
	fit()
	second = fit()
	assert started == [None, 1], started
	assert second.metrics["training_iteration"] == 3 and second.return_value == [None, 1]
	assert second.checkpoint.to_dict() == {"step": 2}
	assert [c.to_dict()["step"] for c, _ in second.best_checkpoints] == [1, 2]
	other = trainer(train, more={"resume_from_checkpoint": second.checkpoint}).fit()
	assert started[2:] == [2] and other.checkpoint.to_dict()["step"] == 3
	trainer(train, more={"resume_from_checkpoint": Checkpoint.from_dict({"step": 8})}).fit()
	assert started[3:] == [8], started
	fit(on_existing="fresh")
	assert started[4:] == [None], started
	assert os.path.exists("runs/again.local.1/checkpoint_000002.h5")
	refused(ValueError, "again.local is there already", fit, on_existing="error")
	assert os.listdir("runs/again") == ["run.cfg"]
	EOT
	"$PYTHON" again.py
'

test "$(id -u)" -ne 0 || test_set_prereq ROOT
test_expect_success ROOT 'nothing is kept in, or read from, the directory of another user' '
	cat >theirs.py <<-\EOT &&
	from common import *
	def train():
	    raytrain.report({"x": 1}, Checkpoint.from_dict({}))
	trainer(train, name="theirs").fit()
	os.rename("runs/theirs.local", "real")
	os.symlink(os.path.abspath("real"), "runs/theirs.local")
	trainer(train, name="theirs").fit()
	os.chown("runs/theirs.local", 65534, 65534, follow_symlinks=False)
	refused(PermissionError, "belongs to another user (uid 65534)", trainer(train, name="theirs").fit)
	os.unlink("runs/theirs.local")
	os.rename("real", "runs/theirs.local")
	os.chown("runs/theirs.local", 65534, 0)
	os.chmod("runs/theirs.local", 0o777)
	for mode in "resume", "fresh":
	    refused(PermissionError, "choose another name", trainer(train, name="theirs", on_existing=mode).fit)
	assert not os.path.exists("runs/theirs.local.1")
	os.chmod("runs/theirs.local", 0o2775)
	trainer(train, name="theirs").fit()
	EOT
	"$PYTHON" theirs.py
'

test_expect_success 'what RunConfig says of checkpoints and of the end holds' '
	cat >kept.py <<-\EOT &&
	from common import *
	def train():
	    for i, score in enumerate([3, 9, 1, 2, 4, 7]):
	        raytrain.report({"score": score}, Checkpoint.from_dict({"i": i}))
	keep = CheckpointConfig(num_to_keep=2, checkpoint_score_attribute="score",
	                        checkpoint_score_order="max")
	result = trainer(train, checkpoint_config=keep, stop={"training_iteration": 5}).fit()
	assert [(c.to_dict()["i"], m["score"]) for c, m in result.best_checkpoints] == \
	    [(4, 4), (1, 9)], result.best_checkpoints
	assert result.metrics == {"score": 4} and result.status == "finished"
	def asks():
	    while not raytrain.should_stop():
	        raytrain.report({"n": raytrain.get_context()._info["iteration"]})
	    raytrain.report({"n": -1})
	assert trainer(asks, stop={"n": 3}).fit().metrics == {"n": -1}
	EOT
	"$PYTHON" kept.py
'

test_expect_success 'exceptions come as they are, and the next fit() is as the first' '
	cat >wrong.py <<-\EOT &&
	from common import *
	class Own(Exception):
	    pass
	own = Own("mine")
	def fails():
	    raise own
	assert refused(Own, "mine", trainer(fails).fit) is own
	def nested():
	    trainer(fails).fit()
	refused(RuntimeError, "inside a training function", trainer(nested).fit)
	def ends():
	    sys.exit(3)
	refused(SystemExit, "3", trainer(ends).fit)
	assert trainer(lambda: raytrain.report({"a": 1})).fit().metrics == {"a": 1}
	assert trainer(lambda: None).fit().metrics is None
	def typo():
	    raytrain.report([1])
	refused(TypeError, "takes a dict of metrics", trainer(typo).fit)
	EOT
	"$PYTHON" wrong.py
'

test_expect_success 'what local mode cannot do is said' '
	cat >said.py <<-\EOT &&
	from common import *
	from raytrain import FailureConfig, UserCallback
	from raytrain.preprocessors import StandardScaler
	from raytrain.xgboost import XGBoostTrainer
	nothing = lambda: None
	scaler = StandardScaler(["a"])
	refused(ValueError, "fit_transform", trainer(
	    nothing, more={"preprocessor": scaler}).fit)
	refused(ValueError, "is the local mode of a trainer with a training function",
	        XGBoostTrainer(datasets={"train": "rows.csv"}, label_column="a",
	                       scaling_config=ScalingConfig(num_workers=0)).fit)
	with warnings.catch_warnings(record=True) as caught:
	    warnings.simplefilter("always")
	    trainer(nothing, callbacks=[UserCallback()],
	            failure_config=FailureConfig(max_failures=2)).fit()
	    texts = [str(w.message) for w in caught]
	assert len(texts) == 2 and "callbacks" in texts[0] and "failure_config" in texts[1], texts
	assert caught[0].filename.endswith("said.py"), caught[0]
	assert ScalingConfig(num_workers=0).total_resources == {"CPU": 0}
	EOT
	"$PYTHON" said.py
'

test_expect_success 'a worker that imports the script does not train in local mode' '
	cat >unguarded.py <<-\EOT &&
	from common import *
	trainer(lambda: None).fit()
	def train():
	    raytrain.report({"a": 1})
	if __name__ == "__main__":
	    sys.modules["cloudpickle"] = None
	    DataParallelTrainer(train, run_config=RunConfig(
	        launcher="local", storage_path="runs", verbose=0)).fit()
	EOT
	test_must_fail "$PYTHON" unguarded.py 2>err &&
	grep "would train in local mode: put that fit() below" err
'

test_expect_success 'checkpoints go from local mode to a run, and back' '
	cat >both.py <<-\EOT &&
	from common import *
	def train():
	    start = raytrain.get_checkpoint()
	    step = start.to_dict()["step"] + 1 if start else 1
	    raytrain.report({"step": step}, Checkpoint.from_dict({"step": step}))
	if __name__ == "__main__":
	    first = trainer(train, name="both").fit()
	    run = DataParallelTrainer(train, resume_from_checkpoint=first.checkpoint,
	        run_config=RunConfig(name="both", launcher="local", storage_path="runs",
	                             verbose=0)).fit()
	    assert run.metrics["step"] == 2, run.metrics
	    last = DataParallelTrainer.restore(
	        run.path, scaling_config=ScalingConfig(num_workers=0)).fit()
	    assert last.metrics["step"] == 3, last.metrics
	    assert last.path == first.path and os.path.isdir(first.path + ".1")
	    assert raytrain.Result.from_path(run.path).metrics == {"step": 2}
	EOT
	"$PYTHON" both.py
'

test_expect_success NUMPY 'get_dataset_shard() is the whole dataset, as the trainer has it' '
	printf "a,b\n1,2\n3,4\n5,6\n" >rows.csv &&
	cat >rows.py <<-\EOT &&
	from common import *
	from raytrain import data
	sums = []
	def train():
	    sums.append(sum(int(batch["a"].sum()) for batch in
	                    raytrain.get_dataset_shard("train").iter_batches(batch_size=2)))
	    sums.append(raytrain.get_dataset_shard("valid", equal=False).count())
	    sums.append(len(raytrain.get_dataset_shard("valid").materialize()["b"]))
	    refused(KeyError, "the datasets are train, valid", raytrain.get_dataset_shard, "test")
	def double(batch):
	    return {"a": batch["a"] * 2}
	more = {"datasets": {"train": data.read_csv("rows.csv").map_batches(double),
	                     "valid": "rows.csv"}}
	trainer(train, more=more).fit()
	assert sums == [18, 3, 3], sums
	class Custom(raytrain.DataConfig):
	    def configure(self, datasets, world_size, worker_handles, worker_node_ids, **kwargs):
	        part = datasets["train"].streaming_split(world_size)[0]
	        return [{"train": part, "valid": datasets["valid"].limit(2).iterator()}]
	trainer(train, more={**more, "dataset_config": Custom()}).fit()
	assert sums[3:] == [18, 2, 2], sums
	refused(KeyError, "nor any other", raytrain.get_dataset_shard, "train")
	EOT
	"$PYTHON" rows.py
'

cat >torched.py <<\EOT
from common import *
import torch
import torch.distributed as dist
import raytrain.torch
from raytrain.collective import barrier

def train(config):
    context = raytrain.get_context()
    rank = context.get_world_rank()
    assert dist.get_world_size() == context.get_world_size()
    assert raytrain.torch.get_device() == torch.device("cpu")
    model = raytrain.torch.prepare_model(torch.nn.Linear(1, 1))
    rows = torch.utils.data.TensorDataset(torch.arange(8.0)[:, None])
    loader = raytrain.torch.prepare_data_loader(
        torch.utils.data.DataLoader(rows, batch_size=2))
    mine = 0
    for (x,) in loader:
        loss = model(x).square().mean()
        loss.backward()
        mine += len(x)
    barrier()
    said = raytrain.broadcast_from_rank_zero(f"from {rank}")
    raytrain.report({"rows": mine, "said": said, "local": context.get_local_rank(),
                     "nodes": context.get_node_count()},
                    Checkpoint.from_dict({"w": torch.ones(2)}) if rank == 0 else None)

name = sys.argv[1]
result = trainer(train, {}, raytrain.torch.TorchTrainer, name=name).fit()
assert not dist.is_initialized()
with open(f"{name}-{os.environ.get('RANK', 'lone')}", "w") as file:
    print(result.metrics["rows"], result.metrics["said"], result.metrics["local"],
          result.metrics["nodes"], result.checkpoint is not None, file=file)
EOT

test_expect_success TORCH 'TorchTrainer and raytrain.torch work as with one worker' '
	"$PYTHON" torched.py alone && echo "8 from 0 0 1 True" >expect && test_cmp expect alone-lone
'

# As t/1334 has it.
test_have_prereq TORCH && "$PYTHON" -c "
import sys, torch
sys.exit(tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 4))
" && command -v torchrun >/dev/null && test_set_prereq TORCHRUN
test_expect_success TORCHRUN 'under torchrun each process is one of its ranks' '
	torchrun -r 9:1 -t 9:1 --standalone --nproc_per_node 2 torched.py pair &&
	echo "4 from 0 0 1 True" >expect && test_cmp expect pair-0 &&
	echo "4 from 0 1 1 False" >expect && test_cmp expect pair-1 &&
	test -f runs/pair.local/checkpoint_000001.h5
'

test_expect_success 'what the processes of torchrun cannot do is said' '
	cat >ranks.py <<-\EOT &&
	from common import *
	refused(ValueError, "datasets= are divided", trainer(
	    lambda: None, more={"datasets": {"train": "rows.csv"}}).fit)
	refused(NotImplementedError, "there is none: use raytrain.torch.TorchTrainer",
	        trainer(raytrain.barrier).fit)
	def train():
	    context = raytrain.get_context()
	    raytrain.report({"at": [context.get_world_rank(), context.get_world_size(),
	                            context.get_local_rank(), context.get_local_world_size(),
	                            context.get_node_rank(), context.get_node_count()]})
	result = trainer(train, name="ranks").fit()
	assert result.metrics == {"at": [3, 4, 1, 2, 1, 2]}, result.metrics
	assert result.path == os.path.abspath("runs/ranks.local-rank-3")
	os.environ["RANK"] = "first"
	refused(ValueError, "is not a number that torchrun sets", trainer(train).fit)
	EOT
	WORLD_SIZE=4 RANK=3 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "$PYTHON" ranks.py
'

test_done
