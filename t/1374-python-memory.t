#!/bin/sh
test_description='arrays and DataFrames in memory as datasets: every value comes back as it was'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

cat >common.py <<\EOT
import numpy as np
from raytrain.data import from_numpy, from_pandas, read_csv

def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array

def rows(data):
    """{column: (dtype, values)}; a NaN as the word "nan"."""
    def value(v):
        return "nan" if isinstance(v, float) and v != v else v
    found = data.materialize()
    return {name: (dtype, [value(v) for v in found[name].tolist()])
            for name, (dtype, shape) in data.schema().items()}

def refused(function, *words, error=ValueError):
    try:
        function()
    except error as e:
        assert all(w in str(e) for w in words), e
    else:
        raise AssertionError(f"not refused: {words}")
EOT

test_expect_success 'words come back as they were, whatever they are in a file' '
	cat >words.py <<-\EOT &&
	from common import *
	words = ["NA", "nan", "null", "", "  x ", "a\nb", "a\r\nb", "q\"q,", "\xe9", "None", "NA-",
	         None, "1", "true", "-", " ", "\t", "\0", "a\0b", "a\0", "\udce9", "\"", ","]
	assert rows(from_numpy({"c": objects(*words)})) == {"c": ("str", words)}
	for word in words:
	    alone = objects("x", word, "y", word)
	    assert rows(from_numpy({"c": alone})) == {"c": ("str", alone.tolist())}, word
	    assert from_numpy({"c": objects(word)}).count() == 1, word
	for missing in objects(None), objects(None, None):
	    assert rows(from_numpy({"c": missing})) == {"c": ("str", missing.tolist())}
	long = from_numpy({"c": ["x" * 3000000, "y"]})
	assert long.materialize()["c"].tolist() == ["x" * 3000000, "y"]
	beside = from_numpy({"w": np.array(["NA", ""]), "b": np.array([True, False]),
	                     "i": np.array([-1, 2], "i1"), "h": np.array([0.5, 2], "f2"),
	                     "f": np.array([np.nan, np.inf], "f4")})
	assert rows(beside) == {"w": ("str", ["NA", ""]), "b": ("uint8", [1, 0]),
	                        "i": ("int8", [-1, 2]), "h": ("float16", [0.5, 2]),
	                        "f": ("float32", ["nan", np.inf])}, rows(beside)
	wide = from_numpy({"w": ["a", "b"], "u": np.array([0, 2**64 - 1], "u8"),
	                   "v": np.array([[1, 2], [3, 4]])})
	assert rows(wide) == {"w": ("str", ["a", "b"]), "u": ("uint64", [0, 2**64 - 1]),
	                      "v": ("int64", [[1, 2], [3, 4]])}, rows(wide)
	refused(lambda: from_numpy({"c": ["a", "b\ud800"]}), "row 1", "surrogates")
	EOT
	"$PYTHON" words.py 2>err
'
test_expect_success 'columns of words of several files have the words of all of them' '
	cat >several.py <<-\EOT &&
	from common import *
	import shutil
	from raytrain.data import read_numpy
	parts = [["b", "", None], ["c", "b"], [None], ["a\0", "\udce9", "a"]]
	for i, part in enumerate(parts):
	    data = from_numpy({"n": np.arange(len(part)), "w": objects(*part)})
	    shutil.copy(data.path, f"part-{i}.npz")
	data = read_numpy("part-*.npz")
	assert data.materialize()["w"].tolist() == sum(parts, [])
	assert data.words("w") == ["", "a", "a\0", "b", "c", "\udce9"], data.words("w")
	EOT
	"$PYTHON" several.py 2>err
'
test_expect_success 'batches of words go through preprocessors as they are' '
	cat >batches.py <<-\EOT &&
	from common import *
	from raytrain.preprocessors import OneHotEncoder, OrdinalEncoder
	words = objects("\udce9", " ", "", "NA", "a", "x" * 100000)
	encoder = OrdinalEncoder(["c"]).fit(from_numpy({"c": words}))
	codes = encoder.transform_batch({"c": objects("a\0", *words)})["c"].tolist()
	assert codes[0] != codes[0] and sorted(codes[1:]) == [0, 1, 2, 3, 4, 5], codes
	many = objects(*["%0500d" % i for i in range(200000)])
	made = OneHotEncoder(["c"]).fit(from_numpy({"c": words})).transform_batch({"c": many})
	assert len(made["c"]) == 200000
	EOT
	"$PYTHON" batches.py 2>err
'
test_expect_success 'damaged words are an error, and deflated ones are read' '
	cat >damaged.py <<-\EOT &&
	from common import *
	import io, struct, zipfile
	from raytrain.data import read_numpy
	from raytrain.errors import RaytrainError

	def packed(*words):
	    return b"".join(struct.pack("=I", len(w)) + w for w in words)

	def column(name, words):
	    return struct.pack("=I", len(name)) + name + struct.pack("=Q", len(words)) + words

	def archive(codes, words, method=zipfile.ZIP_STORED):
	    array = io.BytesIO()
	    np.save(array, codes)
	    with zipfile.ZipFile("w.npz", "w", method) as z:
	        z.writestr("c.npy", array.getvalue())
	        z.writestr("raytrain-words", words)
	    return read_numpy("w.npz")

	two = column(b"c", packed(b"b", b"a"))
	codes = np.array([0, 1, -1], "i4")
	for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
	    assert archive(codes, two, method).materialize()["c"].tolist() == ["b", "a", None]
	for wrong, said in ([np.array([0, 2], "i4"), two], "code 2"), ([codes - 1, two], "code -2"), \
	        ([codes.astype("i8"), two], "no codes"), ([np.zeros((3, 1), "i4"), two], "no codes"), \
	        ([codes.astype(">i4"), two], "no codes"), ([codes, two[:-1]], "damaged"), \
	        ([codes, two + b"x"], "damaged"), ([codes, column(b"c", packed(b"abc")[:-1])], "cut off"), \
	        ([codes, column(b"c", packed(b"b", b"a") + b"\xff\xff\xff\xff")], "cut off"):
	    refused(lambda: archive(*wrong).count(), said, error=RaytrainError)
	EOT
	"$PYTHON" damaged.py 2>err
'
test_expect_success 'a column may have any name' '
	cat >names.py <<-\EOT &&
	from common import *
	names = "file", "like", "allow_pickle", "arr_0", "a b", "x.npy"
	data = from_numpy({name: [i, i] for i, name in enumerate(names)})
	assert rows(data) == {name: ("int64", [i, i]) for i, name in enumerate(names)}, rows(data)
	EOT
	"$PYTHON" names.py 2>err
'
test_expect_success 'objects become what they are: numbers, bool, words, vectors' '
	cat >kinds.py <<-\EOT &&
	from common import *
	data = from_numpy({"i": objects(1, 2), "f": objects(1, None), "b": objects(True, False),
	                   "v": objects([1, 2], [3, 4])})
	assert rows(data) == {"i": ("int64", [1, 2]), "f": ("float64", [1, "nan"]),
	                      "b": ("uint8", [1, 0]), "v": ("int64", [[1, 2], [3, 4]])}, rows(data)
	refused(lambda: from_numpy({"c": objects(1, "a")}), "int, str")
	refused(lambda: from_numpy({"c": objects([1, 2], [3])}), "differ in length")
	refused(lambda: from_numpy({"c": np.zeros(2, "M8[s]")}), "datetime64", "int64")
	EOT
	"$PYTHON" kinds.py 2>err
'
test_expect_success 'read_csv() takes the texts that mean a missing value' '
	printf "a,b\n1,NA\n?,?\n" >marks.csv &&
	cat >marks.py <<-\EOT &&
	from common import *
	assert rows(read_csv("marks.csv", missing=["?"])) == {
	    "a": ("float64", [1, "nan"]), "b": ("str", ["NA", None])}
	assert rows(read_csv("marks.csv")) == {"a": ("str", ["1", "?"]), "b": ("str", [None, "?"])}
	EOT
	"$PYTHON" marks.py 2>err
'

"$PYTHON" -c "import scipy" 2>/dev/null && test_set_prereq SCIPY
test_expect_success SCIPY 'sparse vectors of more than 2^31 elements have the elements that the file has' '
	printf "1 1:2 2147483648:3 2147483649:4\n0 4294967295:5\n" >wide.svm &&
	printf "1 1:2 2147483647:3\n0\n" >narrow.svm &&
	cat >wide.py <<-\EOT &&
	from common import *
	from raytrain.data import read_libsvm
	def parts(path):
	    data = read_libsvm(path, first_index="zero")
	    batches = [batch["features"] for batch in data.iter_batches(batch_size=1)]
	    return [data.materialize()["features"]] + batches
	for matrix, rows in zip(parts("wide.svm"), ([0, 1], [0], [1])):
	    assert matrix.shape == (len(rows), 4294967296), matrix.shape
	    matrix.check_format()
	    found = [list(zip(row.indices.tolist(), row.data.tolist())) for row in matrix]
	    everything = [[(1, 2), (2147483648, 3), (2147483649, 4)], [(4294967295, 5)]]
	    assert found == [everything[i] for i in rows], found
	matrix = parts("narrow.svm")[0]
	assert matrix.shape == (2, 2147483648) and matrix[0].indices.tolist() == [1, 2147483647]
	EOT
	"$PYTHON" wide.py 2>err
'

"$PYTHON" -c "import pandas" 2>/dev/null && test_set_prereq PANDAS
test_expect_success PANDAS 'a DataFrame has the types that its columns mean, and its index is left out' '
	cat >frame.py <<-\EOT &&
	from common import *
	import pandas as pd
	cells = pd.DataFrame({
	    "i": np.array([1, 2, 3], "i4"), "s": ["a", None, "b"], "b": [True, False, True],
	    "category": pd.Categorical(["x", None, "x"], categories=["z", "x"]),
	    "number": pd.Categorical([3, 1, 3]), "string": pd.array(["x", pd.NA, "y"], "string"),
	    "object": objects("x", pd.NA, None), "none": pd.array([pd.NA] * 2 + ["z"], "string"),
	    "full": pd.array([1, 2, 3], "Int8"), "holes": pd.array([1, None, 3], "Int64"),
	    "flag": pd.array([True, None, False], "boolean")}, index=["p", "q", "r"])
	assert rows(from_pandas(cells)) == {
	    "i": ("int32", [1, 2, 3]), "s": ("str", ["a", None, "b"]), "b": ("uint8", [1, 0, 1]),
	    "category": ("str", ["x", None, "x"]), "number": ("int64", [3, 1, 3]),
	    "string": ("str", ["x", None, "y"]),
	    "object": ("str", ["x", None, None]), "none": ("str", [None, None, "z"]), "full": ("int8", [1, 2, 3]),
	    "holes": ("float64", [1, "nan", 3]), "flag": ("float64", [1, "nan", 0])}
	numbers = pd.DataFrame({"i": np.array([1, 2], "i4"), "f": np.array([1, 2], "f4"),
	                        "v": [np.zeros(2), np.ones(2)]})
	assert from_pandas(numbers).schema() == {
	    "i": ("int32", ()), "f": ("float32", ()), "v": ("float64", (2,))}
	assert rows(from_pandas([numbers[["i"]], numbers[["i"]]])) == {"i": ("int32", [1, 2, 1, 2])}
	import raytrain
	given = raytrain.DataParallelTrainer(print, datasets={
	    "frame": numbers[["i"]], "dict": {"i": [1, 2]}}).datasets
	assert rows(given["frame"]) == {"i": ("int32", [1, 2])}
	assert rows(given["dict"]) == {"i": ("int64", [1, 2])}
	EOT
	"$PYTHON" frame.py 2>err
'
test_expect_success PANDAS 'what no column can be is refused by its name' '
	cat >wrong.py <<-\EOT &&
	from common import *
	import pandas as pd
	refused(lambda: from_pandas(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])})),
	        "when", "astype")
	refused(lambda: from_pandas(pd.DataFrame({"part": pd.cut([1, 2, 3], 2)})), "part", "Interval")
	refused(lambda: from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"])), "same name")
	refused(lambda: from_pandas(pd.Series([1])), "DataFrame", error=TypeError)
	EOT
	"$PYTHON" wrong.py 2>err
'
test_expect_success PANDAS 'one column of texts keeps its rows, and predictions belong to them' '
	cat >texts.py <<-\EOT &&
	from common import *
	import pandas as pd
	texts = ["a", "", "  ", None, "\t", "b"]
	assert from_pandas(pd.DataFrame({"t": texts})).materialize()["t"].tolist() == texts
	EOT
	"$PYTHON" texts.py 2>err
'

# What raytrain-predict writes of kept columns is what the readers read.
test_expect_success 'a training leaves a run to predict with' 'make_model'
test_expect_success 'kept columns are read back from CSV and HDF5 as they were' '
	cat >write.py <<-\EOT &&
	from common import *
	import shutil, sys
	n = 64
	rng = np.random.default_rng(5)
	texts = ["", " ", "\t ", "  x ", "NA", "nan", "None", "a,b", "\"", "\"\"", "q\"q", "a\nb",
	         "a\r\nb", "\r", "\xe9", "1", "-0", "1e5", "true", "\udce9", "y" * 60000]
	words = objects(*(texts[i % len(texts)] for i in range(n)))
	bits = rng.integers(0, 2**64, n, "u8").view("f8")
	f8 = np.where(np.isfinite(bits), bits, 0.1)
	f8[:6] = 0.1, 1 / 3, np.inf, -np.inf, 5e-324, -0.0
	f4 = (f8 * 1e-290).astype("f4")
	f4[:3] = 0.1, np.inf, 1e-45
	columns = {"w": words, "f8": f8, "f4": f4,
	           "f2": np.array([0.1, 65504, 6e-8, -np.inf] * 16, "f2"),
	           "i8": rng.integers(-2**63, 2**63 - 1, n), "i1": np.arange(n, dtype="i1"),
	           "x": np.zeros((n, 3), "f4"), "id": np.arange(n)}
	if __name__ == "__main__":
	    data = from_numpy(columns)
	    shutil.copy(data.path, "kept.npz")
	EOT
	"$PYTHON" write.py &&
	for form in csv h5; do
		raytrain-predict --launcher local --checkpoint runs/model --data kept.npz -n 2 \
			--columns w,f8,f4,f2,i8,i1 -o kept.$form "$model" 2>err || return 1
	done &&
	cat >read.py <<-\EOT &&
	from write import *
	from raytrain.data import read_hdf5
	as_text = read_csv("kept.csv", missing=["missing"], dtypes={"w": "words", "f4": "float32"})
	for data in as_text, read_hdf5("kept.h5"):
	    found = data.materialize()
	    assert found["w"].tolist() == words.tolist(), found["w"]
	    for name in "f8", "f4", "i8", "i1":
	        assert found[name].tobytes() == columns[name].astype(found[name].dtype).tobytes(), name
	    assert np.array_equal(found["f2"].astype("f2"), columns["f2"])
	assert open("kept.csv", "rb").read().count(b"0.1,0.1,") == 1
	EOT
	"$PYTHON" read.py 2>err
'
test_done
