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

test_expect_success 'Lightning: the example trains on two workers, and goes on with the next epoch' '
	"$PYTHON" "$examples/fit_lightning.py" 2 >out 2>err &&
	grep "^epoch 1, step 32, loss 0" out &&
	"$PYTHON" "$examples/fit_lightning.py" 3 >out 2>err &&
	grep "^epoch 2, step 48, loss 0" out &&
	jq -s -e "map(.epoch) == [0, 1, 2]" raytrain_results/lightning/result.json
'
test_expect_success 'Lightning: the checkpoint has the file that Lightning has saved, and nothing is left in TMPDIR' '
	mkdir tmp && cat >whole.py <<-\PY &&
	import sys, torch
	from common import *
	from fit_lightning import train_func
	result = fit(train_func, "whole", config={"epochs": 1, "lr": 0.1})
	with result.checkpoint.as_directory() as path:
	    assert os.listdir(path) == ["checkpoint.ckpt"], os.listdir(path)
	    content = torch.load(os.path.join(path, "checkpoint.ckpt"))
	assert content["global_step"] == 16 and content["optimizer_states"], content
	PY
	TMPDIR=$PWD/tmp PYTHONPATH=$PYTHONPATH:$examples "$PYTHON" whole.py 2>err &&
	test -z "$(find tmp -name "raytrain-*")"
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
test_expect_success 'without Lightning raytrain.lightning can be imported, and says what is missing' '
	cat >missing.py <<-\PY &&
	import sys
	sys.modules["lightning"] = sys.modules["pytorch_lightning"] = None
	import raytrain.lightning
	assert "RayDDPStrategy" in dir(raytrain.lightning)
	try:
	    raytrain.lightning.RayDDPStrategy
	except ImportError as error:
	    assert "Lightning is needed" in str(error) and "pip install" in str(error), error
	else:
	    raise AssertionError
	PY
	"$PYTHON" missing.py
'

test_done
