#!/bin/sh
test_description='metrics of every type, superseded reports, and very many reports'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
# dump DATASET RUN: print its values.
dump () {
	h5dump -y -w 0 -m %.17g -d "$1" "runs/$2/result.h5" | sed -n "/DATA {/,/}/p" | sed "1d;\$d" |
		tr -d " \n"
}

test_expect_success 'integers, texts and vectors of rank 0 are in result.json' '
	$run --name types -n 2 --set run_config.failure_config.max_failures=1 \
		"$modules/many_metrics.so" 6 5 2>err &&
	tail -n 1 runs/types/result.json >last.json && grep "\"large\":9007199254740999," last.json &&
	jq -e ".note == \"rank 0 \\\"6\\\"\" and .hist == [6, 2] and (.[\"train/loss\"] * 6 - 1 |
		fabs < 1e-9) and .by_rank.note == {}" last.json &&
	sed -n 1p runs/types/result.json | jq -e ".hist == [1, 2, null]" &&
	tail -n 2 runs/types/result.json | sed 1q | jq -e ".hist == [5, 2, null] and
		.by_rank.hist == {rank0: [5.0, 2.0, \"-Infinity\"]}" &&
	raytrain-inspect --csv runs/types | grep "5.0,2.0,\"\"-Infinity"
'
test_expect_success 'result.h5 has each type, exactly' '
	test "$(dump /metrics/large types)" = \
		"$(for i in 4 5 6 7 8 9; do printf "%s900719925474099$i" $comma; comma=,; done)" &&
	dump /metrics_text/note types >notes && grep "^\"rank0" notes && ! grep replaced notes &&
	test "$(dump /metrics_vector/hist types)" = \
		"1,2,nan,2,2,nan,3,2,nan,4,2,nan,5,2,-inf,6,2,nan" &&
	h5dump -A -d /metrics/large runs/types/result.h5 >types && grep H5T_STD_I64LE types
'
# manual SECTION: the words of a section of raytrain-format(5), one a line.
manual () {
	sed -n "/^\.SH $1/,/^\.SH/p" "$srcdir/share/man/raytrain-format.5" | tr -d "\\\\" |
		tr -c "A-Za-z0-9_\n" "\n" | sort -u
}
# documented SECTION: each line of standard input is a word of that section.
documented () {
	sort -u >found && manual "$1" >words && comm -23 found words >lacks && test -s found &&
		test_must_be_empty lacks
}
test_expect_success 'raytrain-format(5) has each key of the records of a run' '
	$run --name documented -n 2 --resume=runs/types/checkpoint_000003.h5 \
		"$modules/many_metrics.so" 4 2>err &&
	cat runs/types/logs/attempt-[01]/attempt.json runs/documented/logs/attempt-0/attempt.json |
		jq -r "[.. | objects | keys[]] | .[]" >keys &&
	grep -x started_from keys && grep -x hash keys && grep -x signal keys &&
	documented "ATTEMPT.JSON" <keys &&
	h5dump -A runs/types/result.h5 |
		sed -n "s/.*ATTRIBUTE \"\(.*\)\" {/\1/p; s/.*[A-Z}0-9] \"\([a-z_]*\)\";/\1/p" >keys &&
	grep -x n_attempts keys && grep -x superseded_by keys && grep -x lost_seconds keys &&
	documented RESULT.H5 <keys &&
	jq -r "keys[]" runs/types/result.json | grep -v -x -e large -e note -e hist -e train/loss >keys &&
	grep -x iterations_since_restore keys && documented RESULT.JSON <keys
'
test_expect_success 'reports that a later attempt made again are marked' '
	h5dump -y -d /superseded runs/types/result.h5 | tr -d " \n" | grep "{4,0,1},{5,0,1}" &&
	test "$(dump /metrics/train/loss types | tr "," "\n" | grep -c .)" = 6
'
test_expect_success 'raytrain-inspect shows and plots such a run' '
	raytrain-inspect runs/types >out && grep "large  *9.0072e+15" out && grep "^note" out &&
	raytrain-inspect --plot train/loss runs/types >out &&
	expect_status 3 raytrain-inspect --plot note runs/types 2>err && grep note err
'
test_expect_success 'a shell script reports texts' '
	$run --name shell -n 2 -- sh -c \
		"exec raytrain-report loss=1 --text \"note=rank \$RANK\" --text empty=" 2>err &&
	tail -n 1 runs/shell/result.json | jq -e ".note == \"rank 0\" and .empty == \"\"" &&
	expect_status 2 raytrain-report loss=1 --text note 2>err && grep "write NAME=VALUE" err
'
command -v python3 >/dev/null && test_set_prereq PYTHON
test_expect_success PYTHON 'a Python script reports texts, lists, nested dicts and large integers' '
	cat >script.py <<-\EOT &&
	import raytrain
	for i in range(3):
	    raytrain.report({"epoch": i, "note": "é", "hist": (1, 2.5, float("nan")),
	                     "train": {"loss": 1, "of": ["x"]}, "steps": 2**60 + i})
	result = raytrain.get_context()
	EOT
	$run --name python -n 2 -- python3 script.py 2>err &&
	tail -n 1 runs/python/result.json >last.json && grep 1152921504606846978 last.json &&
	jq -e ".epoch == 2 and .note == \"é\" and .hist == [1, 2.5, null] and
		.[\"train/loss\"] == 1" last.json &&
	grep "in result.json only: train/of" err && dump /metrics/steps python | grep 1152921504606846978
'
test_expect_success PYTHON 'a report may have a hundred thousand metrics, and megabytes of vectors' '
	cat >wide.py <<-\EOT &&
	import random, raytrain
	given = {f"vector{i}": [random.random() for _ in range(1000)] for i in range(100)}
	raytrain.report(given)
	assert raytrain.get_context().get_world_size() == 1
	open("given", "w").write(repr(given))
	EOT
	$run --name vectors -n 1 -- $PYTHON wide.py 2>err && test_must_fail grep "too large\|MiB" err &&
	cat >wide_read.py <<-\EOT &&
	from raytrain import Result, _metrics
	assert Result.from_path("runs/vectors").metrics == eval(open("given").read())
	numbers = {f"m{i}": i / 3 for i in range(100000)}
	texts = {f"t{i}": "x" * 300 for i in range(100000)}
	kept = _metrics.recorded({**numbers, **texts})
	assert kept.numbers == numbers and len(kept.typed) == len(texts)
	assert (16 << 20) * 0.9 < len(kept.reported) <= 16 << 20 and "\"m99999\"" in kept.reported
	assert "the largest are kept as columns only" in kept.notes[0], kept.notes
	EOT
	PYTHONPATH=$stage/share/raytrain/python timeout 100 $PYTHON wide_read.py
'
test_expect_success PYTHON 'metrics of Python are those of rank 0, with their types; NaN elsewhere does not matter' '
	cat >own.py <<-\EOT &&
	import math, raytrain
	first = raytrain.get_context().get_world_rank() == 0
	for epoch, loss in enumerate([0.7, 0.25, 0.9, 0.8]):
	    raytrain.report({"epoch": epoch, "loss": loss if first else math.nan, "flag": first,
	                     "acc": epoch / 4 if first else 1, "note": "x", "done": 7, "a b": [None],
	                     "of": {"in": {"?": epoch}, "top": math.inf if first else 1.0}},
	                    checkpoint=raytrain.Checkpoint.from_dict({"epoch": epoch}))
	EOT
	$run --name own -n 2 --callback csv --set "run_config={stop={acc=0.5;};
		checkpoint_config={num_to_keep=1; checkpoint_score_attribute=\"loss\";
			checkpoint_score_order=\"min\";};}" -- $PYTHON own.py 2>err &&
	ls runs/own/checkpoint_*.h5 >kept && test 2 = $(grep -c "00000[23].h5" kept) &&
	grep "has a .done. already.* kept for Result.metrics" err && grep "in result.json only: a b$" err &&
	cat >own_read.py <<-\EOT &&
	import math, raytrain
	result = raytrain.Result.from_path("runs/own")
	metrics = result.metrics
	want = {"epoch": 2, "loss": 0.9, "flag": True, "acc": 0.5, "note": "x", "done": 7,
	        "a b": [None], "of": {"in": {"?": 2}, "top": math.inf}}
	assert metrics == want and repr(metrics) == repr(want), metrics
	assert metrics["training_iteration"] == metrics.get("training_iteration") == 3
	assert "training_iteration" not in metrics and metrics["of/in/?"] == 2
	ranks = result.by_rank
	assert ranks["acc"] == {"rank0": 0.5, "min": 0.5, "max": 1.0, "mean": 0.75}, ranks
	assert math.isnan(ranks["loss"]["mean"]) and ranks["of/top"]["mean"] == math.inf, ranks
	best = result.get_best_checkpoint("loss", "min")
	assert best.metrics == {**want, "epoch": 1, "loss": 0.25, "acc": 0.25,
	                        "of": {"in": {"?": 1}, "top": math.inf}}, best.metrics
	row = result.metrics_history[1].columns()
	assert (row["loss"], row["acc/mean"], row["done"], row["world_size"]) == (0.25, 0.625, 7, 2)
	EOT
	PYTHONPATH=$stage/share/raytrain/python $PYTHON own_read.py &&
	test "$(dump /metrics/acc own) $(dump /metrics_mean/acc own)" = "0,0.25,0.5 0.5,0.625,0.75" &&
	sed -n 3p runs/own/progress.csv | grep ",0.25,1," && raytrain-inspect runs/own | grep "^acc  *0.5 "
'
test_expect_success PYTHON 'a run whose values were means continues with those of rank 0, and has both' '
	echo "raytrain.report({\"loss\": 5 + raytrain.get_context().get_world_rank()})" |
		sed "1i import raytrain" >on.py &&
	echo "test -e later && exec $PYTHON on.py || exec raytrain-report loss=\$RANK --checkpoint on.py" >both &&
	$run --name both -n 2 -- sh both 2>err && >later && $run --name both -n 2 --resume --set train_loop_config.on=1 -- sh both 2>err &&
	test "$(dump /metrics/loss both) $(dump /metrics_rank0/loss both)" = "0.5,5 0,5" &&
	test "$(dump /metrics_mean/loss both)" = 0.5,5.5 &&
	sed -n 2p runs/both/result.json | jq -e ".loss == 5 and .reported == {loss: 5}"
'
test_expect_success 'an infinite metric stays infinite in everything that shows it' '
	$run --name infinite -n 2 --callback csv --callback prometheus -- sh -c "
		if test \$RANK = 0; then set -- 1 inf; else set -- -inf inf; fi
		exec raytrain-report loss=\$1 reward=\$2 lost=nan --text note=Infinity" 2>err &&
	jq -e ".loss == null and .by_rank.loss == {rank0: 1, min: \"-Infinity\", max: 1,
		mean: \"-Infinity\"} and .by_rank.lost == {rank0: null, min: null, max: null} and
		.by_rank.note == {}" runs/infinite/result.json &&
	test "$(dump /metrics/loss infinite) $(dump /metrics_min/loss infinite)" = "-inf -inf" &&
	test "$(dump /metrics/reward infinite) $(dump /metrics_rank0/reward infinite)" = "inf inf" &&
	test "$(dump /metrics/lost infinite)" = nan &&
	raytrain-inspect runs/infinite >out && grep "^loss  *-inf" out && grep "^reward  *inf" out &&
	grep "^note  *Infinity" out && raytrain-inspect --csv runs/infinite >out.csv &&
	grep -e ",-inf,inf,,Infinity" out.csv &&
	grep ",$(jq .time_total_s runs/infinite/result.json)," out.csv &&
	grep -e ",-inf," runs/infinite/progress.csv &&
	grep "metric_reward.* +Inf" runs/infinite/*.prom
'
test_expect_success PYTHON 'the Result of Python has infinities' '
	cat >read.py <<-\EOT &&
	import math, raytrain
	metrics = raytrain.Result.from_path("runs/infinite").metrics
	assert metrics["loss"] == -math.inf and metrics["reward"] == math.inf, metrics
	assert math.isnan(metrics["lost"]) and metrics["note"] == "Infinity", metrics
	EOT
	PYTHONPATH=$stage/share/raytrain/python $PYTHON read.py
'
test_expect_success PYTHON 'infinities in a vector of a Python script stay infinite' '
	cat >vector.py <<-\EOT &&
	import math, sys, raytrain
	if sys.argv[1:]:
	    hist = raytrain.Result.from_path(sys.argv[1]).metrics["hist"]
	    assert hist[:3] == [1, math.inf, -10 ** 400] and math.isnan(hist[3]), hist
	else:
	    raytrain.report({"hist": [1, math.inf, -10 ** 400, math.nan]})
	EOT
	$run --name vector -n 2 --callback tensorboard -- $PYTHON vector.py 2>err &&
	jq -e ".hist == [1, null, null, null] and
		.by_rank.hist.rank0 == [1, \"Infinity\", \"-Infinity\", null]" runs/vector/result.json &&
	test "$(dump /metrics_vector/hist vector)" = "1,inf,-inf,nan" &&
	PYTHONPATH=$stage/share/raytrain/python $PYTHON vector.py runs/vector
'
test_expect_success 'the result of twenty thousand reports has all of them' '
	$run --name many -n 1 "$modules/many_metrics.so" 20000 2>err &&
	h5dump -H -d /reports runs/many/result.h5 | grep "( 20000 )" &&
	h5dump -y -d /metrics/large -s 19999 -c 1 runs/many/result.h5 | grep 9007199254760993 &&
	raytrain-inspect runs/many | grep "^reports  *20000"
'
test_expect_success 'a report of forty thousand metrics does not take minutes' '
	timeout 150 $run --name wide -n 1 "$modules/many_metrics.so" 1 0 40000 2>err &&
	test "$(dump /metrics_max/layer399/weight39999 wide)" = 39999
'
test_done
