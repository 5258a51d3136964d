#!/bin/sh

test_description='raytrain-inspect --compare shows how runs differ: configuration, metrics, time'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

unset COLUMNS LINES


# make_run DIR ITERATIONS RATE: a run with the metrics loss, which is to be low, and accuracy.
make_run () {
	/usr/bin/python3 - "$@" <<-\PY
	import json, os, sys
	run, n, rate = sys.argv[1], int(sys.argv[2]), sys.argv[3]
	os.makedirs(run + "/logs/attempt-0")
	open(run + "/run.cfg", "w").write("""seed = 1L;
	run_config = { name = "%s"; checkpoint_config = {
	  checkpoint_score_attribute = "loss"; checkpoint_score_order = "min"; }; };
	train_loop_config = { lr = %s; depth = 3; };
	""" % (os.path.basename(run), rate))
	with open(run + "/result.json", "w") as out:
	    for i in range(1, n + 1):
	        out.write(json.dumps({"training_iteration": i, "attempt": 0, "timestamp": 1700000000 + i,
	            "time_total_s": i * 60.0, "world_size": 2, "loss": abs(i - 3) + 0.25, "accuracy": i / n,
	            "by_rank": {"accuracy": {}, "loss": {}}}) + "\n")
	open(run + "/checkpoint_000002.h5", "w").write("x" * 2048)
	PY
}

test_expect_success 'set up runs of different length' '
	make_run a 4 0.1 && make_run b 10 0.01 && make_run deep/c 6 0.1
'

test_expect_success 'two runs are side by side, with what differs in their configuration' '
	LC_ALL=C raytrain-inspect a b --compare >out &&
	grep "^run  *a  *b$" out && grep "^status  *interrupted  *interrupted$" out &&
	grep "^iteration  *4  *10$" out && grep "^training time  *4m00s  *10m00s$" out &&
	grep "^checkpoints  *1, 2K  *1, 2K$" out &&
	grep "^train_loop_config.lr  *0.1  *0.01$" out && ! grep -e depth -e run_config out
'

test_expect_success 'of the metric by which checkpoints are kept the best is shown, of others both ends' '
	grep "^loss  *1.25  *7.25$" out && grep "^loss, best  *0.25 (3)  *0.25 (3)$" out &&
	! grep "^loss, lowest" out &&
	grep "^accuracy  *1  *1$" out && grep "^accuracy, lowest  *0.25 (1)  *0.1 (1)$" out &&
	grep "^accuracy, highest  *1 (4)  *1 (10)$" out
'

test_expect_success 'runs that do not fit the width are below each other' '
	for columns in 40 80 200; do
		COLUMNS=$columns LC_ALL=C raytrain-inspect a b deep/c --compare >out &&
		! grep -E ".{$((columns + 1))}" out || return 1
	done &&
	test "$(grep -c "^run " out)" -eq 1 &&
	COLUMNS=40 LC_ALL=C raytrain-inspect a b deep/c --compare >out && test "$(grep -c "^run " out)" -eq 3
'

test_expect_success 'a directory stands for the runs below it' '
	LC_ALL=C raytrain-inspect . --compare >out && grep "^status\( *interrupted\)\{3\}$" out
'

test_expect_success '--json has all values, with null for those of no run' '
	raytrain-inspect a b deep/c --compare --json >out &&
	json_is out .kind compare .runs[1].name b .runs[1].metrics.loss.last 7.25 \
		.runs[1].metrics.loss.min_iteration 3 &&
	test "$(jq -c ".config" out)" = "{\"train_loop_config.lr\":[\"0.1\",\"0.01\",\"0.1\"]}"
'

test_expect_success '--csv has a row for each run' '
	raytrain-inspect a b --compare --csv >out && /usr/bin/python3 - <<-\PY
	import csv
	a, b = csv.DictReader(open("out", newline=""))
	assert (a["name"], b["name"]) == ("a", "b") and b["train_loop_config.lr"] == "0.01"
	assert b["loss.last"] == "7.25" and b["accuracy.max_iteration"] == "10", b
	PY
'

test_expect_success '--plot with --compare draws a metric of all runs, too' '
	LC_ALL=C raytrain-inspect a b --compare --plot loss >out && grep "^status" out &&
	grep "training_iteration 1 to 10" out && grep "^  + b$" out &&
	expect_status 2 raytrain-inspect a b --compare --plot loss --json 2>err && grep -e --output err
'

test_expect_success 'a single run, or a path that is not a run, is refused' '
	expect_status 2 raytrain-inspect a --compare 2>err && grep "only one run" err &&
	expect_status 2 raytrain-inspect a a/run.cfg --compare 2>err && grep run.cfg err &&
	mkdir nothing && expect_status 3 raytrain-inspect a nothing --compare 2>err && grep nothing err &&
	expect_status 2 raytrain-inspect a b 2>err && grep -e --compare err
'

test_done
