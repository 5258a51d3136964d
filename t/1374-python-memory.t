#!/bin/sh
test_description='arrays and DataFrames in memory as datasets: every value comes back as it was'
. "$(dirname "$0")/setup.sh"

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
	         None, "1", "true", "-"]
	assert rows(from_numpy({"c": objects(*words)})) == {"c": ("str", words)}
	beside = from_numpy({"w": np.array(["NA", ""]), "b": np.array([True, False]),
	                     "i": np.array([-1, 2], "i1"), "h": np.array([0.5, 2], "f2"),
	                     "f": np.array([np.nan, np.inf], "f4")})
	assert rows(beside) == {"w": ("str", ["NA", ""]), "b": ("uint8", [1, 0]),
	                        "i": ("int64", [-1, 2]), "h": ("float32", [0.5, 2]),
	                        "f": ("float32", ["nan", np.inf])}, rows(beside)
	refused(lambda: from_numpy({"c": ["a\0b"]}), "NUL")
	EOT
	"$PYTHON" words.py 2>err
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
	    "i": ("int64", [1, 2, 3]), "s": ("str", ["a", None, "b"]), "b": ("uint8", [1, 0, 1]),
	    "category": ("str", ["x", None, "x"]), "number": ("int64", [3, 1, 3]),
	    "string": ("str", ["x", None, "y"]),
	    "object": ("str", ["x", None, None]), "none": ("str", [None, None, "z"]), "full": ("int64", [1, 2, 3]),
	    "holes": ("float64", [1, "nan", 3]), "flag": ("float64", [1, "nan", 0])}
	numbers = pd.DataFrame({"i": np.array([1, 2], "i4"), "f": np.array([1, 2], "f4"),
	                        "v": [np.zeros(2), np.ones(2)]})
	assert from_pandas(numbers).schema() == {
	    "i": ("int32", ()), "f": ("float32", ()), "v": ("float64", (2,))}
	assert rows(from_pandas([numbers[["i"]], numbers[["i"]]])) == {"i": ("int32", [1, 2, 1, 2])}
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
test_done
