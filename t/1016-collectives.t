#!/bin/sh
test_description='collectives called by the training function, and ranks that disagree'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"

for n in 1 3; do
	test_expect_success "all collectives have the right results on $n workers" '
		$run --name right-$n -n $n "$modules/collectives.so" 2>err
	'
done
for n in 2 3 5; do
	test_expect_success "$n workers that disagree get an error that says what each of them did" '
		timeout -k 5 300 $run --name apart-$n -n $n "$modules/disagree.so" 2>err
	'
done
test_expect_success 'a run fails if one rank reduces while the others report' '
	expect_status 1 $run --name kind -n 3 --set train_loop_config.last=allreduce \
		"$modules/disagree.so" 2>err &&
	grep "ranks 0-1 called raytrain_report(), but rank 2 called raytrain_allreduce() of 4 float32" err
'
test_expect_success 'a run fails if one rank returns while another one reduces' '
	expect_status 1 $run --name early -n 2 --set train_loop_config.last=return \
		"$modules/disagree.so" 2>err && grep "do not agree" err && grep "had returned" err
'
test_expect_success 'a run fails if one rank reports while another one waits for gradients' '
	expect_status 1 $run --name step -n 2 --set train_loop_config.last=step \
		"$modules/disagree.so" 2>err &&
	grep "rank 0 waits in reducer wait, but rank 1 in report" err
'
test_expect_success 'an MPI error is recorded with its message, and the save in progress completes' '
	expect_status 1 $run --name mpi -n 2 "$modules/mpi_error.so" 2>err &&
	grep "rank 1 on .*: an MPI call has failed: .*[Rr]ank" err &&
	test comm = "$(jq -r .kind runs/mpi/logs/attempt-*/error.json)" &&
	raytrain-inspect --verify runs/mpi/checkpoint_000001.h5
'
test_done
