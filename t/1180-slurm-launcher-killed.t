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
test_done
