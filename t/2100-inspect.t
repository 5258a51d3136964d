#!/bin/sh

test_description='raytrain-inspect: runs and checkpoints, whole, damaged and foreign'

SETUP_WITHOUT_STAGE=1 # needs raytrain-inspect alone
. "$(dirname "$0")/setup.sh"

sample=$check/store_sample

test_expect_success 'a run to look at' '
	"$sample" run &&
	test -f run/checkpoint_000004.h5
'

test_expect_success 'a run: status, attempts, metrics, checkpoints, what next' '
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

test_expect_success 'control characters do not reach the terminal' '
	grep -F "\\x1b[31mkilled" out &&
	! grep "$(printf "\033")" out
'

test_expect_success 'a checkpoint: what it says of itself, and its tensors' '
	raytrain-inspect run/checkpoint_000002.h5 >out &&
	grep "^iteration *2, attempt 0, 2 workers" out &&
	grep "^float32 *\[4, 3\] *48 *model/fc1/weight" out &&
	grep "^bfloat16 *\[2\] *4 *types/bfloat16" out &&
	grep "^float64 *scalar *8 *scalar" out &&
	grep "^int32 *\[0, 5\] *0 *empty" out &&
	! grep raytrain/session out
'

test_expect_success '--json is one object, of either' '
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

test_expect_success '--verify passes what is whole' '
	raytrain-inspect --verify run/checkpoint_000004.h5 >out &&
	grep "^verified" out &&
	raytrain-inspect --verify run >out &&
	test $(grep -c ", verified" out) -eq 3
'

test_expect_success '--plot draws a metric, and names those there are' '
	raytrain-inspect --plot loss run >out &&
	grep -F "*" out &&
	grep "training_iteration 1 to 5" out &&
	expect_status 3 raytrain-inspect --plot losss run 2>err &&
	grep "accuracy, loss" err
'

# damage FILE: another byte where the first tensor's bytes are (0, 0.25, 0.5 ...).
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

test_expect_success '--verify names the damaged dataset: exit status 5' '
	cp -r run damaged &&
	damage damaged/checkpoint_000004.h5 &&
	raytrain-inspect damaged/checkpoint_000004.h5 >out &&
	expect_status 5 raytrain-inspect --verify damaged/checkpoint_000004.h5 >out 2>err &&
	grep "checkpoint_000004.h5: dataset .model/fc1/weight. is damaged" err &&
	expect_status 5 raytrain-inspect --verify damaged >out 2>err &&
	grep "model/fc1/weight" err &&
	test $(grep -c ", verified" out) -eq 2
'

test_expect_success 'truncated, empty, foreign: each its own sentence' '
	head -c 9000 run/checkpoint_000004.h5 >checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "the file is truncated" err &&
	: >checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "the file is empty" err &&
	cp run/result.h5 checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "an HDF5 file, but no checkpoint" err &&
	echo rubbish >checkpoint_000009.h5 &&
	expect_status 5 raytrain-inspect checkpoint_000009.h5 2>err &&
	grep "no checkpoint, and no HDF5 file" err
'

test_expect_success 'what is neither: exit status 3' '
	expect_status 3 raytrain-inspect /etc/passwd 2>err &&
	grep "neither a run directory nor a checkpoint" err &&
	mkdir -p nothing &&
	expect_status 3 raytrain-inspect nothing 2>err &&
	grep "no run of raytrain" err &&
	expect_status 3 raytrain-inspect absent 2>err &&
	grep "absent" err
'

test_expect_success 'a command line that makes no sense: exit status 2' '
	expect_status 2 raytrain-inspect 2>err &&
	expect_status 2 raytrain-inspect a b 2>err &&
	expect_status 2 raytrain-inspect --nonsense a 2>err &&
	grep -e --nonsense err &&
	expect_status 2 raytrain-inspect --plot 2>err &&
	expect_status 2 raytrain-inspect --plot x --json run 2>err &&
	expect_status 2 raytrain-inspect --plot x run/checkpoint_000002.h5 2>err
'

test_expect_success '--help and --version' '
	raytrain-inspect --help >out &&
	grep -e --verify out &&
	raytrain-inspect --version >out &&
	grep "^raytrain-inspect [0-9]" out
'

test_expect_success 'a full standard output is an error' '
	expect_status 5 raytrain-inspect run >/dev/full 2>err
'

test_done
