#!/bin/sh
test_description='raytrain-serve --models: several models from one process'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

inputs="--input x:float32:3 --input id:int64"

# serve ARG...: start a service of the directory models, and wait until it answers.
serve () {
	{ raytrain-serve --models models "$@" 2>err & } && front=$! && eventually is_served
}
is_served () {
	raytrain-serve --where models >where 2>/dev/null
}
# ask PATH [CURL-OPTION...]
ask () {
	path=$1 && shift &&
	curl -s -m 60 --unix-socket "$(jq -r .socket models/serve/*/address.json)" \
		"http://localhost$path" "$@"
}
status () {
	ask "$@" -o answer.json -w "%{http_code}\n"
}
# score MODEL [FILE]: what it makes of one row of three numbers, whose sum is 7.
score () {
	to=${2-answer.json} &&
	ask "/v2/models/$1/infer" -d '{"inputs": [
		{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 4]},
		{"name": "id", "datatype": "INT64", "shape": [1], "data": [5]}]}' >"$to" &&
	jq -c '[.model_version, .outputs[0].data[0]]' "$to"
}
score_is () {
	test "$(score "$1")" = "$2"
}
# The same for the model with another number of inputs.
wide_score () {
	ask /v2/models/wide/infer -d '{"inputs": [
		{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]},
		{"name": "id", "datatype": "INT64", "shape": [1], "data": [5]},
		{"name": "more", "datatype": "FP64", "shape": [1], "data": [0]}]}' >answer.json &&
	jq -c '[.model_version, .outputs[0].data[0]]' answer.json
}
# The processes of the workers of a model.
worker_pids () {
	for worker in $(pgrep -f "raytrain-worker .*predictions.so"); do
		! grep -qz "^RAYTRAIN_SERVE_RUN=.*/workers/$1/" "/proc/$worker/environ" ||
			[ "$(readlink "/proc/$worker/cwd")" != "$PWD" ] || echo "$worker"
	done
}
has_one_worker () {
	test "$(worker_pids "$1" | wc -l)" = 1
}
no_workers () {
	test -z "$(worker_pids ".*")"
}
# The state of a model, as the index has it.
state_of () {
	ask /v2/repository/index -X POST | jq -r ".[] | select(.name == \"$1\") | .state"
}
is_unavailable () {
	test "$(state_of "$1")" = UNAVAILABLE
}
# until_gate MODEL: ask it again and again, until its worker waits at its gate with the last
# request.
until_gate () {
	until test -e "$1.ready"; do
		score "$1" "$1.json" || return 1
	done
}
# grow N: checkpoint N appears in the run that grows.
grow () {
	cp "runs/model/checkpoint_00000$1.h5" runs/growing/.new &&
	mv runs/growing/.new "runs/growing/checkpoint_00000$1.h5"
}
# end: it is asked to end, and has.
end () {
	kill "$front" && wait "$front" && is_empty models/serve
}
# refused STATUS WORD...: a start of the directory models fails, and each word is in err.
refused () {
	code=$1 && shift &&
	expect_status "$code" timeout 60 raytrain-serve --models models $inputs "$model" 2>err &&
	for word; do grep -e "$word" err || return 1; done
}

test_expect_success 'a directory has a run, a link to a checkpoint, and a checkpoint with other inputs' '
	make_model && mkdir -p models runs/growing &&
	cp runs/model/run.cfg runs/model/checkpoint_000001.h5 runs/growing/ &&
	ln -s ../runs/growing models/growing &&
	ln -s ../runs/model/checkpoint_000002.h5 models/fixed &&
	cp runs/model/checkpoint_000003.h5 models/wide.h5 &&
	cat >models/wide.cfg <<-\EOF &&
	predict = { inputs = (
	    { name = "x"; dtype = "float32"; shape = [2]; },
	    { name = "id"; dtype = "int64"; },
	    { name = "more"; dtype = "float64"; }
	); };
	EOF
	: >models/README && mkdir models/.old
'
test_expect_success 'each model answers by its own checkpoint' '
	serve --follow --last --max-failures 1 $inputs "$model" &&
	score_is growing "[\"1\",7]" && score_is fixed "[\"2\",14]" &&
	test "$(wide_score)" = "[\"3\",9]"
'
test_expect_success 'each model has its own inputs' '
	test "$(ask /v2/models/fixed | jq -c "[.inputs[].name]")" = "[\"x\",\"id\"]" &&
	test "$(ask /v2/models/wide | jq -c "[.inputs[].name]")" = "[\"x\",\"id\",\"more\"]" &&
	score wide >out && jq -re .error answer.json | grep "\"x\""
'
test_expect_success 'entries that are not models are left out with a sentence each' '
	grep "\"README\" is left out" err && grep "\".old\" is left out" err &&
	! grep "\"wide.cfg\"" err
'
test_expect_success '--where prints a line that asks for the names of the models' '
	is_served && test "$(wc -l <where)" = 1 && sh -c "$(cat where)" >index.json &&
	test "$(jq -c "[.[] | [.name, .version, .state]]" index.json)" = \
		"[[\"fixed\",\"2\",\"READY\"],[\"growing\",\"1\",\"READY\"],[\"wide\",\"3\",\"READY\"]]"
'
test_expect_success 'a model that is not there is 404, with the names of those that are' '
	test "$(status /v2/models/other)" = 404 &&
	jq -r .error answer.json | grep "\"other\".*fixed, growing, wide"
'
test_expect_success 'metrics and the state are those of each model' '
	ask /metrics >metrics && for name in fixed growing wide; do
		grep "^raytrain_serve_rows_total{model=\"$name\"} 1\$" metrics &&
		grep "^raytrain_serve_workers{model=\"$name\"} 1\$" metrics || return 1
	done &&
	test "$(ask /raytrain/state | jq -c "[.models[].name]")" = \
		"[\"fixed\",\"growing\",\"wide\"]"
'
test_expect_success 'a client in Python names its model' '
	PYTHONPATH=$srcdir/share/python "$PYTHON" -c "
from raytrain import serve
print(serve.Client(\"models\", name=\"fixed\").metadata()[\"versions\"])
try:
    serve.Client(\"models\").metadata()
except ValueError as e:
    print(e)" >out && grep "\[.2.\]" out && grep "name= is one of fixed, growing, wide" out
'
test_expect_success 'a run that grows changes its version, and the others stay' '
	grow 2 && eventually score_is growing "[\"2\",14]" && score_is fixed "[\"2\",14]" &&
	grep "growing: serving .*checkpoint_000002.h5 from now on" err &&
	eventually has_one_worker growing
'
test_expect_success 'a worker that is killed is started again, and the other models keep theirs' '
	other=$(worker_pids growing) && test -n "$other" &&
	kill -KILL $(worker_pids fixed) && score_is growing "[\"2\",14]" &&
	eventually score_is fixed "[\"2\",14]" && test "$(worker_pids growing)" = "$other"
'
test_expect_success 'a model whose workers are dead is unavailable, and the others answer' '
	kill -KILL $(worker_pids fixed) && eventually is_unavailable fixed &&
	eventually grep "fixed: no worker is left" err &&
	test "$(status /v2/health/ready)" = 503 &&
	test "$(status /v2/models/fixed/ready)" = 503 &&
	test "$(status /v2/models/wide/ready)" = 200 &&
	score fixed >out && jq -re .error answer.json | grep "no worker" &&
	score_is growing "[\"2\",14]" && test "$(wide_score)" = "[\"3\",9]" &&
	ask /v2/repository/index -d "{\"ready\": true}" | jq -c "[.[].name]" >out &&
	test "$(cat out)" = "[\"growing\",\"wide\"]" &&
	test "$(ask /metrics | grep "^raytrain_serve_ready{model=.fixed")" = \
		"raytrain_serve_ready{model=\"fixed\"} 0"
'
test_expect_success 'a run whose workers are dead is served again when it has a newer checkpoint' '
	kill -KILL $(worker_pids growing) && eventually score_is growing "[\"2\",14]" &&
	kill -KILL $(worker_pids growing) && eventually is_unavailable growing &&
	eventually grep "growing: no worker is left" err &&
	grow 3 && eventually score_is growing "[\"3\",21]" &&
	test "$(state_of growing)" = READY && test "$(state_of fixed)" = UNAVAILABLE
'
test_expect_success 'asked to end, it ends, and leaves nothing' '
	end && eventually no_workers && ! grep "^raytrain-serve:.*error" err
'
test_expect_success 'asked to end while each model predicts, it answers all of them' '
	for name in fixed growing; do
		echo "train_loop_config = { ready = \"$PWD/$name.ready\"; gate = \"$PWD/gate\"; };" \
			>models/$name.cfg || return 1
	done &&
	serve $inputs "$model" && for name in fixed growing; do
		{ until_gate $name >$name.scores & } && eval "$name=\$!" || return 1
	done &&
	eventually test -e fixed.ready && eventually test -e growing.ready &&
	kill "$front" && eventually grep "no new requests" err && : >gate &&
	wait "$fixed" && wait "$growing" && wait "$front" &&
	test "$(sort -u fixed.scores)" = "[\"2\",14]" &&
	test "$(sort -u growing.scores)" = "[\"2\",14]" &&
	is_empty models/serve && rm models/fixed.cfg models/growing.cfg
'
test_expect_success 'asked to end while a worker loads its model, it says nothing of that one' '
	test_when_finished "rm models/fixed.cfg" &&
	echo "train_loop_config = { first = \"$PWD/first\"; };" >models/fixed.cfg &&
	serve --workers 2 -q $inputs "$model" && eventually test -e first.late &&
	end && test_must_be_empty err && eventually no_workers
'
test_expect_success 'a service ends when its last model has no worker' '
	serve --max-failures 0 $inputs "$model" &&
	for name in fixed growing wide; do
		test -n "$(worker_pids $name)" && kill -KILL $(worker_pids $name) || return 1
	done &&
	expect_status 1 wait "$front" && grep "no worker is left" err &&
	eventually no_workers && rm -rf models/serve
'
test_expect_success '/v2/health/ready is 200 when all models are ready' '
	serve --workers 2 -q $inputs "$model" && test "$(status /v2/health/ready)" = 200 &&
	end && test_must_be_empty err
'
test_expect_success 'a damaged entry ends the start, with its name' '
	head -c 6000 runs/model/checkpoint_000001.h5 >models/torn.h5 &&
	refused 5 "torn: no worker is left" && rm -r models/torn.h5 models/serve &&
	eventually no_workers && mkdir models/empty && refused 3 "empty: .*no complete checkpoint" &&
	rmdir models/empty && ln -s absent models/gone && refused 3 "models/gone" && rm models/gone
'
test_expect_success 'a name that cannot be in the path of a request is refused' '
	ln -s ../runs/model "models/a b" && refused 3 "\"a b\" cannot be in the path" &&
	rm "models/a b"
'
test_expect_success 'a configuration of one model cannot have what is for all of them' '
	echo "serve = { listen = \"127.0.0.1:0\"; };" >models/fixed.cfg &&
	refused 3 "fixed: serve.listen" &&
	echo "scaling_config = { num_workers = 7; };" >models/fixed.cfg &&
	refused 3 "fixed: scaling_config" &&
	mv models/fixed.cfg models/fixde.cfg && refused 3 "no model \"fixde\"" &&
	rm models/fixde.cfg
'
test_expect_success 'a configuration may have a function of its own' '
	cat >models/fixed.cfg <<-EOF &&
	train_func = "$modules/train_model.so";
	EOF
	refused 3 "fixed: no worker is left" "no predict function" &&
	rm -r models/fixed.cfg models/serve
'
test_expect_success 'each worker has a GPU that no worker of another model has' '
	CUDA_VISIBLE_DEVICES=7,8,9 && export CUDA_VISIBLE_DEVICES &&
	serve --gpu $inputs "$model" &&
	for worker in $(worker_pids ".*"); do
		tr "\0" "\n" <"/proc/$worker/environ" | grep "^CUDA_VISIBLE_DEVICES=" || return 1
	done >gpus && end && test "$(sort -u gpus | wc -l)" = 3 &&
	CUDA_VISIBLE_DEVICES=7,8 &&
	expect_status 4 raytrain-serve --models models --gpu $inputs "$model" 2>err &&
	grep "each of the 3 models has 1 worker" err &&
	serve --gpu --gpus-per-worker 0.5 $inputs "$model" &&
	for worker in $(worker_pids ".*"); do
		tr "\0" "\n" <"/proc/$worker/environ" | grep "^CUDA_VISIBLE_DEVICES=" || return 1
	done >gpus && end && test "$(sort gpus | uniq -c | awk "{ print \$1 }" | sort | tr "\n" " ")" = "1 2 " &&
	unset CUDA_VISIBLE_DEVICES
'
test_expect_success 'a directory that has no model, or is a run, is refused' '
	mv models other && mkdir models && refused 3 "no model in" && rmdir models &&
	ln -s runs/model models && refused 3 "leave out --models" && rm models &&
	refused 3 models && mv other models
'
test_expect_success '--models takes the place of RUN, and --model has no meaning with it' '
	expect_status 2 raytrain-serve runs/model --models models "$model" 2>err &&
	grep "leave out .*runs/model" err &&
	expect_status 2 raytrain-serve --models models --model m $inputs "$model" 2>err &&
	grep -e "leave out --model" err
'

test_done
