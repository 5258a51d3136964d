#!/bin/sh

test_description='Checkpoints and results are plain HDF5: h5dump, h5ls and h5py read them'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

test_expect_success 'create a sample run' '
	"$check/store_sample" run
'

test_expect_success 'h5dump -H shows names, types and shapes' '
	h5dump -H run/checkpoint_000002.h5 >out &&
	grep "DATASET \"weight\"" out &&
	grep "SIMPLE { ( 4, 3 ) / ( 4, 3 ) }" out &&
	grep "ATTRIBUTE \"training_iteration\"" out
'

test_expect_success 'h5dump shows numbers' '
	h5dump -d /model/fc1/weight run/checkpoint_000002.h5 >out &&
	grep "(3,0): 2.25, 2.5, 2.75" out &&
	h5dump -d /metrics/accuracy run/result.h5 >out &&
	grep "(0): 0.25, 0.5, nan, 0.75, 0.625" out &&
	h5dump -d /metrics_max/loss run/result.h5 >out &&
	grep "(0): 2, 2, 2, 2, 2" out &&
	h5dump -a /status run/result.h5 >out &&
	grep finished out &&
	h5dump -d /raytrain/tensors run/checkpoint_000002.h5 >out &&
	grep "bfloat16" out &&
	h5dump -d /attempts run/result.h5 >out &&
	grep "\"failed\"" out
'

test_expect_success 'h5ls lists the datasets' '
	h5ls -r run/checkpoint_000002.h5 >out &&
	grep "^/model/fc1/weight *Dataset {4, 3}" out
'

if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
	test_set_prereq H5PY
fi

test_expect_success H5PY 'h5py reads every element type' '
	/usr/bin/python3 - <<-\PY
	import h5py, numpy
	f = h5py.File("run/checkpoint_000002.h5", "r")
	assert f.attrs["format"] in ("raytrain-checkpoint", b"raytrain-checkpoint")
	assert f.attrs["training_iteration"] == 2
	types = f["types"]
	for name in types:
	    data = types[name][...]
	    if name == "bytes":
	        assert data.tobytes() == b"\x01\x02"
	    else:
	        assert list(data) == [1, 2], (name, data)
	    if name not in ("bytes", "bfloat16"):
	        assert data.dtype == numpy.dtype(name)
	assert types["bfloat16"].dtype.kind == "f"
	assert f["note"][()] == "na\u00efve".encode()
	assert f["scalar"][()] == 2.5
	assert f["empty"].shape == (0, 5)
	assert f["model/fc1/weight"][3, 2] == 2.75
	tensors = f["raytrain/tensors"]
	assert tensors[0]["name"] == b"model/fc1/weight"
	assert f["raytrain/report"]["training_iteration"] == 2
	r = h5py.File("run/result.h5", "r")
	assert list(r["reports"]["training_iteration"]) == [1, 2, 3, 4, 5]
	assert list(r["reports"]["attempt"]) == [0, 0, 1, 1, 1]
	assert r["attempts"][1]["outcome"] == b"finished"
	assert "lost_seconds" in r["attempts"].dtype.names
	PY
'

test_done
