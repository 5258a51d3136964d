#!/bin/sh
test_description='a service whose run is on storage that hangs

The storage is a FUSE file system of the login node, whose process is stopped. The other node
sees the files themselves.'
CLUSTER_NODES=1
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"
. "$srcdir/t/cluster/serve.sh"

cd "$CLUSTER_SHARED" || exit 1
mkdir raytrain_results && run=$PWD/raytrain_results/fashion || exit 1

# storage SIGNAL: to the process that has the files.
storage () {
	kill "-$1" $(pgrep -f "source=$run,")
}
# answers N VERSION: N more requests have the right answers of this version.
answers () {
	for i in $(seq "$1"); do
		curl -sSf -m 60 --unix-socket socket -d @request.json \
			http://localhost/v2/models/fashion/infer >answer.json &&
		jq -e ".model_version == \"$2\"" answer.json || return 1
	done
}
has_both () {
	curl -s -m 60 --unix-socket socket http://localhost/raytrain/state |
	jq -e ".models[0].workers == 2"
}
version_is () {
	answers 1 "$1" 2>/dev/null
}
# A thread of the service waits for the storage.
waits () {
	cat /proc/$service/task/*/wchan | grep -q request_wait
}

test_expect_success 'a run on storage of its own is followed' '
	make_rows 10 && make_model && mkdir "$run" && cp runs/model/run.cfg "$run" &&
	cp runs/model/checkpoint_000001.h5 "$run" && cluster cache login "$run" timeout=0.1 &&
	stat -f -c %T "$run" >type && grep fuse type &&
	cat >request.json <<-\EOF &&
	{"inputs": [
	    {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]},
	    {"name": "id", "datatype": "INT64", "shape": [1], "data": [7]}]}
	EOF
	{ raytrain-serve "$run" --last --follow --launcher local --listen ./socket --workers 2 \
		--input x:float32:3 --input id:int64 "$model" 2>err & } && service=$! &&
	eventually has_both && version_is 1
'
test_expect_success 'while the storage hangs, the present version answers' '
	storage STOP && eventually waits && answers 100 1
'
test_expect_success 'when the storage is back, the newer version takes over' '
	cluster on n1 cp "$PWD/runs/model/checkpoint_000003.h5" "$run/.new" &&
	cluster on n1 mv "$run/.new" "$run/checkpoint_000003.h5" &&
	answers 10 1 && storage CONT && eventually version_is 3 &&
	grep "checkpoint_000003.h5 from now on" err
'
test_expect_success 'a service whose storage has hung ends when asked to, and leaves nothing' '
	storage CONT && kill "$service" && wait "$service" && is_empty "$run/serve" && umount "$run"
'
test_done
