#!/bin/sh
test_description='the callbacks command and prometheus'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
# command SETTINGS...: a value for --set, with ./program.sh as the command.
command_of () {
	echo "run_config.callbacks=({ type = \"command\"; argv = [\"./$1\"]; $2 })"
}
# program NAME: a program of these lines of shell, from standard input.
program () {
	{ echo "#!/bin/sh"; cat; } >"$1" && chmod +x "$1"
}
# events FILE: the names of events in it, each once, in order.
events () {
	jq -r .event "$1" | uniq | tr "\n" " "
}
program keep.sh <<'EOT'
exec cat >>events
EOT

test_expect_success 'a command gets each event as a line of JSON, in order' '
	$run -n 2 --name all --set "$(command_of keep.sh)" "$train" 2>err &&
	test "$(events events | sed "s/\(report checkpoint \)\{5\}/REPORTS /")" = \
		"start attempt_start REPORTS attempt_end end " &&
	jq -s -e ".[0].run == \"all\" and .[0].path == \"$PWD/runs/all\" and
		last.result.status == \"finished\"" events &&
	jq -c "select(.event == \"report\") | .report" events >reports &&
	numbers="(.. | numbers) |= . + 0" && # newer jq prints a number as it was written, otherwise
	jq -c "$numbers" runs/all/result.json >expected && jq -c "$numbers" reports >actual &&
	test_cmp expected actual &&
	test -f runs/all/logs/callback-keep.sh.log && no_process_left
'
test_expect_success 'events and every choose what it gets' '
	rm -f events &&
	$run --name some --set "$(command_of keep.sh "events = [\"report\", \"attempt_end\"]; every = 2;")" \
		"$train" 2>err &&
	test "$(events events)" = "report attempt_end " &&
	test "$(jq "select(.report) | .report.training_iteration" events | tr "\n" " ")" = "2 4 " &&
	grep "every = 2;" runs/some/run.cfg
'
test_expect_success 'of two commands with the same name, each has a log of its own' '
	mkdir other && program other/say.sh <<-\EOT && program say.sh <<-\EOT2 &&
	echo "the second"
	exec cat >/dev/null
	EOT
	echo "the first"
	exec cat >/dev/null
	EOT2
	$run --name twins --set "run_config.callbacks=({ type = \"command\"; argv = [\"./say.sh\"]; },
		{ type = \"command\"; argv = [\"./other/say.sh\"]; })" "$train" 2>err &&
	test "$(cat runs/twins/logs/callback-say.sh.log)" = "the first" &&
	test "$(cat runs/twins/logs/callback-say.sh-2.log)" = "the second"
'
test_expect_success 'a command gets notes, and a rewind before reports that are made again' '
	rm -f events &&
	$run --name again -n 2 --max-failures 1 --set "$(command_of keep.sh)" \
		"$modules/many_metrics.so" 6 5 2>err &&
	jq -c "[.event, .training_iteration // .report.training_iteration]" events |
		grep -A 1 rewind >rewind &&
	printf "[\"rewind\",3]\n[\"report\",4]\n" >expected && test_cmp expected rewind &&
	grep "\"event\":\"note\"" events
'
test_expect_success 'a run that had finished does not notify again when it is resumed' '
	before=$(wc -l <events) && test "$(tail -n 1 events | jq -r .event)" = end &&
	$run --name again -n 2 --resume --max-failures 1 --set "$(command_of keep.sh)" \
		"$modules/many_metrics.so" 6 5 2>err &&
	grep "finished" err && test "$(wc -l <events)" = "$before" &&
	$run --name again -n 2 --resume --max-failures 1 \
		--set "$(command_of keep.sh "events = [\"end\"];")" "$modules/many_metrics.so" 6 5 2>err &&
	test "$(wc -l <events)" = "$before" && no_process_left
'
test_expect_success 'wrong settings are refused, and a program that does not exist' '
	expect_status 3 $run --name no --set "$(command_of missing.sh)" "$train" 2>err &&
	grep "callbacks.command.argv: cannot start .*missing.sh: No such file" err &&
	test_path_is_missing runs/no && $run --name no "$train" 2>err &&
	expect_status 3 $run --name no --fresh --set "$(command_of missing.sh)" "$train" 2>err &&
	test -f runs/no/result.h5 && test_path_is_missing runs/no.1 &&
	expect_status 3 $run --name none --callback command "$train" 2>err && grep "argv =" err &&
	expect_status 3 $run --set "$(command_of keep.sh "events = [\"reports\"];")" "$train" 2>err &&
	grep "did you mean \"report\"" err
'
program dies.sh <<'EOT'
read -r line
echo "no network" >&2
exit 7
EOT
test_expect_success 'one that dies is reported once, with its status and its last line; the run finishes' '
	start_run $run --name dies --set "$(command_of dies.sh)" &&
	eventually grep "dies.sh has ended with status 7, and gets no more events: no network" err &&
	: >gate && wait $pid && test "$(grep -c "has ended" err)" = 1
'
program slow.sh <<'EOT'
mkfifo block 2>/dev/null
read -r line <block
exec cat >>late
EOT
test_expect_success 'one that does not read loses lines, and gets their number; the run is not held up' '
	cat >many.py <<-\EOT &&
	import raytrain
	for i in range(1, 12001):
	    raytrain.report({"loss": i, "note": "x" * 800})
	open("reported", "w").close()
	EOT
	raytrain-run --launcher local --storage runs --name slow \
		--set "$(command_of slow.sh "grace_s = 60;")" -- "$PYTHON" many.py 2>err &
	pid=$! &&
	eventually test -f reported && eventually grep "finished" err && echo >block && wait $pid &&
	grep "slow.sh does not read its events in time" err &&
	lost=$(jq -s "map(.lines // 0) | add" late) && test "$lost" -gt 0 &&
	got=$(jq -c "select(.event == \"report\")" late | wc -l) &&
	test "$got" -lt 12000 && test "$((got + lost))" -ge 12000 && tail -n 1 late | grep "\"event\":\"end\""
'
test_expect_success 'a log that cannot be opened is reported, and the command gets its events' '
	rm -f events &&
	test_must_fail $run --name log --max-failures 0 --set "$(command_of keep.sh)" \
		"$modules/many_metrics.so" 6 5 2>err &&
	rm -f events runs/log/logs/callback-keep.sh.log && mkfifo runs/log/logs/callback-keep.sh.log &&
	$run --name log --resume --max-failures 0 --set "$(command_of keep.sh)" \
		"$modules/many_metrics.so" 6 5 2>err &&
	grep "keep.sh: cannot create .*callback-keep.sh.log: .*; what it prints is lost" err &&
	test "$(tail -n 1 events | jq -r .event)" = end
'
# gone PIDFILE: the process with this number has ended.
gone () {
	! kill -0 "$(cat "$1")" 2>/dev/null
}
# none_called NAME: no process of this program is left.
none_called () {
	! pgrep -f "$PWD/$1" >/dev/null
}
program stays.sh <<'EOT'
sleep 1000 &
echo $! >child
trap "" TERM
: >staying
while :; do wait; done
EOT
test_expect_success 'one that does not end is killed after grace_s, with its children' '
	start_run $run --name stays --set "$(command_of stays.sh "grace_s = 0;")" &&
	eventually test -f staying && : >gate && wait $pid &&
	grep "stays.sh has not ended within 0 s after the run" err && grep grace_s err &&
	none_called stays.sh && eventually gone child
'
test_expect_success 'after a launcher was killed, nothing is left of its command and its children' '
	rm -f staying child &&
	start_run $run --name left --set "$(command_of stays.sh)" && eventually test -f staying &&
	kill -KILL $pid && eventually gone child && eventually none_called stays.sh &&
	eventually no_process_left && : >gate
'
program leaves.sh <<'EOT'
sleep 1000 &
echo $! >child
read -r line
exit 7
EOT
test_expect_success 'the children of a command that has ended are killed' '
	rm -f child gate &&
	start_run $run --name leaves --set "$(command_of leaves.sh)" &&
	eventually grep "leaves.sh has ended with status 7" err && eventually gone child &&
	: >gate && wait $pid
'
test_expect_success 'after a launcher was killed, its command is gone, and another one begins' '
	rm -f events &&
	start_run $run --name killed --set "$(command_of keep.sh)" && kill -KILL $pid &&
	eventually no_process_left && : >gate &&
	$run --name killed --resume --set "$(command_of keep.sh)" "$train" 2>err &&
	test "$(grep -c "\"event\":\"start\"" events)" = 2
'

# -- prometheus --

test_expect_success 'prometheus writes the state of a run to a file' '
	start_run $run --name prom --set "run_config.callbacks=({ type = \"prometheus\";
		interval_s = 1; })" &&
	eventually grep "raytrain_run_status{run=\"prom\",status=\"running\"} 1" runs/prom/metrics.prom &&
	eventually grep "raytrain_training_iteration{run=\"prom\",attempt=\"0\"} 2" runs/prom/metrics.prom &&
	: >gate && wait $pid &&
	grep "raytrain_run_status{run=\"prom\",status=\"finished\"} 1" runs/prom/metrics.prom &&
	grep "raytrain_training_iteration{run=\"prom\",attempt=\"0\"} 5" runs/prom/metrics.prom &&
	test "$(stat -c %a runs/prom/metrics.prom)" = 644 && no_temporary runs/prom
'
test_expect_success 'resumed after its end, a run keeps its labels in the file of prometheus' '
	$run --callback prometheus --name kept "$train" 2>err &&
	grep -v "timestamp\|raytrain_workers\|raytrain_nodes\|checkpoint_iteration" \
		runs/kept/metrics.prom >expected && rm runs/kept/metrics.prom &&
	$run --resume --callback prometheus --name kept "$train" 2>err &&
	grep -v timestamp runs/kept/metrics.prom >actual && test_cmp expected actual
'
"$PYTHON" -c "import prometheus_client" 2>/dev/null && test_set_prereq PROMETHEUS
test_expect_success PROMETHEUS 'another parser reads it: names, labels, NaN' '
	mkdir collect &&
	cat >names.py <<-\EOT &&
	import raytrain
	raytrain.report({"train/loss": 0.5, "train_loss": 2, "a.b": float("nan"), "text": "x",
	                 "v": [1, 2]})
	EOT
	$run --name "odd \"name\" \\ x" --set "run_config.callbacks=({ type = \"prometheus\";
		path = \"collect\"; interval_s = 1; })" -- "$PYTHON" names.py 2>err &&
	cat >parse.py <<-\EOT &&
	import glob, math
	from prometheus_client.parser import text_string_to_metric_families
	[path] = glob.glob("collect/*.prom")
	text = open(path).read()
	families = {f.name: f for f in text_string_to_metric_families(text)}
	assert all(f.documentation and f.type == "gauge" for f in families.values())
	name = "odd \"name\" \\ x"
	samples = [s for f in families.values() for s in f.samples]
	assert all(s.labels["run"] == name for s in samples)
	assert len({(s.name, tuple(sorted(s.labels.items()))) for s in samples}) == len(samples)
	losses = {s.labels["metric"]: s.value for s in families["raytrain_metric_train_loss"].samples}
	assert losses == {"train/loss": 0.5, "train_loss": 2}, losses
	assert math.isnan(families["raytrain_metric_a_b"].samples[0].value)
	assert "raytrain_metric_text" not in families and "raytrain_metric_v" not in families
	assert [s.labels["status"] for s in families["raytrain_run_status"].samples if s.value] \
	    == ["finished"]
	EOT
	"$PYTHON" parse.py
'
test_expect_success 'a file that cannot be written is a warning, and the run finishes' '
	$run --name gone --set "run_config.callbacks=({ type = \"prometheus\";
		path = \"none/file.prom\"; })" "$train" 2>err &&
	grep "prometheus: cannot .*none/file.prom" err && test "$(grep -c prometheus: err)" = 1
'
test_done
