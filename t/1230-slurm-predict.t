#!/bin/sh
test_description='predictions under Slurm: killed workers and nodes, stops, requeued jobs, caching nodes'
CLUSTER_NODES=3
CLUSTER_KILL_WAIT=2 CLUSTER_SLURMD_TIMEOUT=10
export CLUSTER_KILL_WAIT CLUSTER_SLURMD_TIMEOUT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"
. "$srcdir/t/predict.sh"

train=$model # for start_run
cd "$CLUSTER_SHARED" || exit 1
input="--checkpoint runs/model --data rows.npz --columns id,x --set train_loop_config.batch=10"
predict="raytrain-predict --launcher slurm --placement STRICT_SPREAD $input"
elsewhere="raytrain-predict --launcher local $input"
marks="--set train_loop_config.marks=$PWD/marks"

# The output is that of an undisturbed prediction, and its run is gone.
is_calm () {
	cmp calm.h5 "$1" && test_path_is_missing "$1.run" && test_path_is_missing ".$1.partial"
}
# batches_at_most N: since marks was removed.
batches_at_most () {
	test "$(wc -c <marks)" -le "$1" || { wc -c marks; return 1; }
}

test_expect_success 'an undisturbed prediction on one machine, for comparison' '
	make_rows 1003 && make_model && $elsewhere -o calm.h5 "$model" 2>err
'
test_expect_success 'two nodes predict the same' '
	$predict -n 2 -o two.h5 "$model" 2>err && is_calm two.h5 && cluster clean 60
'
# There are 101 batches. When the gate is reached, each worker has begun 10 of them, and
# completed a part of 6.
test_expect_success 'after kill -9 of a worker the others are started again for the missing parts' '
	rm -f marks && start_run $predict -n 2 --max-failures 1 $marks -o worker.h5 &&
	kill_on n2 && eventually grep -q "signal 9" err && : >gate && wait $pid &&
	is_calm worker.h5 && batches_at_most 112 && cluster clean 60
'
test_expect_success 'a spare node takes the place of one that is lost' '
	rm -f marks && start_run salloc -Q --no-kill --exclusive -N3 raytrain-predict $input \
		--placement STRICT_SPREAD -n 2 --set scaling_config.spare_nodes=1 \
		--set run_config.failure_config.node_timeout_s=3 $marks -o node.h5 &&
	cluster poweroff n2 && eventually grep -q "lost node n2" err && : >gate && wait $pid &&
	is_calm node.h5 && batches_at_most 112 && cluster revive n2 && cluster clean 60
'
test_expect_success 'a request to stop leaves complete parts, with which another machine continues' '
	rm -f marks && start_run $predict -n 2 $marks -o stop.h5 && kill -USR1 $pid &&
	eventually grep -q "stopping" err && : >gate && expect_status 75 wait $pid &&
	grep -e --resume err && test_path_is_missing stop.h5 &&
	ls stop.h5.run/shards >parts && made=$(wc -l <parts) && test "$made" -ge 2 &&
	rm marks && $elsewhere -n 1 $marks --resume -o stop.h5 "$model" 2>err &&
	is_calm stop.h5 && batches_at_most $((101 - 6 * (made - 1))) && cluster clean 60
'
test_expect_success 'a batch job that is stopped is requeued, and makes the missing parts' '
	rm -f ready gate err marks status &&
	cat >job.sh <<-EOF &&
	#!/bin/sh
	#SBATCH -N 2 -n 2 --open-mode=append -o job.out
	exec raytrain-predict $input -n 2 --placement STRICT_SPREAD -o job.h5 --resume \
		--requeue-on-stop $marks --set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" "$model" 2>>err
	EOF
	job=$(sbatch --parsable job.sh) && eventually test -e ready &&
	scancel --batch --signal=USR1 "$job" && eventually grep -q "stopping" err && : >gate &&
	go_on && grep "goes back to the queue" err && eventually over &&
	is_calm job.h5 && batches_at_most 101 && cluster clean 60
'
test_expect_success 'nodes that cache pages make the same file of their parts' '
	mkdir cached && for node in n1 n2 n3 login; do
		cluster cache $node "$PWD/cached" || return 1
	done &&
	for n in 1 2 3; do
		$predict -n $n -o cached/$n.h5 "$model" 2>err &&
		cmp calm.h5 cached/$n.h5 || return 1
	done && cluster clean 60
'
test_expect_success 'preprocessors that were fitted on two caching nodes give the same bits on any' '
	make_people 1003 && cp people.csv cached &&
	raytrain-run --launcher slurm --placement STRICT_SPREAD --storage cached --name people \
		-n 2 -c people.cfg --dataset train=cached/people.csv "$model" 2>err &&
	raytrain-run --launcher local --storage runs --name people -n 2 -c people.cfg \
		"$model" 2>err &&
	raytrain-predict --launcher local --checkpoint runs/people -c people.cfg \
		-o people.h5 "$model" 2>err &&
	for n in 1 2 3; do
		raytrain-predict --launcher slurm --placement STRICT_SPREAD -n $n -c people.cfg \
			--checkpoint cached/people --data cached/people.csv \
			-o cached/people$n.h5 "$model" 2>err &&
		cmp people.h5 cached/people$n.h5 || return 1
	done
'
test_done
