#!/bin/sh
test_description='fit() of the Python trainers on two nodes of a Slurm cluster'
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH
cd "$CLUSTER_SHARED" || exit 1

cat >nodes.py <<\EOT
import os, sys
import numpy as np
import h5py
import raytrain
from raytrain import Checkpoint, DataParallelTrainer, RunConfig, ScalingConfig
from raytrain.data import read_hdf5

def train(config):
    where = raytrain.get_context()
    assert "SLURM_PROCID" not in os.environ
    rows = sum(len(b["id"]) for b in raytrain.get_dataset_shard("train").iter_batches())
    raytrain.report({"nodes": where.get_node_count(), "rows": rows, "x": config["x"]},
                    checkpoint=Checkpoint.from_dict({"w": np.arange(3)}))
    if config["fail"] and where.get_world_rank() == 1:
        raise OSError("not on this node")

class Seen(raytrain.UserCallback):
    def before_worker_group_start(self, group):
        self.nodes = group.nodes
    def after_report(self, run_context, metrics, checkpoint):
        self.metrics = metrics

seen = Seen()
with h5py.File("rows.h5", "w") as file:
    file["id"] = np.arange(20)
trainer = DataParallelTrainer(
    train, train_loop_config={"x": 4, "fail": sys.argv[2:] == ["fail"]},
    scaling_config=ScalingConfig(num_workers=2, placement_strategy="STRICT_SPREAD"),
    run_config=RunConfig(name=sys.argv[1], storage_path="runs", launcher="slurm",
                         callbacks=[seen]),
    datasets={"train": read_hdf5("rows.h5")})
result = trainer.fit()
assert result.metrics["nodes"] == 2 and result.metrics["rows"] == 10, result
assert result.checkpoint.to_dict()["w"].tolist() == [0, 1, 2]
assert seen.metrics[0]["rows"] == 10 and len(seen.nodes) == 2, vars(seen)
print("trained on two nodes")
EOT
test_expect_success 'fit() takes an allocation, and the function reaches both nodes' '
	"$PYTHON" nodes.py outside >out 2>err && grep "trained on two nodes" out &&
	test -z "$(squeue -h)"
'
test_expect_success 'label_selector chooses nodes by their features' '
	for node in n1:milan n2:rome,big; do
		scontrol update NodeName=${node%:*} AvailableFeatures=${node#*:} \
			ActiveFeatures=${node#*:} || return 1
	done &&
	cat >features.py <<-\EOF &&
	import os, raytrain
	from raytrain import DataParallelTrainer, RunConfig, ScalingConfig
	labels = {"cpu": "in(milan, rome)", "size": "big"}
	result = DataParallelTrainer(
	    lambda: raytrain.report({"host": os.uname().nodename}),
	    scaling_config=ScalingConfig(label_selector=labels),
	    run_config=RunConfig(name="features", storage_path="runs", launcher="slurm")).fit()
	assert result.metrics["host"] == "n2", result.metrics
	EOF
	"$PYTHON" features.py 2>err
'
test_expect_success 'fit() in an allocation uses its nodes' '
	salloc -N 2 "$PYTHON" nodes.py inside >out 2>err && grep "trained on two nodes" out
'
test_expect_success 'an exception on another node is raised with its traceback' '
	test_must_fail "$PYTHON" nodes.py fails fail >out 2>err &&
	grep "WorkerGroupError: rank 1 on n.: OSError: not on this node" err &&
	grep "in train" err
'
test_done
