#!/bin/sh
test_description='Backends of commands: the ranks of a framework find each other'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/mpi-programs.sh"

run="raytrain-run --launcher local --storage runs"
meet="$PYTHON $srcdir/t/check/meet.py"

# met NAME SIZE: all ranks of the run's first attempt have met.
met () {
	for rank in $(seq 0 $(($2 - 1))); do
		grep -x "met $rank of $2" runs/$1/logs/attempt-0/rank-*$rank.out || return 1
	done
}
"$PYTHON" -c "import torch" 2>/dev/null && test_set_prereq TORCH

test_expect_success TORCH 'ranks of torch.distributed meet by env://' '
	$run --name torch -n 2 --backend torch -- $meet torch 2>err && met torch 2
'
test_expect_success 'ranks of TensorFlow meet by TF_CONFIG' '
	$run --name tensorflow -n 3 --backend tensorflow -- $meet tensorflow 2>err &&
	met tensorflow 3
'
test_expect_success 'ranks of JAX meet at the coordinator, whatever the environment has' '
	OMPI_MCA_orte_hnp_uri="7.0;tcp://1.2.3.4:5" $run --name jax -n 3 --backend jax -- \
		$meet jax 2>err && met jax 3
'
# The others abort at once; the companion of a rank that waits for them takes longer to notice.
test_expect_success 'a rank of JAX that is killed is the cause, not those that abort because of it' '
	expect_status 1 $run --name first-0 -n 3 --backend jax -- $meet jax 0 2>err &&
	grep "rank 0 on .*was killed by signal 9" err &&
	expect_status 1 $run --name first-2 -n 3 --backend jax -- $meet jax 2 report 2>err &&
	grep "rank 2 on .*was killed by signal 14" err
'
test_expect_success 'ranks of Horovod meet through the key-value store' '
	$run --name horovod -n 3 --backend horovod -- $meet horovod 2>err && met horovod 3
'
test_expect_success 'a command without a framework has the rank variables alone' '
	MASTER_ADDR=mine $run --name command -n 2 -- \
		sh -c "echo \$RANK \$WORLD_SIZE \$MASTER_ADDR \$MASTER_PORT" 2>err &&
	grep -x "1 2 mine" runs/command/logs/attempt-0/rank-*1.out &&
	! grep MASTER_ADDR err
'
test_expect_success 'a value of the rendezvous in the environment is replaced, with one warning' '
	MASTER_ADDR=elsewhere $run --name replaced -n 2 --backend torch -- \
		sh -c "echo \$MASTER_ADDR" 2>err &&
	grep -x 127.0.0.1 runs/replaced/logs/attempt-0/rank-*1.out &&
	test 1 -eq $(grep -c "MASTER_ADDR.*elsewhere" err)
'
test_expect_success 'settings for tuning in the environment are kept' '
	OMP_NUM_THREADS=3 GLOO_SOCKET_IFNAME=ib7 USE_LIBUV=1 $run --name tuned -n 2 \
		--backend torch -- \
		sh -c "echo \$OMP_NUM_THREADS \$GLOO_SOCKET_IFNAME \$USE_LIBUV" 2>err &&
	grep -x "3 ib7 1" runs/tuned/logs/attempt-0/rank-*0.out
'
test_expect_success 'torch knows the name of the run and the number of the restart' '
	$run --name restarted -n 2 --backend torch --max-failures 1 -- \
		sh -c "echo \$TORCHELASTIC_RUN_ID \$TORCHELASTIC_RESTART_COUNT
			test \$TORCHELASTIC_RESTART_COUNT -eq 1" 2>err &&
	grep -x "restarted 1" runs/restarted/logs/attempt-1/rank-*0.out
'
test_expect_success 'with torch a rank sees the GPUs of all ranks, its own at LOCAL_RANK' '
	for backend in torch command; do
		CUDA_VISIBLE_DEVICES=4,5,6,7 $run --name gpus-$backend -n 2 --gpu \
			--gpus-per-worker 2 --backend $backend -- \
			sh -c "echo \$CUDA_VISIBLE_DEVICES" 2>err &&
		! grep "environment sets CUDA" err || return 1
	done &&
	grep -x 4,6,5,7 runs/gpus-torch/logs/attempt-0/rank-*0.out &&
	grep -x 4,6,5,7 runs/gpus-torch/logs/attempt-0/rank-*1.out &&
	grep -x 6,7 runs/gpus-command/logs/attempt-0/rank-*1.out
'
test_expect_success 'ranks that share a GPU see it alone, and meet by gloo' '
	CUDA_VISIBLE_DEVICES=4,5 $run --name shared -n 4 --gpu --gpus-per-worker 0.5 --backend torch -- \
		sh -c "echo \$RANK \$CUDA_VISIBLE_DEVICES \$RAYTRAIN_TORCH_BACKEND" 2>err &&
	printf "%s gloo\n" "0 4" "1 4" "2 5" "3 5" >expected &&
	cat runs/shared/logs/attempt-0/rank-*.out >actual && test_cmp expected actual
'
test_expect_success 'a backend of a framework is refused for a training function in C' '
	expect_status 3 $run --name refused --backend torch "$modules/train_model.so" 2>err &&
	grep "is for a command" err && test_path_is_missing runs/refused
'
test_expect_success 'the backend of one worker is refused for a command' '
	expect_status 3 $run --name refused -n 1 --backend none -- true 2>err &&
	grep "backend.*none.*is not for a command" err && test_path_is_missing runs/refused
'

for mpi in MPICH OPEN_MPI; do
	test_expect_success $mpi "a program with $mpi comes together as all ranks" '
		$run --name all-$mpi -n 3 --backend mpi -- "$(mpi_child $mpi)" 2>err &&
		met all-$mpi 3 && ! grep "has not joined" err
	'
	test_expect_success $mpi "a program with $mpi that a script starts comes together" '
		cat >script <<-\EOF &&
		#!/bin/sh
		"$1"
		echo "status $?"
		EOF
		chmod +x script &&
		$run --name script-$mpi -n 2 --backend mpi -- ./script "$(mpi_child $mpi)" 2>err &&
		met script-$mpi 2 && grep "status 0" runs/script-$mpi/logs/attempt-0/rank-*1.out
	'
	test_expect_success $mpi "a program with $mpi that calls MPI_Abort fails the run" '
		expect_status 1 $run --name abort-$mpi -n 3 --backend mpi -- \
			"$(mpi_child $mpi)" abort 2>err &&
		grep "rank 2.*status.7" err &&
		! grep met runs/abort-$mpi/logs/attempt-0/rank-*.out
	'
	test_expect_success $mpi "a rank of a program with $mpi that is killed fails the run" '
		expect_status 1 $run --name kill-$mpi -n 3 --backend mpi -- \
			"$(mpi_child $mpi)" kill 2>err &&
		grep "rank 2.*killed by signal 9" err && ! grep "rank [01]:" err
	'
	# The first attempt fails when its ranks have met.
	test_expect_success $mpi "a program with $mpi comes together again after a restart" '
		cat >again <<-\EOF &&
		#!/bin/sh
		"$1" && test -e "$2" || { : >"$2"; exit 1; }
		EOF
		chmod +x again &&
		$run --name again-$mpi -n 2 --backend mpi --max-failures 1 -- \
			./again "$(mpi_child $mpi)" "$PWD/met-$mpi" 2>err &&
		grep "met 1 of 2" runs/again-$mpi/logs/attempt-1/rank-*1.out
	'
done
test_expect_success OPEN_MPI 'a program with Open MPI may report metrics' '
	cat >reports <<-\EOF &&
	#!/bin/sh
	"$1" && raytrain-report x=1.5
	EOF
	chmod +x reports &&
	$run --name reports -n 2 --backend mpi -- ./reports "$(mpi_child OPEN_MPI)" 2>err &&
	met reports 2 && jq -e ".x == 1.5" runs/reports/result.json
'
# The companion of rank 0 has started the PMIx server.
companion_of () {
	for pid in $(worker_pids $1); do
		tr "\0" "\n" <"/proc/$pid/environ" | grep -qx "PMIX_RANK=0" &&
		grep -qx raytrain-worker "/proc/$pid/comm" && echo $pid
	done
}
is_waiting () {
	cat runs/$1/logs/attempt-0/rank-*.out 2>/dev/null | grep -c waiting >count
	test $2 -eq $(cat count)
}
# server_of NAME: the PMIx server of a run's commands.
server_of () {
	for pid in $(worker_pids $1); do
		grep -qx raytrain-pmix "/proc/$pid/comm" && echo $pid
	done
}
test_expect_success OPEN_MPI 'a worker that is killed leaves no PMIx server and no directory' '
	{
		$run --name orphan -n 2 --backend mpi -- \
			"$(mpi_child OPEN_MPI)" wait "$PWD/never" 2>err &
	} && run_pid=$! &&
	eventually is_waiting orphan 2 &&
	dir=$(tr "\0" "\n" <"/proc/$(server_of orphan)/cmdline" | sed -n 2p) &&
	test -d "$dir" &&
	kill -9 $(companion_of orphan) && expect_status 1 wait $run_pid &&
	grep "rank 0.*signal 9" err &&
	eventually no_process_left && eventually test_path_is_missing "$dir"
'
# Open MPI may notice at once, in a later call, or not at all if there is none.
test_expect_success OPEN_MPI 'a run comes to an end if the PMIx server of its commands dies' '
	rm -f gate && {
		$run --name dead -n 2 --backend mpi -- \
			"$(mpi_child OPEN_MPI)" wait "$PWD/gate" 2>err &
	} && run_pid=$! &&
	eventually is_waiting dead 2 &&
	kill -9 $(server_of dead) && : >gate &&
	{ wait $run_pid || test $? -eq 1; } && no_process_left
'
test_expect_success 'a command that does not join the MPI group is reported' '
	$run --name alone -n 2 --backend mpi -- true 2>err &&
	test 1 -eq $(grep -c "has not joined an MPI group" err)
'
test_expect_success 'no process is left' no_process_left
test_done
