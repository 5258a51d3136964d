#!/bin/sh
test_description='stopping a run: by signals, in bounded time, before the end of the allocation'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

run="raytrain-run --launcher local --storage runs -n 2"
train=$modules/train_model.so

# start_named NAME ARG...: start_run with this name, which becomes $name; result.json will
# have its Result.
start_named () {
	name=$1
	shift
	start_run $run --json --name "$name" "$@" >result.json
}
# stopped_by CAUSE: according to the result and the record of the latest attempt.
stopped_by () {
	json_is result.json .status stopped .cause $1 &&
	json_is "$(ls -d runs/$name/logs/attempt-* | tail -n 1)/attempt.json" \
		.outcome stopped .cause "$1"
}

for signal in TERM INT USR1; do
	number=$(env kill -l $signal)
	test_expect_success "SIG$signal stops the run at the next report with a checkpoint and status 75" '
		start_named by-$signal && kill -$signal $pid &&
		eventually grep -q "stopping at the next report" err && : >gate &&
		expect_status 75 wait $pid && stopped_by signal &&
		jq -e ".signal == $number" runs/$name/logs/attempt-0/attempt.json &&
		test -f runs/$name/checkpoint_000003.h5 &&
		test_path_is_missing runs/$name/checkpoint_000005.h5 && no_process_left
	'
	test_expect_success "SIG$signal while the workers start is passed on when they have started" '
		name=early-$signal &&
		{ $run --json --name $name --set train_loop_config.iterations=100000 "$train" \
			2>err >result.json & } && pid=$! &&
		eventually test -e runs/$name/logs/attempt-0 && kill -$signal $pid &&
		expect_status 75 wait $pid && stopped_by signal &&
		test -f runs/$name/checkpoint_000001.h5 && no_process_left
	'
done
# one_worker: store the process id of one worker of the run in $victim.
one_worker () {
	victim=$(worker_pids "$name" | head -n 1) && test -n "$victim"
}
# preempted_at_first: the first attempt of the run $name was preempted, and that is reported.
preempted_at_first () {
	json_is runs/$name/logs/attempt-0/attempt.json .outcome stopped .cause preempted &&
	jq .message runs/$name/logs/attempt-0/attempt.json >message &&
	grep "rank [01] received SIGTERM from outside" message &&
	grep "attempt 0 was preempted: rank [01] received SIGTERM from outside" err &&
	grep "preemption 1)" err
}
same_as_calm () {
	same_model runs/calm/checkpoint_000005.h5 "runs/$1/checkpoint_000005.h5"
}
test_expect_success 'SIGTERM to one worker is a preemption: all save, and the next attempt continues' '
	$run --name calm "$train" 2>err &&
	start_named sigterm && one_worker && kill -TERM $victim && : >gate && wait $pid &&
	preempted_at_first && jq -e ".attempts == 2" result.json && same_as_calm sigterm &&
	grep "starting from .*checkpoint_000003.h5" err && no_process_left
'
test_expect_success 'a preempted worker that is killed before it saves is not a failure' '
	start_named killed && one_worker && kill -TERM $victim &&
	eventually grep -aq SIGTERM runs/killed/logs/attempt-0/whereabouts && kill -KILL $victim &&
	: >gate && wait $pid && preempted_at_first && same_as_calm killed && no_process_left
'
test_expect_success 'a run stops with status 75 after max_preemptions' '
	start_named bounded --set run_config.failure_config.max_preemptions=0 &&
	one_worker && kill -TERM $victim && : >gate && expect_status 75 wait $pid &&
	stopped_by preempted && grep max_preemptions err &&
	test -f runs/bounded/checkpoint_000003.h5 &&
	$run --name bounded --resume "$train" 2>err && same_as_calm bounded
'
test_expect_success 'SIGTERM to all workers stops the run' '
	start_named all &&
	kill -TERM $(worker_pids all) && : >gate && expect_status 75 wait $pid && stopped_by signal &&
	test -f runs/all/checkpoint_000003.h5
'
test_expect_success 'a worker that does not report is killed after the grace time' '
	start_named grace --grace 1 --set train_loop_config.fail=hang &&
	eventually test -e runs/grace/checkpoint_000002.h5 && : >gate &&
	kill -USR1 $pid && expect_status 75 wait $pid && stopped_by signal &&
	grep "not stopped within 1 s" err && no_process_left
'
test_expect_success 'a run that was killed after its grace time is resumed to the same bits' '
	$run --name grace --resume "$train" 2>err && same_as_calm grace
'

test_expect_success 'a run whose lock was taken over stops at once, with status 5' '
	start_named lost && printf "host far, pid 1, since long\n1 1 far boot 7\n" >other &&
	mv other runs/lost/.lock && expect_status 5 wait $pid &&
	grep "lock of the run is lost: stopping at once" err &&
	grep "taken over by another raytrain-run (host far, pid 1, since long)" err &&
	test_path_is_missing runs/lost/result.h5 && no_process_left
'
# A process that holds and touches the lock, as a process on another host would.
cat >holder.py <<\END
import fcntl, os, time
fd = os.open("runs/held/.lock", os.O_RDWR | os.O_CREAT)
fcntl.lockf(fd, fcntl.LOCK_EX)
os.write(fd, b"host far, pid 1, since long\n%d 1 far boot 7\n" % os.fstat(fd).st_ino)
open("held", "w")
while os.path.exists("held"):
    os.utime(fd)
    time.sleep(0.01)
END
test_expect_success 'a run that finds a lock of another host reports what it waits for' '
	mkdir -p runs/held && { /usr/bin/python3 holder.py & } && holder=$! &&
	eventually test -e held && expect_status 5 $run --name held --resume "$train" 2>err &&
	rm held && wait $holder &&
	grep "held is locked by another raytrain-run (host far.*watching for up to 60 s" err &&
	grep "held is in use by another raytrain-run (host far" err
'

# job_of SECONDS [BEFORE]: make squeue report a job that ends in that time, and began BEFORE
# seconds ago.
job_of () {
	mkdir -p bin && now=$(date +%s) &&
	printf '#!/bin/sh\necho 7 7 N/A %s %s N/A RUNNING 1 1\n' \
		"$((now - ${2:-100000}))" "$((now + $1))" >bin/squeue &&
	chmod +x bin/squeue
}
test_expect_success 'a run stops before the end of the allocation' '
	job_of 100 && name=limit &&
	expect_status 75 env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --json --name limit \
		--stop-before-end 600 --set train_loop_config.iterations=100000 "$train" \
		2>err >result.json &&
	grep "the allocation ends at" err && grep "stopped before the end of the alloc" err &&
	stopped_by time_limit && test -f runs/limit/checkpoint_000001.h5
'
test_expect_success 'workers that do not stop in time are killed before the end of the allocation' '
	job_of 6 && name=hangs &&
	expect_status 75 env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --json --name hangs \
		--stop-before-end 600 --set train_loop_config.fail=hang \
		--set train_loop_config.fail_at=1 "$train" 2>err >result.json &&
	grep "not waiting any longer" err && stopped_by time_limit && no_process_left
'
# in_job NAME ARG...: like start_named, in a job that ends in some hours.
in_job () {
	job_of 10000 && name=$1 && shift &&
	start_run env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --json --name $name "$@" >result.json
}
# again SIGNAL WORD: send it to the run, which has been asked to stop, and continue when it is seen.
again () {
	kill -$1 $pid && eventually grep -q "$2: already stopping" err
}
# A warning before the time limit, and the end of the job at the limit, to all processes; or a
# script that passes on what its group has received.
test_expect_success 'in a job, further requests leave the workers their time' '
	in_job further && kill -USR1 $pid && eventually grep -q "stopping at the next report" err &&
	kill -TERM $pid && again TERM Terminated && again HUP Hangup &&
	again USR1 "User defined signal 1" && again INT Interrupt &&
	: >gate && expect_status 75 wait $pid && stopped_by signal &&
	test -f runs/further/checkpoint_000003.h5 && no_process_left
'
test_expect_success 'in a job, a second SIGINT stops at once' '
	in_job hurry && kill -TERM $pid && eventually grep -q "stopping at the next report" err &&
	again INT Interrupt && kill -INT $pid && expect_status 75 wait $pid &&
	grep "stopping at once" err && test_path_is_missing runs/hurry/checkpoint_000003.h5 &&
	no_process_left
'
test_expect_success 'SIGTERM that is delivered twice leaves the workers their time' '
	start_named doubled && kill -TERM $pid &&
	eventually grep -q "stopping at the next report" err && kill -TERM $pid &&
	eventually grep -q -e "already stopping" -e "at once$" err && : >gate &&
	expect_status 75 wait $pid && test -f runs/doubled/checkpoint_000003.h5 && no_process_left
'
# terminated: the run has been asked to stop at once, by SIGTERM.
terminated () {
	grep -q "stopping at once" err && return
	kill -TERM $pid
	return 1
}
test_expect_success 'SIGTERM some seconds after the first one stops at once' '
	start_named later && eventually terminated && expect_status 75 wait $pid &&
	test_path_is_missing runs/later/checkpoint_000003.h5 && no_process_left
'
test_expect_success 'a job that is not longer than --stop-before-end is refused, with a number' '
	job_of 50 8 && expect_status 3 env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --name short \
		"$train" 2>err && grep "job 7 has a time limit of 58 s" err &&
	grep -e "--stop-before-end 14" err && test_path_is_missing runs/short &&
	env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --name short --stop-before-end 14 "$train" 2>err
'
# requeued STATUS ARG...: run in a job that ends soon, and is requeued when the run is stopped,
# which ends this process; if it is not, its status is STATUS.
requeued () {
	job_of 100 && rm -f back && status=$1 && shift &&
	printf "#!/bin/sh\ntest \$1 = requeue && echo \"\$*\" >back && kill -9 \$PPID\n" >bin/scontrol &&
	chmod +x bin/scontrol &&
	expect_status $status env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --name again --resume \
		--requeue-on-stop --stop-before-end 600 --grace 1 "$@" "$train" 2>err
}
test_expect_success 'a job without progress is requeued once' '
	set -- --set train_loop_config.fail=hang --set train_loop_config.fail_at=1 &&
	requeued 137 "$@" && echo "requeue 7" >expected && test_cmp expected back &&
	requeued 75 "$@" && test_path_is_missing back &&
	grep "the job does not go back to the queue" err && grep -e "smaller --stop-before-end" err
'
test_expect_success 'a job with progress is requeued again and again' '
	set -- --grace 60 --set train_loop_config.iterations=100000 && # on a busy machine, too
	for k in 1 2 3; do requeued 137 "$@" && test -e back || return 1; done
'
# started_again RESTARTS SIGNAL ARG...: a run that trains for long, in a job that was put back into
# the queue so often, is stopped by a signal once its attempt has begun.
started_again () {
	restarts=$1 signal=$2 name=counted && shift 2 && rm -f back result.json &&
	{ env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 SLURM_RESTART_COUNT=$restarts $run --json \
		--name counted --resume --stop-before-end 10 --set train_loop_config.iterations=1000000 \
		--set run_config.failure_config.max_preemptions=1 "$@" "$train" 2>err >result.json & } &&
	pid=$! && eventually test -e runs/counted/logs/attempt-$restarts/attempt.json &&
	kill -$signal $pid && expect_status 75 wait $pid
}
test_expect_success 'preemptions count on when the job is requeued, and other stops do not' '
	printf "#!/bin/sh\ntest \$1 = requeue && echo \"\$*\" >back && kill -9 \$PPID\n" >bin/scontrol &&
	chmod +x bin/scontrol && job_of 10000 && cp bin/squeue usual &&
	sed "s/N.A RUNNING/1700000000 RUNNING/" usual >preempted && chmod +x preempted &&
	cp preempted bin/squeue && started_again 0 TERM && stopped_by preempted &&
	json_is runs/counted/logs/attempt-0/attempt.json .job 7 .restarts 0 &&
	grep "stopped because Slurm preempts the job" err &&
	cp usual bin/squeue && started_again 1 TERM && stopped_by signal &&
	grep "the job was preempted 1 time before, of 1 that max_preemptions allow" err &&
	cp preempted bin/squeue && started_again 2 TERM --requeue-on-stop && stopped_by preempted &&
	grep "max_preemptions are used up; run the same line again in another job" err &&
	test_path_is_missing back &&
	rm result.json && env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 SLURM_RESTART_COUNT=3 \
		raytrain-run --config runs/counted/run.cfg --json --resume 2>err >result.json
	test $? = 75 && stopped_by preempted && test_path_is_missing runs/counted/logs/attempt-3 &&
	grep "preempted 2 times before" err && grep "max_preemptions are used up" err &&
	$run --name counted --resume --set run_config.failure_config.max_preemptions=1 \
		--set train_loop_config.iterations=1 "$train" 2>err
'
# The same for a prediction, whose worker hangs at its tenth batch: before its first part is
# complete, or after that.
test_expect_success 'a prediction that makes no new part is requeued once, and any other again and again' '
	test_when_finished "rm bin/scontrol" && make_model && make_rows 4000 &&
	requeued_prediction () {
		predict_ends=$1 && shift && job_of 100 && rm -f back &&
		expect_status $predict_ends env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 raytrain-predict \
			--launcher local --checkpoint runs/model --data rows.npz -n 1 --resume \
			--requeue-on-stop --stop-before-end 600 --grace 1 "$@" \
			--set "train_loop_config.gate=$PWD/never" \
			--set "train_loop_config.ready=$PWD/hangs" "$model" 2>err
	} &&
	set -- -o none.h5 --set train_loop_config.batch=10 &&
	requeued_prediction 137 "$@" && echo "requeue 7" >expected && test_cmp expected back &&
	requeued_prediction 75 "$@" && test_path_is_missing back &&
	grep "no new part" err && is_empty none.h5.run/shards &&
	for k in 1 2; do # with time for a part on a busy machine
		requeued_prediction 137 -o some.h5 --grace 5 --set train_loop_config.batch=100 &&
		test -e back &&
		test "$(ls some.h5.run/shards | wc -l)" = $k || return 1
	done
'
# A PATH with squeue, and the shell's own needs, but without Slurm's other commands.
test_expect_success '--requeue-on-stop without scontrol is refused before the run starts' '
	job_of 100 && mkdir -p few && rm -f few/* &&
	for tool in sh cat date sed env; do ln -s "$(command -v $tool)" few/ || return 1; done &&
	expect_status 3 env PATH="$PWD/bin:$PWD/few" SLURM_JOB_ID=7 \
		"$(command -v raytrain-run)" --launcher local --storage runs --name lacks --resume \
		--requeue-on-stop --stop-before-end 10 "$train" 2>err &&
	grep "scontrol.*not in PATH" err && test_path_is_missing runs/lacks
'
test_expect_success '--stop-before-end 0 disables the stop' '
	job_of 100 &&
	PATH="$PWD/bin:$PATH" SLURM_JOB_ID=7 $run --name off --stop-before-end 0 "$train" 2>err
'
test_expect_success '--requeue-on-stop requires --resume and a batch job that can be requeued' '
	expect_status 3 $run --name no --requeue-on-stop "$train" 2>err &&
	grep "needs --resume" err &&
	expect_status 3 $run --name no --resume --requeue-on-stop "$train" 2>err &&
	grep sbatch err && test_path_is_missing runs/no
'
. "$srcdir/t/faults.sh"
has_fault_points && test_set_prereq FAULTS
# writes NAME: start a run that finishes, and return when it is in the middle of writing its
# result, until descriptor 9 is closed.
writes () {
	name=$1 && mkfifo "hold-$name" &&
	{ RAYTRAIN_FAULT=result.write:all:wait RAYTRAIN_FAULT_FIFO=$PWD/hold-$name \
		$run --json --name "$name" "$train" 2>err >result.json & } && pid=$! &&
	exec 9>"hold-$name"
}
# all_there: the run has finished with all that it had to leave.
all_there () {
	raytrain-inspect --json "runs/$name" >shown && json_is shown .status finished &&
	test 5 -eq $(wc -l <runs/$name/result.json) && no_temporary runs/$name &&
	test -f runs/$name/result.h5 && same_as_calm "$name"
}
test_expect_success FAULTS 'a signal is answered while the result is written, and the result is completed' '
	writes answers && kill -INT $pid &&
	eventually grep -q "Interrupt: it remains to write the result; a second SIGINT" err &&
	kill -TERM $pid && eventually grep -q "Terminated: it remains to write" err &&
	exec 9>&- && wait $pid && json_is result.json .status finished .metrics.training_iteration 5 &&
	all_there
'
test_expect_success FAULTS 'a second SIGINT ends the writing of the result, and --resume does it' '
	writes hurries && kill -INT $pid && eventually grep -q "it remains to write" err &&
	kill -INT $pid && expect_status 75 wait $pid && exec 9>&- &&
	grep "stopped at once, before it could write the result" err &&
	test_path_is_missing runs/hurries/result.h5 && no_temporary runs/hurries &&
	json_is runs/hurries/logs/attempt-0/attempt.json .outcome finished &&
	raytrain-inspect --json runs/hurries >shown && json_is shown .status interrupted &&
	$run --name hurries --resume "$train" 2>err && all_there
'
test_expect_success FAULTS 'a lost lock ends the writing of the result' '
	writes loses && printf "host far, pid 1, since long\n1 1 far boot 7\n" >other &&
	mv other runs/loses/.lock && expect_status 5 wait $pid && exec 9>&- &&
	grep "taken over by another raytrain-run" err && test_path_is_missing runs/loses/result.h5
'
test_expect_success FAULTS 'a process that is killed while it writes the result is reported' '
	RAYTRAIN_FAULT=result.write expect_status 1 $run --name oom "$train" 2>err &&
	grep "cannot write the result: the process for this was killed" err && name=oom &&
	$run --name oom --resume "$train" 2>err && all_there
'
test_expect_success FAULTS 'a system without room for another process writes the result' '
	name=full && RAYTRAIN_FAULT=aside.fork:all:eagain $run --name full "$train" 2>err && all_there
'

test_done
