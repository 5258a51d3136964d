#!/bin/sh
test_description='Lightning, Transformers and Keras train in the workers of a trainer'
. "$(dirname "$0")/setup.sh"

# The frameworks are stand-ins (t/python-standins), which say after which source each was
# written: these tests show that raytrain uses their interfaces as they are there.
PYTHONPATH=$stage/share/raytrain/python:$srcdir/t/python-standins
OMP_NUM_THREADS=1
export PYTHONPATH OMP_NUM_THREADS
examples=$srcdir/share/examples/python

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

cat >common.py <<\PY
import os
import raytrain
from raytrain import RunConfig, ScalingConfig
from raytrain.torch import TorchTrainer

def fit(function, name, workers=2, config=None, **run):
    return TorchTrainer(function, train_loop_config=config,
                        scaling_config=ScalingConfig(num_workers=workers),
                        run_config=RunConfig(name=name, storage_path="runs", launcher="local",
                                             **run)).fit()
PY

# ---- Lightning ----

test_expect_success 'Lightning: the example trains on two workers, continues with the next epoch, and leaves nothing' '
	mkdir tmp && TMPDIR=$PWD/tmp "$PYTHON" "$examples/fit_lightning.py" 2 >out 2>err &&
	grep "^epoch 1, step 32, loss 0" out && test -z "$(find tmp -name ".raytrain-*")" &&
	"$PYTHON" "$examples/fit_lightning.py" 3 >out 2>err &&
	grep "^epoch 2, step 48, loss 0" out &&
	jq -s -e "map(.epoch) == [0, 1, 2]" raytrain_results/lightning/result.json
'
test_expect_success 'Lightning: the checkpoint has the file that Lightning has saved' '
	cat >whole.py <<-\PY &&
	import torch
	from common import *
	result = raytrain.Result.from_path("raytrain_results/lightning")
	with result.checkpoint.as_directory() as path:
	    assert os.listdir(path) == ["checkpoint.ckpt"], os.listdir(path)
	    content = torch.load(os.path.join(path, "checkpoint.ckpt"))
	assert content["global_step"] == 48 and content["optimizer_states"], content
	PY
	"$PYTHON" whole.py
'
test_expect_success 'Lightning: a strategy that saves by parts has those of all workers in the checkpoint' '
	cat >parts.py <<-\PY &&
	import torch
	import lightning.pytorch as pl
	import raytrain.lightning as rl
	from common import *
	from fit_lightning import Classifier

	def train():
	    data = torch.utils.data.TensorDataset(torch.rand(64, 32), torch.zeros(64).long())
	    trainer = pl.Trainer(max_epochs=1, strategy=rl.RayFSDPStrategy(state_dict_type="sharded"),
	                         plugins=[rl.RayLightningEnvironment()],
	                         callbacks=[rl.RayTrainReportCallback()])
	    rl.prepare_trainer(trainer).fit(
	        Classifier(0.1), torch.utils.data.DataLoader(data, batch_size=8))
	    context = raytrain.get_context()
	    assert trainer.world_size == 3 and trainer.global_rank == context.get_world_rank()
	    assert trainer.global_step == 3, trainer.global_step
	    assert os.environ["WORLD_SIZE"] == "3"

	with fit(train, "parts", workers=3).checkpoint.as_directory() as path:
	    found = sorted(os.listdir(os.path.join(path, "checkpoint.ckpt")))
	assert found == ["__0_0.distcp", "__1_0.distcp", "__2_0.distcp", "meta.pt"], found
	PY
	PYTHONPATH=$PYTHONPATH:$examples "$PYTHON" parts.py 2>err
'
test_expect_success 'Lightning: prepare_trainer() refuses what would not train over the workers' '
	cat >refused.py <<-\PY &&
	import lightning.pytorch as pl
	import raytrain.lightning as rl

	def refused(text, **settings):
	    try:
	        rl.prepare_trainer(pl.Trainer(**settings))
	    except RuntimeError as error:
	        assert text in str(error), error
	    else:
	        raise AssertionError(settings)

	refused("RayDDPStrategy, RayFSDPStrategy")
	refused("RayDDPStrategy", strategy=pl.strategies.DDPStrategy())
	refused("plugins=[raytrain.lightning.RayLightningEnvironment()]",
	        strategy=rl.RayDDPStrategy())
	PY
	"$PYTHON" refused.py
'

# ---- Transformers ----

test_expect_success 'Transformers: the example trains on two workers, and continues after its checkpoint' '
	"$PYTHON" "$examples/fit_transformers.py" 2 >out 2>err &&
	grep "^epoch 2, step 16, eval_loss 0" out &&
	"$PYTHON" "$examples/fit_transformers.py" 3 >out 2>err &&
	grep "^epoch 3, step 24, eval_loss 0" out &&
	jq -s -e "map(.step) == [8, 16, 24]" raytrain_results/transformers/result.json
'
test_expect_success 'Transformers: the checkpoint has what the Trainer has saved on all workers' '
	cat >saved.py <<-\PY &&
	import os
	import raytrain
	result = raytrain.Result.from_path("raytrain_results/transformers")
	with result.checkpoint.as_directory() as path:
	    found = sorted(os.listdir(os.path.join(path, "checkpoint")))
	assert found == ["model.bin", "optimizer.pt", "rng_state_0.pth", "rng_state_1.pth",
	                 "trainer_state.json"], found
	PY
	"$PYTHON" saved.py &&
	ls -a raytrain_results/transformers/transformers >left &&
	! grep raytrain left && test 2 -eq "$(grep -c checkpoint- left)"
'
"$PYTHON" -c "import numpy" 2>/dev/null && test_set_prereq NUMPY
test_expect_success NUMPY 'Transformers: prepare_trainer() takes the batches of a shard, over several epochs' '
	cat >shards.py <<-\PY &&
	import numpy, torch, transformers
	import raytrain.data
	from raytrain.huggingface.transformers import RayTrainReportCallback, prepare_trainer
	from common import *
	from fit_transformers import Adder, Sums

	class Own(transformers.Trainer):
	    pass

	class Model(Adder):
	    rows = 0
	    def forward(self, x, labels=None):
	        Model.rows += len(x)
	        return super().forward(x, labels)

	def train():
	    batches = [raytrain.get_dataset_shard(name).iter_torch_batches(batch_size=4)
	               for name in ("train", "one", "two")]
	    args = transformers.TrainingArguments(output_dir="shards", max_steps=8, save_steps=4,
	                                          logging_steps=4, eval_strategy="steps")
	    trainer = prepare_trainer(Own(model=Model(), args=args, train_dataset=batches[0],
	                                  eval_dataset={"one": batches[1], "two": batches[2]}))
	    assert isinstance(trainer, Own) and prepare_trainer(trainer) is trainer
	    trainer.add_callback(RayTrainReportCallback)
	    trainer.train()
	    # 8 steps of 4 rows are two epochs of 16; 2 x 2 evaluations have 4 rows each.
	    assert Model.rows == 8 * 4 + 4 * 4, Model.rows

	def rows(n):
	    x = numpy.arange(2 * n, dtype="float32").reshape(n, 2) / (2 * n)
	    return raytrain.data.from_numpy({"x": x, "labels": x.sum(1)})

	result = TorchTrainer(train, scaling_config=ScalingConfig(num_workers=2),
	                      run_config=RunConfig(name="shards", storage_path="runs",
	                                           launcher="local"),
	                      datasets={"train": rows(32), "one": rows(8), "two": rows(8)}).fit()
	assert [m["step"] for m in result.metrics_history] == [4, 8], result.metrics_history
	assert "eval_two_loss" in result.metrics, result.metrics
	try:
	    prepare_trainer(Sums(1))
	except TypeError as error:
	    assert "transformers.Trainer" in str(error), error
	else:
	    raise AssertionError
	PY
	PYTHONPATH=$PYTHONPATH:$examples "$PYTHON" shards.py 2>err
'
test_expect_success 'without Lightning and Transformers their modules can be imported, and say what is missing' '
	cat >missing.py <<-\PY &&
	import sys
	for name in "lightning", "pytorch_lightning", "transformers":
	    sys.modules[name] = None
	import raytrain.huggingface.transformers, raytrain.lightning

	def refused(text, call):
	    try:
	        call()
	    except ImportError as error:
	        assert text in str(error) and "pip install" in str(error), error
	    else:
	        raise AssertionError(text)

	assert "RayDDPStrategy" in dir(raytrain.lightning)
	refused("Lightning is needed", lambda: raytrain.lightning.RayDDPStrategy)
	refused("pip install transformers",
	        lambda: raytrain.huggingface.transformers.prepare_trainer)
	PY
	"$PYTHON" missing.py
'

# ---- Keras ----

test_expect_success 'Keras: a callback reports each epoch, with the model of rank 0' '
	cat >keras_fit.py <<-\PY &&
	import json, tensorflow
	from common import *
	from raytrain.tensorflow import TensorflowTrainer
	from raytrain.tensorflow.keras import ReportCheckpointCallback

	def train(config):
	    model = tensorflow.keras.Model()
	    rank = raytrain.get_context().get_world_rank()
	    model.fit([1.0 + rank, 3.0 + rank], epochs=2,
	              callbacks=[ReportCheckpointCallback(**config)])
	    assert model.batch_calls == (4 if "train_batch_end" in config.values() else 0)

	def fit(name, **config):
	    return TensorflowTrainer(train, train_loop_config=config,
	                             scaling_config=ScalingConfig(num_workers=2),
	                             run_config=RunConfig(name=name, storage_path="runs",
	                                                  launcher="local")).fit()

	result = fit("all")
	assert [m["seen"] for m in result.metrics_history] == [2, 4], result.metrics_history
	with result.checkpoint.as_directory() as path:
	    assert os.listdir(path) == ["model.keras"]
	    with open(os.path.join(path, "model.keras")) as file:
	        assert json.load(file) == {"mean": 2.0}
	some = fit("some", checkpoint_on="train_end", report_metrics_on="train_batch_end",
	           metrics={"mean_loss": "loss"})
	assert len(some.metrics_history) == 5 and some.checkpoint, some.metrics_history
	assert "mean_loss" in some.metrics and "loss" not in some.metrics, some.metrics
	try:
	    ReportCheckpointCallback(checkpoint_on="validation_end")
	except ValueError as error:
	    assert "epoch_end" in str(error), error
	else:
	    raise AssertionError
	PY
	"$PYTHON" keras_fit.py 2>err
'

test_done
