#!/bin/sh
test_description='processes that a training function forks are its own, and no workers'
. "$(dirname "$0")/setup.sh"

test_expect_success 'they end by exit, signal or return as they would without raytrain' '
	raytrain-run --launcher local --storage runs --name forks -n 2 --json \
		"$modules/forks.so" >result.json 2>err || { cat err; return 1; } &&
	jq -e ".status == \"finished\" and .metrics.failed == 0" result.json
'
test_expect_success 'and write nothing in the name of their worker' '
	ls runs/forks/logs/attempt-0 >files &&
	! grep -x -e error.json -e told files &&
	! grep "raytrain: worker" runs/forks/logs/attempt-0/rank-0000?.err
'
test_done
