#!/bin/sh
test_description='raytrain-serve: a checkpoint answers predictions, as raytrain-predict makes them'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

# serve NAME ARG...: start a service of runs/NAME, and wait until it answers.
serve () {
	served=$1 && shift &&
	{ raytrain-serve "runs/$served" "$@" 2>err & } && front=$! &&
	eventually is_served
}
is_served () {
	raytrain-serve --where "runs/$served" >where 2>/dev/null
}
# ask PATH [CURL-OPTION...]
ask () {
	path=$1 && shift &&
	socket=$(jq -r .socket "runs/$served"/serve/*/address.json) &&
	curl -s -m 60 --unix-socket "$socket" "http://localhost$path" "$@"
}
# The answer to rows 0 to N - 1 of rows.npz, as the lines of raytrain-predict.
predictions () {
	"$PYTHON" - "$1" >request.json <<-\EOF &&
	import json, sys
	n = int(sys.argv[1])
	print(json.dumps({"inputs": [
	    {"name": "x", "datatype": "FP32", "shape": [n, 3],
	     "data": [v for i in range(n) for v in (i, 0.25 * i, i % 7)]},
	    {"name": "id", "datatype": "INT64", "shape": [n], "data": list(range(n))}]}))
	EOF
	ask "/v2/models/$served/infer" -d @request.json >answer.json &&
	jq -r '[.outputs[] | {(.name): .data}] | add as $o | $o.score | keys[] as $i |
		"\($o.score[$i]),\($o.parts[2 * $i])"' answer.json
}
version_is () {
	predictions 1 >/dev/null && test "$(jq -r .model_version answer.json)" = "$1"
}
# end: it is asked to end, and has.
end () {
	kill "$front" && wait "$front" && test_path_is_missing "runs/$served/serve/"*
}
workers () {
	pgrep -P "$(pgrep -P "$front" | paste -s -d , -)" | paste -s -d , -
}

# load: clients that ask until end_load; their answers are in the file answers.
load () {
	rm -f more && mkfifo more && >answers &&
	socket=$(jq -r .socket "runs/$served"/serve/*/address.json) &&
	{ "$PYTHON" "$srcdir/t/check/serve_clients.py" "$socket" "$served" expected \
		<more >answers 9>&- & } && clients=$! && exec 9>more
}
end_load () {
	exec 9>&- && wait "$clients"
}
# answered N: N more right answers than there were.
answered () {
	more=$(($(grep -c ok answers) + $1))
	eventually has_answers "$more"
}
has_answers () {
	test "$(grep -c ok answers)" -ge "$1"
}
# The processes of the workers of this service.
worker_pids () {
	for worker in $(pgrep -f "raytrain-worker .*predictions.so"); do
		! grep -qz "^RAYTRAIN_SERVE_SOCKET=" "/proc/$worker/environ" ||
			[ "$(readlink "/proc/$worker/cwd")" != "$PWD" ] || echo "$worker"
	done
}
two_workers () {
	test "$(ask /raytrain/state | jq ".models[0].workers")" = 2
}
is_gone () {
	! kill -0 "$1" 2>/dev/null
}
is_not_ready () {
	test "$(ask /v2/health/ready -o /dev/null -w "%{http_code}")" = 503
}
no_workers () {
	test -z "$(worker_pids)"
}

inputs="--input x:float32:3 --input id:int64"

test_expect_success 'a training leaves a run to serve' '
	make_rows 100 && make_model &&
	raytrain-predict --launcher local --checkpoint runs/model --data rows.npz -o rows.csv \
		"$model" 2>err && sed 1d rows.csv | cut -d , -f 1,2 >expected
'
test_expect_success 'the best checkpoint answers what raytrain-predict predicts' '
	serve model --workers 2 $inputs "$model" &&
	predictions 100 >answered &&
	"$PYTHON" -c "
for a, b in zip(open(\"answered\"), open(\"expected\"), strict=True):
    assert list(map(float, a.split(\",\"))) == list(map(float, b.split(\",\"))), (a, b)"
'
test_expect_success '--where prints a line that asks for the model' '
	is_served && sh -c "$(cat where)" >model.json &&
	jq -e ".versions == [\"2\"] and (.inputs | map(.name)) == [\"x\", \"id\"]" model.json
'
test_expect_success 'the directory and the socket of a service are private' '
	test "$(stat -c %a runs/model/serve/*)" = 700 &&
	socket=$(jq -r .socket runs/model/serve/*/address.json) &&
	test "$(stat -c %a "$socket" "$(dirname "$socket")" | paste -s -d " " -)" = "600 700"
'
test_expect_success 'a wrong request names the input' '
	ask /v2/models/model/infer -d "{\"inputs\": []}" >out && grep "\"x" out
'
test_expect_success 'workers that are killed are started again, and requests are answered' '
	for worker in $(worker_pids); do
		kill -KILL "$worker" && eventually predictions 1 >out && test -s out || return 1
	done &&
	grep "is started again\|killed\|ended with status" err
'
test_expect_success 'a worker that is stopped is replaced, and its requests are answered by the other' '
	eventually two_workers && load && answered 50 &&
	stopped=$(worker_pids | head -n 1) && kill -STOP "$stopped" &&
	eventually grep "no sign of life for 3 s" err && eventually is_gone "$stopped" &&
	answered 50 && eventually two_workers && end_load && ! grep -v ok answers
'
test_expect_success 'with all workers stopped the service is not ready, until they are replaced' '
	kill -STOP $(worker_pids) && eventually is_not_ready && eventually two_workers &&
	predictions 3 >out && test -s out
'
test_expect_success 'under load, no answer is wrong or missing when one worker after the other is killed' '
	load && answered 50 &&
	for turn in 1 2 3; do
		kill -KILL $(worker_pids | head -n 1) && answered 50 &&
		eventually two_workers || return 1
	done &&
	end_load && sort answers | uniq -c && ! grep -v ok answers
'
test_expect_success 'a service that is asked to end ends, and leaves nothing' '
	end && grep "no new requests" err && test_path_is_missing "$(dirname "$socket")"
'
test_expect_success 'a service ends well if its workers are signalled with it, as scancel does' '
	serve model --workers 2 $inputs "$model" &&
	kill "$front" $(pgrep -P "$front") && wait "$front" &&
	test_path_is_missing "runs/model/serve/"* && ! grep "no worker is left" err
'
test_expect_success 'killed under load, it has given no wrong answer, leaves no process, and can be started again' '
	serve model --workers 2 $inputs "$model" && load && answered 50 &&
	kill -KILL "$front" && test_expect_code 137 wait "$front" &&
	eventually grep gone answers && end_load &&
	sort answers | uniq -c && ! grep -v "ok\|gone" answers &&
	eventually no_workers && rm -rf runs/model/serve &&
	serve model --workers 2 $inputs "$model" && predictions 3 >out && test -s out && end
'
# status_of PATH [CURL-OPTION...]: of the answer, at a port.
status_of () {
	path=$1 && shift &&
	curl -s -o /dev/null -w "%{http_code}" "$@" "$(jq -r .url runs/model/serve/*/address.json)$path"
}
test_expect_success 'at a port of this machine it makes a private token, and prints how to ask' '
	serve model --listen :0 $inputs "$model" &&
	eventually grep "at http://127.0.0.1:[0-9]*, which only this machine reaches" err &&
	token=$(jq -r .token_file runs/model/serve/*/address.json) &&
	test "$(stat -c %a "$token")" = 600 &&
	test "$(dirname "$token")" = "$(realpath runs/model/serve/*)" &&
	eventually grep "to ask it, type: " err && sed -n "s/.*to ask it, type: //p" err >line &&
	bash line >model.json && jq -e ".name == \"model\"" model.json &&
	test "$(status_of /v2)" = 401 && test "$(status_of /v2/health/ready)" = 200 && end
'
test_expect_success 'with --no-token it makes none, and health checks of HAProxy are answered' '
	serve model --listen 127.0.0.1:0 --no-token $inputs "$model" &&
	test "$(jq -r .token_file runs/model/serve/*/address.json)" = null &&
	test "$(status_of /v2)" = 200 && raytrain-serve --where --haproxy runs/model >proxy.cfg &&
	host=$(sed -n "s/.*http-check send .* hdr Host //p" proxy.cfg) &&
	test "$(status_of /v2/health/ready -H "Host: $host")" = 200 && end
'
test_expect_success 'an access log that is a FIFO which is not read is refused at once' '
	mkfifo log && expect_status 3 timeout -k 1 60 raytrain-serve runs/model --access-log log \
		$inputs "$model" 2>err && grep "no process reads from .*log" err
'
test_expect_success 'addresses that cannot be, or are not safe, are refused' '	expect_status 3 raytrain-serve runs/model --listen 0.0.0.0:0 --no-token "$model" 2>err &&
	grep -e "leave out --no-token" err &&
	expect_status 3 raytrain-serve runs/model --token-file t --no-token "$model" 2>err &&
	grep -e "--token-file or --no-token" err &&
	expect_status 3 raytrain-serve runs/model --listen unix: "$model" 2>err && grep "no path" err &&
	expect_status 3 raytrain-serve runs/model --listen 127.0.0.1:99999 "$model" 2>err &&
	grep "65535" err && rm -r runs/model/serve
'
# A run with a service on another host, as an address.json says that its user may change.
planted_token="$PWD/private-token"
# plant URL [MODEL]
plant () {
	rm -rf planted && mkdir -p planted/serve/far.1 && echo private-word >"$planted_token" &&
	jq -n --arg url "$1" --arg model "${2:-m}" --arg token "$planted_token" \
		"{host: \"far\", pid: 1, born: 2, model: \$model, url: \$url, socket: null,
		address: null, token_file: \$token, tls_cert: null}" >planted/serve/far.1/address.json &&
	chmod 600 planted/serve/far.1/address.json
}
# planted_client [TOKEN]: what Client() makes of it.
planted_client () {
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" - "$@" <<-\EOF
	import sys
	from raytrain import serve
	client = serve.Client("planted", *sys.argv[1:])
	print(client.url, client.token)
	EOF
}
# as_nobody COMMAND...
as_nobody () {
	timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
test "$(id -u)" = 0 && as_nobody test -r "$PWD" && test_set_prereq ROOT

test_expect_success 'the address of a service of this user is asked with its token' '
	plant http://far:80 && raytrain-serve --where planted >where && grep "^curl .*private-token" where &&
	planted_client >out && grep "http://far:80 private-word" out
'
test_expect_success 'an address that others may write is shown, and gets no token' '
	plant http://far:80 && chmod 666 planted/serve/far.1/address.json &&
	raytrain-serve --where planted >where && ! grep -v "^#" where && ! grep token where &&
	grep "may be written by other users" where && grep "^# curl http://far:80" where &&
	expect_status 1 planted_client 2>err && grep "PermissionError.*other users" err &&
	expect_status 3 raytrain-serve --where --haproxy planted >out 2>err &&
	test_must_be_empty out && grep "send the tokens" err
'
test_expect_success ROOT 'the address of another user is shown, and gets no token but one that is typed' '
	plant http://far:80 && chown -R 65533 planted && chmod 644 planted/serve/far.1/address.json &&
	for as in "" as_nobody; do
		$as raytrain-serve --where planted >where && ! grep -v "^#" where &&
		! grep token where && grep "another user (uid 65533)" where || return 1
	done &&
	expect_status 1 planted_client 2>err && grep "uid 65533" err &&
	expect_status 1 planted_client typed 2>err && ! grep private-word err &&
	expect_status 3 raytrain-serve --where --haproxy planted 2>err && grep "uid 65533" err &&
	raytrain-serve --where --token-file mine planted >where &&
	grep "^curl http://far:80/.*cat mine)" where && ! grep private where
'
test_expect_success 'an address makes no lines, and no other kind of URL' '
	plant "http://far:80
	touch executed" && expect_status 3 raytrain-serve --where planted &&
	plant http://far:80 "m
	server evil" && expect_status 3 raytrain-serve --where --haproxy planted &&
	plant file:///etc/passwd && expect_status 3 raytrain-serve --where planted
'
test_expect_success 'an address that is a link, a FIFO or a device is not read' '
	plant http://far:80 && mv planted/serve/far.1/address.json there &&
	for file in "$PWD/there" /dev/zero; do
		ln -sf "$file" planted/serve/far.1/address.json &&
		expect_status 3 timeout 60 raytrain-serve --where planted 2>err &&
		expect_status 1 planted_client 2>err && grep "not served now" err ||
			return 1
	done &&
	rm planted/serve/far.1/address.json && mkfifo planted/serve/far.1/address.json &&
	expect_status 3 timeout 60 raytrain-serve --where planted &&
	expect_status 1 planted_client 2>err && grep "not served now" err
'
test_expect_success 'a service does not follow a link in place of the directory of its address' '
	mkdir -p elsewhere && rm -rf runs/model/serve && ln -s "$PWD/elsewhere" runs/model/serve &&
	expect_status 3 raytrain-serve runs/model $inputs "$model" 2>err &&
	grep "serve.* is a link" err && is_empty elsewhere && rm runs/model/serve
'
test_expect_success ROOT 'nor does it write its token into a directory of another user' '
	mkdir runs/model/serve && chown 65533 runs/model/serve && chmod 777 runs/model/serve &&
	expect_status 3 raytrain-serve runs/model $inputs "$model" 2>err &&
	grep "uid 65533.*could put other files" err && is_empty runs/model/serve &&
	rmdir runs/model/serve
'
test_expect_success '--follow changes to a newer checkpoint' '
	mkdir runs/growing && cp runs/model/run.cfg runs/growing/ &&
	cp runs/model/checkpoint_000001.h5 runs/growing/ &&
	serve growing --last --follow $inputs "$model" &&
	version_is 1 && cp runs/model/checkpoint_000003.h5 runs/growing/.new &&
	mv runs/growing/.new runs/growing/checkpoint_000003.h5 &&
	eventually version_is 3 && grep "checkpoint_000003.h5 from now on" err && end
'
test_expect_success 'one with the name of another iteration is left out, and does not stop --follow' '
	rm runs/growing/checkpoint_* && cp runs/model/checkpoint_000001.h5 runs/growing/ &&
	serve growing --last --follow $inputs "$model" && version_is 1 &&
	cp runs/model/checkpoint_000001.h5 runs/growing/checkpoint_000002.h5 &&
	eventually grep "left out: it is from iteration 1; rename it to checkpoint_000001.h5" err &&
	cp runs/model/checkpoint_000003.h5 runs/growing/.new &&
	mv runs/growing/.new runs/growing/checkpoint_000003.h5 && eventually version_is 3 && end
'
awk "BEGIN { print \"a,b,y\"; for (i = 0; i < 60; i++) print i \",\" i % 2 \",\" (i > 30) }" >trees.csv
raytrain-run --launcher local --storage runs --name trees --trainer xgboost --set "label=\"y\"" \
	--set num_boost_round=2 --set "params.objective=\"binary:logistic\"" \
	--set "datasets.train.path=\"trees.csv\"" >trees.log 2>&1 && test_set_prereq XGBOOST
same_numbers () {
	test -s "$1" && paste -d " " "$1" "$2" |
	awk "{ d = \$1 - \$2; if (NF != 2 || d * d > 1e-12) wrong = 1 } END { exit wrong }"
}
test_expect_success XGBOOST 'numbers of a model of trees may be missing, as for raytrain-predict' '
	printf "a,b\n5,1\nNA,0\n50,\n" >some.csv &&
	raytrain-predict --launcher local --checkpoint runs/trees --data some.csv -o some-out.csv \
		2>err && sed 1d some-out.csv >wanted &&
	serve trees && ask /v2/models/trees >model.json &&
	jq -e "[.inputs[].datatype] == [\"FP64\", \"FP64\"]" model.json &&
	ask /v2/models/trees/infer -H "Content-Type: text/csv" --data-binary @some.csv >csv.json &&
	cat >request.json <<-\EOF &&
	{"inputs": [
	    {"name": "a", "datatype": "INT64", "shape": [3, 1], "data": [[5], [null], [50]]},
	    {"name": "b", "datatype": "FP32", "shape": [3], "data": [1, 0, null]}]}
	EOF
	ask /v2/models/trees/infer -d @request.json >json.json &&
	for answer in csv json; do
		jq ".outputs[0].data[]" $answer.json >got && same_numbers wanted got || return 1
	done && end
'
# Rows with words, and with other texts for missing values than usual: "NA" is a word.
people () {
	awk -v OFS=, -v n="$1" 'BEGIN { print "age,city,y"; split("Bonn ? NA Lyon", cities, " ")
		for (i = 0; i < n; i++)
			print i % 5 ? i % 13 : -9, cities[i % 4 + 1], i % 5 == 0 || i % 4 == 2 }'
}
test_expect_success XGBOOST 'words and missing values of requests are those of the training' '
	people 80 >people.csv && cat >people.cfg <<-\EOF &&
	trainer = "xgboost"; label = "y"; num_boost_round = 3;
	params = { objective = "binary:logistic"; };
	datasets = { train = { path = "people.csv"; missing = ["-9", "?"]; }; };
	preprocessor = (
	    { type = "simple_imputer"; columns = ["city"]; strategy = "constant"; fill_value = "none"; },
	    { type = "ordinal_encoder"; columns = ["city"]; }
	);
	EOF
	raytrain-run --launcher local --storage runs --name people -q -c people.cfg 2>err &&
	people 20 | cut -d, -f1,2 >ask.csv && echo "4,Turin" >>ask.csv &&
	raytrain-predict --launcher local --checkpoint runs/people --data ask.csv -o ask-out.csv \
		2>err && sed 1d ask-out.csv >wanted && test "$(sort -u wanted | wc -l)" -gt 2 &&
	serve people && ask /v2/models/people >model.json &&
	jq -e "[.inputs[].datatype] == [\"FP64\", \"BYTES\"]" model.json &&
	ask /v2/models/people/infer -H "Content-Type: text/csv" --data-binary @ask.csv >csv.json &&
	jq -R -s "split(\"\n\")[1:-1] | map(split(\",\")) | {inputs: [
	    {name: \"age\", datatype: \"FP64\", shape: [length],
	     data: map(if .[0] == \"-9\" then null else .[0] | tonumber end)},
	    {name: \"city\", datatype: \"BYTES\", shape: [length], data: map(.[1])}]}" ask.csv \
		>request.json &&
	ask /v2/models/people/infer -d @request.json >json.json &&
	for answer in csv json; do
		jq ".outputs[0].data[]" $answer.json >got && same_numbers wanted got || return 1
	done && end
'
test_expect_success 'a model that cannot be loaded is an error, with the reason' '
	expect_status 3 timeout 60 raytrain-serve runs/model --input x:float32:3 \
		"$modules/train_model.so" 2>err &&
	grep "no worker is left" err && grep "no predict function" err
'
test_expect_success 'a path that is not a run is refused' '
	expect_status 3 raytrain-serve absent "$model" 2>err &&
	grep absent err &&
	expect_status 3 raytrain-serve --follow runs/model/checkpoint_000001.h5 "$model" 2>err &&
	grep "directory of a run" err &&
	expect_status 2 raytrain-serve 2>err && grep "RUN|CHECKPOINT" err
'

test_done
