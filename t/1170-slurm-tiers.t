#!/bin/sh
test_description='checkpoints in the memory and on the disks of several nodes'
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

memory="--set run_config.checkpoint_config.replicas=1"
sync="--set run_config.checkpoint_config.mode=sync"
train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1
start="raytrain-run --launcher slurm --storage runs --placement SPREAD"

# in_memory NODE: print the images of runs in the memory of a node.
in_memory () {
	cluster on "$1" find /dev/shm -name "raytrain-*"
}
nothing_left () {
	for node in n1 n2 n3 n4; do
		test -z "$(in_memory $node)" || { in_memory $node; return 1; }
	done
}


test_expect_success 'a run with copies in memory on three nodes leaves nothing behind' '
	$start --name calm -n 3 "$train" 2>err &&
	$start --name memory -n 3 $memory "$train" 2>err && nothing_left &&
	same_model runs/calm/checkpoint_000005.h5 runs/memory/checkpoint_000005.h5
'
test_expect_success 'the copies on other nodes replace the memory of a lost node' '
	start_run $start --name lost -n 3 --placement STRICT_SPREAD $memory $sync \
		--max-failures 1 &&
	test -n "$(in_memory n2)" && cluster on n2 sh -c "rm -rf /dev/shm/raytrain-*" &&
	rm runs/lost/checkpoint_* && kill_on n2 &&
	eventually grep "taken from memory" err && : >gate && wait $pid &&
	grep "iteration 2 is taken from memory" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/lost/checkpoint_000005.h5 &&
	test -e runs/lost/checkpoint_000002.h5 && nothing_left && cluster clean 60
'
test_expect_success 'a run whose raytrain-run was killed continues on fewer nodes from memory' '
	start_run $start --name fewer -n 3 --placement STRICT_SPREAD $memory $sync &&
	kill -KILL $pid && { wait $pid || :; } && cluster clean 60 &&
	test -n "$(in_memory n1)" && rm runs/fewer/checkpoint_* && : >gate &&
	$start --name fewer -n 2 --placement STRICT_SPREAD --resume $memory "$train" 2>err &&
	grep "iteration 2 is taken from memory" err && cluster clean 60 &&
	test -e runs/fewer/checkpoint_000005.h5 && test -z "$(in_memory n1)$(in_memory n2)" &&
	cluster on n3 sh -c "rm -rf /dev/shm/raytrain-*"
'
# Up to 5 MB of the memory in use are unnamed files of UCX, which may be free in the next
# attempt. That is less than the 8 MB (of 24) of the checkpoint that the node does not have.
test_expect_success 'a state that does not fit in the memory of a node is restored through storage' '
	start_run $start --name small -n 3 --placement STRICT_SPREAD $memory $sync \
		--set train_loop_config.size=3000000 --max-failures 1 &&
	used=$(cluster on n2 df -B1 --output=used /dev/shm | tail -1) &&
	cluster on n2 mount -o remount,size=$((used + 1000000)) /dev/shm &&
	rm runs/small/checkpoint_* && kill_on n3 &&
	eventually grep ": starting from" err && : >gate && wait $pid &&
	grep "iteration 2 in memory is written to storage" err &&
	grep "starting from .*runs/small/checkpoint_000002.h5" err &&
	test 1 -eq "$(grep -c "saved without copies in memory" err)" &&
	test -e runs/small/checkpoint_000005.h5 && nothing_left &&
	cluster on n2 mount -o remount,size=50% /dev/shm && cluster clean 60
'
test_expect_success 'a failed run leaves nothing on any node' '
	expect_status 1 $start --name failed -n 3 --placement STRICT_SPREAD $memory \
		--set train_loop_config.fail=kill "$train" 2>err && nothing_left &&
	cluster clean 60
'
test_expect_success 'checkpoints staged on three nodes by a killed run are moved by the next start' '
	start_run $start --name staged -n 3 --placement STRICT_SPREAD \
		--set run_config.sync_config.staging_path=/tmp/stage &&
	kill_on n3 && { wait $pid || :; } && : >gate &&
	$start --name staged -n 3 --placement STRICT_SPREAD --resume \
		--set run_config.sync_config.staging_path=/tmp/stage "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/staged/checkpoint_000005.h5 &&
	for node in n1 n2 n3; do
		test -z "$(cluster on $node find /tmp/stage -name "raytrain-*")" || return 1
	done
'
if has_fault_points; then
	test_expect_success 'a staged checkpoint on a missing node is kept and found later' '
		RAYTRAIN_FAULT=move.data:1:kill expect_status 1 $start --name away -n 3 \
			--placement STRICT_SPREAD $sync \
			--set run_config.sync_config.staging_path=/tmp/stage "$train" 2>err &&
		test_path_is_missing runs/away/checkpoint_000001.h5 && cluster clean 60 &&
		RAYTRAIN_FAULT=save.begin:0:kill expect_status 1 $start --name away -n 2 \
			--placement STRICT_SPREAD --resume \
			--set run_config.sync_config.staging_path=/tmp/stage "$train" 2>err &&
		grep "iteration 1 in the staging area is passed over" err && cluster clean 60 &&
		$start --name away -n 3 --placement STRICT_SPREAD --resume \
			--set run_config.sync_config.staging_path=/tmp/stage "$train" 2>err &&
		grep "the staged checkpoint of iteration 1 is on storage now" err &&
		same_model runs/calm/checkpoint_000005.h5 runs/away/checkpoint_000005.h5
	'
	for point in image.copies image.assemble; do
		test_expect_success "a run with a rank killed at $point is resumed" '
			rm -rf runs/case && start_run $start --name case -n 3 $memory $sync &&
			kill -KILL $pid && { wait $pid || :; } && cluster clean 60 && : >gate &&
			RAYTRAIN_FAULT=$point:1:kill expect_status 1 $start --name case -n 2 \
				--placement STRICT_SPREAD --resume $memory "$train" 2>err &&
			grep "signal 9" err && $start --name case -n 3 --placement STRICT_SPREAD \
				--resume $memory "$train" 2>err &&
			test -e runs/case/checkpoint_000005.h5 && nothing_left
		'
	done
fi
test_done
