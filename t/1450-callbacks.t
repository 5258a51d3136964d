#!/bin/sh
test_description='callbacks that write files: csv, and how callbacks are configured'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
has_fault_points && test_set_prereq FAULTS

# rows RUN: the iterations in its progress.csv, in one line.
rows () {
	sed "1d; s/,.*//" "runs/$1/progress.csv" | tr "\n" " "
}

test_expect_success 'a name, --callback, or a group adds a callback; run.cfg has them' '
	$run --name named --set "run_config.callbacks=(\"csv\")" "$train" 2>err &&
	grep "callbacks = ( \"csv\" );" runs/named/run.cfg && test -s runs/named/result.json &&
	$run --name flag --callback csv --callback csv "$train" 2>err &&
	grep "callbacks = ( \"json\", \"csv\" );" runs/flag/run.cfg &&
	$run --name group --set "run_config.callbacks=({ type = \"csv\"; })" "$train" 2>err &&
	test -s runs/group/progress.csv
'
test_expect_success 'a wrong callback is an error that names what there is' '
	expect_status 3 $run --callback cvs "$train" 2>err && grep "did you mean \"csv\"" err &&
	echo "run_config = { callbacks = (\"json\", { type = \"csv\"; pth = 1; }); };" >wrong.cfg &&
	expect_status 3 $run -c wrong.cfg "$train" 2>err &&
	grep "wrong.cfg:1: run_config.callbacks.csv.pth: unknown key" err &&
	expect_status 3 $run --set "run_config.callbacks=({ argv = \"x\"; })" "$train" 2>err &&
	grep "type = \"NAME\"" err
'
test_expect_success 'progress.csv has a row for each report, with the values of result.json' '
	jq -r "[.training_iteration, .attempt, .hostname, .done] | @tsv" runs/named/result.json |
		tr "\t" , >expected &&
	head -n 1 runs/named/progress.csv | tr , "\n" >header &&
	for key in training_iteration attempt hostname done; do
		grep -nx $key header | cut -d: -f1 || return 1
	done | paste -sd, >fields &&
	IFS=, read -r a b c d <fields &&
	awk -F, -v OFS=, -v a=$a -v b=$b -v c=$c -v d=$d "NR > 1 { print \$a, \$b, \$c, \$d }" \
		runs/named/progress.csv >actual && test_cmp expected actual
'
test_expect_success 'rows of reports that are made again are replaced' '
	$run --name again -n 2 --max-failures 1 --callback csv "$modules/many_metrics.so" 6 5 2>err &&
	test "$(rows again)" = "1 2 3 4 5 6 " && grep "attempt 1" err &&
	no_temporary runs/again
'
"$PYTHON" -c "import pandas" 2>/dev/null && test_set_prereq PANDAS
test_expect_success PANDAS 'Python and pandas read texts, vectors, and metrics that appear later' '
	cat >later.py <<-\EOT &&
	import raytrain
	for i in range(1, 5):
	    metrics = {"loss": 1 / i, "note": "a,\n\"b\"", "hist": [1, i]}
	    if i > 2:
	        metrics["late"] = i
	    raytrain.report(metrics)
	EOT
	$run --name later --callback csv -- "$PYTHON" later.py 2>err &&
	cat >read.py <<-\EOT &&
	import csv, json, pandas
	with open("runs/later/progress.csv", newline="") as f:
	    rows = list(csv.DictReader(f))
	assert len(rows) == 4 and all(None not in r and None not in r.values() for r in rows)
	assert [r["late"] for r in rows] == ["", "", "3", "4"], rows
	assert json.loads(rows[3]["hist"]) == [1, 4]
	table = pandas.read_csv("runs/later/progress.csv")
	assert list(table.loss) == [1 / i for i in range(1, 5)]
	assert set(table.note) == {"a,\n\"b\""}
	assert table.late.isna().sum() == 2 and table.done.dtype == bool
	EOT
	"$PYTHON" read.py
'
test_expect_success 'a run that continues has one progress.csv, also with a callback that is new' '
	$run --name on --max-failures 0 "$modules/many_metrics.so" 6 5 2>err;
	test_path_is_missing runs/on/progress.csv &&
	$run --name on --resume --callback csv "$modules/many_metrics.so" 6 5 2>err &&
	test "$(rows on)" = "1 2 3 4 5 6 "
'
test_expect_success 'a run that has finished gets the files of a new callback' '
	$run --name done "$train" 2>err && before=$(ls runs/done/logs) &&
	$run --name done --resume --callback csv "$train" 2>err &&
	test "$(ls runs/done/logs)" = "$before" &&
	test "$(rows done)" = "$(jq .training_iteration runs/done/result.json | tr "\n" " ")"
'
test_expect_success 'after a launcher was killed its reports are caught up with' '
	start_run $run --callback csv --name killed && kill -KILL $pid &&
	eventually no_process_left && rm -f runs/killed/progress.csv && : >gate &&
	$run --callback csv --name killed --resume "$train" 2>err &&
	test "$(rows killed)" = "$(rows done)"
'
test_expect_success 'a file that cannot be written is a warning, and the run finishes' '
	$run --name full "$train" 2>err && mkdir runs/full/progress.csv &&
	$run --name full --resume --callback csv "$train" 2>err &&
	grep "csv: cannot write .*full/progress.csv: Is a directory" err &&
	test $(grep -c "csv:" err) = 1 && no_temporary runs/full
'
# hang POINT CALLBACK: a run whose callback never comes back from storage, in the background.
hang () {
	RAYTRAIN_FAULT=$1:all:wait RAYTRAIN_FAULT_FIFO=$PWD/hang \
		$run --name "hang-$2" --callback "$2" "$train" 2>"err.$2" &
}
test_expect_success FAULTS 'storage that never answers does not hold up a run, and is reported' '
	mkfifo hang &&
	{ hang csv.write csv; csv=$!; hang events.write tensorboard; tensorboard=$!
	  hang prometheus.write prometheus; prometheus=$!; } &&
	wait $csv && wait $tensorboard && wait $prometheus &&
	grep "csv: progress.csv is incomplete: its storage does not respond" err.csv &&
	grep "tensorboard: the event file is incomplete: its storage does not" err.tensorboard &&
	grep "prometheus: the state of the run is not written: its storage" err.prometheus &&
	for kind in csv tensorboard prometheus; do
		test "$(grep -c "$kind: " err.$kind)" = 1 && test -s runs/hang-$kind/result.h5 || return 1
	done &&
	$run --name hang-csv --resume --callback csv "$train" 2>err &&
	test "$(rows hang-csv)" = "$(rows done)" && no_temporary runs/hang-csv
'
test_done
