#!/bin/sh
test_description='raytrain-run killed while a Slurm step starts leaves nothing behind'
CLUSTER_KILL_WAIT=2
CLUSTER_NODES=2
export CLUSTER_KILL_WAIT CLUSTER_NODES
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher slurm --storage runs -n 2 --placement STRICT_SPREAD"
train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

fault_points_needed

test_expect_success 'an undisturbed run finishes, for comparison' '
	raytrain-run --launcher local -n 2 --storage runs --name calm "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000005.h5) && test -n "$calm"
'
for point in slurm.srun slurm.tasks; do
	test_expect_success "raytrain-run killed at $point leaves no process and no job" '
		rm -rf runs/case &&
		RAYTRAIN_FAULT=$point expect_status 1 $run --name case "$train" 2>err &&
		grep "ended before the run did" err && grep -e "with --resume" err &&
		cluster clean 60 && test -z "$(squeue -h)" && ! test -e runs/case/result.h5
	'
	test_expect_success "a run killed at $point is resumed to the same bits" '
		$run --name case --resume "$train" 2>err &&
		test "$(model_of runs/case/checkpoint_000005.h5)" = "$calm" &&
		no_temporary runs/case
	'
done

# To the run, this step looks like one that Slurm keeps after its srun was killed early.
test_expect_success 'a step of an earlier attempt that does not end does not block the run' '
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

# orphans NAME ARG...: in an allocation, a run is asked to stop and its raytrain-run killed, while
# its workers wait at their gate. It is resumed at once, and again until that succeeds.
orphans () {
	name=$1 && shift && rm -f ready gate pid status.* &&
	cat >orphans.sh <<-EOF &&
	raytrain-run --storage runs --name $name -n 2 --placement STRICT_SPREAD $* \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$train" 2>err.0 &
	echo \$! >pid
	wait \$!
	echo \$? >status.0
	until grep -q "workers that still finish" runs/$name/.lock || ! pgrep -x raytrain-keeper
	do sleep 0.02; done
	raytrain-run --storage runs --name $name -n 2 --resume "$train" 2>err.1
	echo \$? >status.1
	until raytrain-run --storage runs --name $name -n 2 --resume "$train" 2>err.2
	do test \$? -eq 5 || exit; done
	echo \$? >status.2
	EOF
	{ salloc -Q --exclusive -N2 bash orphans.sh & } && pid=$! && eventually test -e ready &&
	kill -USR1 $(cat pid) && eventually may_finish $(cat pid) &&
	kill -KILL $(cat pid) && eventually test -s status.1 &&
	test "$(cat status.0)" -eq 137 && test "$(cat status.1)" -eq 5 &&
	grep "workers that still finish" err.1
}
orphans_over () {
	wait $pid && test "$(cat status.2)" -eq 0 &&
	test "$(model_of runs/$name/checkpoint_000005.h5)" = "$calm" &&
	test "$(ls runs/$name/logs | wc -l)" -eq 2 && cluster clean 60
}
test_expect_success 'workers that were asked to stop save although raytrain-run is killed' '
	orphans stopped && : >gate && orphans_over && grep "iteration 3" err.2 &&
	json_is runs/stopped/logs/attempt-0/end.json .outcome stopped
'
test_expect_success 'workers that still finish are killed after the grace period' '
	orphans late --grace 3 && orphans_over && grep "iteration 2)" err.2
'
# As when proctrack/cgroup ends a batch script: Slurm asks the workers, and kills whatever the
# script has started.
test_expect_success 'workers that Slurm has asked to end save although all above them is killed' '
	rm -f ready gate go && cat >all.sh <<-EOF &&
	raytrain-run --storage runs --name all -n 2 --placement STRICT_SPREAD \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$train" 2>err
	until test -e go; do sleep 0.02; done
	EOF
	{ salloc -Q --exclusive -N2 bash all.sh & } && pid=$! && eventually test -e ready &&
	scancel --signal=TERM $(cat runs/all/logs/attempt-0/step) &&
	asked () { test $(grep -ac SIGTERM runs/all/logs/attempt-0/whereabouts) -eq 2; } &&
	eventually asked &&
	{ # one may end by itself as soon as another is gone
		kill -KILL $(pgrep -x srun | sort -rn) $(pgrep -x raytrain-keeper) \
			$(pgrep -x raytrain-run) || :
	} && gone () { ! pgrep -x "srun|raytrain-run|raytrain-keeper"; } && eventually gone &&
	: >gate && eventually test -f runs/all/logs/attempt-0/end.json && : >go && wait $pid &&
	json_is runs/all/logs/attempt-0/end.json .outcome stopped &&
	test -f runs/all/checkpoint_000003.h5 && cluster clean 60
'
test_expect_success 'a step of another run blocks the run' '
	sed "s/job-name=left/job-name=other/; s/--name left/--name right/" left.sh >right.sh &&
	>up && salloc -Q --exclusive -N2 bash right.sh && test "$(cat status)" -eq 1 &&
	grep "another step holds CPUs, GPUs or memory" err.1 && cluster clean 60
'
# start_outside NAME ARG...: like start_run, outside an allocation: $pid waits for $salloc, in
# which $inner executes the run.
start_outside () {
	name=$1 && shift
	start_run $run --name "$name" "$@" && salloc=$(pgrep -P $pid) && inner=$(pgrep -P $salloc)
}
test_expect_success 'killing the inner raytrain-run makes the outer one fail' '
	start_outside killed && kill -KILL $inner && expect_status 1 wait $pid &&
	grep "ended before the run did" err && grep -e "with --resume" err && cluster clean 60
'
# With these settings of the user, scancel would ask before it cancels anything.
test_expect_success 'killing salloc makes the outer raytrain-run fail' '
	SCANCEL_INTERACTIVE=1 && SCANCEL_STATE=PENDING && export SCANCEL_INTERACTIVE SCANCEL_STATE &&
	start_outside killed --resume --set train_loop_config.ready_at=3 &&
	unset SCANCEL_INTERACTIVE SCANCEL_STATE &&
	kill -KILL $salloc && expect_status 1 wait $pid &&
	grep "ended before the run did" err && cluster clean 60
'
test_expect_success 'a finished run that is continued and killed is not finished' '
	: >gate && $run --name killed --resume "$train" 2>err &&
	$run --name killed --resume "$train" 2>err && grep "finished already" err &&
	rm -f ready gate &&
	{ $run --name killed --resume --set train_loop_config.iterations=9 \
		--set train_loop_config.ready_at=6 --set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$train" 2>err & } && pid=$! &&
	eventually test -e ready && kill -KILL $(pgrep -P $(pgrep -P $pid)) &&
	expect_status 1 wait $pid && test_path_is_missing runs/killed/result.h5 &&
	cluster clean 60
'
for signal in USR1 INT; do
	test_expect_success "SIG$signal from outside stops the run inside, with status 75" '
		start_outside by-$signal && kill -$signal $pid &&
		eventually grep -q "stopping at the next report" err && : >gate &&
		expect_status 75 wait $pid && test -f runs/by-$signal/checkpoint_000003.h5 &&
		cluster clean 60
	'
done
test_expect_success 'a stop request while waiting for an allocation ends with status 75' '
	holder=$(sbatch --parsable -N 2 --exclusive -o holder.out --wrap "sleep 1000") &&
	{ $run --name pending "$train" 2>err & } && pid=$! &&
	eventually grep -q "queued and waiting" err && kill -TERM $pid &&
	expect_status 75 wait $pid && grep "run the same line again" err &&
	scancel $holder && cluster clean 60 && test -z "$(squeue -h)"
'
test_done
