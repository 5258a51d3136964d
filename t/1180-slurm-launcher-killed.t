#!/bin/sh
test_description='raytrain-run killed while a Slurm step starts: nothing is left anywhere'
CLUSTER_KILL_WAIT=2
CLUSTER_NODES=2
export CLUSTER_KILL_WAIT CLUSTER_NODES
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$(dirname "$0")/faults.sh"

# salloc, under which these run, ends with 0 where its command was killed.
run="raytrain-run --launcher slurm --storage runs -n 2 --placement STRICT_SPREAD"
train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

fault_points_needed

test_expect_success 'an undisturbed run' '
	raytrain-run --launcher local -n 2 --storage runs --name calm "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000005.h5) && test -n "$calm"
'
for point in slurm.srun slurm.tasks; do
	test_expect_success "killed at $point: no process and no job is left" '
		rm -rf runs/case && { RAYTRAIN_FAULT=$point $run --name case "$train" 2>err; :; } &&
		cluster clean 60 && test -z "$(squeue -h)" && ! test -e runs/case/result.h5
	'
	test_expect_success 'and --resume goes on to the same bits' '
		$run --name case --resume "$train" 2>err &&
		test "$(model_of runs/case/checkpoint_000005.h5)" = "$calm" &&
		no_temporary runs/case
	'
done

# What Slurm keeps of a step whose srun was killed early looks like this one, which runs.
test_expect_success 'a step of an attempt before that does not end is no hindrance' '
	cat >left.sh <<-EOF &&
	raytrain-run --storage runs --name left -n 2 --placement STRICT_SPREAD \
		--set train_loop_config.fail=return --max-failures 0 "$train" 2>err.0
	srun --job-name=left --exclusive -N2 -n2 -c4 sh -c "echo up; sleep 1000" >up &
	until test "\$(grep -c up up)" -eq 2; do sleep 0.02; done
	raytrain-run --storage runs --name left -n 2 --placement STRICT_SPREAD --resume \
		--max-failures 0 --srun-args=--immediate=1 "$train" 2>err.1
	echo \$? >status
	kill -9 %1
	EOF
	>up && salloc -Q --exclusive -N2 bash left.sh && test "$(cat status)" -eq 0 &&
	grep "attempt 1 failed:.*another step holds" err.1 && ! grep "(restart 1)" err.1 &&
	test "$(model_of runs/left/checkpoint_000005.h5)" = "$calm" &&
	raytrain-inspect runs/left | grep "failed (start)" && cluster clean 60
'
test_expect_success 'but a step that is not of this run is: nobody is crowded out' '
	sed "s/job-name=left/job-name=other/; s/--name left/--name right/" left.sh >right.sh &&
	>up && salloc -Q --exclusive -N2 bash right.sh && test "$(cat status)" -eq 1 &&
	grep "another step holds CPUs, GPUs or memory" err.1 && cluster clean 60
'
test_done
