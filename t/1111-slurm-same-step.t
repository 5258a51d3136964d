#!/bin/sh
test_description='restarts in the same step of a Slurm job'
CLUSTER_NODES=3 CLUSTER_KILL_WAIT=2
export CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"
. "$srcdir/t/faults.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1
start="raytrain-run --launcher slurm --storage runs --placement SPREAD --restart same_step"

# step NAME K: print the id of the step in which attempt K of a run has trained.
step () {
	cat "runs/$1/logs/attempt-$2/step"
}
# one_step NAME K: attempt K ran in the step of the attempt before, and says so.
one_step () {
	test "$(step "$1" "$2")" = "$(step "$1" $(($2 - 1)))" &&
	json_is "runs/$1/logs/attempt-$2/attempt.json" .same_step true
}
# new_step NAME K: attempt K had a step of its own.
new_step () {
	test "$(step "$1" "$2")" != "$(step "$1" $(($2 - 1)))" &&
	json_is "runs/$1/logs/attempt-$2/attempt.json" .same_step null
}
# kill_rank NAME PROGRAM RANK: kill the process of this rank, of a run of start_work.
kill_rank () {
	for p in $(grep -lz "^RAYTRAIN_TEST=$1" /proc/[0-9]*/environ 2>/dev/null |
		tr -dc "0-9\n" | sort -n); do
		test "$(cat "/proc/$p/comm" 2>/dev/null)" = "$2" &&
		tr "\0" "\n" <"/proc/$p/environ" | grep -Eqx "(SLURM_PROCID|RANK)=$3" &&
		kill -KILL "$p" && return
	done
	echo >&2 "there is no $2 of rank $3"
	return 1
}
# steps_of NAME: print the number of attempts of a run, and of steps.
steps_of () {
	for file in runs/$1/logs/attempt-*/step; do
		cat "$file" && echo
	done >steps && echo $(wc -l <steps) $(sort -u steps | wc -l)
}

# A command that counts to 4, or $last, in its checkpoints. From the second report on it waits
# for the file "gate", and dies as $dies says.
cat >work.sh <<'EOF'
n=0
if raytrain-report --get-checkpoint "state-$RANK"; then
	n=$(cat "state-$RANK/n-$RANK")
	find "state-$RANK" -type f ! -name "n-$RANK" -delete
fi
echo "rank $RANK begins with $n"
mkdir -p "state-$RANK"
while test $n -lt ${last:-4}; do
	n=$((n + 1))
	echo $n >"state-$RANK/n-$RANK"
	raytrain-report n=$n --checkpoint "state-$RANK" || exit
	test $n -lt 2 || >"reported-$RANK"
	until test $n -lt 2 || test -e gate; do sleep 0.02; done
	eval "$dies"
done
EOF
# start_work NAME ARG...: start it on two ranks, and wait until both wait.
start_work () {
	name=$1 && shift && rm -rf state-* reported-* gate
	RAYTRAIN_TEST=$name $start --name $name -n 2 "$@" -- sh work.sh >out 2>err &
	pid=$!
	eventually test -e reported-0 && eventually test -e reported-1 &&
	eventually test -e runs/$name/checkpoint_000002.h5
}
counted () {
	tail -n 1 "runs/$1/result.json" >last && json_is last .n 4 .training_iteration 4
}

test_expect_success 'an undisturbed run finishes, for comparison' '
	raytrain-run --launcher slurm --storage runs --name whole -n 4 --placement SPREAD \
		"$train" 2>err
'
test_expect_success 'a training function that dies continues in the same step, to the same bits' '
	$start -n 4 --name died --max-failures 1 --set train_loop_config.fail=kill \
		--set train_loop_config.fail_rank=3 --set "train_loop_config.fail_once=$PWD/once" \
		--json "$train" 2>err >result.json &&
	json_is result.json .status finished && one_step died 1 &&
	host=$(jq -r ".nodes[-1].name" runs/died/logs/attempt-0/attempt.json) &&
	grep "attempt 0 failed: rank 3 on $host: .*signal 9" err &&
	json_is runs/died/logs/attempt-0/attempt.json .rank 3 .host $host .signal 9 \
		.cause worker .same_step null &&
	jq -e ".checkpoint" runs/died/logs/attempt-1/attempt.json &&
	same_model runs/whole/checkpoint_000005.h5 runs/died/checkpoint_000005.h5 &&
	cluster clean 60
'
test_expect_success 'a command that is killed continues in the same step, from its checkpoint' '
	start_work command --max-failures 1 --show all && kill_rank command sh 1 && : >gate &&
	wait $pid && one_step command 1 && counted command &&
	json_is runs/command/logs/attempt-0/attempt.json .rank 1 .outcome failed &&
	sort out >actual &&
	printf "n%d:%d: rank %d begins with %d\n" 1 0 0 0 1 0 0 2 2 1 1 0 2 1 1 2 >expect &&
	test_cmp expect actual && for rank in 0 1; do
		echo "rank $rank begins with 0" >expect &&
		test_cmp expect runs/command/logs/attempt-0/rank-0000$rank.out &&
		echo "rank $rank begins with 2" >expect &&
		test_cmp expect runs/command/logs/attempt-1/rank-0000$rank.out || return 1
	done && cluster clean 60
'
test_expect_success 'so it is if its raytrain-worker is killed' '
	start_work worker --max-failures 1 && kill_rank worker raytrain-worker 0 && : >gate &&
	wait $pid && one_step worker 1 && counted worker &&
	json_is runs/worker/logs/attempt-0/attempt.json .rank 0 .signal 9
'
test_expect_success 'processes that a command has left behind end with the attempt' '
	cat >leaves.sh <<-\EOF &&
	setsid sleep 1000 & echo $! >>left
	echo >>"begun-$RANK"
	test $(wc -l <"begun-$RANK") = 1 || exit 0
	until test -e begun-0 && test -e begun-1; do sleep 0.02; done
	test $RANK = 0 || exit 3
	sleep 1000
	EOF
	$start --name leaves -n 2 --max-failures 1 -- sh leaves.sh 2>err && one_step leaves 1 &&
	test $(wc -l <left) = 4 && ! ps -o args= -p "$(paste -sd, left)" && cluster clean 60
'
test_expect_success 'a rank that calls _exit is an error, not a hang' '
	expect_status 1 $start --name left -n 2 --set train_loop_config.how=_exit \
		--set train_loop_config.rank=1 "$modules/misbehave.so" 2>err &&
	grep "rank 1" err && grep "_exit" err && cluster clean 60
'
test_expect_success 'a failure that storage does not take ends the step' '
	start_work full --max-failures 0 && mv runs/full/logs/attempt-0/events away &&
	kill_rank full raytrain-worker 0 && expect_status 1 wait $pid && cluster clean 60
'
test_expect_success 'a task of the step that is killed takes the step with it' '
	start_work task --max-failures 1 && kill_rank task raytrain-task 1 && : >gate &&
	wait $pid && new_step task 1 && counted task && cluster clean 60
'
test_expect_success 'a script that raises is named with its exception, and its output is shown' '
	cat >raises.py <<-\PY &&
	import raytrain, os
	rank = raytrain.get_context().get_world_rank()
	print("up", flush=True)
	if rank == 0:
	    with open("tries", "a") as file:
	        file.write("x")
	    raise ValueError("boom %d" % os.path.getsize("tries"))
	raytrain.report({})
	PY
	expect_status 1 $start --name raises -n 2 --max-failures 1 -- $PYTHON raises.py \
		>out 2>err && one_step raises 1 && printf "up\nup\n" | test_cmp - out &&
	grep "ValueError: boom 1" err && grep "ValueError: boom 2" err &&
	grep "ValueError: boom 2" runs/raises/logs/attempt-1/rank-00000.err &&
	! grep "boom 2" runs/raises/logs/attempt-0/rank-00000.err &&
	test -z "$(squeue -h)" && cluster clean 60
'
test_expect_success 'twenty kills in one step' '
	: >gate && rm -rf state-* &&
	last=21 dies="test \$n = 21 || test \$((n % 2)) != \$RANK || kill -KILL \$\$" $start --name kills -n 2 --max-failures -1 -- sh work.sh >out 2>err &&
	tail -n 1 runs/kills/result.json >last && json_is last .n 21 &&
	test "$(steps_of kills)" = "21 1" && cluster clean 60
'
test_expect_success 'a lost node ends the step, and the next attempt has another one' '
	rm -f ready gate && { start_run salloc -Q --no-kill --exclusive -N 3 $start --name lost -n 2 \
		--set scaling_config.spare_nodes=1 --placement STRICT_SPREAD \
		--set run_config.failure_config.node_timeout_s=3 >out; } &&
	cluster kill n2 && eventually grep -q "lost node n2" err && : >gate && wait $pid &&
	json_is runs/lost/logs/attempt-0/attempt.json .cause node_lost &&
	json_is runs/lost/logs/attempt-1/attempt.json .same_step null ".nodes[1].name" n3 &&
	cluster revive n2 && cluster clean 60
'
has_fault_points && test_set_prereq FAULTS
test_expect_success FAULTS 'a step that ends between two attempts is replaced' '
	mkfifo hold && { RAYTRAIN_FAULT=attempt.between:2:wait RAYTRAIN_FAULT_FIFO=$PWD/hold $start \
		--name between -n 2 --max-failures 3 --set train_loop_config.fail=kill \
		--set train_loop_config.fail_at=1 "$train" 2>err & } && pid=$! &&
	eventually grep -q "restarting .* in 2 s" err && kill -KILL $(pgrep -x srun | sort -rn) &&
	: >hold &&
	expect_status 1 wait $pid && one_step between 2 && new_step between 3 &&
	cluster clean 60 && test -z "$(squeue -h)"
'
# second NAME ARG...: start_run of a run whose first attempt fails, once, in the same step.
second () {
	name=$1 && shift && rm -f once ready gate &&
	start_run $start --name $name -n 2 --max-failures 1 --set train_loop_config.fail=exit \
		--set train_loop_config.fail_at=1 --set "train_loop_config.fail_once=$PWD/once" "$@" &&
	one_step $name 1
}
test_expect_success 'workers of a second attempt are asked to stop, and the run is resumed' '
	second stops && kill -TERM $pid && eventually grep -q "stopping at the next report" err &&
	: >gate && expect_status 75 wait $pid && cluster clean 60 && test -z "$(squeue -h)" &&
	raytrain-run --launcher local --storage runs --name two -n 2 "$train" 2>err &&
	$start --name stops -n 2 --resume "$train" 2>err &&
	same_model runs/two/checkpoint_000005.h5 runs/stops/checkpoint_000005.h5
'
test_expect_success 'scancel -s USR1 of the step stops them, too' '
	second usr1 && scancel -s USR1 "$(step usr1 1)" && : >gate &&
	expect_status 75 wait $pid && json_is runs/usr1/logs/attempt-1/attempt.json .outcome stopped &&
	cluster clean 60
'
test_expect_success 'they finish if raytrain-run is killed after the request to stop' '
	second orphans && run=$(ps -o ppid= -p $(pgrep -f "/raytrain-keeper step ")) &&
	kill -TERM $run && eventually grep -q "stopping at the next report" err &&
	eventually may_finish $run && kill -KILL $run && : >gate && { wait $pid || :; } &&
	eventually test -e runs/orphans/logs/attempt-1/end.json && cluster clean 60 &&
	test -z "$(squeue -h)"
'
test_expect_success 'and die with it otherwise' '
	second killed && kill -KILL $pid && { wait $pid || :; } && cluster clean 60 &&
	test -z "$(squeue -h)"
'
test_expect_success 'so they do before a time limit, and the requeued job continues in a step of its own' '
	rm -f once ready gate err status && cat >job.sh <<-EOF &&
	#!/bin/sh
	#SBATCH -N 2 -n 2 --open-mode=append -o job.out
	raytrain-run --storage runs -n 2 --placement SPREAD --restart same_step --name limit \
		--max-failures 1 --resume --requeue-on-stop --stop-before-end 594 \
		--set train_loop_config.fail=exit --set train_loop_config.fail_at=1 \
		--set "train_loop_config.fail_once=$PWD/once" \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$train" 2>>err
	status=\$?
	test \$status -eq 75 || echo \$status >status
	EOF
	job=$(sbatch --parsable --time=10 job.sh) && eventually test -e ready &&
	eventually grep -q stopping err && : >gate && eventually waiting_or_over &&
	go_on && eventually test -s status && test "$(cat status)" = 0 &&
	one_step limit 1 && json_is runs/limit/logs/attempt-1/attempt.json .cause time_limit &&
	json_is runs/limit/logs/attempt-2/attempt.json .same_step null &&
	same_model runs/two/checkpoint_000005.h5 runs/limit/checkpoint_000005.h5
'
test_expect_success 'a hang ends the step' '
	rm -f once && $start --name hangs -n 2 --max-failures 1 --set train_loop_config.fail=hang \
		--set "train_loop_config.fail_once=$PWD/once" \
		--set run_config.failure_config.hang_timeout_s=2 "$train" 2>err &&
	new_step hangs 1 && json_is runs/hangs/logs/attempt-0/attempt.json .cause hang &&
	cluster clean 60
'
test_expect_success 'arguments of srun that take the input of the step are answered' '
	rm -f once && $start --name input -n 2 --max-failures 1 --srun-args=--input=none \
		--set train_loop_config.fail=exit --set "train_loop_config.fail_once=$PWD/once" \
		"$train" 2>err && new_step input 1 &&
	test "$(grep -c "same_step.* has no effect: --input" err)" = 1 &&
	raytrain-run --launcher local --storage runs --name here -n 2 --restart same_step \
		"$train" 2>err && grep "same_step.* has no effect: this launcher" err
'
test_expect_success 'a dry run shows the command of the step' '
	salloc -Q -N 1 -n 2 $start --name dry -n 2 --dry-run "$train" >out &&
	grep "^srun .* [^ ]*/raytrain-task [^ ]*/raytrain-keeper show " out >line &&
	! grep -e --input line
'
test_done
