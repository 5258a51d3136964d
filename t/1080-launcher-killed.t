#!/bin/sh
test_description='raytrain-run killed at each step leaves nothing, and --resume continues'

# The script gets a private /dev/shm, so that whatever is left there is its own.
if test -z "${PRIVATE_SHM:-}" && unshare --mount true 2>/dev/null; then
	PRIVATE_SHM=1 exec unshare --mount sh -c \
		'mount -t tmpfs shm /dev/shm && exec sh "$0" "$@"' "$0" "$@"
fi
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher local --storage runs -n 2"
train=$modules/train_model.so
fault_points_needed

# POINT RANKS ATTEMPTS: the ranks that reach the point, and how many attempts the run has had
# in the end, including the resumed one. Those of slurm are tested in
# t/1180-slurm-launcher-killed.t.
cat >points <<\END
aside.fork 0 2
attempt.between - -
attempt.ended 0 2
attempt.record 0 2
group.logs 0 1
group.started 0 1
keeper.hello - -
local.keeper 0 2
local.server 0 2
local.worker 0,1 2
result.write - -
run.attempts 0 2
run.config 0 1
run.entered 0 1
run.marker 0 1
run.result 0 1
slurm.srun - -
slurm.tasks - -
END

shm_is_empty () {
	test -z "${PRIVATE_SHM:-}" || is_empty /dev/shm
}

test_expect_success 'the table lists all fault points of the launcher' '
	points_are_those_of $(ls "$srcdir"/src/launcher/*/*.c | grep -v -e /pmix_ -e /event/ -e /tfevents/ -e /callback/)
'
test_expect_success 'an undisturbed run finishes, for comparison' '
	$run --name calm "$train" 2>err &&
	calm=$(model_of runs/calm/checkpoint_000005.h5) && test -n "$calm"
'
while read -r point ranks attempts; do
	for rank in $(ranks_of "$ranks"); do
		test_expect_success "raytrain-run killed at $point $rank leaves nothing behind" '
			rm -rf runs/case tmp && mkdir tmp &&
			TMPDIR=$PWD/tmp RAYTRAIN_FAULT=$point:$rank expect_status 137 \
				$run --name case "$train" 2>err &&
			eventually no_process_left && eventually is_empty tmp &&
			eventually shm_is_empty
		'
		test_expect_success "a run killed at $point $rank is resumed to the same bits" '
			$run --name case --resume "$train" 2>err &&
			test "$(model_of runs/case/checkpoint_000005.h5)" = "$calm" &&
			no_temporary runs/case &&
			test "$(ls runs/case/logs | wc -l)" -eq $attempts &&
			raytrain-inspect --json runs/case >shown &&
			json_is shown .status finished ".attempts | length" $attempts
		'
	done
done <points
test_expect_success 'a finished run that is continued with new settings is not finished' '
	rm -rf runs/case && $run --name case "$train" 2>err &&
	longer="$run --name case --resume --set train_loop_config.iterations=7 $train" &&
	RAYTRAIN_FAULT=run.config:0 expect_status 137 $longer 2>err &&
	raytrain-inspect --json runs/case >shown &&
	json_is shown .status interrupted &&
	$longer 2>err && test -f runs/case/checkpoint_000007.h5
'
# Calls that fail as with older kernels and PMIx servers.
for lacking in os.pidfd os.close_range wireup.resolve; do
	test_expect_success "a system without $lacking trains the same model" '
		RAYTRAIN_FAULT=$lacking:all:enosys $run --name "on-$lacking" "$train" 2>err &&
		test "$(model_of "runs/on-$lacking/checkpoint_000005.h5")" = "$calm"
	'
done
test_expect_success "without pidfds, a raytrain-run that is killed leaves nothing behind" '
	mkdir -p empty && rm -rf empty/* &&
	TMPDIR=$PWD/empty RAYTRAIN_FAULT=os.pidfd:all:enosys start_run $run --name lost &&
	kill -9 $pid && { wait $pid; test $? -eq 137; } &&
	eventually no_process_left && eventually is_empty empty && eventually shm_is_empty
'

# Workers that have been asked to stop wait at their gate, and their raytrain-run is killed.
# start_orphans NAME ARG...
start_orphans () {
	name=$1 && shift && rm -rf empty && mkdir empty &&
	TMPDIR=$PWD/empty start_run $run --name "$name" "$@" && kill -USR1 $pid &&
	eventually may_finish $pid && kill -9 $pid && { wait $pid; test $? -eq 137; }
}
# nothing_left: no worker, and no file or process of the helpers.
nothing_left () {
	eventually no_process_left && eventually is_empty empty && eventually shm_is_empty &&
	eventually test -z "$(pgrep -f "raytrain-(pmix|keeper) .*$PWD/")"
}
test_expect_success 'workers that were asked to stop save although raytrain-run is killed' '
	start_orphans stopped && : >gate && nothing_left &&
	json_is runs/stopped/logs/attempt-0/end.json .outcome stopped &&
	test -f runs/stopped/checkpoint_000003.h5 && no_temporary runs/stopped &&
	$run --name stopped --resume "$train" 2>err && grep "iteration 3" err &&
	test "$(model_of runs/stopped/checkpoint_000005.h5)" = "$calm"
'
test_expect_success 'no raytrain-run starts beside workers that still finish' '
	start_orphans busy && eventually grep -q "workers that still finish" runs/busy/.lock &&
	expect_status 5 $run --name busy --resume "$train" 2>err &&
	grep "workers that still finish" err && raytrain-inspect runs/busy >shown &&
	grep "running" shown && test $(worker_pids busy | wc -l) -eq 2 &&
	: >gate && eventually $run --name busy --resume "$train" 2>err &&
	test "$(model_of runs/busy/checkpoint_000005.h5)" = "$calm" &&
	test "$(ls runs/busy/logs | wc -l)" -eq 2 && nothing_left
'
test_expect_success 'workers that still finish are killed after the grace period' '
	start_orphans late --grace 2 && nothing_left &&
	test_path_is_missing runs/late/checkpoint_000003.h5 &&
	$run --name late --resume "$train" 2>err &&
	test "$(model_of runs/late/checkpoint_000005.h5)" = "$calm"
'
test_expect_success 'SIGTERM to the process that holds their run ends workers that still finish' '
	start_orphans ended && eventually grep -q "workers that still finish" runs/ended/.lock &&
	expect_status 5 $run --name ended --resume "$train" 2>err &&
	kill -TERM $(sed -n "s/.*pid \([0-9]*\), for workers.*/\1/p" err) && nothing_left &&
	$run --name ended --resume "$train" 2>err
'

test_done
