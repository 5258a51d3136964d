#!/bin/sh

test_description='raytrain-inspect shows runs and checkpoints: intact, damaged and foreign'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

sample=$check/store_sample

test_expect_success 'create a sample run' '
	"$sample" run &&
	test -f run/checkpoint_000004.h5
'

test_expect_success 'a run is shown with status, attempts, metrics, checkpoints and suggestions' '
	raytrain-inspect run >out &&
	grep "^status *finished" out &&
	grep "^reports *5" out &&
	grep "0 *failed, 2 workers on n1" out &&
	grep "from 2023-11-1[45]T.* to 2023-11-1[45]T.*, 4.5 s" out &&
	grep "lost 3 iterations, 4.5 s of training" out &&
	grep "^accuracy *0.625 *0.25 *1 *0.75 *4" out &&
	grep "checkpoint_000002.h5 .*best" out &&
	grep "checkpoint_000004.h5 .*newest" out &&
	grep "h5dump -d /metrics/accuracy" out
'

test_expect_success 'control characters are escaped' '
	grep -F "\\x1b[31mkilled" out &&
	! grep "$(printf "\033")" out
'

test_expect_success 'a checkpoint is shown with its report and tensors' '
	raytrain-inspect run/checkpoint_000002.h5 >out &&
	grep "^iteration *2, attempt 0, 2 workers" out &&
	grep "^float32 *\[4, 3\] *48 *model/fc1/weight" out &&
	grep "^bfloat16 *\[2\] *4 *types/bfloat16" out &&
	grep "^float64 *scalar *8 *scalar" out &&
	grep "^int32 *\[0, 5\] *0 *empty" out &&
	! grep raytrain/session out
'

test_expect_success '--json prints one object for a run and for a checkpoint' '
	raytrain-inspect --json run >run.json &&
	raytrain-inspect --json --verify run/checkpoint_000002.h5 >ck.json &&
	/usr/bin/python3 - <<-\PY
	import json
	run = json.load(open("run.json"))
	assert run["kind"] == "run" and run["status"] == "finished"
	assert [c["training_iteration"] for c in run["checkpoints"]] == [1, 2, 4]
	assert run["best_checkpoint"].endswith("checkpoint_000002.h5")
	assert run["metrics"]["accuracy"]["max"] == 0.75
	ck = json.load(open("ck.json"))
	assert ck["verified"] and ck["error"] is None
	assert ck["metrics"]["accuracy"] == 0.75
	tensor = ck["tensors"][0]
	assert tensor == {"name": "model/fc1/weight", "dtype": "float32",
	                  "shape": [4, 3], "bytes": 48}
	PY
'

# extracted RUN ITERATION DIRECTORY: what Checkpoint.path leaves in a run, with 3000 bytes.
extracted () {
	mkdir -p "$1/$3/inner" && head -c 1000 /dev/zero >"$1/$3/model.pt" &&
	head -c 2000 /dev/zero >"$1/$3/inner/rest" && ln -s /etc "$1/$3/outside" &&
	stat -c "{\"bytes\": %s, \"directory\": \"$3\", \"mtime_ns\": " "$1/checkpoint_00000$2.h5" >record &&
	date +%s%N -r "$1/checkpoint_00000$2.h5" >>record && echo "}" >>record &&
	tr -d "\n" <record >"$1/.checkpoint_00000$2.extracted"
}
test_expect_success 'directories that Python has made of checkpoints are shown, and count' '
	test_when_finished "rm -r made" && mkdir made && cp -rp run made/ &&
	raytrain-inspect --json made >before && raytrain-inspect made/run >out && ! grep "files in" out &&
	extracted made/run 2 "epoch=1" && extracted made/run 4 checkpoint_000004 &&
	touch made/run/checkpoint_000004.h5 &&
	raytrain-inspect made/run >out &&
	grep "checkpoint_000002.h5 .*, its files in epoch=1/ (2.9K), best" out &&
	grep "checkpoint_000004.h5 .*, files of an earlier one in checkpoint_000004/ (2.9K), newest" out &&
	raytrain-inspect made/run/checkpoint_000002.h5 >out &&
	grep "^directory *made/run/epoch=1, 2.9K$" out &&
	raytrain-inspect --json made/run >out.json &&
	jq -c ".checkpoints[] | [.directory_bytes, .directory_is_old]" out.json >got &&
	printf "%s\n" "[null,null]" "[3000,false]" "[3000,true]" >want && test_cmp want got &&
	test "$(jq -r ".checkpoints[1].directory" out.json)" = "$PWD/made/run/epoch=1" &&
	raytrain-inspect --json made >after &&
	test $(($(jq ".runs[0].checkpoint_bytes" after) - $(jq ".runs[0].checkpoint_bytes" before))) = 6000 &&
	raytrain-inspect -o page.html made/run && grep "files in <code>epoch=1/</code> (2.9K)" page.html
'
# The name in a record is that of a directory of the run, and not one of its own folders.
test_expect_success 'a record that names something else shows nothing else' '
	test_when_finished "rm -r made outside" && mkdir made outside && cp -rp run made/ &&
	: >outside/file && ln -s ../../outside made/run/link &&
	for name in ../../outside logs . link none; do
		printf "{\"directory\": \"%s\"}" "$name" >made/run/.checkpoint_000002.extracted &&
		raytrain-inspect --json made/run >out.json &&
		jq -e "all(.checkpoints[]; .directory == null)" out.json || return 1
	done
'

test_expect_success '--verify accepts intact checkpoints' '
	raytrain-inspect --verify run/checkpoint_000004.h5 >out &&
	grep "^verified" out &&
	raytrain-inspect --verify run >out &&
	test $(grep -c ", verified" out) -eq 3
'

test_expect_success '--plot draws a metric, and lists the metrics if there is none of this name' '
	raytrain-inspect --plot loss run >out &&
	grep -F "*" out &&
	grep "training_iteration 1 to 5" out &&
	expect_status 3 raytrain-inspect --plot losss run 2>err &&
	grep "accuracy, loss" err
'

# damage FILE: change a byte of the first tensor (0, 0.25, 0.5 ...).
damage () {
	/usr/bin/python3 - "$1" <<-\PY
	import sys, struct
	path = sys.argv[1]
	data = bytearray(open(path, "rb").read())
	at = data.find(struct.pack("<4f", 0.25, 0.5, 0.75, 1.0))
	assert at > 0
	data[at] ^= 1
	open(path, "wb").write(data)
	PY
}

test_expect_success '--verify names the damaged dataset, with exit status 5' '
	cp -r run damaged &&
	damage damaged/checkpoint_000004.h5 &&
	raytrain-inspect damaged/checkpoint_000004.h5 >out &&
	expect_status 5 raytrain-inspect --verify damaged/checkpoint_000004.h5 >out 2>err &&
	grep "checkpoint_000004.h5: dataset .model/fc1/weight. is damaged" err &&
	expect_status 5 raytrain-inspect --verify damaged >out 2>err &&
	grep "model/fc1/weight" err &&
	test $(grep -c ", verified" out) -eq 2
'

test_expect_success 'truncated, empty and foreign files are reported as such' '
	head -c 9000 run/checkpoint_000004.h5 >checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "the file is truncated" err &&
	: >checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "the file is empty" err &&
	cp run/result.h5 checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "an HDF5 file, but not a checkpoint" err &&
	echo rubbish >checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "neither a checkpoint nor an HDF5 file" err
'

test_expect_success 'a path that is neither a run nor a checkpoint is refused with exit status 3' '
	expect_status 3 raytrain-inspect /etc/passwd 2>err &&
	grep "neither a run directory nor a checkpoint" err &&
	mkdir -p nothing &&
	expect_status 3 raytrain-inspect nothing 2>err &&
	grep "not a run of raytrain" err &&
	expect_status 3 raytrain-inspect absent 2>err &&
	grep "absent" err
'

# odd_record FILE HOW: a copy of the run, in "odd", has something else in place of a record.
odd_record () {
	rm -rf odd && cp -R run odd && rm "odd/$1" || return 1
	case $2 in
	link) ln -s "$PWD/private" "odd/$1" ;;
	fifo) mkfifo "odd/$1" ;;
	device) ln -s /dev/zero "odd/$1" ;;
	hole) truncate -s 300G "odd/$1" ;;
	esac
}
# A build with sanitizers cannot do with little memory.
limit=:
(ulimit -v 4000000 && raytrain-inspect --version) >/dev/null 2>&1 && limit="ulimit -v 4000000"
# looks_well FILE HOW: no view waits for it, fills the memory, or shows what a link leads to.
looks_well () {
	for view in "" --json --csv --follow "-o odd.html"; do
		rm -f odd.html
		($limit && exec timeout 60 raytrain-inspect $view odd) >out 2>err
		case $? in
		[0-9] | 75) ;;
		*) echo "$1, $2, raytrain-inspect $view" && return 1 ;;
		esac
		! grep -s private-word out err odd.html || return 1
	done
}
test_expect_success 'what is in place of a record is neither followed nor waited for' '
	echo "{\"host\": \"private-word\", \"status\": \"private-word\"}" >private &&
	for file in run.cfg result.json result.h5 logs/attempt-0/attempt.json; do
		for how in link fifo device hole; do
			odd_record $file $how && looks_well $file $how || return 1
		done
	done
'
test_expect_success 'a directory of logs that is a link is not followed' '
	rm -rf odd && cp -R run odd && rm -r odd/logs && mkdir -p elsewhere/attempt-0 &&
	cp private elsewhere/attempt-0/attempt.json && ln -s "$PWD/elsewhere" odd/logs &&
	looks_well logs link
'
test_expect_success 'a run that is reached through a link is shown as it is' '
	ln -s run to-run && raytrain-inspect --json run >expected &&
	raytrain-inspect --json to-run >actual &&
	jq "del(.path)" expected >expect && jq "del(.path)" actual >out && test_cmp expect out
'

test_expect_success 'wrong usage ends with exit status 2' '
	expect_status 2 raytrain-inspect 2>err &&
	expect_status 2 raytrain-inspect a b 2>err &&
	expect_status 2 raytrain-inspect --nonsense a 2>err &&
	grep -e --nonsense err &&
	expect_status 2 raytrain-inspect --plot 2>err &&
	expect_status 2 raytrain-inspect --plot x --json run 2>err &&
	expect_status 2 raytrain-inspect --plot x run/checkpoint_000002.h5 2>err
'

test_expect_success '--help and --version print help and version' '
	raytrain-inspect --help >out &&
	grep -e --verify out &&
	raytrain-inspect --version >out &&
	grep "^raytrain-inspect [0-9]" out
'

test_expect_success 'a full standard output is an error' '
	expect_status 5 raytrain-inspect run >/dev/full 2>err
'

test_done
