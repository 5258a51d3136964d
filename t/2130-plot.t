#!/bin/sh

test_description='raytrain-inspect --plot draws metrics as text and by gnuplot, and --csv prints reports'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

command -v gnuplot >/dev/null && test_set_prereq GNUPLOT
locale -a | grep -qix -e C.UTF-8 -e C.utf8 && test_set_prereq UTF8
unset COLUMNS LINES

# make_run DIR ITERATIONS [METRIC [CASE]]: a run with reports of a metric. CASE is what its
# values are: "noisy", with a lowest and a highest of the workers (the default); "huge", "gaps",
# "constant", "negative" or "peak".
make_run () {
	/usr/bin/python3 - "$@" <<-\PY
	import json, math, os, sys
	run, n = sys.argv[1], int(sys.argv[2])
	metric = sys.argv[3] if len(sys.argv) > 3 else "loss"
	case = sys.argv[4] if len(sys.argv) > 4 else "noisy"
	os.makedirs(run)
	open(run + "/run.cfg", "w").write("seed = 1L;\n")
	value = {"noisy": lambda i: 1 / i, "huge": lambda i: 1e300 * (-1) ** i,
	         "gaps": lambda i: None if i % 3 == 0 else i, "constant": lambda i: 5,
	         "negative": lambda i: -i, "peak": lambda i: 1000 if i == 777 else 1}[case]
	with open(run + "/result.json", "w") as out:
	    for i in range(1, n + 1):
	        v = value(i)
	        ranks = {"rank0": v, "min": v, "max": v}
	        if case == "noisy":
	            ranks = {"rank0": v, "min": v / 2, "max": v * 2}
	        out.write(json.dumps({"training_iteration": i, "attempt": 0, "timestamp": 1700000000 + i,
	            "time_total_s": i * 0.5, "time_this_iter_s": 0.5, "checkpoint": None,
	            "note": "a \"b\", c", "shape": [1, 2],
	            metric: v, "by_rank": {metric: ranks, "note": {}, "shape": {}}}) + "\n")
	PY
}

# widest FILE: the columns of its widest line.
widest () {
	/usr/bin/python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in open(sys.argv[1], encoding="utf-8")))' "$1"
}

test_expect_success 'set up runs' '
	make_run noisy 40 && make_run short 10 && make_run huge 6 loss huge &&
	make_run gaps 30 loss gaps && make_run constant 9 loss constant &&
	make_run negative 9 loss negative && make_run one 1 && make_run peak 20000 loss peak
'

test_expect_success 'a plot in ASCII has an axis with round numbers, a curve and a band' '
	LC_ALL=C raytrain-inspect noisy --plot loss >out &&
	grep "^loss (with lowest and highest of the workers)$" out &&
	grep "^  *2 |" out && grep "^  *0 |" out &&
	grep -F "*" out && grep -F "..." out &&
	grep "training_iteration 1 to 40" out
'

test_expect_success 'in the locale C no byte is beyond ASCII' '
	make_run foreign 5 "$(printf "verlust_\303\244\033[31m")" &&
	LC_ALL=C raytrain-inspect foreign --plot "$(printf "verlust_\303\244\033[31m")" >out &&
	grep -F "verlust_\\xc3\\xa4\\x1b[31m" out &&
	LC_ALL=C grep -c "[^ -~]" out >count || test "$(cat count)" -eq 0
'

test_expect_success UTF8 'in a locale with UTF-8 the curve is drawn with dots of Braille characters' '
	LC_ALL=C.UTF-8 raytrain-inspect noisy --plot loss >out &&
	/usr/bin/python3 - <<-\PY
	text = open("out", encoding="utf-8").read()
	assert any(0x2800 < ord(c) <= 0x28ff for c in text) and "\u2591" in text, text
	PY
'

test_expect_success UTF8 'a plot is as wide as COLUMNS says, and no wider' '
	for columns in 20 40 80 200; do
		for locale in C C.UTF-8; do
			COLUMNS=$columns LC_ALL=$locale raytrain-inspect noisy short --plot loss,time_total_s \
				--log >out &&
			test "$(widest out)" -eq $columns || return 1
		done
	done
'

test_expect_success 'several metrics are panels, one below the other' '
	LC_ALL=C raytrain-inspect noisy --plot loss,time_this_iter_s,loss >out &&
	test "$(grep -c "^loss" out)" -eq 1 && grep "^time_this_iter_s" out &&
	test "$(grep -c "+-----" out)" -eq 2
'

test_expect_success 'the height of a plot is that of the terminal' '
	LINES=50 LC_ALL=C raytrain-inspect noisy --plot loss >out && test "$(wc -l <out)" -gt 30 &&
	LINES=10 LC_ALL=C raytrain-inspect noisy --plot loss >out && test "$(wc -l <out)" -lt 10
'

test_expect_success 'numbers of any size, gaps, constants and single points are drawn' '
	for run in huge gaps constant negative one; do
		LC_ALL=C raytrain-inspect $run --plot loss >out && grep -F "*" out || return 1
	done &&
	LC_ALL=C raytrain-inspect huge --plot loss >out && grep "1e+300 |" out &&
	grep "[-]1e+300 |" out
'

test_expect_success 'no peak is lost among many reports' '
	LC_ALL=C raytrain-inspect peak --plot loss >out && grep "^ *1000 |  *[*]" out
'

test_expect_success '--log has an axis of powers, and leaves out what is not positive' '
	LC_ALL=C raytrain-inspect noisy --plot loss --log >out && grep "^ *0.1 |" out &&
	grep "logarithmic" out &&
	expect_status 3 raytrain-inspect negative --plot loss --log 2>err && grep -e --log err
'

test_expect_success '--x time plots over the seconds of training' '
	LC_ALL=C raytrain-inspect noisy --plot loss --x time >out && grep "time_total_s 0.5 to 20" out &&
	expect_status 2 raytrain-inspect noisy --plot loss --x date 2>err && grep "iteration or time" err
'

test_expect_success 'several runs have a mark each, and a legend' '
	LC_ALL=C raytrain-inspect noisy short --plot loss >out &&
	grep "^  [*] noisy" out && grep "^  + short" out && grep "^ .*[|].*+" out &&
	make_run other 5 other &&
	LC_ALL=C raytrain-inspect noisy short other --plot loss >out &&
	grep "^  x other (no numbers)" out && ! grep "short (no" out
'

test_expect_success 'texts and vectors are not drawn, and metrics with numbers are listed' '
	for metric in note shape nothing; do
		expect_status 3 raytrain-inspect noisy --plot $metric 2>err &&
		grep "there are: loss$" err || return 1
	done
'

test_expect_success '--csv prints the reports of a run, with quotes if necessary' '
	raytrain-inspect noisy --csv >out && /usr/bin/python3 - <<-\PY
	import csv
	rows = list(csv.DictReader(open("out", newline="")))
	assert len(rows) == 40 and rows[2]["training_iteration"] == "3", rows[2]
	assert float(rows[2]["loss"]) == 1 / 3 and rows[2]["time_total_s"] == "1.5", rows[2]
	assert rows[2]["note"] == "a \"b\", c" and rows[2]["shape"] == "[1,2]", rows[2]
	assert rows[2]["data_wait_s"] == ""
	PY
	cp -r short mixed && sed "s/\"loss\": 0.5,/\"loss\": \"none\",/" short/result.json >mixed/result.json &&
	raytrain-inspect mixed --csv >out && /usr/bin/python3 - <<-\PY
	import csv
	names, *rows = list(csv.reader(open("out", newline="")))
	at = names.index("loss")
	assert names.count("loss") == 1 and rows[0][at] == "1" and rows[1][at] == "none", rows
	PY
'

test_expect_success '--csv is refused for a path that is not a run' '
	expect_status 2 raytrain-inspect noisy/result.json --csv 2>err && grep -e "--csv" err &&
	expect_status 2 raytrain-inspect noisy --csv --json 2>err
'

# is_picture FILE: a PNG that is not blank, and of the size that is expected.
is_picture () {
	/usr/bin/python3 - "$1" <<-\PY
	import struct, sys, zlib
	data = open(sys.argv[1], "rb").read()
	assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
	width, height = struct.unpack(">II", data[16:24])
	assert width == 900 and height >= 320, (width, height)
	pixels, at = b"", 8
	while at < len(data):
	    n, kind = struct.unpack(">I4s", data[at:at + 8])
	    pixels += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
	    at += n + 12
	pixels = zlib.decompress(pixels)
	assert len(set(pixels)) > 20, "blank"
	PY
}

# labels_inside FILE TEXT...: an SVG with these texts, each inside the picture.
labels_inside () {
	/usr/bin/python3 - "$@" <<-\PY
	import re, sys, xml.etree.ElementTree as tree
	root = tree.parse(sys.argv[1]).getroot()
	width, height = (float(v) for v in root.get("viewBox").split()[2:])
	texts = {}
	def walk(e, x, y):
	    m = re.match(r"translate\(([-0-9.]+)[, ]([-0-9.]+)\)", e.get("transform", ""))
	    if m:
	        x, y = x + float(m[1]), y + float(m[2])
	    if e.get("text-anchor"):
	        walk.anchor = e.get("text-anchor")
	    if e.tag.endswith("}text"):
	        text = "".join(e.itertext()).strip()
	        size = 12 * 0.62 * len(text)
	        left = x - {"start": 0, "middle": size / 2, "end": size}[walk.anchor]
	        assert 0 <= left and left + size <= width and 0 < y < height, (text, left, size, x, y)
	        texts[text] = True
	    for child in e:
	        walk(child, x, y)
	walk.anchor = "start"
	walk(root, 0, 0)
	for wanted in sys.argv[2:]:
	    assert wanted in texts, (wanted, sorted(texts))
	PY
}

test_expect_success GNUPLOT 'a plot becomes a PNG, an SVG with all labels inside, and a PDF' '
	raytrain-inspect noisy --plot loss,time_this_iter_s -o a.png && is_picture a.png &&
	raytrain-inspect noisy --plot loss,time_this_iter_s -o a.svg &&
	labels_inside a.svg loss time_this_iter_s "training iteration" value "lowest to highest worker" &&
	raytrain-inspect noisy --plot loss -o a.pdf && head -c 5 a.pdf | grep "%PDF-"
'

test_expect_success GNUPLOT 'runs of different length are drawn together, with their names' '
	raytrain-inspect noisy short --plot loss --x time --log --output both.svg &&
	labels_inside both.svg noisy short "training time (s)" &&
	raytrain-inspect noisy short --plot loss,time_this_iter_s,time_total_s -o once.svg &&
	labels_inside once.svg noisy short loss time_this_iter_s time_total_s &&
	test 1 -eq $(grep -o ">noisy<" once.svg | wc -l) &&
	raytrain-inspect noisy short --plot loss --output both.png && is_picture both.png
'

test_expect_success GNUPLOT 'numbers of any size, gaps, constants and single points are drawn by gnuplot' '
	for run in huge gaps constant negative one peak; do
		raytrain-inspect $run --plot loss -o $run.png 2>err && test_must_be_empty err &&
		is_picture $run.png || return 1
	done
'

test_expect_success GNUPLOT 'a name with quotes, backslashes and backquotes is text for gnuplot' '
	name=$(printf "a%cb%cc%c{^2}%ctouch pwned%c @x\\\\n%%d" \" "$(printf "\\047")" \\ \` \`) &&
	make_run quoted 5 "$name" && make_run "it$(printf "\\047")s" 5 "$name" &&
	raytrain-inspect quoted "it$(printf "\\047")s" --plot "$name" -o quoted.svg &&
	labels_inside quoted.svg "$name" "it$(printf "\\047")s" &&
	make_run control 5 "$(printf "x\033y\nz")" &&
	raytrain-inspect control --plot "$(printf "x\033y\nz")" -o control.svg &&
	labels_inside control.svg "x\\x1by\\x0az" && test_path_is_missing pwned
'

test_expect_success GNUPLOT 'a long name is cut, inside the picture' '
	name=$(printf "metric_%.0s" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20) &&
	make_run "$name" 5 "$name" && raytrain-inspect "$name" noisy --plot "$name" -o long.svg &&
	labels_inside long.svg noisy &&
	raytrain-inspect "$name" "$name" "$name" noisy --plot "$name" -o long.svg &&
	labels_inside long.svg noisy
'

test_expect_success GNUPLOT 'a file that cannot be written is an error, and the older one remains' '
	echo old >full.png &&
	expect_status 3 raytrain-inspect noisy --plot loss -o absent/a.png 2>err && grep absent/a.png err &&
	expect_status 2 raytrain-inspect noisy --plot loss -o a.jpg 2>err && grep "[.]svg" err &&
	expect_status 3 raytrain-inspect noisy --plot nothing -o full.png 2>err &&
	grep old full.png && no_temporary .
'

test_expect_success 'without gnuplot the message says what to install' '
	mkdir -p bin && program=$(command -v raytrain-inspect) &&
	PATH=$PWD/bin expect_status 3 "$program" noisy --plot loss -o a.png 2>err &&
	grep gnuplot-nox err && printf "#!/bin/sh\necho broken >&2\nexit 1\n" >bin/gnuplot &&
	chmod +x bin/gnuplot &&
	PATH=$PWD/bin:$PATH expect_status 1 "$program" noisy --plot loss -o b.png 2>err &&
	grep "gnuplot.*broken" err && test_path_is_missing b.png
'

test_done
