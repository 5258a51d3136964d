#!/bin/sh
test_description='files, bytes and memory that single ranks add to a checkpoint, and rank 0 metrics'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
attach=$modules/attach.so

test_expect_success 'a run attaches files and hands memory over, in the background' '
	$run --name async -n 3 "$attach" 2>err
'
test_expect_success 'a run does so while it waits for its saves' '
	$run --name sync -n 3 --set run_config.checkpoint_config.mode=sync "$attach" 2>err
'
test_expect_success 'replicas of a checkpoint in memory and a staging directory do not matter' '
	$run --name tiers -n 3 --set run_config.sync_config.staging_path="$PWD/stage" \
		"$attach" 2>err
'
test_expect_success 'HDF5 tools read what was attached' '
	printf "notes of rank 2\n" >expect &&
	h5dump -d /files/rank-2/notes.txt -b -o got runs/async/checkpoint_000003.h5 >/dev/null &&
	test_cmp expect got &&
	raytrain-inspect --verify runs/async/checkpoint_000003.h5
'
test_expect_success 'raytrain-inspect exports it as files' '
	raytrain-inspect --export out runs/async/checkpoint_000003.h5 &&
	test_cmp expect out/files/rank-2/notes.txt && test -f out/cells.npy
'
test_expect_success 'equal slabs of three ranks are stored once' '
	h5dump -H -d /cells runs/async/checkpoint_000003.h5 >header &&
	grep "( 1000 ) / ( 1000 )" header &&
	test $(stat -c %s runs/async/checkpoint_000003.h5) -lt 30000
'
test_expect_success 'metrics of rank 0 are recorded as those of the run' '
	tail -n 1 runs/async/result.json >last &&
	jq -e ".loss > 0.33 and .loss < 0.34 and .lr == 0.5" last &&
	jq -e ".by_rank.loss.min == .loss and .by_rank.loss.max == .loss" last
'
for n in 1 2 5; do
	test_expect_success "$n ranks find what 3 ranks have attached" '
		$run --name read-$n -n $n --resume=runs/async/checkpoint_000003.h5 \
			--set train_loop_config.writers=3 "$attach" 2>err &&
		printf "notes of rank 1\n" >expect &&
		test_cmp expect back-$((n - 1))-1
	'
done
test_done
