#!/bin/sh
test_description='the callback tensorboard: event files, read by other code, and TensorBoard
own rules for them'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher local --storage runs --callback tensorboard"
train=$modules/train_model.so
many=$modules/many_metrics.so
has_fault_points && test_set_prereq FAULTS
command -v protoc >/dev/null && test_set_prereq PROTOC

if ! test -x "$PYTHON"; then
	skip_all='there is no Python, which reads the files'
	test_done
fi
read_events () {
	"$PYTHON" "$srcdir/t/check/tfevents.py" "$@"
}
# n_files RUN N: it has N event files.
n_files () {
	test "$(ls "runs/$1" | grep -c "^events[.]out[.]tfevents[.][0-9]*[.].*[.]raytrain$")" = "$2"
}
# steps RUN: the steps of the reports in its files, superseded ones too.
steps () {
	read_events events "runs/$1" | jq -r "select(.values.\"raytrain/attempt\") | .step" | tr "\n" " "
}

test_expect_success 'scalars have the values of result.json, with those of the ranks' '
	$run --name plain -n 2 "$train" 2>err && read_events compare runs/plain >tags &&
	grep -x loss tags && grep -x loss/min tags && grep -x loss/max tags &&
	n_files plain 1 && ! grep "tensorboard: " err
'
test_expect_success 'one worker has neither a least nor a greatest value' '
	$run --name alone -n 1 "$train" 2>err && read_events compare runs/alone >tags &&
	grep -x loss tags && ! grep /min tags
'
test_expect_success 'texts, vectors and integers are written, and an attempt that goes back' '
	$run --name types -n 2 --max-failures 1 "$many" 6 5 2>err &&
	read_events compare runs/types >tags && grep -x note tags && grep -x hist/0 tags &&
	grep -x train/loss tags &&
	test "$(steps types)" = "1 2 3 4 5 4 5 6 " &&
	read_events events runs/types | jq -se "[.[] | select(.start) | .step] == [0, 4]"
'
test_expect_success PROTOC 'protoc decodes the records' '
	cat >decode.py <<-\EOT &&
	import subprocess, sys
	sys.path.insert(0, sys.argv[1])
	import tfevents, glob
	for record in tfevents.records(glob.glob("runs/types/events.*.raytrain")[0]):
	    text = subprocess.run(["protoc", "--decode_raw"], input=record, check=True,
	                          stdout=subprocess.PIPE).stdout
	    sys.stdout.write(text.decode())
	EOT
	"$PYTHON" decode.py "$srcdir/t/check" >decoded &&
	grep -x "3: \"brain.Event:2\"" decoded && grep -x "    1: \"train/loss\"" decoded
'
test_expect_success 'hyperparameters are the settings of the training function, without groups' '
	$run --name hparams -n 1 --set train_loop_config.rate=0.25 \
		--set "train_loop_config.optimizer={ name = \"adam\"; betas = [1, 2]; fused = true; }" \
		"$train" 2>err &&
	read_events events runs/hparams >events &&
	jq -se ".[2].values[\"_hparams_/session_start_info\"].start == {\"rate\": 0.25,
		\"optimizer/name\": \"adam\", \"optimizer/betas\": \"[1,2]\",
		\"optimizer/fused\": true}" events &&
	jq -se "[.[].values[\"_hparams_/session_end_info\"].status | values] ==
		[\"success\"]" events
'
test_expect_success 'the status of a run that failed goes when it is continued' '
	expect_status 1 $run --name failed -n 1 --max-failures 0 "$many" 6 5 2>err &&
	read_events events runs/failed | grep "\"failure\"" &&
	$run --name failed -n 1 --resume "$many" 6 5 2>err &&
	read_events events runs/failed >events && grep "\"success\"" events &&
	! grep "\"failure\"" events &&
	read_events compare runs/failed >tags && n_files failed 2
'
test_expect_success 'a run that has finished gets the file once, and only if there is none' '
	raytrain-run --launcher local --storage runs --name late "$train" 2>err &&
	$run --name late --resume "$train" 2>err && n_files late 1 &&
	read_events compare runs/late >tags &&
	$run --name late --resume "$train" 2>err && n_files late 1
'
test_expect_success 'a launcher that was killed leaves out nothing and nothing is there twice' '
	start_run $run --name killed && kill -KILL $pid && eventually no_process_left &&
	: >gate && $run --name killed --resume "$train" 2>err &&
	read_events compare runs/killed >tags &&
	read_events events runs/killed | jq -r "select(.values.\"raytrain/attempt\") |
		\"\(.values.\"raytrain/attempt\") \(.step)\"" >reports &&
	sort -u reports >once && test "$(grep -c . once)" = "$(grep -c . reports)"
'
test_expect_success 'half a record at the end of a file does no harm' '
	expect_status 1 $run --name torn -n 1 --max-failures 0 "$many" 6 5 2>err &&
	file=$(ls runs/torn/events.*.raytrain) && size=$(stat -c %s "$file") &&
	truncate -s $((size - 400)) "$file" &&
	$run --name torn -n 1 --resume "$many" 6 5 2>err && read_events compare runs/torn >tags 2>said &&
	grep "incomplete record" said
'
test_expect_success 'files of other programs are left alone' '
	raytrain-run --launcher local --storage runs --name other -n 1 "$train" 2>err &&
	echo mine >runs/other/events.out.tfevents.9.host.1.v2 &&
	$run --name other -n 1 --resume "$train" 2>err &&
	test "$(cat runs/other/events.out.tfevents.9.host.1.v2)" = mine && n_files other 1
'
test_expect_success FAULTS 'a full disk is a warning, once, and then everything is written' '
	start_run env RAYTRAIN_FAULT=events.write:0:enospc $run --name full &&
	eventually n_files full 1 && : >gate && wait $pid &&
	test "$(grep -c "tensorboard: cannot write .*/full/events.*No space" err)" = 1 &&
	read_events compare runs/full >tags
'
test_expect_success FAULTS 'a disk that stays full does not end the run; --resume adds the reports' '
	env RAYTRAIN_FAULT=events.write:all:enospc $run --name never -n 1 "$train" 2>err &&
	grep "tensorboard: cannot write .*/never/events.*No space" err && n_files never 1 &&
	grep -e "--resume adds" err && test "$(steps never)" = "" &&
	$run --name never -n 1 --resume "$train" 2>err && read_events compare runs/never >tags
'
test_expect_success FAULTS 'raytrain-run killed while it writes loses nothing' '
	rm -f gate && {
		env RAYTRAIN_FAULT=events.write:0:kill $run --name dies \
			--set "train_loop_config.gate=$PWD/gate" "$train" 2>err
		test $? -gt 128
	} && : >gate && eventually no_process_left &&
	test_path_is_missing runs/dies/result.h5 &&
	$run --name dies --resume "$train" 2>err && read_events compare runs/dies >tags
'
test_done
