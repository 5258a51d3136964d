#!/bin/sh
test_description='resuming a run with another configuration or another program'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs --name victim"
train=$modules/train_model.so

test_expect_success 'an attempt keeps its configuration' '
	$run -n 2 --set train_loop_config.iterations=3 "$train" 2>err &&
	! grep "changed since" err &&
	test_cmp runs/victim/run.cfg runs/victim/logs/attempt-0/run.cfg
'
test_expect_success '--resume names each changed setting with both values' '
	$run -n 1 --resume --set seed=7 --set train_loop_config.iterations=4 \
		--set train_loop_config.extra=\"new\" "$train" 2>err &&
	grep "changed since attempt 0: scaling_config.num_workers: 2 -> 1" err &&
	grep "changed since attempt 0: seed: 0 -> 7" err &&
	grep "changed since attempt 0: train_loop_config.iterations: 3 -> 4" err &&
	grep "changed since attempt 0: train_loop_config.extra: (not set) -> \"new\"" err &&
	test "$(grep -c "changed since" err)" -eq 4
'
test_expect_success 'earlier configurations are kept, and raytrain-inspect shows the changes' '
	grep "num_workers = 2" runs/victim/logs/attempt-0/run.cfg &&
	grep "num_workers = 1" runs/victim/logs/attempt-1/run.cfg &&
	raytrain-inspect runs/victim >shown && grep "changed seed: 0 -> 7" shown &&
	raytrain-inspect --json runs/victim >shown &&
	json_is shown ".attempts[1].config_changes.seed.before" 0 \
		".attempts[1].config_changes.seed.now" 7
'
test_expect_success 'many changed settings are summarised' '
	{ echo "train_loop_config = {" && for i in $(seq 40); do echo "key$i = $i;"; done &&
		echo "};"; } >many.cfg &&
	$run -n 1 --resume -c many.cfg --set seed=7 --set train_loop_config.iterations=5 \
		"$train" 2>err &&
	test "$(grep -c "changed since" err)" -eq 20 &&
	grep "22 more settings have changed.*logs/attempt-1/run.cfg" err
'
test_expect_success '--resume with another training function is refused, with alternatives' '
	cp "$train" other.so && cp -r runs/victim before &&
	expect_status 3 $run -n 1 --resume ./other.so 2>err &&
	grep "victim is a run of .*train_model.so.*, not of .*other.so" err &&
	grep -e --fresh err && grep -e "--name NEW --resume=.*/checkpoint_000005.h5" err &&
	diff -r before runs/victim
'
test_expect_success 'the alternatives to resuming with another training function work' '
	raytrain-run --launcher local --storage runs --name new -n 1 --set train_loop_config.iterations=6 \
		--resume="$PWD/runs/victim/checkpoint_000005.h5" ./other.so 2>err &&
	test -f runs/new/checkpoint_000006.h5 &&
	$run -n 1 --fresh ./other.so 2>err && test -d runs/victim.1
'
test_expect_success '--resume accepts the same training function at another path' '
	mkdir -p moved && cp other.so moved &&
	$run -n 1 --resume --set train_loop_config.iterations=6 moved/other.so 2>err &&
	grep "changed since attempt 0: train_func: " err
'
test_done
