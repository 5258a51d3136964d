#!/bin/sh
test_description='a run that is interrupted anywhere and resumed gives a bit-identical model'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs -n 2"
train=$modules/train_model.so

test_expect_success 'an undisturbed run finishes, for comparison' '
	$run --name calm "$train" 2>err
'
test_expect_success 'a second run gives the same bits' '
	$run --name again "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/again/checkpoint_000005.h5
'
test_expect_success 'saving synchronously gives the same bits' '
	$run --name sync --set run_config.checkpoint_config.mode=sync "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/sync/checkpoint_000005.h5
'
test_expect_success 'result.json has the size and duration of each save' '
	jq -es "all(.checkpoint_bytes > 8000 and .checkpoint_stall_s >= 0)" \
		runs/calm/result.json runs/sync/result.json &&
	head -n 1 runs/calm/result.json | jq -e ".checkpoint_write_s == null" &&
	tail -n 4 runs/calm/result.json | jq -es "all(.checkpoint_write_s > 0)" &&
	jq -es "all(.checkpoint_write_s <= .checkpoint_stall_s)" runs/sync/result.json
'
test_expect_success 'a run whose worker dies fails, and --resume continues it' '
	expect_status 1 $run --name died --set train_loop_config.fail=kill \
		--set "train_loop_config.fail_once=$PWD/once.1" "$train" 2>err &&
	$run --name died --resume "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/died/checkpoint_000005.h5
'
# temporary_of PID CHECKPOINT: the name of a temporary file of this process (util/fs.h).
temporary_of () {
	python3 - "$@" <<-\END
	import os, sys
	with open("/proc/sys/kernel/random/boot_id") as boot, \
	     open(f"/proc/{sys.argv[1]}/stat") as stat:
	    place = f"{os.uname().nodename} {boot.read().strip()} "
	    born = stat.read().rpartition(")")[2].split()[19]
	place += str(os.stat("/proc/self/ns/pid").st_ino)
	number = 2166136261
	for c in place.encode():
	    number = (number ^ c) * 16777619 & 0xffffffff
	print(f".{sys.argv[2]}.tmp-{sys.argv[1]}-00000000-{number:08x}-{born}")
	END
}

# Workers spare the file, since its process lives.
test_expect_success 'what a worker leaves when it ends is removed by raytrain-run, in a resumed run' '
	expect_status 1 $run --name late --set train_loop_config.fail=kill "$train" 2>err &&
	start_run $run --name late --resume --set train_loop_config.ready_at=4 &&
	name=$(temporary_of $(worker_pids late | head -n 1) checkpoint_000003.h5) &&
	: >runs/late/$name && : >gate && wait $pid && no_temporary runs/late
'
test_expect_success '--max-failures restarts a failed attempt within the run' '
	$run --name again-and-again --max-failures 1 --set train_loop_config.fail=kill \
		--set run_config.checkpoint_config.mode=sync \
		--set "train_loop_config.fail_once=$PWD/once.2" "$train" 2>err &&
	grep "restart 1 of 1" err &&
	same_model runs/calm/checkpoint_000005.h5 \
		runs/again-and-again/checkpoint_000005.h5 &&
	grep "starting from .*checkpoint_000002.h5 (iteration 2)" err &&
	raytrain-inspect runs/again-and-again >shown &&
	grep "rank 0 on .*: killed by signal 9" shown &&
	grep "started from .*checkpoint_000002.h5" shown
'
test_expect_success 'three failures at one iteration end the run as a bug' '
	expect_status 1 $run --name bug --max-failures 9 --set train_loop_config.fail=exit \
		"$train" 2>err &&
	grep "restart 2 of 9" err && ! grep "restart 3" err &&
	grep "3 times in a row after iteration 2: that is a bug, not bad luck" err &&
	grep "logs/attempt-2/rank-00000" err
'
test_expect_success 'a request to stop ends the wait before a restart' '
	$run --name waits --max-failures -1 --set train_loop_config.fail=kill \
		--set run_config.checkpoint_config.mode=sync "$train" 2>err &
	pid=$! && eventually grep "from the latest checkpoint in 4 s" err &&
	kill -INT $pid && expect_status 75 wait $pid && ! grep "attempt 5:" err &&
	no_process_left
'
test_expect_success 'Ctrl-C stops at the next report, with status 75' '
	start_run $run --name ctrl-c &&
	kill -INT $pid && eventually grep -q "stopping at the next report" err &&
	: >gate && expect_status 75 wait $pid &&
	grep -e "--resume" err && no_process_left
'
test_expect_success 'a run stopped by Ctrl-C is resumed to the same bits' '
	$run --name ctrl-c --resume "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/ctrl-c/checkpoint_000005.h5
'
test_expect_success 'a function that asks when to save is stopped with a checkpoint' '
	start_run $run --name asks --set train_loop_config.checkpoint_every=0 \
		--set run_config.checkpoint_config.checkpoint_frequency=100 &&
	test_path_is_missing runs/asks/checkpoint_000002.h5 &&
	kill -USR1 $pid && eventually grep -q "stopping at the next report" err &&
	: >gate && expect_status 75 wait $pid && ls runs/asks/checkpoint_* >kept &&
	test "$(wc -l <kept)" -eq 1 &&
	$run --name asks --resume "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/asks/checkpoint_000005.h5
'
test_expect_success 'a second Ctrl-C stops at once' '
	start_run $run --name twice && kill -INT $pid &&
	eventually grep -q "stopping at the next report" err &&
	kill -INT $pid && expect_status 75 wait $pid && no_process_left
'
test_expect_success 'killing raytrain-run ends its workers and leaves nothing in TMPDIR' '
	mkdir -p tmp && start_run env TMPDIR="$PWD/tmp" $run --name killed &&
	kill -KILL $pid && { wait $pid || :; } && eventually no_process_left && eventually is_empty tmp
'
# raytrain-run is killed with all its helpers, so that only the kernel can clean up.
test_expect_success 'killing raytrain-run and its helpers ends processes that workers forked' '
	start_run $run --name loaders --set train_loop_config.loaders=2 &&
	helpers=$(for p in $(pgrep -P $pid); do
		test "$(cat /proc/$p/comm)" = raytrain-worker || echo $p
	done) && test -n "$helpers" && kill -KILL $helpers $pid && { wait $pid || :; } &&
	eventually no_process_left
'
test_expect_success 'a run whose raytrain-run was killed is resumed to the same bits' '
	$run --name killed --resume "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/killed/checkpoint_000005.h5 &&
	jq -es "map(.training_iteration) | unique == [1,2,3,4,5]" runs/killed/result.json
'
test_expect_success 'a worker killed from outside is reported' '
	start_run $run --name outside &&
	victim=$(worker_pids outside | head -n 1) &&
	kill -KILL $victim && expect_status 1 wait $pid && grep "signal 9" err &&
	no_process_left
'
test_expect_success 'a damaged newest checkpoint is reported and the older one used' '
	cp -r runs/calm runs/damaged && rm runs/damaged/result.h5 &&
	rm runs/damaged/checkpoint_000005.h5 &&
	printf X | dd of=runs/damaged/checkpoint_000004.h5 bs=1 seek=4000 conv=notrunc \
		2>/dev/null &&
	$run --name damaged --resume "$train" 2>err &&
	grep checkpoint_000004.h5 err && grep "checkpoint_000004.h5.damaged" err &&
	test -f runs/damaged/checkpoint_000004.h5.damaged &&
	raytrain-inspect runs/damaged >inspect.out && ! grep "damaged\." inspect.out &&
	! grep "h5.damaged" inspect.out &&
	same_model runs/calm/checkpoint_000005.h5 runs/damaged/checkpoint_000005.h5
'
test_expect_success 'a run without any valid checkpoint is not resumed: status 5' '
	cp -r runs/calm runs/ruined && rm runs/ruined/result.h5 &&
	for f in runs/ruined/checkpoint_*; do truncate -s 1000 $f || return 1; done &&
	expect_status 5 $run --name ruined --resume "$train" 2>err && grep -i valid err
'
test_expect_success 'a new run starts from a checkpoint of another number of workers' '
	raytrain-run --launcher local --storage runs -n 3 --name other \
		--resume=runs/calm/checkpoint_000003.h5 "$train" 2>err &&
	test "$(ls runs/other | grep -c checkpoint_)" -eq 2
'
test_expect_success 'a new run starts from a checkpoint of another run and leaves that unchanged' '
	ls -l runs/calm >before &&
	raytrain-run --launcher local --storage runs -n 1 --name longer \
		--set train_loop_config.iterations=7 \
		--resume=runs/calm/checkpoint_000003.h5 "$train" 2>err &&
	grep "starting from .*calm/checkpoint_000003.h5 (iteration 3)" err &&
	jq -es "map(.training_iteration) == [4,5,6,7]" runs/longer/result.json &&
	ls -l runs/calm >after && cmp before after
'
test_expect_success 'a tensor of another shape and a damaged checkpoint are reported by name' '
	expect_status 1 raytrain-run --launcher local --storage runs -n 1 --name half \
		--set train_loop_config.size=500 \
		--resume=runs/calm/checkpoint_000003.h5 "$train" 2>err &&
	grep "model/weight. is float64 \[1000\], and was asked for as float64 \[500\]" err &&
	grep "nothing was saved: once the cause is corrected, run the same line again" err &&
	cp runs/calm/checkpoint_000003.h5 bad.h5 &&
	at=$(h5dump -p -d /model/weight bad.h5 |
		sed -n "s/.*OFFSET \([0-9]*\).*/\1/p") &&
	printf X | dd of=bad.h5 bs=1 seek=$((at + 100)) conv=notrunc 2>/dev/null &&
	expect_status 5 raytrain-run --launcher local --storage runs -n 2 --name bad \
		--resume=bad.h5 "$train" 2>err &&
	grep "bad.h5: dataset .model/weight. is damaged" err && test -f bad.h5
'
# The run has checkpoints of its own by then.
test_expect_success 'a failed run that started from a checkpoint continues with plain --resume' '
	expect_status 1 $run --name later --resume=runs/calm/checkpoint_000003.h5 \
		--set train_loop_config.fail=exit --set train_loop_config.fail_at=5 \
		--set run_config.checkpoint_config.mode=sync "$train" 2>err &&
	grep "run the same line again" err &&
	$run --name later --resume "$train" 2>err &&
	same_model runs/calm/checkpoint_000005.h5 runs/later/checkpoint_000005.h5
'
# from NAME [OPTION...]: a run that starts from a copy of calm's third checkpoint.
from () {
	name=$1 && shift && cp -n runs/calm/checkpoint_000003.h5 start.h5 &&
	$run --name $name --resume=start.h5 "$@" "$train" 2>err
}
late="--set train_loop_config.checkpoint_every=5"
dies="$late --set train_loop_config.fail=kill --set train_loop_config.fail_at=4"
test_expect_success 'a run without a checkpoint of its own is resumed from the one it started from' '
	expect_status 1 from started $dies && test_path_is_missing runs/started/checkpoint_* &&
	jq -e ".started_from | (.path | endswith(\"/start.h5\")) and .bytes > 8000 and
		(.hash | length) == 16" runs/started/logs/attempt-0/attempt.json &&
	$run --name started --resume "$train" $late 2>err &&
	grep "starting from .*/start.h5 (iteration 3)" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/started/checkpoint_000005.h5
'
test_expect_success 'a killed run without a checkpoint is resumed by its own --resume=CHECKPOINT' '
	start_run $run --name killed-early --resume=start.h5 $late \
		--set train_loop_config.ready_at=4 &&
	kill -KILL $pid && { wait $pid || :; } && eventually no_process_left &&
	test ! -e runs/killed-early/result.h5 && from killed-early && grep "starting from .*/start.h5 (iteration 3)" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/killed-early/checkpoint_000005.h5
'
test_expect_success 'what a running attempt started from is known, also when raytrain-run is killed' '
	rm -rf runs/killed-early && start_run $run --name killed-early --resume=start.h5 $late \
		--set train_loop_config.ready_at=4 && eventually grep "iteration 4 " err &&
	raytrain-inspect --json runs/killed-early >shown &&
	jq -e ".attempts[0] | .outcome == \"running\" and (.checkpoint | endswith(\"/start.h5\"))" \
		shown &&
	kill -KILL $pid && { wait $pid || :; } && eventually no_process_left &&
	raytrain-inspect --json runs/killed-early >shown &&
	json_is shown ".attempts[0].outcome" interrupted ".attempts[0].lost_iterations" 1
'
test_expect_success '--resume=CHECKPOINT continues the run that was started from it' '
	expect_status 1 from goes-on --set train_loop_config.fail=kill \
		--set train_loop_config.fail_at=5 --set run_config.checkpoint_config.mode=sync &&
	cp start.h5 elsewhere.h5 &&
	$run --name goes-on --resume=elsewhere.h5 "$train" 2>err &&
	grep "started from .*start.h5 before: .* iteration 4" err &&
	grep "starting from .*goes-on/checkpoint_000004.h5" err &&
	same_model runs/calm/checkpoint_000005.h5 runs/goes-on/checkpoint_000005.h5 &&
	from goes-on && grep "finished already" err && test_path_is_missing runs/goes-on.1
'
test_expect_success 'another checkpoint than the one that a run was started from is refused' '
	for with in "" --resume; do
		expect_status 3 $run --name goes-on --resume=runs/calm/checkpoint_000002.h5 $with \
			"$train" 2>err && grep "start.h5" err && grep "checkpoint_000002.h5" err &&
		grep -e "--name" err && grep -e --fresh err || return 1
	done &&
	expect_status 3 $run --name died --resume=start.h5 --resume "$train" 2>err &&
	grep "started without a checkpoint" err
'
test_expect_success 'a checkpoint whose contents have changed since the start is refused' '
	expect_status 1 from changed $dies && cp runs/calm/checkpoint_000002.h5 start.h5 &&
	expect_status 3 from changed --resume && grep "other contents" err &&
	expect_status 3 $run --name changed --resume "$train" 2>err &&
	grep "start.h5.* has other contents" err && rm start.h5 &&
	cp runs/goes-on/checkpoint_000005.h5 start.h5 &&
	expect_status 3 from goes-on && grep "other contents" err && rm start.h5
'
test_expect_success 'a run that was started from a file that is gone does not start from nothing' '
	expect_status 1 from gone $dies && rm start.h5 &&
	expect_status 5 $run --name gone --resume "$train" 2>err && grep "/start.h5" err &&
	expect_status 5 $run --name gone --resume --resume=start.h5 "$train" 2>err &&
	grep "/start.h5" err && from gone --resume && rm start.h5 &&
	$run --name gone --resume=start.h5 "$train" 2>err && grep "finished already" err
'
test_expect_success 'a finished run does not need the file that it was started from' '
	cp runs/calm/checkpoint_000003.h5 start.h5 &&
	from none --set train_loop_config.checkpoint_every=9 && rm start.h5 &&
	none="--name none --resume --set train_loop_config.checkpoint_every=9" &&
	$run $none "$train" 2>err && grep "finished already" err &&
	expect_status 5 $run $none --set train_loop_config.iterations=7 "$train" 2>err &&
	grep "/start.h5" err
'
test_expect_success 'a run that was started from a plain HDF5 file is resumed from that, too' '
	h5copy -i runs/calm/checkpoint_000003.h5 -o plain.h5 -s /model -d /model &&
	$run --name plain --resume=plain.h5 "$train" 2>err &&
	expect_status 1 $run --name weights --resume=plain.h5 $dies "$train" 2>err &&
	$run --name weights --resume "$train" 2>err && grep "starting from .*/plain.h5" err &&
	same_model runs/plain/checkpoint_000005.h5 runs/weights/checkpoint_000005.h5 &&
	expect_status 1 $run --name other-bytes --resume=plain.h5 $dies "$train" 2>err &&
	at=$(h5dump -p -d /model/weight plain.h5 | sed -n "s/.*OFFSET \([0-9]*\).*/\1/p") &&
	printf X | dd of=plain.h5 bs=1 seek=$((at + 100)) conv=notrunc 2>/dev/null &&
	expect_status 3 $run --name other-bytes --resume "$train" 2>err &&
	grep "plain.h5.* has other contents" err
'
test_expect_success 'a copy of a run in progress is an independent run' '
	start_run $run --name original &&
	eventually test -e runs/original/checkpoint_000002.h5 &&
	eventually no_temporary runs/original && cp -r runs/original runs/copy &&
	$run --name copy --resume "$train" 2>err2 &&
	same_model runs/calm/checkpoint_000005.h5 runs/copy/checkpoint_000005.h5 &&
	raytrain-inspect --json runs/copy >shown &&
	json_is shown ".attempts[0].outcome" interrupted ".attempts[1].outcome" finished &&
	: >gate && expect_status 0 wait $pid &&
	same_model runs/calm/checkpoint_000005.h5 runs/original/checkpoint_000005.h5
'
test_expect_success 'a second raytrain-run in one run directory is refused' '
	start_run $run --name locked &&
	expect_status 5 $run --name locked --resume "$train" 2>err2 &&
	grep "$pid" err2 && : >gate && expect_status 0 wait $pid
'
test_done
