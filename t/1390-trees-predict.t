#!/bin/sh

test_description='raytrain-predict and raytrain-inspect with models of trees, compared with those of the
Python module of XGBoost bit for bit'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/trees.sh"

for module in xgboost numpy; do
	"$PYTHON" -c "import $module" 2>/dev/null && continue
	skip_all="Python has no module $module"
	test_done
done

# make_rows.py: 700 rows to train on and 700 others, whose columns have another order and are
# not all features; rows with words; and both as sparse rows of 6 features, the last of which
# is rare.
cat >make_rows.py <<-\EOF
import random

random.seed(7)
NAMES = ["age", "b", "c_0", "c_1"]

def rows(n):
    for i in range(n):
        yield i, [None if random.random() < 0.1 else round(random.gauss(0, 2), 2)
                  for _ in NAMES]

def field(x):
    return "" if x is None else str(x)

def sparse(label, elements):
    return "%d %s\n" % (label, " ".join("%d:%s" % (k, x) for k, x in sorted(elements.items())
                                        if x is not None))

with open("train.csv", "w") as f, open("classes.csv", "w") as g, \
        open("numbers.csv", "w") as h, open("train.svm", "w") as s:
    for file in f, g, h:
        file.write(",".join(NAMES) + ",label\n")
    for i, x in rows(700):
        total = sum(v or 0 for v in x[:3])
        for file, label in (f, int(total > 0)), (g, int(total > -2) + int(total > 2)), \
                (h, total):
            file.write(",".join(map(field, x)) + ",%s\n" % label)
        s.write(sparse(total > 0, {1: x[0], 3: x[1], 4: x[2], 6 if i % 90 == 0 else 2: x[3]}))
with open("rows.csv", "w") as f, open("lacks.csv", "w") as g, open("words.csv", "w") as h, \
        open("rows.svm", "w") as s:
    f.write("id,c_1,note,b,age,c_0\n")
    g.write("id,c_1,age,c_0\n")
    h.write("age,b,c_0,c_1\n")
    for i, x in rows(700):
        age, b, c0, c1 = map(field, x)
        f.write("%d,%s,n%d,%s,%s,%s\n" % (i, c1, i % 5, b, age, c0))
        g.write("%d,%s,%s,%s\n" % (i, c1, age, c0))
        h.write("%s,%s,%s,%s\n" % (age, "word", c0, c1))
        s.write(sparse(0, {1: x[0], 2: x[3], 4: x[2]}))
EOF
# expect.py MODEL OUTPUT...: what the library makes of rows.csv, as the bytes of an array in the
# file expected.OUTPUT.
cat >expect.py <<-\EOF
import csv, sys
import numpy, xgboost

model, *outputs = sys.argv[1:]
booster = xgboost.Booster(model_file=model)
if booster.feature_names is None:
    booster.feature_names = ["age", "b", "c_0", "c_1"]
with open("rows.csv") as f:
    x = numpy.array([[float(row[name] or "nan") for name in booster.feature_names]
                     for row in csv.DictReader(f)], dtype="f4")
rows = xgboost.DMatrix(x, feature_names=booster.feature_names)
value = booster.predict(rows)
results = {
    "value": lambda: value,
    "probability": lambda: value,
    "margin": lambda: booster.predict(rows, output_margin=True),
    "class": lambda: value.argmax(axis=1) if value.ndim == 2 else value > 0.5,
    "leaf": lambda: booster.predict(rows, pred_leaf=True),
    "contribution": lambda: booster.predict(rows, pred_contribs=True),
}
for output in outputs:
    dtype = "<i4" if output in ("class", "leaf") else "<f4"
    with open("expected." + output, "wb") as f:
        f.write(numpy.ascontiguousarray(results[output]()).astype(dtype).tobytes())
EOF
# train NAME FILE PARAMS: leaves runs/NAME, and NAME.ubj.
train () {
	raytrain-run --launcher local --storage runs --name "$1" --trainer xgboost -q \
		--dataset "train=$2" --set num_boost_round=6 \
		--set "params={ max_depth = 3; $3 }" &&
	raytrain-inspect --export "$1.ubj" "$(last_checkpoint "$1")" >exported
}
# predict NAME [OPTION]...
predict () {
	run=runs/$1
	shift
	raytrain-predict --launcher local --checkpoint "$run" -q "$@"
}
# same_as_library NAME FILE.h5 OUTPUT...: importing the library takes longer than all outputs.
same_as_library () {
	name=$1 file=$2 && shift 2 && rm -f expected.* &&
	"$PYTHON" expect.py "$name.ubj" "$@" &&
	for output; do
		case $output in value) dataset=prediction ;; *) dataset=$output ;; esac
		h5dump -d "/$dataset" -b LE -o found.bin "$file" >dump &&
		test -s found.bin && cmp "expected.$output" found.bin || return 1
	done
}

test_expect_success 'raytrain trains models to predict with' '
	"$PYTHON" make_rows.py &&
	train binary train.csv "objective = \"binary:logistic\";" &&
	train multi classes.csv "objective = \"multi:softprob\"; num_class = 3;" &&
	train number numbers.csv "objective = \"reg:squarederror\";" &&
	train sparse train.svm "objective = \"binary:logistic\";" &&
	raytrain-inspect --export binary.json "$(last_checkpoint binary)"
'
test_expect_success 'predictions are those of the library, whatever the order of the columns' '
	predict binary --data rows.csv -o one.h5 &&
	same_as_library binary one.h5 value
'
test_expect_success 'three workers predict the same as one' '
	predict binary -n 3 --batch-size 64 --data rows.csv -o three.h5 &&
	cmp one.h5 three.h5
'
cat >same_numbers.py <<-\EOF
import csv, struct

with open("two.csv") as f:
    found = b"".join(struct.pack("<f", float(row["prediction"])) for row in csv.DictReader(f))
with open("found.bin", "rb") as f:
    assert found == f.read()
EOF
test_expect_success 'CSV has the same numbers, and columns of the rows' '
	predict binary -n 2 --data rows.csv --columns id,note -o two.csv &&
	test "$(sed -n 1p two.csv)" = id,note,prediction && test "$(wc -l <two.csv)" = 701 &&
	h5dump -d /prediction -b LE -o found.bin one.h5 >dump && "$PYTHON" same_numbers.py
'
test_expect_success 'a .npy file is one output' '
	predict binary --data rows.csv --outputs margin -o margin.npy &&
	"$PYTHON" expect.py binary.ubj margin &&
	tail -c 2800 margin.npy >found.bin && cmp expected.margin found.bin
'
outputs="probability class margin leaf contribution"
for model in binary multi; do
	test_expect_success "two workers make all outputs of $model, which are those of the library" '
		predict $model -n 2 --data rows.csv --outputs value,$(echo $outputs | tr " " ,) -o $model.h5 &&
		same_as_library $model $model.h5 value $outputs
	'
done
test_expect_success 'one output of three classes is that of the library' '
	predict multi --data rows.csv --outputs probability -o one.h5 &&
	same_as_library multi one.h5 probability
'
test_expect_success 'a model of numbers has values, leaves and contributions in one file' '
	predict number --data rows.csv --outputs value,leaf,contribution -o all.h5 &&
	same_as_library number all.h5 value leaf contribution
'
test_expect_success 'classes and probabilities of a model of numbers are errors at the start' '
	expect_status 3 predict number --data rows.csv --outputs class -o no.h5 2>err &&
	grep "predict.outputs: class" err && test_path_is_missing no.h5 &&
	expect_status 3 predict number --data rows.csv --outputs probability -o no2.h5 2>err &&
	grep "predict.outputs: probability" err
'
cat >sparse.py <<-\EOF
import sys
import numpy, xgboost

x = numpy.full((700, 6), numpy.nan, dtype="f4")
with open("rows.svm") as f:
    for i, line in enumerate(f):
        for k, value in (pair.split(":") for pair in line.split()[1:]):
            x[i, int(k) - 1] = float(value)
booster = xgboost.Booster(model_file="sparse.ubj")
rows = xgboost.DMatrix(x, feature_names=booster.feature_names)
sys.stdout.buffer.write(booster.predict(rows).astype("<f4").tobytes())
EOF
test_expect_success 'sparse rows may be shorter than those of the training' '
	predict sparse -n 2 --data rows.svm --data-format libsvm -o sparse.h5 &&
	"$PYTHON" sparse.py >expected.bin &&
	h5dump -d /prediction -b LE -o found.bin sparse.h5 >dump &&
	cmp expected.bin found.bin
'
test_expect_success 'a feature without a column is named, with the columns that there are' '
	expect_status 3 predict binary --data lacks.csv -o no3.h5 2>err &&
	grep "no column for the feature \"b\" of the model; their columns are: id, c_1, age" err
'
test_expect_success 'a feature whose column has words is named' '
	expect_status 3 predict binary --data words.csv -o no4.h5 2>err &&
	grep "the column \"b\" of the rows is one of words" err
'
test_expect_success 'an unknown output is refused with those that there are' '
	expect_status 3 predict binary --data rows.csv --outputs value,leafs -o no5.h5 2>err &&
	grep "value, probability, class, margin, leaf, contribution" err && grep "mean leaf" err &&
	expect_status 3 predict binary --data rows.csv --outputs leaf,leaf -o no5.h5 2>err &&
	grep "there twice" err && test_path_is_missing no5.h5.run
'
test_expect_success 'a predict function decides about its outputs itself' '
	expect_status 2 predict binary --data rows.csv --outputs leaf -o no6.h5 \
		"$modules/predictions.so" 2>err && grep "leave out one of them" err
'
test_expect_success 'other checkpoints need a predict function' '
	raytrain-run --launcher local --storage runs --name other -q "$modules/predictions.so" &&
	expect_status 2 predict other --data rows.csv -o no7.h5 2>err &&
	grep "no predict function" err && grep "not from xgboost or lightgbm" err
'
test_expect_success 'the configuration of the training predicts as well' '
	cat >trees.cfg <<-\EOT &&
	trainer = "xgboost"; params = { objective = "binary:logistic"; };
	datasets = { train = { path = "train.csv"; }; predict = { path = "rows.csv"; }; };
	predict = { outputs = ["leaf"]; };
	EOT
	predict binary -c trees.cfg -o config.h5 &&
	same_as_library binary config.h5 leaf
'

# ---- raytrain-inspect ----

test_expect_success 'a checkpoint shows rounds and the most important features' '
	raytrain-inspect "$(last_checkpoint binary)" >said &&
	grep "^model  *xgboost.*, 4 features, 6 rounds$" said &&
	raytrain-inspect --json "$(last_checkpoint binary)" >said.json &&
	jq -e ".model | .trainer == \"xgboost\" and .rounds == 6 and .features == 4 and
		.best_round == -1 and .importance[0].gain >= .importance[1].gain" said.json
'
cat >gain.py <<-\EOF
import json, xgboost

with open("said.json") as f:
    shown = json.load(f)["model"]["importance"]
booster = xgboost.Booster(model_file="binary.ubj")
if booster.feature_names is None:
    booster.feature_names = ["age", "b", "c_0", "c_1"]
gain = booster.get_score(importance_type="total_gain")
splits = booster.get_score(importance_type="weight")
assert [s["feature"] for s in shown] == sorted(gain, key=gain.get, reverse=True), shown
for s in shown:
    assert abs(s["gain"] / gain[s["feature"]] - 1) < 1e-5, s
    assert s["splits"] == splits[s["feature"]], s
EOF
test_expect_success 'gains and splits are those of the library' '
	"$PYTHON" gain.py
'
test_expect_success 'the exported file is that of the checkpoint, or the same model in JSON' '
	model_in "$(last_checkpoint binary)" model.ubj >inside && cmp inside binary.ubj &&
	jq -e .learner binary.json >said &&
	"$PYTHON" expect.py binary.ubj value && mv expected.value ubj.bin &&
	"$PYTHON" expect.py binary.json value && cmp ubj.bin expected.value
'
test_expect_success '--export --json says what it has written' '
	raytrain-inspect --json --export again.ubj "$(last_checkpoint binary)" >said &&
	jq -e ".kind == \"export\" and .file == \"again.ubj\" and .trainer == \"xgboost\"" said
'
test_expect_success 'an exported model replaces a file, but no directory' '
	echo old >again.ubj && raytrain-inspect --export again.ubj "$(last_checkpoint binary)" &&
	cmp again.ubj binary.ubj && mkdir dir.ubj &&
	expect_status 3 raytrain-inspect --export dir.ubj "$(last_checkpoint binary)" 2>err &&
	grep "not a regular file" err && rmdir dir.ubj
'
test_expect_success 'a format that the library does not have is refused with those that it has' '
	expect_status 3 raytrain-inspect --export m.txt "$(last_checkpoint binary)" 2>err &&
	grep json err && test_path_is_missing m.txt
'
test_expect_success 'an ending that is not that of a format is refused with a list of formats' '
	expect_status 3 raytrain-inspect --export m.model "$(last_checkpoint binary)" 2>err &&
	grep "ends in .ubj, .json or .txt" err && test_path_is_missing m.model &&
	raytrain-inspect --export tensors "$(last_checkpoint binary)" &&
	cmp tensors/files/model.ubj binary.ubj
'
test_expect_success 'a checkpoint without a model of trees cannot be exported to a file' '
	expect_status 3 raytrain-inspect --export m.json "$(last_checkpoint other)" 2>err &&
	grep "not a checkpoint of the trainers xgboost and lightgbm" err &&
	test_path_is_missing m.json
'
cat >damage.py <<-\EOF
with open("binary.ubj", "rb") as f:
    model = f.read()
with open("bad.h5", "rb") as f:
    data = bytearray(f.read())
data[data.index(model) + 100] ^= 1
with open("bad.h5", "wb") as f:
    f.write(data)
EOF
test_expect_success 'a damaged model is not exported' '
	cp "$(last_checkpoint binary)" bad.h5 && "$PYTHON" damage.py &&
	expect_status 5 raytrain-inspect --export bad.ubj bad.h5 2>err &&
	test_path_is_missing bad.ubj
'

# ---- What the data of a run mean ----

# svm FIRST ROWS: rows of which feature FIRST + 1 is the label, and FIRST is not written.
svm () {
	awk "BEGIN { for (i = 0; i < $2; i++) print i % 2, $1 + 1 \":\" i % 2, $1 + 2 \":\" i % 7 }"
}
# train NAME [ARG...]: a run on NAME-train.svm and NAME-valid.svm.
train () {
	name=$1 && shift &&
	cat >$name.cfg <<-EOF &&
	trainer = "xgboost";
	num_boost_round = 2;
	label = "label";
	params = { objective = "binary:logistic"; };
	datasets = { train = { path = "$name-train.svm"; }; valid = { path = "$name-valid.svm"; }; };
	EOF
	raytrain-run --launcher local --storage runs -q -n 2 --name $name -c $name.cfg "$@"
}
# predicts_labels NAME DATA: the run predicts the labels of this file.
predicts_labels () {
	raytrain-predict --launcher local --checkpoint runs/$1 --outputs class --data "$2" \
		-o $1.csv 2>err &&
	tail -n +2 $1.csv >found && cut -d" " -f1 "$2" >expected && rm $1.csv &&
	test_cmp expected found
}
svm 0 60 >zero-train.svm && svm 0 20 | sed "s/^. /&0:7 /" >zero-valid.svm &&
svm 0 9 >zero-test.svm || exit 1
test_expect_success 'an index 0 in one dataset is for all of the run, and for its predictions' '
	train zero 2>err && predicts_labels zero zero-test.svm &&
	h5dump -d /raytrain/session/data/first_index "$(last_checkpoint zero)" >dump &&
	grep "\"zero\"" dump
'
test_expect_success 'first_index of one dataset is for all of the run, and for its predictions' '
	cp zero-train.svm said-train.svm && cp zero-test.svm said-valid.svm &&
	train said --set datasets.train.first_index=zero 2>err &&
	predicts_labels said zero-test.svm &&
	svm 1 9 >one-test.svm &&
	raytrain-predict --launcher local --checkpoint runs/said --data one-test.svm --outputs class \
		--set datasets.predict.first_index=one -o said.csv 2>err &&
	tail -n +2 said.csv >found && cut -d" " -f1 one-test.svm >expected && test_cmp expected found
'
test_expect_success 'a file that contradicts what was decided is refused, with its line' '
	svm 1 60 >one-train.svm && svm 1 20 >one-valid.svm && train one 2>err &&
	predicts_labels one one-test.svm &&
	{ cat one-test.svm && echo "1 0:1"; } >mixed.svm &&
	expect_status 3 raytrain-predict --launcher local --checkpoint runs/one --data mixed.svm \
		-o mixed.csv 2>err && grep "mixed.svm:10: .*first_index" err &&
	cat mixed.svm >>one-train.svm &&
	expect_status 3 train one --resume --set num_boost_round=3 2>err &&
	grep "one-train.svm:70: .*first_index" err
'
test_expect_success 'a compressed dataset decides, too' '
	mkdir packed && for part in train valid; do
		gzip -c zero-$part.svm >packed/$part.svm.gz || return 1
	done &&
	sed "s/path = \"zero-\([a-z]*\).svm/path = \"packed\/\1.svm.gz/g" zero.cfg >packed.cfg &&
	raytrain-run --launcher local --storage runs -q -n 2 --name packed -c packed.cfg 2>err &&
	predicts_labels packed zero-test.svm && no_temporary runs/packed
'
test_expect_success 'the texts that mean a missing value are those of the training' '
	awk -v OFS=, "BEGIN { print \"x,label\"; for (i = 0; i < 60; i++)
		print i % 3 ? i % 5 : \"-9\", i % 3 ? 0 : 1 }" >gone.csv &&
	sed "s/zero-[a-z]*.svm/gone.csv/g" zero.cfg >gone.cfg &&
	raytrain-run --launcher local --storage runs -q -n 2 --name gone -c gone.cfg \
		--set datasets.train.missing="[\"-9\"]" 2>err &&
	printf "x\n-9\n-9\n3\n" >gone-test.csv && printf "x\n?\n?\n3\n" >asked.csv &&
	raytrain-predict --launcher local --checkpoint runs/gone --data gone-test.csv -o gone-a.csv \
		2>err &&
	raytrain-predict --launcher local --checkpoint runs/gone --data asked.csv -o gone-b.csv \
		--set datasets.predict.missing="[\"?\"]" 2>err && test_cmp gone-b.csv gone-a.csv &&
	h5dump -d /raytrain/session/data/missing "$(last_checkpoint gone)" >dump && grep -e -9 dump
'

# zips FIRST: rows 0 to 39 with zip codes, the first of which is FIRST.
zips () {
	awk -v OFS=, -v first="$1" 'BEGIN { print "zip,x,label"
		for (i = 0; i < 40; i++) print i ? 10001 + i % 3 : first, i % 5, i % 3 == 1 }'
}
# coded NAME [ARG...]: a run with an encoder of the column zip, on NAME-train.csv and
# NAME-valid.csv.
coded () {
	name=$1 && shift &&
	sed "s/zero-\([a-z]*\).svm/$name-\1.csv/g" zero.cfg >$name.cfg &&
	raytrain-run --launcher local --storage runs -q -n 2 --name $name -c $name.cfg \
		--set "preprocessor=( { type = \"ordinal_encoder\"; columns = [\"zip\"]; } )" "$@"
}
test_expect_success 'a column of words stays one where all words look like numbers' '
	zips A1 >zip-train.csv && zips 10001 >zip-valid.csv && coded zip 2>err &&
	h5dump -d /raytrain/session/data/words "$(last_checkpoint zip)" >dump && grep zip dump &&
	cut -d, -f1,2 zip-valid.csv >zip-test.csv &&
	predict zip -n 2 --data zip-test.csv --outputs class --columns zip -o zip.csv 2>err &&
	tail -n +2 zip.csv | cut -d, -f2 >found && tail -n +2 zip-valid.csv | cut -d, -f3 >expected &&
	test_cmp expected found && cp zip-valid.csv zip-train.csv &&
	coded zip --resume --set num_boost_round=4 2>err
'
test_expect_success 'types of the training set are for all of the run, and for its predictions' '
	zips 10001 >typed-train.csv && cp typed-train.csv typed-valid.csv &&
	coded typed --set datasets.train.types.zip=words 2>err &&
	predict typed --data zip-test.csv --outputs class -o typed.csv 2>err &&
	tail -n +2 typed.csv >found && test_cmp expected found
'
test_expect_success 'a word in a column of numbers is an error with its line, wherever it is' '
	awk -v OFS=, "BEGIN { print \"x,label\"; for (i = 0; i < 40; i++) print i % 5, i % 2 }" \
		>odd-train.csv && sed "s/^3,/oops,/" odd-train.csv >odd-valid.csv &&
	sed "s/zero-\([a-z]*\).svm/odd-\1.csv/g" zero.cfg >odd.cfg &&
	odd () { raytrain-run --launcher local --storage runs -q -n 2 -c odd.cfg "$@"; } &&
	expect_status 3 odd --name odd 2>err &&
	grep "\"x\" has words, such as \"oops\" at .*odd-valid.csv:5, but numbers in the training" err &&
	expect_status 3 odd --name odd-train --set "datasets.train.path=\"odd-valid.csv\"" 2>err &&
	grep "such as \"oops\" at .*odd-valid.csv:5, and trees need numbers" err &&
	odd --name even --set "datasets.valid.path=\"odd-train.csv\"" 2>err &&
	expect_status 3 predict even --data odd-valid.csv -o odd.csv 2>err &&
	grep "one of words, such as \"oops\" at .*odd-valid.csv:5;" err
'

# ---- LIBSVM text: weights, queries, features ----

# as_library.py MODEL FILE OBJECTIVE [WEIGHT...]: the model predicts the rows of FILE as one that
# the library trains on them does, and not as one without weights. A ranking has the
# WEIGHTs of its queries.
cat >as_library.py <<-\EOF
import sys
import numpy, xgboost

model, path, objective, *weights = sys.argv[1:]
params = {"objective": objective, "tree_method": "hist", "seed": 7, "seed_per_iteration": True,
          "nthread": 1}
rows = xgboost.DMatrix(path + "?format=libsvm", silent=True)
if weights:
    rows.set_weight(numpy.array(weights, dtype="f4"))
found = xgboost.Booster(model_file=model)
found.feature_names = None
expected = xgboost.train(params, rows, 2).predict(rows)
assert numpy.array_equal(found.predict(rows), expected), (found.predict(rows), expected)
rows.set_weight(numpy.ones(len(rows.get_weight()), dtype="f4"))
assert not numpy.array_equal(xgboost.train(params, rows, 2).predict(rows), expected)
EOF
# weighed: rows 0 to 59 with a weight each, and a query for ten of them with one weight.
weighed () {
	awk "BEGIN { for (i = 0; i < 60; i++) { q = int(i / 10)
		print (i * 7 % 5 > 2) \":\" q + 1, \"qid:\" q, \"0:\" i % 3, \"1:\" i % 7 } }"
}
# trains NAME [ARG...]: one worker trains on NAME-train.svm; leaves NAME.ubj.
trains () {
	trains_name=$1 && train "$@" -n 1 && raytrain-inspect --export $trains_name.ubj \
		"$(last_checkpoint $trains_name)" >exported
}
test_expect_success 'weights of LIBSVM rows weigh them, as in the library' '
	weighed | sed "s/ qid:[0-9]*//" >weight-train.svm && svm -1 20 >weight-valid.svm &&
	trains weight 2>err && ! grep "not used" err &&
	"$PYTHON" as_library.py weight.ubj weight-train.svm binary:logistic
'
test_expect_success 'queries of LIBSVM rows are left out, and named, unless the objective ranks' '
	weighed >spare-train.svm && svm -1 20 | sed "s/ / qid:1 /" >spare-valid.svm &&
	trains spare 2>err && cmp spare.ubj weight.ubj &&
	test "$(grep -c "queries of its rows (qid) are not used" err)" = 1
'
test_expect_success 'queries of LIBSVM rows make queries for a ranking, as in the library' '
	weighed >rank-train.svm && weighed | sed "s/^\(.\):./\1/" >rank-valid.svm &&
	trains rank --set params.objective=rank:pairwise --set params.seed=7 2>err && ! grep "not used" err &&
	"$PYTHON" as_library.py rank.ubj rank-valid.svm rank:pairwise 1 2 3 4 5 6 &&
	weighed | head -n 1 >>rank-train.svm &&
	expect_status 3 train rank --name back --set params.objective=rank:pairwise 2>err &&
	grep "query 0 begins at .*rank-train.svm:1, and occurs again at .*rank-train.svm:61" err
'
test_expect_success 'a file to validate may have fewer features, and more are refused with their row' '
	svm 1 60 >short-train.svm && echo "1 2:1" >short-valid.svm && train short 2>err &&
	svm 1 60 >long-train.svm && echo "0 2:1 3:4 9:7" >>short-valid.svm &&
	cp short-valid.svm long-valid.svm &&
	expect_status 3 train long 2>err && grep "long-valid.svm:2 .*\"features_8\"" err
'
test_expect_success 'a row to predict with a feature that the model does not know is refused' '
	expect_status 3 raytrain-predict --launcher local -n 2 --checkpoint runs/short \
		--data short-valid.svm -o short.csv 2>err && grep "short-valid.svm:2: .*\"features_8\"" err
'

# ---- Names ----

test_expect_success 'columns that are not features of the model are named once' '
	predict binary -n 2 --data rows.csv --columns id -o named.csv 2>err &&
	test "$(grep -c "not used: note$" err)" = 1
'
test_expect_success 'columns of another dataset that the training set does not have are named' '
	awk -v OFS=, "BEGIN { print \"extra,label,x\"; for (i = 0; i < 9; i++) print i, i % 2, i }" \
		>wide-valid.csv && cut -d, -f2,3 wide-valid.csv >wide-train.csv &&
	sed "s/zero-\([a-z]*\).svm/wide-\1.csv/g" zero.cfg >wide.cfg &&
	raytrain-run --launcher local --storage runs -q --name wide -c wide.cfg 2>err &&
	grep "dataset \"valid\": these columns are not used: extra$" err
'
test_expect_success 'a dataset that is not there is named, with the one that may be meant' '
	expect_status 3 predict binary --data rows.csv --set datasets.predcit.format=csv \
		-o typo.csv 2>err && grep "datasets.predcit: .*did you mean datasets.predict?" err &&
	expect_status 3 train zero --name typo --set datasets.vlid.shuffle=true 2>err &&
	grep "datasets.vlid: .*did you mean datasets.valid?" err &&
	expect_status 3 raytrain-serve runs/binary --set datasets.other.format=csv 2>err &&
	grep "datasets.other: it has no path" err
'

test_done
