#!/bin/sh
test_description='raytrain-predict: the same predictions on any number of workers, and after a kill'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
. "$srcdir/t/predict.sh"

has_fault_points && test_set_prereq FAULTS
predict="raytrain-predict --launcher local --checkpoint runs/model --data rows.npz"
small="--set train_loop_config.batch=10"

# What checkpoint 2 makes of 1003 rows.
cat >expect.py <<-\EOF
with open("expected.csv", "w") as f:
    f.write("id,score,parts_0,parts_1\n")
    for i in range(1003):
        f.write("%d,%.9g,%.17g,%d\n" % (
            i, 2 * (1.25 * i + i % 7), 2 * i, 3 if i >= 1000 else 10))
EOF
cat >look_at_score.py <<-\EOF
import struct
data = open("score.npy", "rb").read()
assert data[:6] == b"\x93NUMPY" and len(data) == 128 + 4 * 1003, len(data)
assert b"(1003,)" in data[:128] and b"<f4" in data[:128]
assert struct.unpack("<f", data[128 + 400:128 + 404])[0] == 2 * (125 + 100 % 7)
EOF

test_expect_success 'a training leaves a run to predict with' '
	"$PYTHON" expect.py && make_rows 1003 && make_model
'
test_expect_success 'the best checkpoint of a run predicts, and a kept column comes along' '
	$predict $small --columns id -o one.csv "$model" 2>err &&
	test_cmp expected.csv one.csv &&
	grep "rows 1003" err && grep "^  output      .*/one.csv$" err && ! grep one.csv.run err &&
	test_path_is_missing one.csv.run
'
test_expect_success 'three workers predict the same as one' '
	$predict $small -n 3 --columns id -o three.csv "$model" 2>err &&
	test_cmp one.csv three.csv
'
test_expect_success 'all workers report the same rate, also those that had nothing to do' '
	$predict -n 3 --keep-run -o kept.csv "$model" 2>err &&
	tail -n 1 kept.csv.run/result.json >last.json &&
	jq -e ".rows == 1003 and .rows_per_s > 0 and
		.by_rank.rows_per_s.min == .by_rank.rows_per_s.max" last.json
'
test_expect_success '--last takes the newest checkpoint of a run, --batch-size counts' '
	$predict -n 2 --last --batch-size 1 -o last.csv "$model" 2>err &&
	test "$(sed -n 3p last.csv)" = 6.75,3,1
'
test_expect_success 'a .npy file is the one output' '
	PREDICT_SCORE_ONLY=1 $predict -n 2 -o score.npy "$model" 2>err &&
	"$PYTHON" look_at_score.py
'
test_expect_success 'a .npy file of two outputs is refused' '
	expect_status 3 $predict -o two.npy "$model" 2>err && grep "one array" err &&
	test_path_is_missing two.npy
'
test_expect_success 'an HDF5 file has a dataset for each column' '
	$predict $small -n 2 --columns id,x -o calm.h5 "$model" 2>err &&
	h5dump -H calm.h5 >dump && test "$(grep -c DATASET dump)" = 4 &&
	h5dump -d /parts -s 1002,0 -c 1,2 calm.h5 | grep "2004, 3"
'
cat >make_names.py <<-\EOF
names = ["a%d" % i for i in range(500)] + [
    "with, comma", 'a "quote"', "two\nlines", "gr\u00fcn", ""]
with open("names.csv", "w", encoding="utf-8", newline="") as f, \
        open("named.csv", "w", encoding="utf-8", newline="") as e:
    f.write("name,note,x,id\n")
    e.write("name,note,score,parts_0,parts_1\n")
    for i in range(1003):
        name = names[i * 7 % len(names)]
        if set(name) & set(',"\n'):
            name = '"%s"' % name.replace('"', '""')
        note = "n" * (70 if i == 900 else i % 50)  # one worker alone has the longest
        f.write("%s,%s,%d,%d\n" % (name, note, i, i))
        e.write("%s,%s,%d,%d,%d\n" % (name, note, 2 * i, 2 * i, 3 if i >= 1000 else 10))
EOF
cat >names.cfg <<-\EOF
datasets = { predict = { path = "names.csv"; types = { x = "float32"; note = "text"; }; }; };
EOF
named="raytrain-predict --launcher local --checkpoint runs/model -c names.cfg --data names.csv"
test_expect_success 'words and texts are kept, with quotes in CSV if they need them' '
	"$PYTHON" make_names.py &&
	$named $small --columns name,note -o names1.csv "$model" 2>err &&
	test_cmp named.csv names1.csv &&
	$named $small -n 3 --columns name,note -o names3.csv "$model" 2>err &&
	test_cmp named.csv names3.csv
'
test_expect_success 'HDF5 strings have a fixed length, the same on any number of workers' '
	$named $small --columns note,name -o names1.h5 "$model" 2>err &&
	$named $small -n 3 --columns note,name -o names3.h5 "$model" 2>err &&
	cmp names1.h5 names3.h5 &&
	h5dump -H -d /name names1.h5 >dump && grep UTF8 dump && grep "STRSIZE 12;" dump &&
	h5dump -H -d /note names1.h5 >dump && grep "STRSIZE 71;" dump &&
	h5dump -d /note -s 49 -c 2 names1.h5 >dump &&
	grep "(49): \"n\{49\}\", \"\"" dump
'
test_expect_success 'a .npy file cannot keep a column' '
	PREDICT_SCORE_ONLY=1 expect_status 3 $named --columns name -o names.npy "$model" \
		2>err && grep "one array" err
'
test_expect_success 'two workers convert text, and then miss a column in it' '
	raytrain-predict --launcher local --checkpoint runs/model --data one.csv -n 2 \
		-o text.csv "$model" 2>err
	test $? -ne 0 && grep "no column .x.; the columns are: id, score" err &&
	find text.csv.run/data -name index.json | grep .
'
test_expect_success FAULTS 'a killed prediction makes only the missing parts when it continues' '
	RAYTRAIN_FAULT=predict.part:12 expect_status 1 $predict $small -n 2 \
		--columns id,x -o killed.h5 "$model" 2>err &&
	grep -e "--resume" err && test_path_is_missing killed.h5 &&
	ls killed.h5.run/shards >parts && test -s parts &&
	expect_status 3 $predict $small -n 3 --columns id,x -o killed.h5 "$model" 2>err &&
	grep -e --resume err &&
	$predict $small -n 3 --columns id,x -o killed.h5 --resume \
		--set "train_loop_config.marks=$PWD/marks" "$model" 2>err &&
	test "$(wc -c <marks)" -lt 101 &&
	cmp calm.h5 killed.h5 && test_path_is_missing killed.h5.run
'
test_expect_success FAULTS 'a part that was cut short, and one with a changed byte, are made again' '
	RAYTRAIN_FAULT=predict.publish expect_status 1 $predict $small -n 2 \
		--columns id,x -o cut.h5 "$model" 2>err &&
	truncate -s -1 cut.h5.run/shards/shard-000003 &&
	"$PYTHON" -c "
f = open(\"cut.h5.run/shards/shard-000001\", \"r+b\")
f.seek(-5, 2); byte = f.read(1)[0]; f.seek(-5, 2); f.write(bytes([byte ^ 64]))" &&
	$predict $small --columns id,x -o cut.h5 --resume \
		--set "train_loop_config.marks=$PWD/marks2" "$model" 2>err &&
	test "$(wc -c <marks2)" -eq 12 && cmp calm.h5 cut.h5 && no_temporary .
'
test_expect_success FAULTS 'a prediction cannot continue with the parts of another checkpoint' '
	RAYTRAIN_FAULT=predict.publish expect_status 1 $predict -o other.csv "$model" 2>err &&
	expect_status 3 $predict --last -o other.csv --resume "$model" 2>err &&
	grep checkpoint_000003 err && grep -e --fresh err
'
test_expect_success 'a predict function that fails ends the prediction with its message' '
	expect_status 1 $predict $small -n 2 --set train_loop_config.fail=return \
		--set train_loop_config.fail_at=500 -o bad.h5 "$model" 2>err &&
	grep "row 500 is bad" err && grep "returned 99" err && test_path_is_missing bad.h5
'
test_expect_success 'a restart continues with the missing parts' '
	expect_status 1 $predict $small -n 2 --fresh --set train_loop_config.fail=return \
		--set train_loop_config.fail_at=1002 --max-failures 1 -o bad.h5 \
		--set "train_loop_config.marks=$PWD/marks3" "$model" 2>err &&
	grep "after 2 attempts" err && test "$(wc -c <marks3)" -lt 150
'
# What the C function above computes, by the requests of a session, without NumPy.
cat >predict.py <<-\EOF
import mmap, os, struct
from raytrain._session import session

worker = session()
assert worker.call("predict_open")[0]["rows"] == 1003
worker.call("predict_begin", {"batch_size": 10, "outputs": [
    {"name": "score", "dtype": "float32", "shape": []},
    {"name": "parts", "dtype": "float64", "shape": [2]}]})
put, maps = False, [None, None]
while True:
    reply, _, fds = worker.call("predict_next", {"slot": 1, "put": put})
    rows, put = reply["rows"], True
    if rows == 0:
        break
    for which, new in enumerate(reply["new"]):
        if new:
            fd = fds.pop(0)
            maps[which] = mmap.mmap(fd, 0)
            os.close(fd)
    names = [c["name"] for c in worker.call("predict_open")[0]["columns"]]
    at = {name: place[0] for name, place in zip(names, reply["places"])}
    x = struct.unpack_from("%df" % (3 * rows), maps[0], at["x"])
    ids = struct.unpack_from("%dq" % rows, maps[0], at["id"])
    score, parts = reply["outputs"]
    struct.pack_into("%df" % rows, maps[1], score,
                     *[2 * sum(x[3 * i:3 * i + 3]) for i in range(rows)])
    struct.pack_into("%dd" % (2 * rows), maps[1], parts,
                     *[v for i in ids for v in (2 * i, rows)])
EOF
test_expect_success 'a script predicts the same as a function in C' '
	$predict -n 2 --columns id -o script.csv -- "$PYTHON" predict.py 2>err &&
	test_cmp expected.csv script.csv
'
test_expect_success 'a script that ends before its rows do has failed' '
	expect_status 1 $predict -q -o half.csv -- "$PYTHON" -c "import raytrain" 2>err &&
	grep "before it had all batches" err
'
# wrong HOW STATUS MESSAGE: how a predict function is wrong, and how the prediction ends.
wrong () {
	expect_status "$2" $predict -q --set "train_loop_config.fail=$1" -o "$1.csv" \
		"$model" 2>err && grep -e "$3" err
}
test_expect_success 'a predict function that is wrong fails with a message' '
	wrong forget 3 "\"parts\" of rows 0 to 1002 was not put" &&
	wrong early 1 "before it had all batches" &&
	wrong late 3 "before the first batch" &&
	wrong column 3 "no column \"absent\"; the columns are"
'
test_expect_success 'what is missing or wrong is said before a worker predicts' '
	expect_status 2 raytrain-predict -o a.csv --data rows.npz "$model" 2>err &&
	grep -e "--checkpoint is missing" err &&
	expect_status 3 $predict -o a.txt "$model" 2>err && grep ".h5, .csv or .npy" err &&
	expect_status 3 $predict -o none/a.csv "$model" 2>err && grep "no directory" err &&
	expect_status 3 $predict --columns nope -o a.csv "$model" 2>err && grep nope err &&
	expect_status 3 $predict -o b.csv "$modules/train_model.so" 2>err &&
	grep predict_func err &&
	expect_status 3 raytrain-run --launcher local --set predict.output=a.csv "$model" \
		2>err && grep raytrain-predict err
'
test_done
