#!/bin/sh
test_description='a run that is followed by a service is resumed, pruned and deleted; and ab as the client

ab (apache2-utils) is a client of HTTP that knows nothing of services.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

# train ITERATIONS [ARG...]: start or resume the run.
train () {
	iterations=$1 && shift &&
	raytrain-run --launcher local --storage runs --name model -q --resume \
		--set train_loop_config.iterations="$iterations" "$@" "$model"
}
ask () {
	path=$1 && shift &&
	curl -s -m 60 "http://$(cat address)$path" "$@"
}
version_is () {
	ask /v2/models/model/infer -d @request.json >answer.json &&
	jq -e ".model_version == \"$1\" and .outputs[0].data[0] == $2" answer.json
}
is_served () {
	sed -n "s,.* as model at http://\([0-9.:]*\).*,\1,p" err >address && test -s address
}

test_expect_success 'a run is followed' '
	train 3 &&
	cat >request.json <<-\EOF &&
	{"inputs": [
	    {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]},
	    {"name": "id", "datatype": "INT64", "shape": [1], "data": [7]}]}
	EOF
	{ raytrain-serve runs/model --last --follow --listen 127.0.0.1:0 --no-token \
		--input x:float32:3 --input id:int64 "$model" 2>err & } && service=$! &&
	eventually is_served && version_is 3 18
'
test_expect_success 'when it is resumed, its newest checkpoint takes over' '
	train 5 && eventually version_is 5 30 && ls runs/model
'
test_expect_success 'when the checkpoint that is served is pruned, a newer one takes over' '
	train 8 --set run_config.checkpoint_config.num_to_keep=1 &&
	test_path_is_missing runs/model/checkpoint_000005.h5 && eventually version_is 8 48
'
test_expect_success 'ab counts the answers that it gets' '
	ab -l -k -q -n 2000 -c 16 -p request.json -T application/json \
		"http://$(cat address)/v2/models/model/infer" >out &&
	grep "Complete requests: *2000$" out && grep "Failed requests: *0$" out &&
	! grep "Non-2xx" out
'
test_expect_success 'when its checkpoints are deleted, the version in memory answers' '
	rm runs/model/checkpoint_* && for i in 1 2 3 4 5; do version_is 8 48 || return 1; done
'
test_expect_success 'when the run is deleted, the service ends, and says why' '
	mv runs/model gone && rm -r gone && expect_status 3 wait "$service" &&
	grep "no worker is left" err && ! grep "cannot be served" err
'
test_done
