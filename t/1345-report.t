#!/bin/sh
test_description='raytrain-report: shell scripts report metrics and checkpoints'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"

# last_is NAME PATH VALUE...: json_is for the last report of a run.
last_is () {
	tail -n 1 "runs/$1/result.json" >last.json && shift && json_is last.json "$@"
}

# Train for 4 iterations in all: the state is a file that gets a line an iteration. In
# iteration $fail, once, rank 1 fails. With $hold it waits for this file after each report.
cat >train <<'EOF'
#!/bin/sh
n=0
if raytrain-report --get-checkpoint "state-$RANK"; then
	n=$(wc -l <"state-$RANK/sub/log of $RANK")
	# of a file that several ranks have, the lowest rank's is kept: report only its own
	find "state-$RANK" -type f ! -name "*$RANK" -delete
fi
mkdir -p "state-$RANK/sub" "state-$RANK/empty" || exit 3
while test $n -lt 4; do
	n=$((n + 1))
	echo "$n $RANK" >>"state-$RANK/sub/log of $RANK"
	printf "%080d" $n$RANK >"state-$RANK/a$RANK"
	if test "$RANK.$n" = "1.$fail" && ! test -e failed; then
		: >failed
		exit 7
	fi
	# a process of a process
	sh -c "raytrain-report loss=$n.5 --checkpoint state-$RANK; exit \$?"
	status=$?
	test $status -eq 0 || exit $status
	test -z "$hold" || : >"reported-$RANK-$n"
	until test -z "$hold" || test -e "$hold"; do sleep 0.02; done
done
EOF
chmod +x train

test_expect_success 'metrics that a script reports are those of the run' '
	$run --name metrics -n 2 -- sh -c "raytrain-report loss=\$RANK.5 steps=3 &&
		raytrain-report loss=1e-3" 2>err &&
	last_is metrics .loss 0.001 .training_iteration 2
'
test_expect_success 'a script continues from its checkpoint after a failure' '
	rm -rf state-* && fail=3 $run --name failed -n 2 --max-failures 1 -- ./train 2>err &&
	for rank in 0 1; do
		printf "%s\n" "1 $rank" "2 $rank" "3 $rank" "4 $rank" >expect &&
		test_cmp expect "state-$rank/sub/log of $rank" || return 1
	done && last_is failed .training_iteration 4
'
test_expect_success 'files of all ranks are in the checkpoint, with their directories' '
	rm -rf copy-* && $run --name copy -n 2 --set \
		"resume_from_checkpoint=\"$PWD/runs/failed/checkpoint_000004.h5\"" -- \
		sh -c "raytrain-report --get-checkpoint copy-\$RANK" 2>err &&
	for rank in 0 1; do
		test_cmp "state-0/sub/log of 0" "copy-$rank/sub/log of 0" &&
		test_cmp "state-1/sub/log of 1" "copy-$rank/sub/log of 1" &&
		test_cmp state-0/a0 copy-$rank/a0 && test_cmp state-1/a1 copy-$rank/a1 &&
		test -d copy-$rank/empty || return 1
	done
'
test_expect_success 'without a checkpoint --get-checkpoint has exit status 1' '
	$run --name none -n 1 -- sh -c \
		"raytrain-report --get-checkpoint nowhere; test \$? -eq 1" 2>err &&
	test_path_is_missing nowhere
'
test_expect_success 'a script that passes status 75 on stops the run, which then continues' '
	rm -rf state-* reported-* &&
	{ hold=$PWD/go $run --name stopped -n 2 -- ./train 2>err & } && pid=$! &&
	eventually test -e reported-0-1 && eventually test -e reported-1-1 &&
	kill -INT $pid && eventually grep "stopping at the next report" err && : >go &&
	expect_status 75 wait $pid &&
	last_is stopped .training_iteration 2 &&
	$run --name stopped -n 2 --resume -- ./train 2>err &&
	last_is stopped .training_iteration 4 &&
	test 4 -eq $(wc -l <"state-1/sub/log of 1")
'
test_expect_success '--should-stop has status 75 once the run has reached its goal' '
	cat >goal <<-\EOF &&
	#!/bin/sh
	raytrain-report --should-stop || exit 3
	raytrain-report x=1
	test $? -eq 75 || exit 4
	raytrain-report --should-stop
	test $? -eq 75 || exit 5
	exit 75
	EOF
	chmod +x goal &&
	$run --name goal -n 2 --set run_config.stop.training_iteration=1 -- ./goal 2>err
'
test_expect_success 'a value that is not a number fails the report on all ranks' '
	cat >bad <<-\EOF &&
	#!/bin/sh
	if test $RANK = 1; then
		raytrain-report loss=high
		test $? -eq 2 || exit 9
	else
		raytrain-report loss=1
		test $? -eq 1 || exit 8
	fi
	raytrain-report loss=2
	EOF
	chmod +x bad &&
	$run --name bad -n 2 -- ./bad 2>err &&
	grep "loss=high.*not a number" runs/bad/logs/attempt-0/rank-*1.err &&
	grep "rank 1.*loss=high" runs/bad/logs/attempt-0/rank-*0.err &&
	last_is bad .training_iteration 1
'
test_expect_success 'a checkpoint that cannot be read fails the report on all ranks' '
	mkdir -p out && ln -sf /etc/passwd out/link &&
	$run --name link -n 2 -- \
		sh -c "raytrain-report x=1 --checkpoint out; test \$? -eq 3" 2>err &&
	grep "link.*leads out of" runs/link/logs/attempt-0/rank-*1.err
'
test_expect_success 'outside raytrain-run reports are forgotten' '
	raytrain-report loss=1 &&
	expect_status 1 raytrain-report --get-checkpoint nowhere &&
	raytrain-report --should-stop && expect_status 2 raytrain-report loss=x
'
test_expect_success 'mistakes on the command line have exit status 2' '
	expect_status 2 raytrain-report 2>err && grep "nothing to report" err &&
	expect_status 2 raytrain-report --bogus 2>err && grep -e --bogus err &&
	expect_status 2 raytrain-report --checkpoint 2>err && grep "needs a path" err &&
	expect_status 2 raytrain-report a=1 a=2 2>err && grep "given twice" err &&
	expect_status 2 raytrain-report =1 2>err && grep "NAME=VALUE" err &&
	expect_status 2 raytrain-report "a b=1" 2>err && grep "valid name" err &&
	expect_status 2 raytrain-report --text "1=x" 2>err && grep "valid name" err &&
	expect_status 2 raytrain-report --should-stop a=1 2>err &&
	raytrain-report --help >help && grep -e --get-checkpoint help
'
test_expect_success 'no process is left' no_process_left
test_done
