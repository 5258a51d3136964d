#!/bin/sh
test_description='raytrain-run on a Slurm cluster of four nodes'
# scancel asks workers to stop, which they do at their next report. Here they wait before it,
# so the time until Slurm kills them is made short.
CLUSTER_KILL_WAIT=2
export CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

test_expect_success 'a batch job runs one step over two nodes' '
	cat >job.sh <<-EOF &&
	#!/bin/sh
	#SBATCH -N 2 -n 4
	raytrain-run --storage runs --name batch --workers 4 --placement SPREAD \
		--json --resume "$train" >result.json 2>err
	EOF
	sbatch --wait -o job.out job.sh &&
	json_is result.json .status finished &&
	grep "attempt 0: 4 workers on 2 nodes, launcher slurm" err &&
	jq -e ".metrics.world_size == 4" result.json
'
test_expect_success 'a batch job that is submitted again does no work twice' '
	sbatch --wait -o job.out job.sh && grep "finished already" err
'
test_expect_success 'workers on two nodes give the same model as on one machine' '
	raytrain-run --launcher local --storage runs --name local -n 4 "$train" 2>err &&
	same_model runs/batch/checkpoint_000005.h5 runs/local/checkpoint_000005.h5
'
test_expect_success 'all collectives and reducers have the right results over four nodes' '
	raytrain-run --launcher slurm --storage runs --name right -n 5 --placement SPREAD \
		"$modules/collectives.so" 2>err
'
test_expect_success 'a dry run outside an allocation shows the command that takes one' '
	raytrain-run --launcher slurm --storage runs --name dry -n 2 --time 5 --partition main \
		--dry-run "$train" >out &&
	grep "^salloc .*--ntasks=2 .*--time=5 --partition=main .*--name dry" out &&
	test_path_is_missing runs/dry
'
test_expect_success 'time limit and partition of the allocation can be given' '
	raytrain-run --launcher slurm --storage runs --name short -n 2 --time 7 --partition main \
		-q -- sh -c "squeue -h -o \"%l %P\" >limit.\$RANK" &&
	test "$(cat limit.0)" = "7:00 main" &&
	test_must_fail raytrain-run --launcher slurm --storage runs --name nowhere -n 2 \
		--partition none "$train" 2>err && grep none err
'
test_expect_success 'outside an allocation --launcher slurm requests one' '
	raytrain-run --launcher slurm --storage runs --name alloc -n 2 --json "$train" \
		>result.json 2>err &&
	json_is result.json .status finished && cluster clean 60 &&
	test -z "$(squeue -h)"
'
test_expect_success 'nodes of an allocation that have no worker are reported, with what uses them' '
	salloc -Q -N 2 -n 2 -c 2 raytrain-run --storage runs --name idle --workers 2 \
		"$train" 2>err && grep "1 of 2 nodes has no worker: --placement SPREAD" err &&
	salloc -Q -N 3 -n 3 raytrain-run --storage runs --name idle2 --workers 1 \
		"$train" 2>err && grep "2 of 3 nodes have no worker: start more --workers" err &&
	salloc -Q -N 2 -n 2 -c 2 raytrain-run --storage runs --name busy --workers 2 \
		--placement SPREAD "$train" 2>err && ! grep "no worker" err
'
test_expect_success 'a step of programs that never call raytrain_main is an error' '
	expect_status 3 raytrain-run --launcher slurm --storage runs --name plain -n 2 \
		"$check/plain_mpi" 2>err &&
	grep "plain_mpi.*never called raytrain_main()" err && grep "srun -n 2" err
'
test_expect_success 'each worker gets a separate GPU' '
	raytrain-run --launcher slurm --storage runs --name gpu -n 8 --gpu \
		"$check/train_gpu" 2>err &&
	cat runs/gpu/logs/attempt-0/rank-*.out | sort | uniq >gpus &&
	test "$(wc -l <gpus)" -eq 8
'
test_expect_success 'more GPUs or CPUs than available are refused at once' '
	expect_status 4 raytrain-run --launcher slurm --storage runs --name many \
		-n 2 --gpu --gpus-per-worker 5 "$train" 2>err &&
	grep -w 5 err && test -z "$(squeue -h)" &&
	cat >job.sh <<-EOF &&
	#!/bin/sh
	#SBATCH -N 1 -n 2
	raytrain-run --storage runs --name many -n 9 "$train" 2>err
	echo \$? >status
	EOF
	sbatch --wait -o job.out job.sh; test "$(cat status)" = 4 && grep -w 9 err
'
test_expect_success 'a worker that dies is reported with rank, node and signal' '
	expect_status 1 raytrain-run --launcher slurm --storage runs --name dies -n 4 \
		--placement STRICT_SPREAD --set train_loop_config.fail=kill \
		--set train_loop_config.fail_rank=2 \
		--set "train_loop_config.fail_once=$PWD/once" "$train" 2>err &&
	grep "rank 2 on n3" err && grep "signal 9" err && cluster clean 60
'
test_expect_success 'a run whose worker died is resumed to the same bits' '
	raytrain-run --launcher slurm --storage runs --name dies -n 4 --resume \
		--placement STRICT_SPREAD "$train" 2>err &&
	same_model runs/batch/checkpoint_000005.h5 runs/dies/checkpoint_000005.h5
'
test_expect_success 'a stopped run ends with status 75 and leaves nothing behind' '
	start_run raytrain-run --launcher slurm --storage runs -n 2 --name stop && kill -INT $pid &&
	eventually grep -q "stopping at the next report" err && : >gate &&
	expect_status 75 wait $pid && cluster clean 60 && test -z "$(squeue -h)"
'
test_expect_success 'scancel ends a batch job and leaves nothing behind' '
	rm -f ready gate &&
	cat >job.sh <<-EOF &&
	#!/bin/sh
	#SBATCH -N 2 -n 2
	exec raytrain-run --storage runs --name cancel -n 2 --resume \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$train" 2>err
	EOF
	job=$(sbatch --parsable -o job.out job.sh) && eventually test -e ready &&
	scancel $job && cluster clean 60
'
test_expect_success 'stopped and cancelled runs are resumed to the same bits' '
	raytrain-run --launcher local --storage runs --name two -n 2 "$train" 2>err &&
	: >gate && sbatch --wait -o job.out job.sh &&
	same_model runs/two/checkpoint_000005.h5 runs/cancel/checkpoint_000005.h5 &&
	raytrain-run --launcher slurm --storage runs --name stop -n 2 --resume "$train" \
		2>err &&
	same_model runs/two/checkpoint_000005.h5 runs/stop/checkpoint_000005.h5
'
test_expect_success 'a raytrain-run that is killed leaves no process and no job' '
	start_run raytrain-run --launcher slurm --storage runs -n 2 --name killed && kill -KILL $pid &&
	{ wait $pid || :; } && cluster clean 60 && test -z "$(squeue -h)"
'
test_expect_success 'a node that does not see the storage is named with the path' '
	mkdir -p runs && cluster hide n2 "$PWD/runs" &&
	expect_status 5 raytrain-run --launcher slurm --storage runs --name hidden -n 2 \
		--placement STRICT_SPREAD "$train" 2>err &&
	grep n2 err && grep "$PWD/runs/hidden" err
'
test_done
