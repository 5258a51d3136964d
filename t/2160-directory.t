#!/bin/sh

test_description='raytrain-inspect lists the runs below a directory'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

unset COLUMNS LINES



sample=$check/store_sample

# report RUN ITERATION TIME: append a report.
report () {
	printf "{\"training_iteration\":%d,\"attempt\":0,\"timestamp\":%d,\"time_total_s\":%d,\"world_size\":2,\"loss\":0.5,\"zeal\":3,\"by_rank\":{\"loss\":{},\"zeal\":{}}}\n" \
		$2 $3 $2 >>"$1/result.json"
}

test_expect_success 'set up runs at several depths' '
	mkdir -p runs/deep/deeper/old runs/new runs/.hidden/run runs/new/artifacts/inner &&
	"$sample" runs/deep/finished &&
	for i in 1 2 3; do report runs/deep/deeper/old $i 1500000000 || return 1; done &&
	report runs/new 7 1800000000 && : >runs/new/run.cfg && : >runs/.hidden/run/run.cfg &&
	: >runs/new/artifacts/inner/run.cfg
'

test_expect_success 'runs at any depth are listed, the one that was last active first' '
	LC_ALL=C raytrain-inspect runs >out && sed 1d out | sed "s/ .*//" >names &&
	printf "%s\n" new deep/finished deep/deeper/old >expect && test_cmp expect names &&
	grep "^deep/finished  *finished  *5 " out && grep "^deep/deeper/old  *interrupted  *3 " out
'

test_expect_success 'the metric by which checkpoints are kept is the first' '
	COLUMNS=120 LC_ALL=C raytrain-inspect runs >out && grep "accuracy 0.625  loss 0.2$" out &&
	grep "loss 0.5  zeal 3$" out
'

test_expect_success 'no line is wider than the terminal' '
	mkdir -p "runs/$(printf "a%.0s" $(seq 100))" && report runs/aaaa* 1 1600000000 &&
	for columns in 40 80 200; do
		COLUMNS=$columns LC_ALL=C raytrain-inspect runs >out &&
		! grep -E ".{$((columns + 1))}" out || return 1
	done
'

test_expect_success 'control characters and, in the locale C, bytes beyond ASCII are escaped' '
	mkdir -p odd/"$(printf "x\033y\303\244")" && report odd/x* 1 1600000000 &&
	LC_ALL=C raytrain-inspect odd >out && grep -F "x\\x1by\\xc3\\xa4" out &&
	! LC_ALL=C grep "[^ -~]" out
'

test_expect_success 'links are followed, but not in circles, and a run is listed once' '
	mkdir linked && ln -s ../runs/deep linked/deep && ln -s .. linked/up &&
	ln -s ../runs/new linked/again && ln -s ../runs/new linked/new && ln -s absent linked/broken &&
	raytrain-inspect linked --json >out && jq -r ".runs[].path" out | sort >paths &&
	sort -u paths | test_cmp - paths && grep "runs/new$" paths && grep "runs/deep/finished$" paths
'

test_expect_success '--json and --csv have all runs' '
	raytrain-inspect runs --json >out && json_is out .kind runs .runs[0].name new .runs[0].iteration 7 \
		.runs[0].metrics.zeal 3 .complete true &&
	raytrain-inspect runs --csv >out && /usr/bin/python3 - <<-\PY
	import csv
	rows = {r["name"]: r for r in csv.DictReader(open("out", newline=""))}
	assert rows["new"]["loss"] == "0.5" and rows["new"]["accuracy"] == ""
	assert rows["deep/finished"]["checkpoints"] == "3" and rows["deep/finished"]["accuracy"] == "0.625"
	PY
'

test_expect_success 'a report in the journal alone is the last one' '
	mkdir -p journal/run/logs/attempt-0 && : >journal/run/run.cfg &&
	report journal/run 4 1600000000 && cp journal/run/result.json line && rm journal/run/result.json &&
	{ cat line && head -c 70000 /dev/zero; } >journal/run/logs/attempt-0/reports.0 &&
	raytrain-inspect journal --json >out && json_is out .runs[0].iteration 4
'

test_expect_success 'the end of a long log is found, after a line that is not complete' '
	mkdir -p long/run && /usr/bin/python3 - <<-\PY &&
	with open("long/run/result.json", "w") as f:
	    for i in range(1, 3001):
	        f.write("{\"training_iteration\":%d,\"attempt\":0,\"pad\":\"%s\"}\n" % (i, "x" * 100))
	    f.write("{\"training_iteration\":3001,\"attempt\":0,\"pad\":\"%s\"}\n" % ("x" * 200000))
	    f.write("{\"training_iter")
	PY
	raytrain-inspect long --json >out && json_is out .runs[0].iteration 3001
'

test_expect_success 'a run stays a run, and a directory of data a dataset' '
	raytrain-inspect runs/new >out && grep "^status" out &&
	mkdir data && printf "x,y\n1,2\n" >data/a.csv && raytrain-inspect data >out && grep "rows" out &&
	expect_status 2 raytrain-inspect --verify runs 2>err && grep "directory of runs" err
'

test_done
