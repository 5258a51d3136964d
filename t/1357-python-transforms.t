#!/bin/sh
test_description='datasets in Python before a trainer: rows changed, chosen and ordered'
. "$(dirname "$0")/setup.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

cat >common.py <<\EOT
import os, sys
import numpy as np
import raytrain
from raytrain import Checkpoint, DataConfig, DataParallelTrainer, RunConfig, ScalingConfig, data
from raytrain.data import *

DRIVER = int(os.environ.setdefault("DRIVER", str(os.getpid())))  # workers inherit it

def trainer(function, datasets, workers=2, **arguments):
    run = arguments.pop("run", {})
    return DataParallelTrainer(
        function, datasets=datasets, scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(launcher="local", storage_path="runs", verbose=0, **run),
        **arguments)

def refused(kind, words, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{words}: nothing was refused")

def ids(rows, name="id"):
    return [int(row[name]) for row in rows]

def in_worker(row):
    assert os.getpid() != DRIVER, "a function ran in the driver"
    return row
EOT
"$PYTHON" - <<\EOT
import json
import numpy as np
n = 1000
np.savez("rows.npz", id=np.arange(n), x=np.arange(2.0 * n).reshape(n, 2), k=np.arange(n) % 7)
with open("lines.jsonl", "w") as file:
    for i in range(300):
        file.write(json.dumps({"id": i, "t": f"text {i}", "v": [i, i + 1],
                               "f": i / 2 if i % 3 else None}) + "\n\n")
EOT

test_expect_success 'functions change batches and rows, and another Dataset is made' '
	cat >functions.py <<-\EOT &&
	from common import *
	d = read_numpy("rows.npz")
	class Add:
	    made = 0
	    def __init__(self, n, m=0):
	        Add.made += 1
	        self.n = n + m
	    def __call__(self, batch, more=0):
	        return {"id": batch["id"] + self.n + more}
	m = d.map_batches(Add, fn_constructor_args=(5,), fn_constructor_kwargs={"m": 1},
	                  fn_kwargs={"more": 10}, batch_size=100)
	assert ids(m.take(2)) == [16, 17] and Add.made == 1 and m.count() == 1000
	assert ids(d.take(1)) == [0] and d.columns() == ["id", "x", "k"]
	sizes = []
	def sized(batch):
	    sizes.append(len(batch["id"]))
	    return batch
	d.map_batches(sized, batch_size=300).take_all()
	assert set(sizes) == {300, 100}, sizes
	p = d.map_batches(lambda df: df[df.id % 2 == 1][["id"]], batch_format="pandas")
	assert p.count() == 500 and p.to_pandas()["id"].tolist() == list(range(1, 1000, 2))
	def parts(batch):
	    yield {"id": batch["id"][:1]}
	    yield {"id": batch["id"][-1:]}
	assert ids(d.map_batches(parts, batch_size=500).take_all()) == [0, 499, 500, 999]
	assert ids(d.map(lambda row: {"id": row["id"] * 2}).take(3)) == [0, 2, 4]
	twice = d.flat_map(lambda row: [{"id": row["id"]}] * int(row["k"]))
	assert ids(twice.take(6)) == [1, 2, 2, 3, 3, 3] and twice.count() == int((np.arange(1000) % 7).sum())
	few = d.filter(lambda row, k: row["k"] == k, fn_args=[3])
	assert few.count() == 143 and ids(few.take(2)) == [3, 10]
	assert [len(b["id"]) for b in few.iter_batches(batch_size=100)] == [100, 43]
	assert [len(b["id"]) for b in few.iter_batches(batch_size=100, drop_last=True)] == [100]
	y = d.add_column("y", lambda df: df["id"] * 2).rename_columns({"id": "i"}).drop_columns(["x"])
	assert y.schema() == {"i": ("int64", ()), "k": ("int64", ()), "y": ("int64", ())}, y.schema()
	assert y.schema().names == ["i", "k", "y"] and y.select_columns("y").take(2) == [{"y": 0}, {"y": 2}]
	assert y.rename_columns(["a", "b", "c"]).columns() == ["a", "b", "c"]
	y.limit(1).show()
	assert y.take_batch(3, batch_format="pandas")["y"].tolist() == [0, 2, 4]
	EOT
	"$PYTHON" functions.py >out 2>err && test_must_be_empty err &&
	echo "{\"i\": 0, \"k\": 0, \"y\": 0}" | tr "\"" "\047" | test_cmp - out
'
test_expect_success 'an expression filters, and can reach nothing but columns' '
	cat >expressions.py <<-\EOT &&
	from common import *
	d = from_items([{"n": i, "s": s} for i, s in enumerate(["a", "b", None, "c", "a"])])
	for expr, rows in (("n > 1 and s == \"a\"", [4]), ("not n % 2", [0, 2, 4]),
	                   ("s in [\"a\", \"c\"] or n == 1", [0, 1, 3, 4]), ("1 <= n < 3", [1, 2]),
	                   ("s > \"a\"", [1, 3]), ("n not in (0, 4) and -n + 1 < 0", [2, 3])):
	    assert ids(d.filter(expr=expr).take_all(), "n") == rows, expr
	bound = d.filter(expr="n >= 3")
	assert not bound._functions and bound.count() == 2  # by the reader of files
	assert ids(bound.filter(expr="n <= 3").take_all(), "n") == [3]
	for expr in "__import__(1)", "n > abs(n)", "n.real", "(lambda: 1)()", "[x for x in s]", "n[0]", "n if n else s", "n >":
	    refused(ValueError, "expr=", d.filter, expr=expr)
	refused(KeyError, "no column", d.filter(expr="m > 1").take, 1)
	refused(ValueError, "one of them", d.filter)
	EOT
	"$PYTHON" expressions.py 2>err && test_must_be_empty err
'
test_expect_success 'limits, splits and shuffles choose rows by their numbers, and add up' '
	cat >chosen.py <<-\EOT &&
	from common import *
	d = read_numpy("rows.npz")
	assert ids(d.limit(5).limit(3).take_all()) == [0, 1, 2]
	assert [p.count() for p in d.split_proportionately([0.2, 0.5])] == [200, 500, 300]
	a, b, c = d.split_at_indices([10, 15])
	assert ids(b.take_all()) == [10, 11, 12, 13, 14] and c.count() == 985
	assert ids(c.limit(5).split_at_indices([2])[1].take_all()) == [17, 18, 19]
	assert ids(d.train_test_split(2)[1].take_all()) == [998, 999]
	for base in d, d.filter(lambda row: True), d.map_batches(lambda b: b):
	    train, test = base.train_test_split(0.25, shuffle=True, seed=7)
	    train, test = ids(train.take_all()), ids(test.take_all())
	    assert (len(train), len(test)) == (750, 250) and sorted(train + test) == list(range(1000))
	    assert test != sorted(test) and test == ids(base.train_test_split(0.25, shuffle=True, seed=7)[1].take_all())
	fixed = d.random_shuffle(seed=1)
	order = ids(fixed.take_all())
	assert order == ids(fixed.take_all()) != list(range(1000)) and sorted(order) == list(range(1000))
	assert ids(fixed.limit(9).take_all()) == order[:9]
	anew = d.random_shuffle()
	assert ids(anew.take_all()) != ids(anew.take_all())
	some = anew.limit(50)
	first, second = ids(some.take_all()), ids(some.take_all())
	assert first != second and sorted(first) == sorted(second) != list(range(50))
	parts = [set(ids(p.take_all())) for p in anew.split_proportionately([0.5])]
	assert len(parts[0] | parts[1]) == 1000
	odd = d.filter(lambda row: row["id"] % 2 == 1).random_shuffle(seed=3)
	assert sorted(ids(odd.limit(10).take_all())) == sorted(ids(odd.take_all())[:10])
	refused(ValueError, "between 0 and 1", d.train_test_split, 1.5)
	refused(ValueError, "there are 1000 rows", d.train_test_split, 1000)
	refused(ValueError, "stratify", d.train_test_split, 0.5, stratify="k")
	refused(ValueError, "less than 1", d.split_proportionately, [0.5, 0.5])
	refused(ValueError, "at least 1", d.limit, 0)
	refused(ValueError, "leaves no row", d.filter(lambda row: False).random_shuffle(seed=1).take, 1)
	EOT
	"$PYTHON" chosen.py 2>err && test_must_be_empty err
'
test_expect_success 'rows come from items, numbers, JSON and datasets of torch; a missing file is an error at once' '
	cat >sources.py <<-\EOT &&
	from common import *
	assert from_items([3, 4]).take_all() == [{"item": 3}, {"item": 4}]
	assert from_items([{"a": 1, "b": "x"}, {"a": 2.5, "b": None}]).take_all()[1] == {"a": 2.5, "b": None}
	assert ids(data.range(5).take_all()) == [0, 1, 2, 3, 4] and data.range(3000000).count() == 3000000
	assert data.range(5, override_num_blocks=5, concurrency=2).columns() == ["id"]
	assert from_items([3], override_num_blocks=1).count() == 1
	assert read_text("lines.jsonl", override_num_blocks=3, ray_remote_args={}).columns() == ["text"]
	refused(TypeError, "no argument", data.range, 5, blocks=5)
	j = read_json("lines.jsonl")
	assert j.count() == 300 and j.schema() == {"id": ("int64", ()), "t": ("str", ()),
	    "v": ("int64", (2,)), "f": ("float64", ())}, j.schema()
	row = j.take(2)[1]
	assert (row["id"], row["t"], row["v"].tolist(), row["f"]) == (1, "text 1", [1, 2], 0.5)
	class Squares:
	    def __len__(self):
	        return 600
	    def __getitem__(self, i):
	        return np.full(2, i), i * i
	t = from_torch(Squares())
	assert t.count() == 600 and t.take(3)[2]["item_1"] == 4 and t.take(3)[2]["item_0"].tolist() == [2, 2]
	refused(TypeError, "from_items(list", from_torch, iter([]))
	for read in read_csv, read_hdf5, read_numpy, read_text, read_json, read_libsvm, read_idx:
	    refused(FileNotFoundError, "nowhere", read, "nowhere")
	refused(FileNotFoundError, "no file matches", read_csv, "nowhere-*.csv")
	with open("bad.jsonl", "w") as file:
	    file.write("{\"a\": 1}\n" * 2000 + "{\"a\": null}\n")
	refused(ValueError, "dtypes={" + repr("a") + ": \"float64\"}", read_json("bad.jsonl").count)
	assert np.isnan(read_json("bad.jsonl", dtypes={"a": float}).take_all()[-1]["a"])
	with open("bad.jsonl", "w") as file:
	    file.write("{\"a\": 1}\n" * 2000 + "{\"b\": 1}\n")
	refused(ValueError, "has " + repr("b"), read_json("bad.jsonl").count)
	EOT
	"$PYTHON" sources.py 2>err && test_must_be_empty err
'
test_expect_success 'arguments of functions that read have the meaning of Ray, or are refused with what to use' '
	mkdir -p many logs json && cat >arguments.py <<-\EOT &&
	from common import *
	import gzip, json
	from types import SimpleNamespace as Options
	from contextlib import contextmanager
	from raytrain import _reading, _sources
	for name in "a.csv", "b.CSV", "c.log":
	    with open(f"many/{name}", "w") as file:
	        file.write("x;y\n1;2\n")
	with open("logs/one.log", "w") as file:
	    file.write("first\n\n  \nlast\n")
	with open("colons.csv", "w") as file:
	    file.write("x:y\n1:2\n")
	few = read_csv(paths="colons.csv", parse_options=Options(delimiter=":", quote_char=chr(34)),
	               arrow_open_stream_args={"compression": "gzip"}, ignore_missing_paths=True)
	assert few.take_all() == [{"x": 1, "y": 2}]
	assert read_csv(["many/a.csv"], file_extensions=["csv"]).count() == 1
	assert read_csv(path="many", file_extensions=[".log"]).take_all() == [{"x": 1, "y": 2}]
	refused(ValueError, "2 of the 3 files of many", read_csv, "many", file_extensions=["csv"])
	refused(FileNotFoundError, "no file ends in", read_csv, "many", file_extensions=["tsv"])
	refused(ValueError, "union()", read_csv, ["many/a.csv", "many/b.CSV"])
	refused(TypeError, "takes paths", read_csv)
	refused(TypeError, "takes paths", read_csv, "many/a.csv", path="many/b.CSV")
	refused(ValueError, "parse_options with quote_char", read_csv, "many/a.csv",
	        parse_options=Options(quote_char="|"))
	refused(ValueError, "that of parse_options", read_csv, "many/a.csv", delimiter=",",
	        parse_options=Options(delimiter=";"))
	refused(ValueError, "seen by itself", read_csv, "many/a.csv",
	        arrow_open_stream_args={"compression": "lz4"})
	assert read_text("logs", file_extensions=["log"]).count() == 4
	kept = read_text("logs", file_extensions=["log"], drop_empty_lines=True, encoding="UTF-8")
	assert [row["text"] for row in kept.take_all()] == ["first", "last"]
	refused(ValueError, "iconv", read_text, "logs/one.log", encoding="latin-1")
	for name, head in ("300.csv", "x\n"), ("300.txt", ""):
	    with open(name, "w") as file:
	        file.write(head + "".join(f"{i}\n" for i in range(300)))
	for read, path in ((read_csv, "300.csv"), (read_text, "300.txt"),
	                   (read_json, "lines.jsonl"), (read_numpy, "rows.npz")):
	    who = read.__name__
	    order = [str(row) for row in read(path, shuffle="files").take_all()]
	    plain = [str(row) for row in read(path, shuffle=None).take_all()]
	    assert sorted(order) == sorted(plain) and order != plain and len(plain) >= 300, who
	    refused(ValueError, "random_shuffle(seed=", read, path, shuffle=Options(seed=1))
	    for name, said in _reading.INSTEAD[who].items():
	        read(path, **{name: None})
	        refused(ValueError, f"{who}: {name} is not available: {said}", read, path, **{name: {1}})
	    for name in _reading.TASKS | _reading.WITHOUT_EFFECT.get(who, set()):
	        if (who, name) != ("read_text", "encoding"):
	            read(path, **{name: 1})
	refused(TypeError, "no argument", read_json, "lines.jsonl", line=True)
	# JSON as Ray reads it: lines, an array, or one object, whatever lines= says.
	rows = [{"a": 1, "s": "x"}, {"a": None, "s": None}]
	with open("json/1.json", "w") as file:
	    json.dump(rows, file, indent=1)
	with gzip.open("json/2.json.gz", "wt") as file:
	    json.dump({"a": 3, "s": "y"}, file, indent=1)
	whole = read_json("json")
	assert str(whole.take_all()) == str([{"a": 1.0, "s": "x"}, {"a": np.nan, "s": None},
	                                     {"a": 3.0, "s": "y"}]), whole.take_all()
	assert read_json("json/1.json", dtypes={"a": "float32"}).schema()["a"] == ("float32", ())
	assert read_json("lines.jsonl", lines=False).count() == read_json("lines.jsonl", lines=True).count()
	with open("json/3.jsonl", "w") as file:
	    file.write("{\"a\": 1, \"s\": \"z\"}\n")
	refused(ValueError, "3.jsonl has an object in each line", read_json, "json")
	assert read_json("json", file_extensions=["jsonl"]).take_all() == [{"a": 1, "s": "z"}]
	os.unlink("json/2.json.gz")
	with open("json/1.json", "w") as file:
	    file.write("{\"a\": 2, \"s\": null}\n")
	assert read_json("json").count() == 2
	with open("json/1.json", "w") as file:
	    file.write("[1,")
	refused(ValueError, "nor is it JSON as a whole", read_json, "json/1.json")
	# A directory may be a list of one, or a URL; lines=True is for lines.
	for kept in (["json"], {}), ("file://" + os.path.abspath("json"), {}), ("json", {"file_extensions": None}):
	    with open("json/1.json", "w") as file:
	        file.write("{\"a\": 2, \"s\": null}\n")
	    assert read_json(kept[0], **kept[1]).count() == 2, kept
	with open("json/1.json", "w") as file:
	    file.write("[{\"a\": 2}]\n")
	refused(ValueError, "leave out lines=True", read_json, "json/1.json", lines=True)
	assert read_json("json/1.json").take_all() == [{"a": 2}]
	# A damaged beginning is an error before the rest of a file is read.
	class Started(Exception):
	    pass
	def two_lines(text):
	    yield from text.splitlines(True)
	    raise Started
	opened = _sources._opened
	@contextmanager
	def opened_twice(file):
	    with opened(file) as text:
	        yield two_lines(text.read())
	_sources._opened = opened_twice
	for text in "1\n{}\n", "[{}]\n[{}]\n", "{\"a\": tru\n{}\n", "{\"a\": 1,\n{\"a\": 1}\n":
	    with open("json/1.json", "w") as file:
	        file.write(text)
	    refused(ValueError, "nor is it JSON as a whole", read_json, "json/1.json")
	with open("json/1.json", "w") as file:
	    file.write("{\"a\": 1}\n")
	assert _sources._whole_json("json/1.json") is None  # after one line
	with open("json/1.json", "w") as file:
	    file.write("[\n{\"a\": 1},\n")
	refused(Started, "", read_json, "json/1.json")
	_sources._opened = opened
	with open("json/1.json", "w") as file:
	    file.write("[\n\n{\"a\": 1\n},\n{\"a\": 2}\n]")
	assert read_json("json/1.json").take_all() == [{"a": 1}, {"a": 2}]
	open("json/1.json", "w").close()
	refused(ValueError, "no rows", read_json, "json/1.json")
	refused(ValueError, "no rows", read_json, "json/1.json", dtypes={"a": float})
	# Rows in memory.
	both = from_numpy([np.arange(3), np.arange(2)])
	assert [row["data"] for row in both.take_all()] == [0, 1, 2, 0, 1]
	assert from_numpy(ndarrays=np.ones(2)).count() == from_numpy(arrays={"a": [1, 2]}).count() == 2
	refused(TypeError, "from_numpy() takes", from_numpy)
	frame = both.to_pandas()
	assert from_pandas(df=frame).count() == 5
	refused(TypeError, "from_pandas() takes", from_pandas)
	refused(TypeError, "from_pandas() takes", from_pandas, frame, df=frame)
	# What is done to them.
	d = from_numpy({"k": [1, 1, 2], "x": [1.0, np.nan, 3.0], "s": ["a", None, "b"]})
	assert d.sum() == {"sum(k)": 4, "sum(x)": 4.0} and d.sum("x", ignore_nulls=False) is None
	assert d.std("x", ddof=0) == 1 and d.max(["k"]) == 2
	assert data.range(10).sum() == 45 and d.max(["k", "x"]) == {"max(k)": 2, "max(x)": 3.0}
	assert d.unique("s", ignore_nulls=True) == ["a", "b"] and len(d.unique("x")) == 3
	assert len(d.unique("x", ignore_nulls=True)) == 2
	assert d.sort("k", boundaries=[2]).count() == 3 and d.columns(fetch_if_missing=False) == ["k", "x", "s"]
	groups = d.groupby("k", num_partitions=3)
	assert str(groups.mean("x", ignore_nulls=False).take_all()) == str(
	    [{"k": 1, "mean(x)": np.nan}, {"k": 2, "mean(x)": 3.0}])
	class Add:
	    def __init__(self, n):
	        self.n = n
	    def __call__(self, batch):
	        yield {"k": batch["k"] + self.n}
	        yield {"k": batch["k"]}
	mapped = groups.map_groups(Add, fn_constructor_args=[10], concurrency=2)
	assert ids(mapped.take_all(), "k") == [11, 11, 1, 1, 12, 2]
	refused(TypeError, "no argument", groups.map_groups, Add, siez=3)
	refused(AttributeError, "map_groups()", lambda: groups.aggregate)
	for call in d.select_columns, d.drop_columns:
	    refused(TypeError, "no argument", call, "k", sied=3)
	refused(TypeError, "no argument", d.rename_columns, {"k": "l"}, sied=3)
	refused(TypeError, "no argument", d.random_shuffle, sied=3)
	refused(ValueError, "not for expr=", d.filter, expr="k > 1", fn_args=[1])
	assert d.map_batches(lambda b: b, compute=ActorPoolStrategy(size=2), max_concurrency=2).count() == 3
	assert d.map(lambda r: r, compute=TaskPoolStrategy(4)).count() == 3
	[all_rows] = read_numpy("rows.npz").iter_batches(batch_size=None)
	assert len(all_rows["id"]) == 1000
	sizes = [len(b["id"]) for b in read_numpy("rows.npz").filter(lambda r: True).iter_batches(batch_size=None)]
	assert sum(sizes) == 1000
	refused(AttributeError, "add_column(name, function)", lambda: d.with_column)
	refused(ImportError, "ImageFolder", lambda: data.read_images)
	refused(ImportError, "DeltaTable(path).file_uris()", lambda: data.read_delta)
	refused(ImportError, "from_items()", lambda: data.read_mongo)
	EOT
	"$PYTHON" arguments.py
'
test_expect_success 'rows are materialized, sorted, joined end to end, grouped and counted' '
	cat >whole.py <<-\EOT &&
	from common import *
	d = read_numpy("rows.npz")
	rows = d.map_batches(lambda b: {"id": b["id"], "k": b["k"], "x": b["x"]}).materialize()
	assert isinstance(rows, Dataset) and rows.count() == 1000 and list(rows) == ["id", "k", "x"]
	assert rows["x"].shape == (1000, 2) and len(rows) == 3 and rows.materialize() is rows
	assert rows.filter(expr="id < 3").take_all()[2]["id"] == 2 and ids(rows.limit(2).take_all()) == [0, 1]
	frame = rows.drop_columns("x").materialize().to_pandas()
	assert list(frame.columns) == ["id", "k"] and frame["id"].tolist() == list(range(1000))
	refused(ValueError, "more than 3 rows", rows.to_pandas, 3)
	assert d.unique("k") == list(range(7))
	assert ids(d.sort("id", descending=True).take(3)) == [999, 998, 997]
	both = d.select_columns(["id", "k"]).sort(["k", "id"], [False, True])
	assert ids(both.take(2)) == [994, 987] and both.take_all()[-1] == {"id": 6, "k": 6}
	words = from_items([{"w": w, "v": v} for w, v in (("b", 1.0), (None, 2.0), ("a", None), ("b", 4.0))])
	assert [r["w"] for r in words.sort("w").take_all()] == ["a", "b", "b", None]
	assert [r["w"] for r in words.sort("w", True).take_all()] == ["b", "b", "a", None]
	assert ids(d.limit(3).union(d.limit(2), d.filter(expr="id == 9")).take_all()) == [0, 1, 2, 0, 1, 9]
	assert d.sum("id") == 499500 and d.max(["id", "k"]) == {"max(id)": 999, "max(k)": 6}
	x = np.random.default_rng(1).normal(1e6, 1, 9000)
	drawn = from_numpy({"x": x})
	assert abs(drawn.std("x") - x.std(ddof=1)) < 1e-9 and abs(drawn.mean("x") - x.mean()) < 1e-6
	assert words.sum("v") == 7 and words.min("v") == 1
	groups = d.groupby("k").count().take_all()
	assert groups[0] == {"k": 0, "count()": 143} and len(groups) == 7
	means = d.drop_columns("x").groupby("k").mean().take_all()
	assert means[1] == {"k": 1, "mean(id)": 498.0}, means[1]
	assert words.groupby("w").sum("v").take_all() == [
	    {"w": "a", "sum(v)": None}, {"w": "b", "sum(v)": 5.0}, {"w": None, "sum(v)": 2.0}] or \
	    np.isnan(words.groupby("w").sum("v").take_all()[0]["sum(v)"])
	firsts = d.groupby("k").map_groups(lambda b: {"id": b["id"][:1], "n": [len(b["id"])]})
	assert firsts.take_all()[6] == {"id": 6, "n": 142}
	assert from_items([{"a": a, "b": b} for a in "yx" for b in "uv" for _ in "12"]).groupby(
	    ["a", "b"]).count().take_all()[0] == {"a": "x", "b": "u", "count()": 2}
	def train():
	    rows = raytrain.get_dataset_shard("train").materialize()
	    raytrain.report({"rows": rows.count(), "least": int(rows["id"].min())})
	result = trainer(train, {"train": rows.sort("id", True).limit(20)}).fit()
	assert result.metrics["rows"] == 10 and result.metrics["by_rank"]["least"]["min"] == 980, result.metrics
	# What is missing is one value, also of a group; text without any is a missing number.
	some = from_numpy({"v": np.array([np.nan, 2, np.nan, 2, 3])}).unique("v")
	assert str(some) == "[nan, 2.0, 3.0]", some
	gone, one = from_items([{"v": None}, {"v": None}]), from_numpy({"v": np.array([1, 2])})
	for rows in one.union(gone), gone.union(one):
	    v = rows["v"]
	    assert v.dtype == "f8" and np.sort(v)[:2].tolist() == [1, 2] and np.isnan(v).sum() == 2, v
	assert from_numpy({"v": np.ones(1, "f4")}).union(gone)["v"].dtype == "f4"
	refused(ValueError, "column \x27v\x27 has numbers in some batches, and texts in others",
	        one.union, from_items([{"v": "a"}]))
	refused(ValueError, "column \x27v\x27 has rows of the shapes (), (2,)",
	        one.union, from_numpy({"v": np.ones((1, 2))}))
	lone = from_items([{"k": k, "v": k} for k in (1, 2)]).groupby("k").std("v").take_all()
	assert [str(row["std(v)"]) for row in lone] == ["nan"] * 2, lone
	for kind in "f2", "f4":
	    v = np.full(4000, 30.1, kind)
	    v[0] = 60000 if kind == "f2" else 2 ** 24
	    rows, exact = from_numpy({"v": v}), v.astype("f8")
	    assert rows.sum("v") == exact.sum(), (rows.sum("v"), exact.sum())
	    assert abs(rows.std("v") / exact.std(ddof=1) - 1) < 1e-12, rows.std("v")
	for kind, v in ("i8", -2 ** 63), ("i8", 2 ** 62), ("u8", 2 ** 64 - 1):
	    rows = from_numpy({"k": np.ones(5000, "i8"), "v": np.full(5000, v, kind)})
	    assert rows.sum("v") == 5000 * v, (rows.sum("v"), v)
	    assert rows.groupby("k").sum("v").take(1) == [{"k": 1, "sum(v)": 5000.0 * v}]
	refused(ValueError, "column \x27x\x27 has vectors, and not single values", d.unique, "x")
	refused(KeyError, "no column", d.sort, "z")
	refused(KeyError, "no column", d.unique, "z")
	refused(ValueError, "vectors", d.sort, "x")
	refused(ValueError, "different columns", d.union, words)
	refused(KeyError, "no column", d.groupby("k").sum, "z")
	refused(ValueError, "single numbers", d.sum, "x")
	refused(AttributeError, "from_pandas", lambda: d.join)
	refused(AttributeError, "has no attribute", lambda: d.nothing)
	EOT
	"$PYTHON" whole.py 2>err && test_must_be_empty err
'
test_expect_success 'rows in memory are given to a trainer and a preprocessor as they are' '
	cat >whole_fit.py <<-\EOT &&
	from common import *
	from raytrain.preprocessors import StandardScaler
	d = read_numpy("rows.npz").drop_columns("x")
	np.savez("wrong.npz", id=np.zeros(1000))
	os.mkdir("elsewhere")
	os.rename("wrong.npz", "elsewhere/rows.npz")
	os.chdir("elsewhere")  # where there is another file with the name of the one in memory
	given = {"sorted": d.sort("id", True), "whole": d.materialize(),
	         "twice": d.union(d), "groups": d.groupby("k").count()}
	def train():
	    got = {}
	    for name in "sorted", "whole", "twice", "groups":
	        rows = raytrain.get_dataset_shard(name).materialize()
	        got[name] = [rows.count(), int(rows["k"].sum()), int(rows["k"][0])]
	    raytrain.report({"got": got})
	k = np.arange(1000) % 7
	expected = {"sorted": [1000, k.sum(), k[-1]], "whole": [1000, k.sum(), 0],
	            "twice": [2000, 2 * k.sum(), 0], "groups": [7, 21, 0]}
	result = trainer(train, given, workers=1).fit()
	assert result.metrics["got"] == expected, result.metrics
	scaled = StandardScaler(["id"]).fit_transform(d.sort("id", True)).take(1)[0]["id"]
	assert abs(scaled - (999 - 499.5) / np.arange(1000).std()) < 1e-6, scaled
	EOT
	"$PYTHON" whole_fit.py 2>err && test_must_be_empty err
'
test_expect_success 'rows with sparse vectors are sorted, grouped and mixed, but not kept in files' '
	printf "%s\n" "2 1:5 3:6" "1 2:7" "2" "0 1:8 2:9 3:1" >rows.svm &&
	cat >sparse.py <<-\EOT &&
	from common import *
	if sys.argv[1] == "without":
	    sys.modules["scipy"] = None
	from raytrain import _frame
	d = read_libsvm("rows.svm")
	label, vectors = d.columns()
	def dense(batch):
	    m, out = batch[vectors], np.zeros(batch[vectors].shape)
	    for i in range(m.shape[0]):
	        out[i][m.indices[m.indptr[i]:m.indptr[i + 1]]] = m.data[m.indptr[i]:m.indptr[i + 1]]
	    return out.tolist()
	all_rows = [[5, 0, 6], [0, 7, 0], [0, 0, 0], [8, 9, 1]]
	rows = d.materialize()
	assert dense(rows) == all_rows, dense(rows)
	assert isinstance(rows[vectors], _frame.SparseRows) or sys.argv[1] == "with"
	assert dense(d.sort(label)) == [all_rows[i] for i in (3, 1, 0, 2)], dense(d.sort(label))
	assert [r["count()"] for r in d.groupby(label).count().take_all()] == [1, 1, 2]
	assert dense(d.filter(lambda row: row[label] == 2).materialize()) == [all_rows[0], all_rows[2]]
	mixed = next(iter(d.filter(lambda row: True).iter_batches(batch_size=4, local_shuffle_buffer_size=4)))
	assert sorted(dense(mixed)) == sorted(all_rows)
	refused(ValueError, "sparse vectors, which cannot be kept in files", d.sort(label).take, 1)
	refused(ValueError, "drop_columns()", trainer(print, {"train": rows}).fit)
	EOT
	"$PYTHON" sparse.py without 2>err && test_must_be_empty err &&
	"$PYTHON" sparse.py with 2>err && test_must_be_empty err
'
test_expect_success 'Parquet files are read by their row groups, with what pyarrow documents' '
	mkdir -p standin/pyarrow && cat >standin/pyarrow/__init__.py <<-\EOT &&
	"""The part of pyarrow 15 that is used, after its documentation (API Reference, Table, Array,
	ChunkedArray); its own file format."""
	import numpy as np
	class Array:
	    def __init__(self, values):
	        self.values = list(values)
	    @property
	    def null_count(self):
	        return sum(v is None for v in self.values)
	    def combine_chunks(self):
	        return self
	    def to_numpy(self, zero_copy_only=True):
	        if zero_copy_only:
	            raise ValueError("would copy")
	        return np.array(self.values)
	    def to_pylist(self):
	        return list(self.values)
	class RecordBatch:
	    def __init__(self, columns, num_rows):
	        self.columns, self.num_rows = columns, num_rows
	class Table:
	    def __init__(self, columns):
	        self.made = {n: c if isinstance(c, Array) else Array(c) for n, c in columns.items()}
	        self.column_names = list(columns)
	    @classmethod
	    def from_batches(cls, batches):
	        return cls(batches[0].columns)
	    def column(self, name):
	        return self.made[name]
	    def to_pydict(self):
	        return {n: c.to_pylist() for n, c in self.made.items()}
	def table(data):
	    return Table(data)
	EOT
	cat >standin/pyarrow/parquet.py <<-\EOT &&
	"""pyarrow.parquet.ParquetFile, likewise."""
	import os, pickle
	from types import SimpleNamespace
	from pyarrow import Array, RecordBatch
	TYPES = {int: "int64", bool: "bool", float: "double", str: "string", type(None): "null"}
	class ParquetFile:
	    def __init__(self, source):
	        self.groups = pickle.load(source)
	        names = list(self.groups[0])
	        types = {n: TYPES[next((type(v) for g in self.groups for v in g[n] if v is not None),
	                               type(None))] for n in names}
	        self.schema_arrow = SimpleNamespace(names=names,
	            field=lambda n: SimpleNamespace(type=types[n]))
	        rows = [len(next(iter(g.values()))) for g in self.groups]
	        def column(i, k):  # every second group has statistics
	            known = None if i % 2 else SimpleNamespace(
	                has_null_count=True, null_count=self.groups[i][names[k]].count(None))
	            return SimpleNamespace(path_in_schema=names[k], statistics=known)
	        self.metadata = SimpleNamespace(num_rows=sum(rows), num_row_groups=len(rows),
	            row_group=lambda i: SimpleNamespace(num_rows=rows[i], num_columns=len(names),
	                                                column=lambda k: column(i, k)))
	    def read_row_group(self, i, columns):
	        return SimpleNamespace(column=lambda k: Array(self.groups[i][columns[k]]))
	    def iter_batches(self, batch_size=65536, row_groups=None, columns=None):
	        with open("pids", "a") as file:
	            file.write(f"{os.getpid()}\n")
	        for i in row_groups:
	            group = self.groups[i]
	            n = len(next(iter(group.values())))
	            for first in range(0, n, 7):
	                yield RecordBatch({k: Array(group[k][first:first + 7])
	                                   for k in (group if columns is None else columns)},
	                                  min(7, n - first))
	EOT
	cat >parquet.py <<-\EOT &&
	from common import *
	import pickle
	os.makedirs("tables", exist_ok=True)
	for file in range(3):
	    groups = [{"id": list(range(50 * file + 10 * g, 50 * file + 10 * g + 10)), "s": [None, "x"] * 5}
	              for g in range(5)]
	    with open(f"tables/{file}.parquet", "wb") as out:
	        pickle.dump(groups, out)
	d = read_parquet("tables", columns=["id"])
	assert d.count() == 150 and d.limit(20).count() == 20 and not os.path.exists("pids")  # by the files alone
	assert ids(d.take(12)) == list(range(12)) and d.columns() == ["id"]
	assert read_parquet(["tables/0.parquet", "tables/2.parquet"]).take_all()[50:52] == \
	    [{"id": 100, "s": None}, {"id": 101, "s": "x"}]
	table = d.map_batches(lambda t: t, batch_format="pyarrow").take_batch(2)
	assert table["id"].tolist() == [0, 1]
	os.unlink("pids")
	def train():
	    shard = raytrain.get_dataset_shard("train")
	    np.save(f"parquet-{raytrain.get_context().get_world_rank()}.npy",
	            np.concatenate([b["id"] for b in shard.iter_batches(batch_size=25)]))
	    raytrain.report({"ok": 1})
	trainer(train, {"train": d.random_shuffle()}).fit()
	got = np.concatenate([np.load(f"parquet-{r}.npy") for r in range(2)]).tolist()
	assert sorted(got) == list(range(150)) and got != sorted(got)
	pids = open("pids").read().split()
	assert len(pids) == 15 and len(set(pids)) == 2 and str(os.getpid()) not in pids, pids
	# Whole numbers, some of which are missing in some groups; types that differ between files.
	with open("mixed-0.parquet", "wb") as out:
	    pickle.dump([{"n": [1, 2], "b": [True, False], "w": [1, 2], "f": [1.5, 2.5]},
	                 {"n": [3, None], "b": [None, True], "w": [3, 4], "f": [None, 3.5]}], out)
	with open("mixed-1.parquet", "wb") as out:
	    pickle.dump([{"n": [5], "b": [False], "w": [0.5], "f": [4.5]}], out)
	mixed = read_parquet(["mixed-0.parquet", "mixed-1.parquet"])
	def types():
	    for batch in raytrain.get_dataset_shard("train").iter_batches(batch_size=1):
	        assert [str(batch[n].dtype) for n in "nbwf"] == ["float64"] * 4, batch
	    raytrain.report({"rows": raytrain.get_dataset_shard("train").count()})
	trainer(types, {"train": mixed.filter(lambda row: True)}).fit()
	assert str(mixed.take_all()) == str([
	    {"n": 1.0, "b": 1.0, "w": 1.0, "f": 1.5}, {"n": 2.0, "b": 0.0, "w": 2.0, "f": 2.5},
	    {"n": 3.0, "b": np.nan, "w": 3.0, "f": np.nan}, {"n": np.nan, "b": 1.0, "w": 4.0, "f": 3.5},
	    {"n": 5.0, "b": 0.0, "w": 0.5, "f": 4.5}]), mixed.take_all()
	# If a column of a file has no value, its type in that file does not matter.
	with open("empty.parquet", "wb") as out:
	    pickle.dump([{"n": [None], "b": [None], "w": [None], "f": [None]}], out)
	empty = read_parquet(["empty.parquet", "mixed-0.parquet"])
	for batch in empty.iter_batches(batch_size=1):
	    assert [str(batch[n].dtype) for n in "nbwf"] == ["float64"] * 4, batch
	assert str(empty.take(2)[0]) == str(dict.fromkeys("nbwf", np.nan))
	assert read_parquet("empty.parquet").take_all() == [dict.fromkeys("nbwf")]
	refused(KeyError, "no column", read_parquet, "tables", columns=["z"])
	# Directories named as year=2024 are columns, as in Ray.
	for year in 2023, 2024:
	    os.makedirs(f"years/year={year}", exist_ok=True)
	    with open(f"years/year={year}/part.parquet", "wb") as out:
	        pickle.dump([{"id": [year, year]}], out)
	    open(f"years/year={year}/_SUCCESS", "w").close()
	assert read_parquet("years").take_all()[1:3] == [{"id": 2023, "year": "2023"}, {"id": 2024, "year": "2024"}]
	assert read_parquet("years", columns=["id"], partitioning=None).columns() == ["id"]
	assert read_parquet("years", columns=["year"], include_paths=True).take_all()[3] == {
	    "year": "2024", "path": os.path.abspath("years/year=2024/part.parquet")}
	some = read_parquet(["nowhere", "years/*/*.parquet"], ignore_missing_paths=True, shuffle="files")
	assert sorted(ids(some.take_all())) == [2023, 2023, 2024, 2024]
	assert read_parquet("years", columns=["year", "id"], include_paths=True).columns() == ["year", "id", "path"]
	refused(KeyError, "no column", read_parquet, "years", columns=["year"], partitioning=None)
	with open("rowless.parquet", "wb") as out:
	    pickle.dump([{"n": []}], out)
	refused(ValueError, "no rows in " + repr("rowless*"), read_parquet, "rowless*")
	os.makedirs("nothing")
	refused(FileNotFoundError, "there are no files", read_parquet, "nothing", file_extensions=None)
	refused(ValueError, "year=2024", read_parquet, "years", partitioning="dir")
	refused(ValueError, "none of", read_parquet, ["nowhere"], ignore_missing_paths=True)
	refused(ValueError, "ds.filter(expr=", read_parquet, "years", filter="x")
	refused(FileNotFoundError, "no file ends in", read_parquet, "years", file_extensions=["pq"])
	refused(FileNotFoundError, "nowhere", read_parquet, "nowhere")
	EOT
	PYTHONPATH=$PWD/standin:$PYTHONPATH "$PYTHON" parquet.py 2>err &&
	"$PYTHON" -c "
from common import *
try:
    import pyarrow
except ImportError:
    refused(ImportError, \"pip install pyarrow\", read_parquet, \"tables\")
"
'
test_expect_success 'functions run in the workers, where every row arrives once in each epoch' '
	cat >workers.py <<-\EOT &&
	from common import *
	def train():
	    rank = raytrain.get_context().get_world_rank()
	    shard, orders = raytrain.get_dataset_shard("train"), []
	    assert shard.columns() == ["id"], shard.columns()
	    for epoch in range(2):
	        orders.append([int(i) for b in shard.iter_batches(batch_size=30) for i in b["id"]])
	    valid = raytrain.get_dataset_shard("valid")
	    rows = sum(len(b["id"]) for b in valid.iter_batches(batch_size=64))
	    np.save(f"orders-{rank}.npy", np.array(orders))
	    raytrain.report({"rows": rows})
	def numbers():
	    shard = raytrain.get_dataset_shard("train")
	    raytrain.report({"sum": sum(int(b["id"].sum()) for b in shard.iter_batches())})
	assert trainer(numbers, {"train": data.range(10)}, workers=1).fit().metrics == {"sum": 45}
	d = read_numpy("rows.npz").map_batches(in_worker)
	def doubled(batch):
	    in_worker(batch)
	    return {"id": batch["id"] * 2}
	valid = d.filter(lambda row: row["id"] < 77)
	for rows, expected in (
	        (d.map_batches(doubled), [2 * i for i in range(1000)]),
	        (d.map_batches(lambda b: {"id": in_worker(b)["id"][::2]}, batch_size=10), list(range(0, 1000, 2))),
	        (d.filter(lambda row: row["id"] % 5 == 2).map_batches(doubled).random_shuffle(),
	         [2 * i for i in range(2, 1000, 5)]),
	        (d.filter(expr="id % 4 == 1").train_test_split(0.2)[0].flat_map(
	            lambda row: [{"id": in_worker(row)["id"]}] * 2), [i for i in range(1, 800, 4) for _ in range(2)])):
	    result = trainer(train, {"train": rows, "valid": valid}, run={"name": "workers"},
	                     data_config=DataConfig(datasets_to_split=["train"])).fit()
	    assert result.metrics["rows"] == 77, result.metrics
	    orders = [np.load(f"orders-{rank}.npy") for rank in range(2)]
	    for epoch in range(2):
	        both = [orders[rank][epoch] for rank in range(2)]
	        assert sorted(np.concatenate(both).tolist()) == sorted(expected)
	    steady = orders[0][0].tolist() == orders[0][1].tolist()
	    assert steady == (not rows._settings["shuffle"])
	assert not [name for name in os.listdir("runs") if ".rows-" in name], os.listdir("runs")
	EOT
	"$PYTHON" workers.py 2>err
'
test_expect_success 'a run that continues with another number of workers gets the same rows in the same order' '
	cat >resumed.py <<-\EOT &&
	from common import *
	import raytrain._made_rows
	def train():
	    context = raytrain.get_context()
	    workers, rank = context.get_world_size(), context.get_world_rank()
	    start = raytrain.get_checkpoint().to_dict()["k"] + 1 if raytrain.get_checkpoint() else 0
	    raytrain._made_rows.BLOCK_ROWS = 16  # several blocks for each worker
	    shard = raytrain.get_dataset_shard("train")
	    for step, batch in enumerate(shard.iter_batches(batch_size=12 // workers)):
	        k = start + step
	        np.save(f"step-{name}-{k}-{rank}-{workers}.npy", batch["id"])
	        raytrain.report({"k": k}, checkpoint=Checkpoint.from_dict({"k": k}))
	        if k == 5 and workers == 2:
	            raise RuntimeError("enough")
	kinds = {"streamed": lambda d: d.map_batches(lambda b: {"id": b["id"] + 1}).random_shuffle(seed=2),
	         "made": lambda d: d.filter(lambda row: row["id"] % 3 == 0)}
	name = sys.argv[1]
	rows = kinds[name](read_numpy("rows.npz").limit(360))
	if __name__ == "__main__":
	    try:
	        trainer(train, {"train": rows}, run={"name": name}).fit()
	    except raytrain.TrainingFailedError:
	        pass
	    DataParallelTrainer.restore("runs/" + name, scaling_config=ScalingConfig(num_workers=3)).fit()
	    got = []
	    for k in range(rows.count() // 12):
	        workers = 2 if k <= 5 else 3
	        got += [int(i) for rank in range(workers) for i in np.load(f"step-{name}-{k}-{rank}-{workers}.npy")]
	    assert got == ids(rows.take_all()), got
	EOT
	for kind in streamed made; do
		"$PYTHON" resumed.py $kind 2>err || return 1
	done
'
# raytrain-run makes the rows again, keeps them during the run, and removes them at its end.
test_expect_success 'raytrain-run that continues such a run removes the rows that its workers made' '
	cat >kept.py <<-\EOT &&
	from common import *
	def train():
	    start = raytrain.get_checkpoint().to_dict()["k"] + 1 if raytrain.get_checkpoint() else 0
	    rows = sum(len(b["id"]) for b in raytrain.get_dataset_shard("train").iter_batches())
	    raytrain.report({"k": start, "rows": rows}, checkpoint=Checkpoint.from_dict({"k": start}))
	    if start < 2:
	        raise RuntimeError("enough")
	if __name__ == "__main__":
	    d = read_numpy("rows.npz").filter(lambda row: row["id"] % 4 == 0)
	    try:
	        trainer(train, {"train": d}, run={"name": "kept"}).fit()
	    except raytrain.TrainingFailedError:
	        pass
	EOT
	resume="raytrain-run --config runs/kept/run.cfg --resume" &&
	"$PYTHON" kept.py 2>err && ! ls -d runs/kept.rows-* &&
	mkdir runs/kept.rows-other && : >runs/kept.rows-other/000000000000-000000.npz &&
	expect_status 1 $resume 2>err && rows=$(ls -d runs/kept.rows-train-*[0-9a-f]) &&
	test "$(ls "$rows" | wc -l)" = 2 && inode=$(stat -c %i "$rows") &&
	mkdir "$rows.making" && : >"$rows.making/000000000000-000000.npz" &&
	: >"$rows/mine" && cp -r "$rows" saved &&
	$resume 2>err && json_is runs/kept/logs/attempt-2/attempt.json .outcome finished &&
	grep "$rows: Directory not empty" err && ls "$rows" >left && echo mine | test_cmp - left &&
	test "$(stat -c %i "$rows")" = $inode && test -e runs/kept.rows-other/000000000000-000000.npz &&
	raytrain-run -n 1 --launcher local --storage runs --name other -q --set datasets.x.made=true \
		--set datasets.x.path="$PWD/runs/kept.rows-other" -- true 2>err &&
	test -e runs/kept.rows-other/000000000000-000000.npz &&
	file=runs/rest.rows-x/000000000000-000000.npz && mkdir -p $file &&
	raytrain-run -n 1 --launcher local --storage runs --name rest -q --set datasets.x.made=true \
		--set datasets.x.path="$PWD/runs/rest.rows-x" -- true 2>err && grep "$file: Is a directory" err &&
	rm -r "$rows" && mkdir target && cp saved/*.npz target && ln -s ../target "$rows" &&
	ls target >want && $resume 2>err && ls target | test_cmp want - && test -h "$rows"
'
test_expect_success 'a worker holds a few blocks of rows that are made, whatever their number' '
	cat >memory.py <<-\EOT &&
	from common import *
	import resource
	from raytrain import _made_rows
	def train():
	    shard = raytrain.get_dataset_shard("train")
	    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
	    rows = shard.count()
	    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
	    raytrain.report({"rows": rows, "blocks": grown * 1024 / _made_rows.BLOCK_BYTES})
	np.save("large.npy", np.zeros((1500000, 16)))
	rows = read_numpy("large.npy").map_batches(lambda b: {"x": b["large"][:, :8]}, udf_modifying_row_count=True)
	result = trainer(train, {"train": rows}).fit()
	os.unlink("large.npy")
	print(result.metrics["blocks"])
	assert result.metrics["rows"] == 1500000 and result.metrics["blocks"] < 3, result.metrics
	EOT
	"$PYTHON" memory.py 2>err
'
test_expect_success 'what cannot be is refused, with what to do' '
	cat >no.py <<-\EOT &&
	from common import *
	from raytrain.preprocessors import StandardScaler
	from raytrain.xgboost import XGBoostTrainer
	d = read_numpy("rows.npz")
	late = d.map_batches(lambda b: b if b["id"][0] < 900 else {"id": b["id"][:1]})
	def train():
	    for batch in raytrain.get_dataset_shard("train").iter_batches(batch_size=50):
	        pass
	refused(raytrain.TrainingFailedError, "udf_modifying_row_count=True",
	        trainer(train, {"train": late.select_columns("id")}, workers=1).fit)
	refused(TypeError, "BatchMapper", trainer(train, {"train": late},
	        preprocessor=StandardScaler(["x"])).fit)
	refused(TypeError, "transformed", XGBoostTrainer, params={}, datasets={"train": late})
	refused(ValueError, "map_batches(<lambda>) returned columns of different lengths",
	        d.map_batches(lambda b: {"a": b["id"], "b": b["id"][1:]}).take, 1)
	refused(TypeError, "and not a batch", d.map_batches(lambda b: 1).take, 1)
	refused(TypeError, "and not a row", d.map(lambda row: 1).take, 1)
	refused(TypeError, "no argument", d.map_batches, lambda b: b, size=3)
	refused(ValueError, "batch_format", d.map_batches, lambda b: b, batch_format="polars")
	refused(ValueError, "for a class", d.map_batches, lambda b: b, fn_constructor_args=[1])
	refused(KeyError, "no column", d.map(lambda row: row).select_columns(["z"]).take, 1)
	refused(KeyError, "give the trainer", raytrain.get_dataset_shard, "val")
	assert d.map_batches(lambda b: b, num_gpus=1, concurrency=4).count() == 1000
	EOT
	"$PYTHON" no.py 2>err
'
test_done
