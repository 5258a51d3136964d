#!/bin/sh
test_description='jobs that are stopped and continue: time limits, preemption, requeueing'
CLUSTER_NODES=2
CLUSTER_KILL_WAIT=10
CLUSTER_CONF='PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1 GraceTime=60 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF MaxTime=INFINITE'
export CLUSTER_KILL_WAIT CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

# Slurm has begun to preempt the job.
preempting () {
	squeue -h -j "$job" -O PreemptTime | grep -q "[0-9]"
}
# job_file NAME ARG...: write job.sh, a batch script that runs raytrain-run with these
# arguments and writes its exit status to the file `status` and its messages to `err`. A job
# that is requeued may get that far before Slurm kills it, so status 75 is not written. The
# run waits at its gate.
job_file () {
	rm -f ready gate err status
	name=$1 && shift
	cat >job.sh <<-EOF
	#!/bin/sh
	#SBATCH -N 2 -n 2 --open-mode=append -o job.out
	raytrain-run --storage runs -n 2 --placement SPREAD --name $name --resume \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" $* "$train" 2>>err
	status=\$?
	test \$status -eq 75 || echo \$status >status
	EOF
}
finished () {
	eventually test -s status && test "$(cat status)" = 0 &&
	same_model runs/calm/checkpoint_000005.h5 "runs/$name/checkpoint_000005.h5"
}
# cause ATTEMPT CAUSE: according to its record, the attempt was stopped for this cause.
cause () {
	json_is "runs/$name/logs/attempt-$1/attempt.json" .outcome stopped .cause "$2"
}

test_expect_success 'an undisturbed run finishes, for comparison' '
	raytrain-run --launcher local --storage runs --name calm -n 2 "$train" 2>err
'
# The margin is nearly as long as the limit, so the run is stopped seconds after its start. Each
# job does one iteration, which takes longer than that.
test_expect_success 'a job that needs three time limits is requeued until it finishes' '
	job_file limits --requeue-on-stop --stop-before-end 595 \
		--set train_loop_config.iteration_ms=6000 \
		--set train_loop_config.iterations=3 && : >gate &&
	job=$(sbatch --parsable --time=10 job.sh) && rounds=0 &&
	until test -e status; do
		eventually waiting_or_over && { test -e status || go_on; } || return 1
		rounds=$((rounds + 1)) && test $rounds -lt 20 || return 1
	done &&
	test "$(cat status)" = 0 && for k in 0 1 2; do cause $k time_limit || return 1; done &&
	grep "goes back to the queue" err &&
	same_model runs/calm/checkpoint_000003.h5 runs/limits/checkpoint_000003.h5
'
test_expect_success 'a preempted job saves in its grace time, is requeued and continues' '
	job_file preempted --requeue-on-stop --set run_config.failure_config.max_preemptions=1 &&
	job=$(sbatch --parsable -p low job.sh) && eventually test -e ready &&
	printf "#!/bin/sh\n: >%s/high\n" "$PWD" >high.sh &&
	sbatch -p high -N 2 --exclusive -o high.out high.sh &&
	eventually preempting && : >gate && eventually test -e high && go_on &&
	cause 0 preempted && grep "Slurm preempts" err && finished && eventually over &&
	for k in 0 1; do
		json_is runs/preempted/logs/attempt-$k/attempt.json .job "$job" .restarts $k || return 1
	done && grep "the job was preempted 1 time before, of 1 that max_preemptions allow" err &&
	test "$(cat status)" = 0
'
# The function saves when it learns of the preemption, and continues until its workers are killed.
cat >fit.py <<\EOF
import time
import raytrain
from raytrain import Checkpoint, DataParallelTrainer, FailureConfig, RunConfig, ScalingConfig

def train():
    if raytrain.get_checkpoint() is not None:
        raytrain.report({"step": raytrain.get_checkpoint().to_dict()["step"] + 1})
        return
    if raytrain.get_context().get_world_rank() == 0:
        open("ready", "w").close()
    while (info := raytrain.get_preemption_info()) is None or info.deadline_ms is None:
        time.sleep(0.1)
    assert info.preempted_node_to_ranks == {"n1": [0], "n2": [1]}, info
    assert info.deadline_ms / 1000 - time.time() < 60, info
    raytrain.report({"step": 0}, checkpoint=Checkpoint.from_dict({"step": 0}))
    while True:
        time.sleep(0.1)

if __name__ == "__main__":
    try:
        result = DataParallelTrainer(
            train, scaling_config=ScalingConfig(num_workers=2, placement_strategy="SPREAD"),
            run_config=RunConfig(
                name="fit", storage_path="runs",
                failure_config=FailureConfig(preemption_grace_s=6))).fit()
    except raytrain.TrainingStopped as stopped:
        cause = stopped.__cause__
        assert isinstance(cause, raytrain.PreemptionError), cause
        with open("cause", "w") as file:
            print(*cause.preempted_node_ids, *cause.preempted_ranks, file=file)
        raise
    assert result.metrics["step"] == 1, result.metrics
EOF
test_expect_success 'fit() learns of a preemption, and its job is requeued and continues' '
	rm -f ready err status high cause && name=fit && cat >fit.sh <<-EOF &&
	#!/bin/sh
	#SBATCH -N 2 -n 2 --open-mode=append -o fit.out
	PYTHONPATH="$stage/share/raytrain/python" "$PYTHON" fit.py 2>>err
	status=\$?
	test \$status -ne 75 || exec scontrol requeue \$SLURM_JOB_ID
	echo \$status >status
	EOF
	job=$(sbatch --parsable -p low fit.sh) && eventually test -e ready &&
	sbatch -p high -N 2 --exclusive -o high.out high.sh && eventually preempting &&
	eventually grep "being preempted: stopping" err &&
	eventually test -e high && go_on && cause 0 preempted &&
	echo "n1 n2 0 1" | test_cmp - cause && grep "not stopped within 6 s" err &&
	eventually test -s status && test "$(cat status)" = 0 && eventually over
'
# A run that trains until it is stopped, and saves then.
endless="--set train_loop_config.iterations=1000000 --set train_loop_config.checkpoint_every=0"
endless="$endless --set run_config.checkpoint_config.checkpoint_frequency=1000000"
# continues ATTEMPT: the attempt starts from the newest checkpoint, which the one before has saved.
continues () {
	newest=$(cd "runs/$name" && ls -d checkpoint_*.h5 | tail -n 1) && test -n "$newest" &&
	json_is "runs/$name/logs/attempt-$1/attempt.json" \
		'(.checkpoint // "") | split("/") | last' "$newest"
}
test_expect_success 'SIGUSR1 to the batch script requeues the job' '
	job_file usr1 --requeue-on-stop $endless --set train_loop_config.iteration_ms=10 &&
	: >gate && sed -i "s/^raytrain/exec &/" job.sh &&
	job=$(sbatch --parsable job.sh) && eventually test -e ready &&
	scancel --batch --signal=USR1 "$job" && go_on && cause 0 signal &&
	eventually continues 1 2>/dev/null &&
	scancel "$job" && eventually job_state "$job" "" && cluster clean 60
'
# A script that forwards SIGTERM. raytrain-run, below it, gets what proctrack/linuxproc sends to all
# of a job, too. An iteration of the last run takes a second, which Slurm grants.
cat >forward.sh <<EOF
#!/bin/sh
#SBATCH -N 2 -n 2 -o forward.out
one () {
	name=\$1 && shift
	raytrain-run --storage runs -n 2 --placement SPREAD --name \$name --resume \
		--set "train_loop_config.ready=$PWD/ready.\$name" $endless "\$@" "$train" 2>err.\$name &
	trap "kill -TERM \$!" TERM
	wait \$! || wait \$!
	echo \$? >status.\$name
}
one batch --set train_loop_config.iteration_ms=10
one full --set train_loop_config.iteration_ms=10
one cancel --set train_loop_config.iteration_ms=1000 --requeue-on-stop
EOF
# saved NAME: this run has been stopped by one request, with a checkpoint.
saved () {
	name=$1 && cause 0 signal && ls "runs/$name"/checkpoint_*.h5 &&
	json_is "runs/$name/logs/attempt-0/end.json" .outcome stopped &&
	! grep -e "stopping at once" -e "not waiting any longer" "err.$name"
}
test_expect_success 'SIGTERM that a batch script forwards is one request, even if it comes twice' '
	job=$(sbatch --parsable forward.sh) &&
	eventually test -e ready.batch && scancel --batch --signal=TERM "$job" &&
	eventually test -s status.batch && test "$(cat status.batch)" = 75 && saved batch &&
	eventually test -e ready.full && scancel --full --signal=TERM "$job" &&
	eventually test -s status.full && test "$(cat status.full)" = 75 && saved full
'
test_expect_success 'a job that is cancelled saves in KillWait, and is not requeued' '
	eventually test -e ready.cancel && scancel "$job" && eventually job_state "$job" "" &&
	saved cancel && ! grep "back to the queue" err.cancel && cluster clean 60
'
test_expect_success 'workers of an allocation that was taken for them save in KillWait, too' '
	start_run raytrain-run --launcher slurm --storage runs --name taken -n 2 \
		--placement STRICT_SPREAD && inner=$(pgrep -P $(pgrep -P $pid)) &&
	kill -USR1 $pid && eventually may_finish $inner &&
	kill -KILL $pid && { wait $pid; test $? -eq 137; } && : >gate && cluster clean 60 &&
	json_is runs/taken/logs/attempt-0/end.json .outcome stopped &&
	test -f runs/taken/checkpoint_000003.h5
'
test_expect_success 'a worker that never reports is killed, and the job is requeued' '
	job_file grace --requeue-on-stop --grace 1 --set train_loop_config.fail=hang \
		--set train_loop_config.fail_once=$PWD/once &&
	sed -i "s/^raytrain/exec &/" job.sh &&
	job=$(sbatch --parsable job.sh) && eventually test -e ready &&
	eventually test -e runs/grace/checkpoint_000002.h5 && : >gate &&
	scancel --batch --signal=USR1 "$job" && go_on && cause 0 signal &&
	grep "not stopped within 1 s" err &&
	eventually job_state "$job" "" &&
	same_model runs/calm/checkpoint_000005.h5 runs/grace/checkpoint_000005.h5
'
test_expect_success 'signals while the step starts are passed on when it has started' '
	cat >early.sh <<-EOF &&
	for signal in TERM INT USR1; do
		raytrain-run --storage runs -n 2 --name early-\$signal \
			--set train_loop_config.iterations=100000 "$train" 2>err.\$signal &
		until test -e runs/early-\$signal/logs/attempt-0; do sleep 0.01; done
		kill -\$signal \$!
		wait \$!
		echo \$? >status.\$signal
	done
	EOF
	salloc -Q -N 2 -n 2 sh early.sh &&
	for signal in TERM INT USR1; do
		name=early-$signal && test "$(cat status.$signal)" = 75 && cause 0 signal &&
		test -f runs/$name/checkpoint_000001.h5 || return 1
	done && cluster clean 60
'
test_expect_success '--requeue-on-stop is refused if the job cannot be requeued' '
	expect_status 3 salloc -Q -n 1 raytrain-run --storage runs --name no --resume \
		--requeue-on-stop "$train" 2>err && grep "no batch script" err &&
	job_file no --requeue-on-stop && sbatch --wait --no-requeue job.sh &&
	test "$(cat status)" = 3 && grep "Requeue=1" err
'
test_done
