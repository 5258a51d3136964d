#!/bin/sh

test_description='The outcome of a run does not depend on the messages of srun'

. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

# An srun whose messages are unintelligible.
real=$(command -v srun)
mkdir -p strange && cat >strange/srun <<EOF
#!/bin/sh
words=\$(mktemp -u) && mkfifo "\$words" || exit
tr a-zA-Z n-za-mN-ZA-M <"\$words" >&2 &
exec 2>"\$words"
rm "\$words"
exec "$real" "\$@"
EOF
chmod +x strange/srun
PATH=$PWD/strange:$PATH

in_job () {
	salloc -Q -N2 -n4 "$@"
}
run () {
	in_job raytrain-run --storage runs "$@" 2>err
}

test_expect_success 'a run finishes although the messages of srun are unintelligible' '
	run --name finish -n 4 --placement SPREAD --json "$train" >result.json &&
	json_is result.json .status finished &&
	test_path_is_missing runs/finish/logs/attempt-1 &&
	json_is runs/finish/logs/attempt-0/end.json .outcome finished
'
test_expect_success 'a run with uneven nodes finishes with unintelligible messages' '
	run --name uneven -n 3 --placement SPREAD "$train" &&
	test_path_is_missing runs/uneven/logs/attempt-1
'
test_expect_success 'a run that is asked to stop is stopped with unintelligible messages' '
	start_run in_job raytrain-run --storage runs --name stop -n 2 \
		--set train_loop_config.iterations=1000000 \
		--set train_loop_config.checkpoint_every=1000000 &&
	: >gate && kill -INT $(pgrep -x raytrain-run) &&
	expect_status 75 wait $pid &&
	json_is runs/stop/logs/attempt-0/end.json .outcome stopped
'
test_expect_success 'a killed worker is reported with its signal with unintelligible messages' '
	expect_status 1 run --name dies -n 2 --set train_loop_config.fail=kill \
		--set train_loop_config.fail_rank=1 "$train" &&
	grep "signal 9" err && cluster clean 60
'
test_expect_success 'a failed worker is named with unintelligible messages' '
	expect_status 1 run --name fails -n 2 --set train_loop_config.fail=return \
		--set train_loop_config.fail_rank=1 "$train" &&
	grep "rank 1" err && cluster clean 60
'
test_expect_success 'a run whose step is cancelled has not finished' '
	start_run in_job raytrain-run --storage runs --name cancel -n 2 &&
	scancel $(cat runs/cancel/logs/attempt-0/step) &&
	expect_status 1 wait $pid &&
	test_path_is_missing runs/cancel/logs/attempt-0/end.json
'
test_expect_success 'a run whose srun receives SIGTERM and exits with 0 has not finished' '
	start_run in_job raytrain-run --storage runs --name sigterm -n 2 &&
	{ kill -TERM $(pgrep -x srun) || :; } &&
	expect_status 1 wait $pid &&
	test_path_is_missing runs/sigterm/logs/attempt-0/end.json
'
test_expect_success 'a second stop request ends the step and leaves nothing behind' '
	start_run in_job raytrain-run --storage runs --name twice -n 2 &&
	kill -INT $(pgrep -x raytrain-run) &&
	eventually grep -q "stopping at the next report" err &&
	kill -INT $(pgrep -x raytrain-run) &&
	expect_status 75 wait $pid && cluster clean 60
'
test_expect_success 'an srun that is killed leaves nothing behind' '
	start_run in_job raytrain-run --storage runs --name killed -n 2 &&
	{ kill -KILL $(pgrep -x srun) || :; } && # its helper may have ended with it
	expect_status 1 wait $pid && cluster clean 60
'
test_done
