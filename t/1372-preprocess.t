#!/bin/sh
test_description='preprocessors learn from the training set, change batches, and travel in checkpoints'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_rows.so

# Structured arrays of NumPy: age, which has a missing value, and an integer.
"$PYTHON" - <<\EOT
import math, struct

def save(path, rows, fields, form):
    header = "{'descr': [%s], 'fortran_order': False, 'shape': (%d,), }" % (fields, len(rows))
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            f.write(struct.pack(form, *row))

ages = [20, 30, math.nan, 50, 60, 25, 35]
save("train.npy", [(a, i % 3, 10 * i) for i, a in enumerate(ages)],
     "('age', '<f8'), ('kind', '<i4'), ('y', '<i8')", "<diq")
save("test.npy", [(math.nan, 2), (40, 7)], "('age', '<f8'), ('kind', '<i4')", "<di")
EOT
cat >run.cfg <<\EOT
datasets = { train = { path = "train.npy"; }; test = { path = "test.npy"; };
             raw = { path = "train.npy"; preprocess = false; }; };
preprocessor = (
    { type = "simple_imputer"; columns = ["age"]; },
    { standard_scaler = { columns = ["age"]; output_columns = ["scaled"]; }; },
    { one_hot_encoder = { columns = ["kind"]; }; },
    { label_encoder = { label_column = "y"; }; }
);
EOT

test_expect_success 'batches have what the preprocessors make of the rows' '
	$run -n 2 --name a -c run.cfg "$train" got train age scaled kind y 2>err &&
	grep "fitted: dataset \"train\", 7 rows, 2 passes" err &&
	cat got.0 got.1 | sort -t= -k5n >got &&
	cat >check.py <<-\EOT &&
	from statistics import mean, pstdev
	ages = [20, 30, None, 50, 60, 25, 35]
	middle = mean(a for a in ages if a is not None)
	ages = [middle if a is None else a for a in ages]
	scale = pstdev(ages)
	lines = [dict(f.split("=") for f in line.split()) for line in open("got")]
	assert len(lines) == 7, lines
	for i, line in enumerate(lines):
	    assert int(line["y"]) == i and abs(float(line["age"]) - ages[i]) < 1e-12, line
	    assert abs(float(line["scaled"]) - (ages[i] - middle) / scale) < 1e-12, line
	    assert line["kind"] == ",".join(str(int(k == i % 3)) for k in range(3)), line
	EOT
	"$PYTHON" check.py
'
test_expect_success 'HDF5 tools read from a checkpoint what was learned' '
	ck=runs/a/checkpoint_000001.h5 &&
	h5dump -d /raytrain/preprocessor/1/standard_scaler/age/mean $ck >dump &&
	grep "36.66" dump &&
	h5dump -d /raytrain/preprocessor/2/one_hot_encoder/kind/categories $ck >dump &&
	grep "(0): 0, 1, 2" dump &&
	h5dump -d /raytrain/preprocessor/configuration $ck >dump && grep simple_imputer dump
'
test_expect_success 'a dataset may lack the labels, or be left out' '
	$run -n 1 --name test -c run.cfg "$train" got test age kind 2>err &&
	grep "\"test\" has no column \"y\": label_encoder is left out" err &&
	grep "age=36.66.* kind=0,0,1" got.0 && grep "age=40 kind=0,0,0" got.0 &&
	$run -n 1 --name raw -c run.cfg "$train" got raw age kind y 2>err &&
	grep "age=20 kind=0 y=0" got.0 && grep "age=nan kind=2 y=20" got.0
'
test_expect_success 'a run continues with what its checkpoint has, on another number of workers' '
	$run -n 3 --name a --resume -c run.cfg "$train" got train scaled 2>err &&
	grep "preprocessors are those of the checkpoint" err && ! grep "are fitted" err &&
	for what in 0/simple_imputer/age/mean 1/standard_scaler/age/mean 1/standard_scaler/age/std
	do
		for i in 1 2
		do
			h5dump -o bits.$i -b NATIVE -d /raytrain/preprocessor/$what \
				runs/a/checkpoint_00000$i.h5 >/dev/null || return 1
		done &&
		cmp bits.1 bits.2 || return 1
	done
'
test_expect_success 'a checkpoint with other preprocessors than the configuration is refused' '
	sed s/scaled/other/ run.cfg >other.cfg &&
	expect_status 3 $run -n 2 --name a --resume -c other.cfg "$train" got train 2>err &&
	grep "other preprocessors than the checkpoint .*checkpoint_000002.h5" err &&
	expect_status 3 $run -n 2 --name b --resume=runs/a/checkpoint_000002.h5 -c other.cfg \
		"$train" got train 2>err &&
	grep "other preprocessors than the checkpoint" err
'
test_expect_success 'a new run takes the preprocessors of the checkpoint that it starts from' '
	sed "/^preprocessor/,\$d" run.cfg >none.cfg &&
	$run -n 2 --name c --resume=runs/a/checkpoint_000002.h5 -c none.cfg "$train" got \
		train scaled 2>err &&
	grep "preprocessors of the checkpoint are used" err && grep scaled=-1 got.0
'
test_expect_success 'checkpoints in memory and in a staging area have the preprocessors' '
	mkdir stage && $run -n 2 --name tiers -c run.cfg \
		--set run_config.checkpoint_config.replicas=1 \
		--set run_config.sync_config.staging_path="$PWD/stage" "$train" got train scaled 2>err &&
	raytrain-inspect --verify runs/tiers/checkpoint_000001.h5 >said &&
	grep "preprocessor.*standard_scaler" said
'
test_expect_success 'preprocessors learn from the rows that the training set selects' '
	$run -n 1 --name some -c run.cfg --set datasets.train.limit=3 \
		--set datasets.train.last_batch=drop "$train" got train scaled 2>err &&
	grep "dataset \"train\", 3 rows" err && grep "scaled=-1.2247" got.0
'
test_expect_success 'a column that is missing, and a run without a training set, are refused' '
	sed s/kind/kid/ run.cfg >typo.cfg &&
	expect_status 3 $run -n 2 --name e -c typo.cfg "$train" got train 2>err &&
	grep "there is no column \"kid\"; found: age" err &&
	expect_status 3 $run -n 2 --name e -c run.cfg --set datasets.train.preprocess=false \
		"$train" got train 2>err && grep "preprocess = false" err
'
test_done
