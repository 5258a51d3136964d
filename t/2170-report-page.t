#!/bin/sh

test_description='raytrain-inspect -o report.html: a run, or several, as one page, without a browser'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

# page KIND [REPORTS]: make a run of this kind, and its page, KIND.html.
page () {
	/usr/bin/python3 "$srcdir/t/check/sample_runs.py" "$1" "runs/$1" $2 &&
	raytrain-inspect -o "$1.html" "runs/$1"
}

# check KIND: the page is well-formed, needs nothing from elsewhere, and escapes all texts.
check () {
	/usr/bin/python3 "$srcdir/t/check/page_check.py" "$1.html"
}

test_expect_success 'the page of a run with three attempts is whole' '
	page failed && check failed &&
	test "$(ls)" = "failed.html
runs" &&
	grep "<h1>failed</h1>" failed.html &&
	test 6 -eq $(grep -c "<figure class=\"curve\"" failed.html) &&
	test 3 -eq $(grep -c "class=\"lane\"" failed.html) &&
	grep "Best accuracy" failed.html
'

test_expect_success 'reports that were replaced do not count, and are listed as lost' '
	grep -o "data-title=\"Lost\"[^>]*><div>[^<]*" failed.html | sed "s/.*>//" >lost &&
	printf "%s\n" "10 (15 s)" "20 (30 s)" >expect &&
	head -n 2 lost >actual && test_cmp expect actual &&
	grep "aria-label=\"loss over 200 reports: from 2.3796 at iteration 1 to" failed.html
'

test_expect_success 'values that were replaced are drawn behind the curve, with a legend' '
	grep "replaced by a later attempt" failed.html >legends &&
	test 3 -eq $(wc -l <legends) &&
	/usr/bin/python3 - <<-\PY
	import json, re
	reports = [json.loads(line) for line in open("runs/failed/result.json")]
	last = {r["training_iteration"]: r for r in reports}
	gone = [r for r in reports if last[r["training_iteration"]] is not r]
	assert len(gone) == 30
	page = open("failed.html").read()
	figure = page[page.index("data-name=\"loss\""):]
	data = json.loads(re.search(r"json\">(.*?)</script>", figure, re.S)[1])
	old = [(x, y) for x, y in zip(data["old_x"], data["old_y"]) if y is not None]
	assert [x for x, y in old] == [r["training_iteration"] for r in gone], old
	for (x, y), r in zip(old, gone):
	    assert abs(y - r["loss"]) <= 1e-6 * abs(y), (x, y, r)
	paths = re.findall(r"path class=\"(\w+)[^\"]*\" d=\"([^\"]*)\"", figure)
	names = [name for name, d in paths]
	assert names.index("old") < names.index("band") < names.index("line"), names
	d = dict(reversed(paths))["old"]
	assert d.count("M") == 2 and d.count("L") == 28, d
	PY
'

test_expect_success 'values that were replaced do not flatten a curve, nor end it' '
	page diverged && check diverged &&
	/usr/bin/python3 - <<-\PY
	import json, re
	page = open("diverged.html").read()
	figure = page[page.index("data-name=\"loss\""):]
	low, high = map(float, re.search(r"data-y=\"(\S+) (\S+)\"", figure).groups())
	assert high < 10, high
	first, last = map(float, re.search(r"data-x=\"(\S+) (\S+)\"", figure).groups())
	assert last >= 20, last
	PY
'

test_expect_success 'a failure has its message, rank, node, signal and the end of its log' '
	grep "rank 3 was killed: out of memory" failed.html &&
	grep "rank 3 on n2, signal 9" failed.html &&
	grep "rank 0 on n1, exit status 7" failed.html &&
	grep "logs/attempt-0/rank-00003.err" failed.html &&
	grep "^line 99$" failed.html && ! grep "line 10$" failed.html &&
	grep "^progress 100%$" failed.html &&
	grep "^MemoryError: &lt;b&gt;no&lt;/b&gt;" failed.html
'

test_expect_success 'the page says how to continue, and how to repeat the run' '
	grep -F "raytrain-run --config &#39;$PWD/runs/failed/run.cfg&#39; --resume<" failed.html &&
	grep -F "raytrain-run --config &#39;$PWD/runs/failed/run.cfg&#39; --name failed-again<" \
		failed.html
'

test_expect_success 'names, messages, logs and texts cannot become elements, scripts or escapes' '
	page nasty && check nasty &&
	! grep -i "<img" nasty.html &&
	grep "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" nasty.html &&
	grep -F "\\x1b[31mred" nasty.html &&
	grep -F "\\x1b]0;x" nasty.html && grep -F "\\xff" nasty.html
'

test_expect_success 'the name of a run is escaped, too' '
	name="<b>&\"$(printf "\001")x" &&
	cp -R runs/failed "runs/$name" &&
	raytrain-inspect -o name.html "runs/$name" && check name &&
	grep -F "<h1>&lt;b&gt;&amp;&quot;\\x01x</h1>" name.html
'

test_expect_success 'metrics without a number have gaps, or no curve' '
	page nan && check nan &&
	sed -n "/data-name=.holes/,/<.figure>/s/.*class=.line. d=.\([^\"]*\).*/\1/p" nan.html >line &&
	test 3 -eq $(tr -cd M <line | wc -c) && test 21 -eq $(tr -cd L <line | wc -c) &&
	! grep "data-name=\"never\"" nan.html &&
	grep "data-title=\"Metric\"><div>never<" nan.html &&
	grep -F "günstig g...<" nan.html &&
	grep "data-name=\"alone\"" nan.html &&
	! grep -iE "d=\"[^\"]*(nan|inf)" nan.html
'

test_expect_success 'runs without reports, and without attempts, have a page' '
	page empty && check empty &&
	grep "no report yet" empty.html && grep "no record of an attempt" empty.html &&
	page unstarted && check unstarted &&
	grep "srun: no such partition" unstarted.html
'

test_expect_success 'many attempts share a lane, and many curves the size of the page' '
	page many && check many &&
	test 1 -eq $(grep -c "class=\"lane\"" many.html) &&
	test 61 -eq $(grep -c "<figure class=\"curve\"" many.html) &&
	test $(wc -c <many.html) -lt 2000000
'

test_expect_success 'a curve of many reports has few points, and the extremes are among them' '
	page long 20000 && check long &&
	test $(wc -c <long.html) -lt 2000000 &&
	test 10 -eq $(grep -o "class=\"mean\"" long.html | wc -l) &&
	/usr/bin/python3 - <<-\PY
	import json, re
	reports = [json.loads(line) for line in open("runs/long/result.json")]
	page = open("long.html").read()
	for name, data in re.findall(r"data-name=\"([^\"]*)\">.*?json\">(.*?)</script>", page, re.S):
	    if name not in reports[0]:
	        continue
	    data, values = json.loads(data), [r[name] for r in reports]
	    close = lambda a, b: abs(a - b) <= 1e-6 * abs(b) + 1e-12
	    assert 1000 <= len(data["x"]) <= 2000, len(data["x"])
	    assert close(min(data["y"]), min(values)) and close(max(data["y"]), max(values)), name
	    assert data["x"][0] == 1 and data["x"][-1] == 20000
	    mean = sum(data["mean_y"]) / len(data["mean_y"])
	    assert abs(mean - sum(values) / len(values)) <= 1e-3, name
	    assert all(close(y, values[x - 1]) for x, y in zip(data["x"], data["y"])), name
	PY
'

test_expect_success 'a sample with checkpoints lists them, the best and the newest' '
	"$check/store_sample" runs/sample &&
	raytrain-inspect -o sample.html runs/sample && check sample &&
	grep -A 12 "checkpoint_000002.h5" sample.html | grep "<b>best</b>" &&
	grep "newest" sample.html
'

test_expect_success '--compare -o is a page with a chart of each metric, and a line in it for each run' '
	/usr/bin/python3 "$srcdir/t/check/sample_runs.py" sweep runs/sweep &&
	raytrain-inspect --compare runs/sweep -o sweep.html && check sweep &&
	test 3 -eq $(grep -c "<figure class=\"curve overlay\"" sweep.html) &&
	/usr/bin/python3 - <<-\PY
	import html, json, os, re
	page = open("sweep.html").read()
	runs = sorted(os.listdir("runs/sweep"))
	for name, figure in re.findall(r"data-name=\"([^\"]*)\">(.*?)</figure>", page, re.S):
	    assert "does-not</span><span>-end-here<" in figure
	    names = [html.unescape(n) for n in re.findall(r"<dt title=\"([^\"]*)\"", figure)]
	    assert sorted(names) == runs, names
	    lines = json.loads(re.search(r"json\">(.*?)</script>", figure, re.S)[1])["runs"]
	    for line in lines:
	        path = os.path.join("runs/sweep", names[line["run"]], "result.json")
	        reports = [json.loads(text) for text in open(path)]
	        assert line["x"] == [r["training_iteration"] for r in reports], name
	        assert all(abs(y - r[name]) <= 1e-6 for y, r in zip(line["y"], reports)), name
	        classes = "line run-%d dash-0" % line["run"]
	        d = re.search("class=\"%s\" d=\"([^\"]*)\"" % classes, figure)[1]
	        assert d.count("L") == len(reports) - 1, (name, d)
	    assert len(lines) == {"accuracy": 3}.get(name, 7), (name, len(lines))
	PY
'

test_expect_success 'the table of the runs has what differs in their configurations, and the best run' '
	sed -n "/id=.runs./,/<.section>/p" sweep.html >runs.html &&
	grep -F "<th scope=\"col\">train_loop_config.lr</th>" runs.html &&
	grep -F "data-title=\"train_loop_config.batch\"><div>64<" runs.html &&
	! grep seed runs.html && ! grep run_config runs.html &&
	test 1 -eq $(grep -o "<b class=\"good\">" runs.html | wc -l) &&
	grep -F "lr=0.1 &lt;b&gt;&amp; &quot;more&quot;<" runs.html
'

test_expect_success 'many runs and metrics have a page of limited size, which says what it leaves out' '
	/usr/bin/python3 "$srcdir/t/check/sample_runs.py" sweep runs/large 2000 12 &&
	raytrain-inspect --compare -o large.html runs/large runs/large runs/large runs/large &&
	check large && test $(wc -c <large.html) -lt 2000000 &&
	grep "first 24 of 32 runs" large.html && grep "class=\"line dense run-" large.html &&
	grep "class=\"line run-1 dash-2\"" large.html
'

test_expect_success 'what cannot be written is an error with exit status 5, and leaves nothing' '
	expect_status 5 raytrain-inspect -o absent/report.html runs/failed 2>err &&
	grep "absent/report.html" err &&
	mkdir -p dir/report.html &&
	expect_status 5 raytrain-inspect -o dir/report.html runs/failed 2>err &&
	test "$(ls -A dir)" = report.html
'

test_expect_success 'a directory that is not a run, and wrong usage, are refused' '
	mkdir -p nothing &&
	expect_status 3 raytrain-inspect -o x.html nothing 2>err &&
	grep "not a run" err &&
	expect_status 3 raytrain-inspect -o x.html absent 2>err &&
	expect_status 2 raytrain-inspect -o x.html --json runs/failed 2>err &&
	expect_status 2 raytrain-inspect -o x.html runs/failed runs/nan 2>err &&
	grep -e "add --compare" err &&
	expect_status 2 raytrain-inspect --compare -o x.png runs/failed runs/nan 2>err &&
	grep -e "ends in .html" err &&
	expect_status 2 raytrain-inspect --compare --csv -o x.html runs/failed runs/nan 2>err &&
	expect_status 2 raytrain-inspect --compare -o x.html runs/failed 2>err &&
	grep "only one run" err && test_path_is_missing x.png &&
	test_path_is_missing x.html
'

test_expect_success 'an existing page is replaced' '
	echo old >failed.html &&
	raytrain-inspect -o failed.html runs/failed && check failed &&
	raytrain-inspect -o upper.HTML runs/failed && grep "<h1>failed</h1>" upper.HTML
'

test_done
