#!/bin/sh
test_description='checkpoints on storage whose pages each node caches

Each of four nodes has its own page cache over the directory of the runs: a page that two of
them write loses bytes.'
CLUSTER_SLURMD_TIMEOUT=10
export CLUSTER_SLURMD_TIMEOUT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

memory="--set run_config.checkpoint_config.replicas=1"
staging="--set run_config.sync_config.staging_path=/tmp/stage"
sync="--set run_config.checkpoint_config.mode=sync"
slabs="--set train_loop_config.slabs=true"
train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1
mkdir runs
start="raytrain-run --launcher slurm --storage runs --placement STRICT_SPREAD $slabs"

# cache_on NODE...: give each node a cache.
cache_on () {
	for node in "$@"; do
		cluster cache "$node" "$PWD/runs" || return 1
	done
}
# all_verify RUN N: the run has N checkpoints, and all of them are intact.
all_verify () {
	test "$(ls "runs/$1" | grep -c "^checkpoint_.*h5$")" -eq "$2" &&
	for f in "runs/$1"/checkpoint_*; do
		raytrain-inspect --verify "$f" >verify.out || { cat verify.out; return 1; }
	done
}
# workers_are RUN ITERATION N: this many workers wrote the checkpoint.
workers_are () {
	raytrain-inspect --json "runs/$1/checkpoint_00000$2.h5" >out &&
	jq -e ".world_size == $3" out
}
same_end () {
	same_model runs/calm/checkpoint_000005.h5 "runs/$1/checkpoint_000005.h5"
}


test_expect_success 'an undisturbed run without caches finishes, for comparison' '
	$start --name calm -n 4 "$train" 2>err && all_verify calm 5
'
test_expect_success 'with caches on four nodes every checkpoint is intact' '
	cache_on n1 n2 n3 n4 login &&
	$start --name cached -n 4 "$train" 2>err && all_verify cached 5 && same_end cached
'
test_expect_success 'slabs that end within a page are intact' '
	raytrain-run --launcher slurm --storage runs --name several -n 7 --placement SPREAD \
		$slabs --set train_loop_config.size=300007 "$train" 2>err &&
	all_verify several 5
'
test_expect_success 'checkpoints moved from memory to storage are intact' '
	$start --name memory -n 4 $memory "$train" 2>err && all_verify memory 5 &&
	same_end memory
'
test_expect_success 'checkpoints moved from staging disks to storage are intact' '
	$start --name staged -n 4 $staging "$train" 2>err && all_verify staged 5 &&
	same_end staged
'
test_expect_success 'attachments and equal slabs of four nodes are intact, and read on two' '
	attach=$modules/attach.so &&
	$start --name attach -n 4 "$attach" 2>err && all_verify attach 3 &&
	$start --name attach-m -n 4 $memory "$attach" 2>err && all_verify attach-m 3 &&
	$start --name back -n 2 --resume="$PWD/runs/attach/checkpoint_000003.h5" \
		--set train_loop_config.writers=4 "$attach" 2>err
'
test_expect_success 'a run resumed with three workers on three nodes writes intact checkpoints' '
	start_run $start --name fewer -n 4 $sync && kill -KILL $pid && { wait $pid || :; } &&
	cluster clean 60 && : >gate && $start --name fewer -n 3 --resume "$train" 2>err &&
	all_verify fewer 5 && workers_are fewer 2 4 && workers_are fewer 3 3
'
test_expect_success 'an elastic run over 4, 3 and 4 nodes writes intact checkpoints' '
	start_run salloc -Q --no-kill --exclusive -N4 raytrain-run --storage runs \
		--name elastic -n 2:4 --placement STRICT_SPREAD $slabs \
		--set train_loop_config.iterations=60 \
		--set scaling_config.elastic_resize_monitor_interval_s=1 \
		--set run_config.failure_config.node_timeout_s=3 \
		--set run_config.failure_config.start_timeout_s=15 >out &&
	cluster cut n3 && : >gate && eventually grep -q "with 3 workers on 3 nodes" err &&
	eventually grep -q "\"world_size\": *3" runs/elastic/result.json && rm gate &&
	cluster mend n3 && eventually grep -q "there is room for more than 3 workers" err &&
	: >gate && eventually grep -q "with 4 workers on 4 nodes" err && wait $pid &&
	all_verify elastic 60 &&
	jq -es "map(.training_iteration) | unique == [range(1; 61)]" runs/elastic/result.json
'
test_expect_success 'a run that replaces a lost node writes intact checkpoints' '
	start_run salloc -Q --no-kill --exclusive -N4 raytrain-run --storage runs --name lost \
		-n 3 --placement STRICT_SPREAD $slabs --set scaling_config.spare_nodes=1 \
		--set run_config.failure_config.node_timeout_s=3 >out &&
	cluster poweroff n2 && eventually grep -q "lost node n2" err && : >gate && wait $pid &&
	all_verify lost 5
'
# squashed RUN OPTION...
squashed () {
	raytrain-run --launcher local --storage squashed/runs -n 2 --name "$@" "$train" 2>err
}
test_expect_success 'storage that gives the files of root to another user is one to write in' '
	mkdir squashed && chmod 777 squashed &&
	CLUSTER_CACHE_USER=65534 cluster cache login "$PWD/squashed" timeout=1.0 &&
	squashed a && test "$(stat -c %u squashed/runs/a/run.cfg)" = 65534 &&
	squashed a --resume --set train_loop_config.iterations=7 &&
	json_is squashed/runs/a/logs/attempt-1/attempt.json .outcome finished
'
test_done
