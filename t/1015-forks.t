#!/bin/sh
test_description='processes that a training function forks do not behave as workers'
. "$(dirname "$0")/setup.sh"

test_expect_success 'forked processes end by exit, signal or return as without raytrain' '
	raytrain-run --launcher local --storage runs --name forks -n 2 --json \
		"$modules/forks.so" >result.json 2>err || { cat err; return 1; } &&
	json_is result.json .status finished && jq -e ".metrics.failed == 0" result.json
'
test_expect_success 'forked processes write nothing in the name of their worker' '
	logs=runs/forks/logs/attempt-0 &&
	test_path_is_missing $logs/error.json &&
	test -f $logs/whereabouts && ! grep -a SIGTERM $logs/whereabouts &&
	! grep "raytrain: worker" $logs/rank-0000?.err
'
test_done
