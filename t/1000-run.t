#!/bin/sh
test_description='raytrain-run on this machine: a run, its files and its Result'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so

test_expect_success 'a run with two workers finishes' '
	$run -n 2 --name first --json "$train" >result.json 2>err &&
	json_is result.json .status finished .attempts 1 .error null
'
test_expect_success 'the Result names the run and its checkpoints' '
	test "$(jq -r .path result.json)" = "$PWD/runs/first" &&
	test "$(jq -r .checkpoint result.json)" = "$PWD/runs/first/checkpoint_000005.h5" &&
	jq -e ".metrics.training_iteration == 5 and .metrics.world_size == 2" result.json
'
test_expect_success 'result.json has one line per report' '
	test "$(wc -l <runs/first/result.json)" -eq 5 &&
	jq -es "map(.training_iteration) == [1,2,3,4,5]" runs/first/result.json &&
	jq -es "all(.[].by_rank.loss; .rank0 and .min and .max)" runs/first/result.json
'
test_expect_success 'the run directory has the documented files and no temporary ones' '
	ls -A runs/first >files &&
	for f in run.cfg result.json result.h5 logs checkpoint_000001.h5 checkpoint_000005.h5
	do
		grep -qx "$f" files || return 1
	done &&
	! grep -i tmp files &&
	ls runs/first/logs/attempt-0 >logs &&
	grep -qx rank-00000.err logs && grep -qx rank-00001.out logs
'
# The others are acted upon later.
test_expect_success 'files have the permissions that the umask allows, but for a few' '
	(umask 007 && $run -n 2 --name ours "$train" 2>ours.err) &&
	find runs/ours -name .marker -perm 600 >found && grep marker found &&
	find runs/ours -type f ! -name run.cfg ! -name attempt.json ! -name .marker \
		! -perm 660 >found && test_must_be_empty found &&
	find runs/ours "(" -name run.cfg -o -name attempt.json ")" ! -perm 640 >found &&
	test_must_be_empty found &&
	find runs/ours -type d ! -perm 770 >found && test_must_be_empty found
'
test_expect_success 'h5dump shows names of a checkpoint and numbers of the result' '
	h5dump -H runs/first/checkpoint_000005.h5 >header &&
	grep -q "GROUP \"model\"" header && grep -q "DATASET \"weight\"" header &&
	h5dump -d /metrics/accuracy runs/first/result.h5 >accuracy &&
	grep -q "0.8" accuracy
'
test_expect_success 'plain progress shows attempts, reports and the end' '
	grep -q "attempt 0: 2 workers on 1 node, launcher local" err &&
	grep -q "iteration 5  loss .*  accuracy 0.8 " err &&
	grep -q "raytrain-inspect .*$PWD/runs/first" err
'
test_expect_success 'a training function knows its run and has a directory for its files' '
	$run -n 2 --name art "$modules/artifacts.so" 2>err &&
	printf "%s\n" art "$PWD/runs/art" >expect &&
	test_cmp expect runs/art/artifacts/of-0 && test_cmp expect runs/art/artifacts/of-1
'
test_expect_success '--fresh sets the files of a training function aside with its run' '
	$run -n 1 --fresh --name art "$modules/artifacts.so" 2>err &&
	test_path_is_missing runs/art/artifacts/of-1 && test -f runs/art.1/artifacts/of-1
'
test_expect_success '--quiet prints nothing' '
	$run -q -n 1 --name quiet "$train" >out 2>err &&
	test_must_be_empty out && test_must_be_empty err
'
test_expect_success 'an existing run is not overwritten' '
	expect_status 3 $run -n 2 --name first "$train" 2>err &&
	grep -e --resume err && grep -e --fresh err
'
test_expect_success '--resume of a finished run does no work' '
	cp runs/first/result.json before &&
	$run -n 2 --name first --resume "$train" 2>err &&
	grep "finished already" err && test_cmp before runs/first/result.json
'
test_expect_success '--fresh renames the old run' '
	$run -n 1 --name quiet --fresh "$train" 2>err &&
	test -f runs/quiet.1/result.json && test -f runs/quiet/result.json
'
test_expect_success '--dry-run prints configuration and command and creates nothing' '
	$run -n 3 --name dry --dry-run "$train" >out &&
	grep "num_workers = 3" out && grep "raytrain-worker.*train_model.so" out &&
	test_path_is_missing runs/dry
'
test_expect_success 'a full standard output is an error' '
	expect_status 1 raytrain-run --help >/dev/full &&
	expect_status 5 $run --name dry --dry-run "$train" >/dev/full 2>err &&
	grep "standard output" err
'
test_expect_success 'the default name of a run is that of its training function' '
	$run -n 1 "$train" 2>err && test -f runs/train_model/result.h5
'
test_expect_success 'arguments reach a program that calls raytrain_main' '
	$run -n 2 --name main "$check/train_main" a "b c" 2>err &&
	grep -qx "2: a, b c" runs/main/logs/attempt-0/rank-00001.out
'
test_expect_success 'eight workers can share this machine' '
	$run -n 8 --name eight --set train_loop_config.checkpoint_every=5 "$train" 2>err &&
	test -f runs/eight/checkpoint_000005.h5
'
test_expect_success '--keep keeps the newest checkpoints' '
	$run -n 2 --name keep --keep 2 "$train" 2>err &&
	test "$(ls runs/keep | grep -c checkpoint_)" -eq 2 &&
	test -f runs/keep/checkpoint_000005.h5
'
test_done
