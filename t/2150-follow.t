#!/bin/sh

test_description='raytrain-inspect --follow prints reports and events until the run ends'

. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs --progress none"
train=$modules/train_model.so
unset COLUMNS LINES


# follow RUN [OPTION...]: follow in the background; its process is $follower, its output "followed".
follow () {
	raytrain-inspect --follow "$@" >followed 2>&1 &
	follower=$!
}

test_expect_success 'a run that is running is followed to its end, with its exit status' '
	start_run $run -n 2 --name first && follow runs/first &&
	eventually grep "^iteration 2 " followed && grep "^attempt 0: 2 workers on 1 node" followed &&
	: >gate && wait $pid && wait $follower &&
	grep "^iteration 3 " followed && grep "^the run has finished" followed &&
	test "$(grep "^iteration" followed | sort -u | wc -l)" -eq "$(grep -c "^iteration" followed)"
'

test_expect_success 'a run that has ended is printed with its last reports' '
	raytrain-inspect --follow runs/first >out && tail -n 1 out | grep "the run has finished" &&
	grep "^iteration 3 " out
'

test_expect_success 'a run that does not exist yet is awaited' '
	follow runs/later && eventually grep "waiting for runs/later" followed &&
	$run -n 1 --name later "$train" 2>err && wait $follower && grep "^the run has finished" followed &&
	grep "^iteration 1 " followed
'

test_expect_success 'what cannot become a run is refused, not awaited' '
	>file && expect_status 2 timeout 60 raytrain-inspect --follow file 2>err &&
	grep "is a file" err &&
	expect_status 2 timeout 60 raytrain-inspect --follow runs 2>err && grep "directory of runs" err &&
	expect_status 5 timeout 60 raytrain-inspect --follow file/run 2>err && grep "Not a directory" err
'

test_expect_success 'a report of an attempt that there is not does not stop it' '
	mkdir runs/odd && cp runs/first/run.cfg runs/odd &&
	printf "{\"training_iteration\": %d, \"attempt\": %d, \"by_rank\": {}}\n" 1 0 2 2000000000 \
		>runs/odd/result.json &&
	expect_status 1 timeout 60 raytrain-inspect --follow runs/odd >out && grep "^iteration 2 " out
'

test_expect_success 'attempts and their failures are printed, and a failed run ends with status 1' '
	follow runs/died &&
	expect_status 1 $run -n 2 --name died --max-failures 1 --set train_loop_config.fail=kill \
		--set train_loop_config.fail_rank=1 "$train" 2>err &&
	expect_status 1 wait $follower &&
	grep "^attempt 0: failed: rank 1 on .*" followed && grep "^attempt 1: failed" followed &&
	grep "^the run has failed" followed
'

test_expect_success 'a run that is stopped ends with status 75, and is followed again when it continues' '
	rm -f gate && start_run $run -n 2 --name stopped && follow runs/stopped &&
	eventually grep "^iteration 2 " followed && kill -USR1 $pid &&
	eventually grep "stopping at the next report" err && : >gate && expect_status 75 wait $pid &&
	expect_status 75 wait $follower && grep "the run has been stopped" followed
'

test_expect_success 'if raytrain-run is killed, nothing holds the run any more' '
	rm -f gate && start_run $run -n 2 --name killed && follow runs/killed &&
	eventually grep "^iteration 2 " followed && kill -KILL $pid && { wait $pid || :; } &&
	expect_status 1 wait $follower && grep "nothing holds the run any more" followed &&
	eventually no_process_left
'

test_expect_success '--follow prints the reports of a run that is killed and resumed, once each' '
	: >gate && follow runs/killed && { wait $follower || :; } &&
	$run -n 2 --name killed --resume "$train" 2>err && follow runs/killed && wait $follower &&
	grep "^iteration 3 " followed && grep "^the run has finished" followed
'

test_expect_success '--json prints an object a line' '
	raytrain-inspect --follow --json runs/first >out &&
	jq -s -e "map(.kind) | index(\"report\") and index(\"start\") and .[-1] == \"run\"" out &&
	jq -s -e "map(select(.kind == \"report\"))[-1].report.training_iteration >= 3" out
'

test_expect_success 'following changes nothing in the run' '
	(cd runs/first && find . -type f -exec stat -c "%n %s %Y" {} +) | sort >before &&
	raytrain-inspect --follow runs/first >out &&
	(cd runs/first && find . -type f -exec stat -c "%n %s %Y" {} +) | sort >after &&
	test_cmp before after
'

test_done
