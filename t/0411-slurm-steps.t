#!/bin/sh

test_description='Steps of the Slurm launcher: how they end, and that they leave nothing behind'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

in_job () {
	salloc -Q -N4 --exclusive --gpus-per-node=4 "$@"
}
run="$check/launch_run"
test -x "$run" || { echo "Bail out! no $run: run make check"; exit 1; }

lines_are () {
	test "$(cat logs/*.out 2>/dev/null | wc -l)" -eq "$1"
}
outcome () {
	echo "$1" >expected &&
	grep ^outcome said >actual &&
	test_cmp expected actual
}

# A worker that runs until it gets the stop signal; SIGTERM does not end it.
cat >work.sh <<'EOF'
trap '' TERM
trap 'exit 75' USR1
echo up
while :; do sleep 0.05; done
EOF
# When all workers are up, rank 2 ends as the argument says; the others continue.
cat >end.sh <<'EOF'
trap '' TERM
>"up.$SLURM_PROCID"
until test -e up.0 && test -e up.1 && test -e up.2 && test -e up.3; do sleep 0.05; done
test "$SLURM_PROCID" = 2 && eval "$1"
while :; do sleep 0.05; done
EOF
cat >where.sh <<'EOF'
echo "$SLURM_PROCID $(hostname) c$SLURM_CPUS_PER_TASK g$CUDA_VISIBLE_DEVICES"
EOF

test_expect_success 'a step whose workers all finish succeeds' '
	in_job "$run" --workers 4 --logs logs sh -c "echo hello; echo oops >&2" >said &&
	outcome "outcome failed=0 launch_failed=0 rank=-1 host= exit=0 signal=0 stopped=0" &&
	lines_are 4 &&
	echo oops >expected && test_cmp expected logs/rank-00003.err &&
	cluster clean
'

test_expect_success 'a worker that exits with 3 is named, and the others are killed at once' '
	rm -rf logs up.* &&
	expect_status 1 in_job "$run" --workers 4 --placement SPREAD sh end.sh "exit 3" >said &&
	outcome "outcome failed=1 launch_failed=0 rank=2 host=n3 exit=3 signal=0 stopped=0" &&
	cluster clean
'

test_expect_success 'a worker that is killed is named with its signal' '
	rm -rf logs up.* &&
	expect_status 1 in_job "$run" --workers 4 sh end.sh "kill -9 \$\$" >said &&
	outcome "outcome failed=1 launch_failed=0 rank=2 host=n1 exit=0 signal=9 stopped=0" &&
	cluster clean
'

test_expect_success 'a worker that crashes is named with its signal' '
	rm -rf logs up.* &&
	expect_status 1 in_job "$run" --workers 4 sh end.sh "kill -SEGV \$\$" >said &&
	outcome "outcome failed=1 launch_failed=0 rank=2 host=n1 exit=0 signal=11 stopped=0" &&
	cluster clean
'

test_expect_success 'a step starts after a failed one in the same job' '
	rm -rf logs up.* &&
	cat >twice.sh <<-\EOF &&
	"$1" --workers 16 --logs first sh -c "exit 1" &&
		exit 1
	exec "$1" --workers 16 --logs second true
	EOF
	in_job sh twice.sh "$run" >said &&
	test $(grep -c "outcome failed=0" said) -eq 1
'

test_expect_success 'two runs can share the nodes of a job' '
	rm -rf logs &&
	cat >both.sh <<-\EOF &&
	"$1" --workers 2 --gpus 1 --logs one --signal-when go sh work.sh >one.said &
	until test "$(cat one/*.out 2>/dev/null | wc -l)" -eq 2; do sleep 0.02; done
	"$1" --workers 2 --gpus 1 --logs two true >two.said || exit 1
	>go
	wait $!
	test $? -eq 75
	EOF
	salloc -Q -N1 --exclusive --gpus-per-node=4 sh both.sh "$run" &&
	cluster clean
'

test_expect_success 'a stop request reaches every worker' '
	rm -rf logs go &&
	{ in_job "$run" --workers 5 --signal-when go sh work.sh >said & } && pid=$! &&
	eventually lines_are 5 && >go &&
	expect_status 75 wait $pid &&
	outcome "outcome failed=0 launch_failed=0 rank=-1 host= exit=0 signal=0 stopped=1" &&
	cluster clean
'

test_expect_success 'a stop request reaches workers that handle it, even if srun has not reported them' '
	rm -rf logs go up.* &&
	cat >patient.sh <<-\EOF &&
	trap "exit 75" USR1
	>"up.$SLURM_PROCID"
	test -e up.0 && test -e up.1 && >go
	while :; do sleep 0.05; done
	EOF
	expect_status 75 in_job "$run" --workers 2 --signal-when go sh patient.sh >said &&
	outcome "outcome failed=0 launch_failed=0 rank=-1 host= exit=0 signal=0 stopped=1" &&
	cluster clean
'

test_expect_success 'killing a group ends all its workers' '
	rm -rf logs go &&
	{ in_job "$run" --workers 5 --kill-when go sh work.sh >said & } && pid=$! &&
	eventually lines_are 5 && >go &&
	expect_status 1 wait $pid &&
	outcome "outcome failed=1 launch_failed=0 rank=-1 host= exit=0 signal=0 stopped=0" &&
	cluster clean
'

test_expect_success 'destroying a group ends all its workers' '
	rm -rf logs go &&
	{ in_job "$run" --workers 5 --destroy-when go sh work.sh >said & } && pid=$! &&
	eventually lines_are 5 && >go &&
	wait $pid &&
	grep destroyed said &&
	cluster clean
'

test_expect_success 'kill and destroy work while the step is still being created' '
	rm -rf logs && >go &&
	expect_status 1 in_job "$run" --workers 5 --kill-when go sh work.sh >said &&
	cluster clean &&
	in_job "$run" --workers 5 --destroy-when go sh work.sh >said &&
	cluster clean
'

test_expect_success 'no worker outlives a launcher that is killed' '
	rm -rf logs go &&
	cat >survive.sh <<-\EOF &&
	"$1" --workers 5 --die-when go sh work.sh
	for try in $(seq 500); do
		test -z "$(squeue -h -s -o %i)$("$2" ps)" && exit
		sleep 0.02
	done
	"$2" ps
	exit 1
	EOF
	{ in_job sh survive.sh "$run" "$srcdir/t/cluster/cluster" >said & } && pid=$! &&
	eventually lines_are 5 && >go &&
	wait $pid &&
	cluster clean
'

test_expect_success 'no worker outlives an srun that is killed' '
	rm -rf logs &&
	{ in_job "$run" --workers 5 sh work.sh >said & } && pid=$! &&
	eventually lines_are 5 &&
	{ kill -9 $(pgrep -x srun) || :; } &&
	expect_status 1 wait $pid &&
	grep "^detail srun was killed by signal 9" said &&
	cluster clean
'

# srun hears of the end of the step from slurmctld, and of the ends of tasks from their nodes: on
# a busy machine that of a task may come first, with the signal that ended it. A task is one
# process here: a shell that outlives its sleep for a moment may exit with 137 instead.
test_expect_success 'a cancelled step is reported without naming a worker' '
	rm -rf logs &&
	{ in_job "$run" --workers 5 sh -c "echo up; exec sleep 1000" >said & } && pid=$! &&
	eventually lines_are 5 &&
	scancel $(squeue -h -s -o %i) &&
	expect_status 1 wait $pid &&
	{ { grep "rank=-1 " said && grep "the step was ended as a whole" said; } ||
		grep "rank=[0-4] .*exit=0 signal=9 stopped=0" said; } &&
	cluster clean
'

test_expect_success 'a command that does not exist fails with its name in the log' '
	rm -rf logs &&
	expect_status 1 in_job "$run" --workers 2 /nonexistent/worker >said &&
	grep "failed=1" said &&
	grep "/nonexistent/worker: No such file" logs/rank-00000.err &&
	cluster clean
'

test_expect_success 'an unknown option in --srun-args fails with the message of srun' '
	expect_status 1 in_job "$run" --workers 2 --srun-args "--bogus" true >said &&
	grep "launch_failed=1" said && grep "unrecognized option .--bogus" said
'

srun_args="--cpus-per-task=1 --comment='a b'"
test_expect_success '--srun-args override the options of the launcher' '
	rm -rf logs &&
	in_job "$run" --workers 2 --cpus 2 --srun-args "$srun_args" sh where.sh >said &&
	echo "1 n1 c1 g" >expected && test_cmp expected logs/rank-00001.out
'

test_expect_success 'variables of the enclosing job do not change the step' '
	rm -rf logs &&
	cat >hostile.sh <<-\EOF &&
	export SLURM_NTASKS=16 SLURM_NPROCS=16 SLURM_NNODES=4 SLURM_NTASKS_PER_NODE=1
	export SLURM_DISTRIBUTION=cyclic SLURM_CPUS_PER_TASK=4 SRUN_CPUS_PER_TASK=4
	export SLURM_GPUS_PER_NODE=4 SLURM_GPUS=16 SLURM_GRES=gpu:4 SLURM_MEM_PER_CPU=1999
	export SLURM_EXCLUSIVE=1 SLURM_OVERLAP=1 SLURM_LABELIO=1 SLURM_WAIT=1 SLURM_DEBUG=0
	export SLURM_STDOUTMODE=/nonexistent/x SLURM_IMMEDIATE=1 SLURM_KILL_BAD_EXIT=1
	export SLURM_MPI_TYPE=none SLURM_HINT=nomultithread SLURM_STEP_ID=7 SLURM_STEPID=7
	export SLURM_EXPORT_ENV=NONE SRUN_DEBUG=0 PMIX_RANK=9 PMIX_NAMESPACE=x KEPT=yes
	echo n4 >hosts && export SLURM_HOSTFILE=$PWD/hosts
	exec "$@"
	EOF
	in_job sh hostile.sh "$run" --workers 5 --gpus 1 \
		"$check/own_gpus" 1 \
		sh -c "echo \$SLURM_PROCID \$(hostname) g\$CUDA_VISIBLE_DEVICES \$KEPT" >said &&
	cat >expected <<-\EOF &&
	0 n1 g0 yes
	1 n1 g1 yes
	2 n1 g2 yes
	3 n1 g3 yes
	4 n2 g0 yes
	EOF
	cat logs/rank-*.out >actual && test_cmp expected actual &&
	cluster clean
'

test_expect_success 'workers that request no GPUs see none' '
	rm -rf logs &&
	in_job "$run" --workers 1 sh where.sh >said &&
	echo "0 n1 c1 g" >expected && test_cmp expected logs/rank-00000.out
'

test_expect_success 'too many workers are refused before anything starts' '
	rm -rf logs &&
	expect_status 4 in_job "$run" --workers 17 true 2>said &&
	grep "17 workers do not fit in allocation [0-9]*: there is room for 16" said &&
	test_path_is_missing logs
'

test_expect_success 'too many GPUs per worker are refused' '
	expect_status 4 in_job "$run" --workers 2 --gpus 5 true 2>said &&
	grep "each worker asks for 1 CPU, 5 GPUs" said &&
	grep "n\[1-4\]: 4 CPUs, 4 GPUs of type fake" said
'

test_expect_success 'too much memory per worker is refused' '
	expect_status 4 in_job "$run" --workers 2 --memory 3G true 2>said &&
	grep "limited by the memory" said
'

test_expect_success 'GPUs of a type are used, and of an unknown type refused' '
	in_job "$run" --workers 2 --gpus 1 --type fake true >said &&
	expect_status 4 in_job "$run" --workers 2 --gpus 1 --type a100 true 2>said &&
	grep "1 GPU of type a100" said
'

test_expect_success 'a step that waits for another one is reported, and can be killed' '
	rm -rf logs go &&
	cat >busy.sh <<-\EOF &&
	unset SLURM_GPUS_PER_NODE
	srun -N4 -n16 --mem=0 --gres=none sh -c "echo up; sleep 1000" >holder.out &
	until test "$(wc -l <holder.out)" -eq 16; do sleep 0.02; done
	"$1" --workers 2 --srun-args=--immediate=1 true >refused
	"$1" --workers 2 --kill-when go true &
	>go
	wait $!
	status=$?
	kill -9 %1
	exit $status
	EOF
	>holder.out &&
	expect_status 1 in_job bash busy.sh "$run" >said &&
	grep "failed=1" said &&
	grep "another step holds CPUs, GPUs or memory of allocation" refused &&
	cluster clean
'

test_expect_success 'outside an allocation a group is refused' '
	expect_status 3 "$run" --workers 2 true 2>said &&
	grep "no Slurm allocation here" said
'

test_expect_success 'an allocation is requested and released' '
	rm -rf logs &&
	"$run" --allocate --workers 6 --gpus 2 \
		"$check/own_gpus" 2 sh where.sh >said 2>chatter &&
	head -n1 said >actual && echo "plan n1*2 n2*2 n3*2" >expected &&
	test_cmp expected actual &&
	cat >expected <<-\EOF &&
	0 n1 c1 g0,1
	1 n1 c1 g2,3
	2 n2 c1 g0,1
	3 n2 c1 g2,3
	4 n3 c1 g0,1
	5 n3 c1 g2,3
	EOF
	cat logs/rank-*.out >actual && test_cmp expected actual &&
	cluster clean
'

test_expect_success 'the exit status from a requested allocation is that of the workers' '
	expect_status 75 "$run" --allocate --workers 2 sh -c "exit 75" >said &&
	cluster clean
'

test_expect_success 'an allocation that can never fit is refused at once' '
	expect_status 4 "$run" --allocate --workers 99 true 2>said &&
	grep "99 workers do not fit in the default partition: there is room for 16" said &&
	expect_status 4 "$run" --allocate --workers 1 --gpus 5 true 2>said &&
	grep "limited by the GPUs" said &&
	test -z "$(squeue -h)"
'

# start_work: start a group in the background, in an allocation of its own, and wait until its
# workers are up. $outer, $salloc and $inner are the processes outside and inside.
start_work () {
	rm -rf logs &&
	{ "$run" --allocate --workers 2 sh work.sh >said 2>chatter & } && outer=$! &&
	eventually lines_are 2 && salloc=$(pgrep -P $outer) && inner=$(pgrep -P $salloc)
}
test_expect_success 'killing the outer command leaves nothing behind' '
	start_work && kill -9 $outer && cluster clean
'
test_expect_success 'killing salloc ends the run and releases the allocation' '
	start_work && kill -9 $salloc && expect_status 137 wait $outer && cluster clean
'
# A process may end because of the one that was killed before it, and kill then fails.
test_expect_success 'killing salloc, the run inside and the outer command leaves nothing behind' '
	start_work && { kill -9 $inner $salloc || :; } && cluster clean &&
	start_work && { kill -9 $inner $salloc $outer || :; } && cluster clean
'

test_expect_success 'a node that cannot write the logs is named with the path' '
	rm -rf logs && mkdir logs &&
	cluster hide n2 "$PWD/logs" &&
	cluster hide n3 "$PWD" && cluster on n3 mount -o remount,ro,bind "$PWD" &&
	expect_status 1 in_job "$run" --workers 4 --placement SPREAD true >said &&
	grep "launch_failed=1 rank=2 host=n3" said &&
	grep "node n3 cannot write the log files in $PWD/logs" said &&
	cluster clean
'

test_done
