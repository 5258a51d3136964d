#!/bin/sh
test_description='what people type at first: it runs, or the answer says what to type instead'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
hello=$builddir/share/examples/hello.so

# Frameworks that can be imported, whether they are installed or not.
mkdir -p imported/horovod && : >imported/torch.py && : >imported/jax.py &&
: >imported/horovod/__init__.py && : >imported/horovod/torch.py || exit 1
cat >plain.py <<\EOF || exit 1
import os, sys  # not torch, and no import torch
print("args", sys.argv[1:], "rank", os.environ["RANK"], os.environ.get("MASTER_ADDR"))
EOF
cat >imports.py <<\EOF || exit 1
import os
def main():
    import json, torch.nn as nn
main
print("address", os.environ.get("MASTER_ADDR"))
EOF
cat >fit.py <<\EOF || exit 1
from raytrain.torch import TorchTrainer
import torch
TorchTrainer(lambda config: None).fit()
EOF
cat >session.py <<\EOF || exit 1
import raytrain
class Trainer:
    def fit(self):
        raytrain.report({"loss": 1.0})
Trainer().fit()
EOF
cat >missing.py <<\EOF || exit 1
raise ValueError("Error initializing torch.distributed using env:// rendezvous: environment "
                 "variable MASTER_ADDR expected, but not set")
EOF
PATH=$(dirname "$PYTHON"):$PATH PYTHONPATH=$PWD/imported:$srcdir/share/python
export PYTHONPATH

# in_full TEXT: the answer has the long form of the command line, once.
in_full () {
	test 1 -eq $(grep -c "python3 runs it" err) && grep -F -e "raytrain-run [OPTION]... $1" err
}

test_expect_success 'a Python script runs as python3 SCRIPT, which is said once' '
	$run --workers 2 plain.py --lr 3 2>err && in_full "-- python3 plain.py" &&
	grep "args .*--lr.*3.* rank 1 None" runs/plain/logs/attempt-0/rank-*1.out &&
	$run -q --name quiet ./plain.py 2>err && test_must_be_empty err
'
test_expect_success 'a script that imports a framework has its backend' '
	$run -n 2 imports.py 2>err && in_full "--backend torch -- python3 imports.py" &&
	grep "address 127.0.0.1" runs/imports/logs/attempt-0/rank-*1.out &&
	$run --fresh --backend command imports.py 2>err && in_full "-- python3 imports.py" &&
	grep "address None" runs/imports/logs/attempt-0/rank-*0.out &&
	while read -r backend line; do
		echo "$line" >other.py &&
		$run --dry-run other.py >out 2>err && grep "^backend = \"$backend\"" out ||
		return 1
	done <<-EOF
	jax from jax import numpy
	horovod import torch, horovod.torch as hvd
	torch import mpi4py.MPI, tensorflow as tf, torch
	mpi from mpi4py import MPI
	EOF
'
test_expect_success 'a script that starts its workers itself is refused, one with a session runs' '
	expect_status 3 $run fit.py 2>err && grep "TorchTrainer.*python3 fit.py" err &&
	test_path_is_missing runs/fit &&
	$run session.py 2>err && grep "\"loss\"" runs/session/result.json
'
test_expect_success 'a script of the configuration file runs, and one that is missing is not built' '
	echo "train_func = \"plain.py\"; args = [\"x\"];" >script.cfg &&
	$run --name configured -c script.cfg 2>err && grep "\[OPTION]... -- python3 .*/plain.py.\$" err &&
	grep "args .*x.* rank 0" runs/configured/logs/attempt-0/rank-*0.out &&
	expect_status 3 $run gone.py 2>err && grep "gone.py" err && ! grep build err
'
test_expect_success 'a command that misses the variables of torch is advised to have --backend torch' '
	expect_status 1 $run --name missing -n 2 -- python3 missing.py 2>err &&
	grep -e "add --backend torch" err &&
	expect_status 1 $run --name has -n 2 --backend torch -- python3 missing.py 2>err &&
	! grep -e "add --backend" err
'
test_expect_success 'ranks that NCCL refuses because they share a GPU are advised to have whole ones, or gloo' '
	echo "raise RuntimeError(\"NCCL error: Duplicate GPU detected : rank 0 and rank 1\")" >twice.py &&
	expect_status 1 $run --name twice -n 2 --backend torch -- python3 twice.py 2>err &&
	grep -e "--gpus-per-worker 1.*init_process_group(\"gloo\")" err
'
test_expect_success 'a key of the function itself is suggested as one of train_loop_config' '
	expect_status 3 $run --set epochs=3 "$hello" 2>err &&
	grep "epochs: unknown key.*train_loop_config.epochs" err && ! grep scaling_config err &&
	expect_status 3 $run --set max_depth=3 --trainer xgboost 2>err &&
	grep "train_loop_config.max_depth.*params.max_depth" err &&
	expect_status 3 $run --set seeds=3 "$hello" 2>err && grep "did you mean \"seed\"" err
'
test_expect_success 'options of other launchers are answered with the word here' '
	while read -r option answer; do
		expect_status 2 $run $option "$hello" 2>err && grep -e "$answer" err || return 1
	done <<-EOF
	--nproc-per-node=2 here.it.is.--workers.*all.nodes
	--nproc_per_node=2 here.it.is.--workers
	--num-workers=2 here.it.is.--workers
	--nnodes=2 sbatch.-N.*--workers
	--use-gpu here.it.is.--gpu
	--max_restarts=3 here.it.is.--max-failures
	--rdzv-endpoint=a:1 --backend.torch
	--wokers=2 did.you.mean.--workers
	EOF
	expect_status 2 raytrain-inspect --nproc-per-node 2 2>err && ! grep -e --workers err
'
test_expect_success 'keys of Ray and XGBoost are answered with the key here' '
	while read -r key answer; do
		expect_status 3 $run --set $key --trainer xgboost 2>err && grep -e "$answer" err ||
		return 1
	done <<-EOF
	label_column=y here.it.is.*\"label\"
	xgb.eta=1 here.it.is.*\"params\"
	n_estimators=3 here.it.is.*\"num_boost_round\"
	datasets.train.drop_columns=a here.it.is.*\"exclude\"
	datasets.train.sep=a here.it.is.*\"delimiter\"
	trainer=xgb did.you.mean.*\"xgboost\"
	trainer=lgbm did.you.mean.*\"lightgbm\"
	backend=pytorch did.you.mean.*\"torch\"
	EOF
	expect_status 3 $run --trainer xgb 2>err && grep "did you mean \"xgboost\"" err
'
test_expect_success 'columns that are excluded are not in a dataset, nor features of trees' '
	printf "id,a,b,note,y\n1,1,2,x,0\n2,3,4,y,1\n3,5,6,x,0\n" >table.csv &&
	trees="--trainer xgboost --dataset train=table.csv --set label=y" &&
	expect_status 3 $run $trees --name words 2>err && grep note err &&
	$run $trees --name dataset --set "datasets.train.exclude=[\"id\", \"note\"]" 2>err &&
	raytrain-inspect --json runs/dataset/checkpoint_000010.h5 >model.json &&
	grep "\"a\"" model.json && ! grep -e "\"id\"" -e "\"note\"" model.json &&
	$run $trees --name both --set "datasets.train.exclude=[\"note\"]" \
		--set "exclude=[\"id\"]" 2>err &&
	raytrain-inspect --json runs/both/checkpoint_000010.h5 >both.json &&
	grep "\"a\"" both.json && ! grep "\"id\"" both.json &&
	for wrong in "exclude=[\"idd\"]" "exclude=[\"y\"]" "datasets.train.exclude=[\"idd\"]"; do
		expect_status 3 $run $trees --name wrong --fresh \
			--set "datasets.train.exclude=[\"note\"]" --set "$wrong" 2>err &&
		grep -e "exclude.*\"idd\"" -e "exclude.*\"y\" is the column of label" err ||
		return 1
	done &&
	expect_status 3 $run $trees --set "datasets.train.exclude=[\"note\"]" \
		--set "datasets.train.columns=[\"a\", \"y\"]" 2>err && grep "columns.*exclude" err
'
test_expect_success 'an error of the configuration is said once' '
	for key in label=z params.objective=none; do
		expect_status 3 $run --fresh --name once --trainer xgboost \
			--set "datasets.train.exclude=[\"note\"]" --dataset train=table.csv \
			--set label=y --set $key 2>err &&
		test 1 -eq $(grep -c -e "no column \"z\"" -e "objective function" err) &&
		! grep "to try again" err || return 1
	done
'
test_expect_success 'the end of a run names its logs' '
	$run --name finished "$hello" 2>err &&
	grep "^  logs        .*runs/finished/logs/attempt-0" err &&
	expect_status 1 $run --name failed --set train_loop_config.fail=exit "$train" 2>err &&
	grep "^  logs        .*runs/failed/logs/attempt-0" err &&
	echo "import raytrain; raytrain.get_context(); raise ValueError(1)" >raises.py &&
	expect_status 1 $run --name raised -q raises.py 2>err && grep "ValueError: 1" err &&
	grep "log.* .*runs/raised/logs/attempt-0/rank-00000" err
'
test_expect_success 'a second run of the same name has three ways out' '
	expect_status 3 $run --name finished "$hello" 2>err &&
	grep -e "--resume.*--fresh.*--name" err
'
test_expect_success 'keys of train_loop_config that a Python script does not read are named' '
	cat >reads.py <<-\EOF &&
	import json
	from raytrain import config, report, get_context
	n = config["epochs"] + config.get("warmup", 0) + config["optim"]["lr"]
	report({"n": n})
	assert type(json.loads(json.dumps(config))) is dict and dict(config) == config
	EOF
	$run --name reads --set train_loop_config.epochs=1 --set train_loop_config.epoch=8 \
		--set train_loop_config.optim.lr=1 --set train_loop_config.optim.lrr=1 reads.py 2>err &&
	grep "\"epoch\" of train_loop_config.*did you mean \"epochs\"" err &&
	grep "\"optim.lrr\" of train_loop_config.*\"optim.lr\"" err &&
	test 2 -eq $(grep -c "of train_loop_config" err) &&
	sed -i "s/^n = .*/n = len(dict(**config))/" reads.py &&
	$run --name whole --set train_loop_config.epoch=8 reads.py 2>err &&
	! grep "of train_loop_config" err &&
	$run --name unread --set train_loop_config.epoch=8 plain.py 2>err &&
	grep "not asked for train_loop_config, which has \"epoch\"" err
'
test_expect_success 'fit() shows the reason beside the rank' '
	cat >fails.py <<-\EOF &&
	import raytrain
	def train(config):
	    raise ValueError("no such file: a.csv")
	raytrain.DataParallelTrainer(train, run_config=raytrain.RunConfig(
	    name="fails", storage_path="runs")).fit()
	EOF
	test_must_fail python3 fails.py 2>err &&
	grep "the training failed: rank 0 on .*: ValueError: no such file: a.csv" err
'
test_expect_success 'a run with many checkpoints shows the newest, the best and how many more' '
	$run -q --name many --score loss:min --set train_loop_config.epochs=40 "$hello" &&
	raytrain-inspect runs/many >out && grep "checkpoint_000040.h5 .*newest" out &&
	grep "checkpoint_.*best" out && test 5 -eq $(grep -c "^  checkpoint_.*iteration" out) &&
	grep "and 35 more" out &&
	raytrain-inspect --json runs/many >out.json && json_is out.json ".checkpoints | length" 40
'
test_expect_success '--logs prints what workers have written, the failed rank first' '
	cat >writes.py <<-\EOF &&
	import os, sys, time
	print("hello\r 50%\r100%", flush=True)
	print("\033[31mred", file=sys.stderr, flush=True)
	if len(sys.argv) > 1:
	    if os.environ["RANK"] == "0":
	        open("written", "w").close()
	    while os.environ["RANK"] == "0" or not os.path.exists("written"):
	        time.sleep(0.01)
	    sys.exit("bad end")
	EOF
	$run -q -n 3 --name writes writes.py && raytrain-inspect --logs runs/writes >out &&
	printf "rank %s: %s\n" 0 100% 0 "\\x1b[31mred" 1 100% 1 "\\x1b[31mred" 2 100% \
		2 "\\x1b[31mred" >expected && test_cmp expected out &&
	raytrain-inspect --logs --rank 2 runs/writes >out && tail -n 2 expected >two &&
	test_cmp two out &&
	expect_status 1 $run -q -n 2 --name ends writes.py fail 2>err &&
	raytrain-inspect --logs runs/ends >out && head -n 1 out >first &&
	grep "^rank 1: 100%" first && grep "^rank 1: bad end" out && grep "^rank 0: 100%" out &&
	expect_status 3 raytrain-inspect --logs --rank 7 runs/ends 2>err && grep "rank 7" err &&
	expect_status 2 raytrain-inspect --rank 7 runs/ends 2>err && grep -e --logs err &&
	expect_status 2 raytrain-inspect --log runs/ends 2>err && grep -e --logs err
'
test_expect_success '--logs --follow prints lines as they come, and ends with the run' '
	echo "import os, time; print(\"begins\", flush=True)
while not os.path.exists(\"go\"): time.sleep(0.01)
print(\"ends\", end=\"\", flush=True)" >waits.py &&
	{ $run -q -n 2 --name waits waits.py & } && pid=$! &&
	eventually test -e runs/waits/logs/attempt-0/rank-00001.out &&
	{ raytrain-inspect --logs --follow runs/waits >followed & } && view=$! &&
	eventually grep "rank 1: begins" followed && ! grep ends followed && : >go &&
	wait $pid && wait $view && grep "rank 0: ends" followed && grep "rank 1: ends" followed
'
test_expect_success 'a task number in --set is refused, with --sweep named' '
	expect_status 2 $run --submit --array 0-2 --set train_loop_config.lr=%a "$hello" 2>err &&
	grep -e "--sweep train_loop_config.lr=A,B,C" err
'
test_expect_success 'the runs of a sweep follow each other, each with its value' '
	$run --name sweep --sweep train_loop_config.epochs=2,3 \
		--sweep "train_loop_config.text=\"a,b\",c" "$hello" 2>err &&
	for of in "0 2 a,b" "1 2 c" "2 3 a,b" "3 3 c"; do
		set -- $of && grep "epochs = $2;" runs/sweep-$1/run.cfg &&
		grep "text = \"$3\";" runs/sweep-$1/run.cfg || return 1
	done &&
	test_path_is_missing runs/sweep-4 && grep "run 2 of 4 .*epochs=2 .*text=c" err &&
	sed -n "s/.*to compare them: //p" err >line && sh ./line >compared &&
	grep sweep-0 compared && grep sweep-3 compared &&
	expect_status 3 $run --name sweep --sweep-task 1 --sweep train_loop_config.epochs=2,3 \
		"$hello" 2>err && grep "runs/sweep-1 exists" err
'
test_expect_success 'a run that fails does not end a sweep, one that is refused or stopped does' '
	expect_status 1 $run --name fails --sweep train_loop_config.fail=exit,none "$train" 2>err &&
	grep "2 of 2 runs.*1 failed" err && test -f runs/fails-1/checkpoint_000005.h5 &&
	expect_status 3 $run --name refused --sweep seed=-1,2 "$train" 2>err &&
	test_path_is_missing runs/refused-1 &&
	for wrong in =1 a a= a=1,,2 a=1, "a=1 --sweep-task 2" "a=1 --sweep-task x"; do
		expect_status 2 $run --name refused --sweep $wrong "$train" 2>err &&
		grep -e "--sweep" err || return 1
	done &&
	start_run $run -n 2 --name stopped --sweep seed=1,2 &&
	kill -TERM $pid && eventually grep "stopping at the next report" err &&
	: >gate && expect_status 75 wait $pid && test -d runs/stopped-0 &&
	test_path_is_missing runs/stopped-1 && no_process_left
'
test_expect_success 'a prediction counts rows, not iterations and attempts' '
	make_rows 1003 && make_model &&
	raytrain-predict --launcher local --progress plain --checkpoint runs/model \
		--data rows.npz -o p.csv "$model" 2>err &&
	grep "^raytrain: 1 worker on 1 node" err && grep "^rows 1003 of 1003" err &&
	grep "finished after .*, 1003 rows" err && ! grep -e iteration -e attempt err
'
test_done
