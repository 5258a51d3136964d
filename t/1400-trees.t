#!/bin/sh
test_description='XGBoost trains on the rows of several workers as it does on those of one process

The reference is its own Python module, in one process, with the same parameters.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/trees.sh"

run="raytrain-run --launcher local --storage runs"

trees_need xgboost
"$PYTHON" "$trees/data.py" scikit-learn || exit 1

# learn NAME LABEL ROUNDS [KEY=VALUE...]: write NAME.cfg, and train by the Python module. From
# 2.0 on, the default of base_score is an estimate, whose last digits depend on the workers.
learn () {
	tree_config xgboost "$@" base_score=0.5 &&
	"$PYTHON" "$trees/xgb.py" "$@" base_score=0.5 2>/dev/null
}
# is_reference RUN NAME: the final model of a run has the bytes of NAME.ubj, and its scores are
# those of the reference after the last round.
is_reference () {
	model_in "$(last_checkpoint "$1")" model.ubj >"$1.ubj" && cmp "$2.ubj" "$1.ubj" &&
	"$PYTHON" "$trees/scores.py" 1e-6 "$2.json" "runs/$1/result.json"
}

learn cancer malignant 8 objective=binary:logistic "eval_metric=[\"logloss\", \"error\"]" \
	max_depth=3 &&
learn wine cultivar 6 objective=multi:softprob num_class=3 eval_metric=mlogloss max_depth=3 &&
learn diabetes progression 8 objective=reg:squarederror max_depth=3 || exit 1
for n in 1 2 3 4; do
	test_expect_success "two classes: $n workers make the model of one process, bit for bit" '
		$run -n $n --name cancer-$n -c cancer.cfg 2>err && is_reference cancer-$n cancer
	'
	test_expect_success "three classes, not all on each worker, a constant and an empty column: $n workers make the model of one process" '
		$run -n $n --name wine-$n -c wine.cfg 2>err && is_reference wine-$n wine
	'
	test_expect_success "a regression with missing values: $n workers make the model of one process" '
		$run -n $n --name diabetes-$n -c diabetes.cfg 2>err &&
		is_reference diabetes-$n diabetes
	'
done
test_expect_success 'with continuous features the loss is that of one process within 0.001' '
	learn cancer-raw malignant 8 objective=binary:logistic \
		"eval_metric=[\"logloss\", \"error\"]" max_depth=3 &&
	for n in 2 3; do
		$run -n $n --name raw-$n -c cancer-raw.cfg 2>err &&
		"$PYTHON" "$trees/scores.py" 1e-3 cancer-raw.json runs/raw-$n/result.json ||
		return 1
	done
'
test_expect_success 'each round is a report, and the last one has a checkpoint that people can read' '
	jq -es "map(.training_iteration) == [1,2,3,4,5,6,7,8]" runs/cancer-2/result.json &&
	ck=$(last_checkpoint cancer-2) && test "$(number_in $ck gbdt/round)" = 8 &&
	h5dump -d /gbdt/params $ck >params && grep "binary:logistic" params &&
	h5dump -d /gbdt/features $ck >features && grep f29 features &&
	h5dump -d /gbdt/importance/gain $ck >gain && grep "( 30 )" gain
'
test_expect_success 'more workers than rows: some have none' '
	tree_config xgboost few progression 3 objective=reg:squarederror max_depth=2 \
		base_score=0.5 &&
	$run -n 1 --name few-1 -c few.cfg 2>err && $run -n 4 --name few-4 -c few.cfg 2>err &&
	for n in 1 4; do
		model_in "$(last_checkpoint few-$n)" model.ubj >few-$n.ubj || return 1
	done && cmp few-1.ubj few-4.ubj
'
test_expect_success 'labels that are words go through label_encoder' '
	tree_config xgboost words diagnosis 8 objective=binary:logistic base_score=0.5 \
		"eval_metric=[\"logloss\", \"error\"]" max_depth=3 &&
	echo "preprocessor = ({ type = \"label_encoder\"; label_column = \"diagnosis\"; });" \
		>>words.cfg &&
	$run -n 2 --name words -c words.cfg 2>err && is_reference words cancer
'
test_expect_success '--set changes a parameter of the library' '
	"$PYTHON" "$trees/xgb.py" cancer malignant 8 objective=binary:logistic \
		"eval_metric=[\"logloss\", \"error\"]" max_depth=2 base_score=0.5 2>/dev/null &&
	! cmp cancer.ubj cancer-2.ubj &&
	$run -n 2 --name depth -c cancer.cfg --set params.max_depth=2 2>err &&
	is_reference depth cancer
'
test_expect_success 'early stopping keeps the best round, and says which it is' '
	learn diabetes progression 40 objective=reg:squarederror max_depth=4 early=4 &&
	sed -i /early/d diabetes.cfg &&
	$run -n 2 --name early -c diabetes.cfg --set early_stopping_rounds=4 2>err &&
	ck=$(last_checkpoint early) && best=$(tail -n 1 diabetes.json | jq .best) &&
	test "$(number_in $ck gbdt/best_round)" = "$best" && grep "round $((best + 1))" err &&
	"$PYTHON" "$trees/scores.py" 1e-6 diabetes.json runs/early/result.json
'
test_expect_success 'raytrain-inspect exports files that the Python module loads' '
	raytrain-inspect --export early.ubj "$ck" 2>err &&
	raytrain-inspect --export early.json "$ck" 2>err &&
	cat >splits.py <<-\EOF &&
	import numpy, xgboost

	splits = numpy.load("early-tensors/gbdt/importance/splits.npy").sum()
	model = xgboost.Booster(model_file="early.ubj")
	assert splits == sum(model.get_score(importance_type="weight").values())
	EOF
	cat >load.py <<-\EOF &&
	import json, sys
	import xgboost
	best = int(sys.argv[1])
	for name in "early.json", "early.ubj":
	    model = xgboost.Booster(model_file=name)
	    assert model.best_iteration == best and model.num_boosted_rounds() == best + 1
	    model.set_attr(**{key: None for key in model.attributes()})
	    model.save_model("same-" + name.replace(".", "-") + ".ubj")
	EOF
	"$PYTHON" load.py $best && cmp diabetes.ubj same-early-json.ubj &&
	raytrain-inspect --export early-tensors "$ck" && "$PYTHON" splits.py &&
	cmp diabetes.ubj same-early-ubj.ubj
'

# ---- What is wrong with the input ----

test_expect_success 'a label column that is not there is an error that names it, and those that are' '
	expect_status 3 $run -n 2 --name nolabel -c cancer.cfg --set label=malignent 2>err &&
	grep malignent err && grep malignant err
'
test_expect_success 'a column of words without an encoder is an error that names it' '
	expect_status 3 $run -n 2 --name noencoder -c words.cfg --set preprocessor="()" 2>err &&
	grep diagnosis err && grep encoder err &&
	sed "s/^[^,]*/x/; 1s/^x/city/" cancer-train.csv >city-train.csv &&
	expect_status 3 $run -n 2 --name city -c cancer.cfg --dataset train=city-train.csv 2>err &&
	grep "\"city\"" err && grep encoder err
'
test_expect_success 'columns and files that are not used are named once, and a matrix by columns is used' '
	mkdir -p mixed && : >mixed/notes.md && "$PYTHON" -c "
import numpy
x = numpy.arange(40.0).reshape(20, 2)
numpy.savez(\"mixed/a.npz\", x=numpy.asfortranarray(x), y=x[:, 0], c=x[:, 0] * 1j)" &&
	$run -n 2 --name mixed --trainer xgboost --dataset train=mixed --set label=y \
		--set num_boost_round=2 2>err &&
	grep "\"c\" (holds complex numbers)" err >lines && test "$(wc -l <lines)" = 1 &&
	grep "these files are not read: \".*/mixed/notes.md\"" err &&
	h5dump -d /gbdt/features "$(last_checkpoint mixed)" >features && grep x_1 features
'
test_expect_success 'a label out of range is an error with the reason of the library' '
	expect_status 3 $run -n 2 --name range -c diabetes.cfg \
		--set params.objective=binary:logistic 2>err &&
	grep -i "label must be in \[0,1\]" err &&
	expect_status 3 $run -n 2 --name classes -c wine.cfg --set params.num_class=2 2>err &&
	grep -i "label must be in \[0, num_class)" err
'
test_expect_success 'an unknown parameter is a warning of the library, a bad value an error' '
	$run -n 2 --name unknown -c cancer.cfg --set params.max_dept=3 2>err &&
	grep max_dept err &&
	expect_status 3 $run -n 2 --name bad -c cancer.cfg --set params.max_depth=deep 2>err &&
	grep max_depth err
'
test_expect_success 'a library that is not there is an error that says how to get it' '
	RAYTRAIN_XGBOOST_LIBRARY=$PWD/none.so \
		expect_status 3 $run -n 2 --name nolibrary -c cancer.cfg 2>err &&
	grep none.so err && grep RAYTRAIN_XGBOOST_LIBRARY err
'
test_expect_success 'what means a missing value in the training does so in predictions' '
	common=$(tail -n +2 cancer-valid.csv | tr , "\n" | sort -n | uniq -c | sort -n |
		tail -n 1 | awk "{ print \$2 }") &&
	$run -n 2 --name gaps -c cancer.cfg --set "dmatrix_params.missing=$common" 2>err &&
	raytrain-predict --launcher local --checkpoint runs/gaps --data cancer-valid.csv \
		-o gaps.csv 2>err &&
	raytrain-inspect --export gaps.ubj runs/gaps >/dev/null &&
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" - $common <<-\EOF
	import sys

	import numpy, xgboost
	from raytrain.xgboost import XGBoostPredictor

	rows = numpy.genfromtxt("cancer-valid.csv", delimiter=",", names=True)
	model = xgboost.Booster(model_file="gaps.ubj")
	x = numpy.stack([rows[name] for name in model.feature_names], 1)

	def predict(missing):
	    return model.predict(xgboost.DMatrix(x, missing=missing,
	                                         feature_names=model.feature_names))

	right = predict(float(sys.argv[1]))
	assert (right != predict(numpy.nan)).any()
	ours = numpy.genfromtxt("gaps.csv", delimiter=",", names=True)["prediction"]
	assert (ours.astype("f4") == right).all()
	predictor = XGBoostPredictor.from_checkpoint("runs/gaps/checkpoint_000008.h5")
	python = predictor.predict({name: x[:, i] for i, name in enumerate(model.feature_names)})
	assert (python["predictions"] == right).all()
	EOF
'

# ---- What is wrong with the configuration ----

test_expect_success 'an error of the configuration has its file and line' '
	sed "s/^num_boost_round.*/num_boost_round = 0;/" cancer.cfg >zero.cfg &&
	expect_status 3 $run --dry-run -c zero.cfg 2>err && grep "zero.cfg:3" err &&
	sed "s/^num_boost_round/num_boost_rounds/" cancer.cfg >unknown.cfg &&
	expect_status 3 $run --dry-run -c unknown.cfg 2>err && grep "unknown.cfg:3" err &&
	grep "\"*num_boost_round\"*" err
'
test_expect_success 'keys that contradict each other are refused' '
	expect_status 3 $run --dry-run -c cancer.cfg --set weight=malignant 2>err &&
	grep "weight" err && grep "label" err &&
	expect_status 3 $run --dry-run -c cancer.cfg --set early_stopping_metric=valid-error \
		2>err && grep early_stopping_rounds err &&
	expect_status 3 $run --dry-run -c cancer.cfg --set datasets.train.shuffle=true 2>err &&
	grep "datasets.train.shuffle" err &&
	expect_status 3 $run --dry-run --trainer xgboost --dataset valid=cancer-valid.csv 2>err &&
	grep "dataset train=PATH" err &&
	expect_status 2 $run --dry-run -c cancer.cfg "$modules/train_model.so" 2>err &&
	grep "loop of its own" err &&
	expect_status 3 $run --dry-run --set params.eta=0.1 "$modules/train_model.so" 2>err &&
	grep -e "--trainer xgboost" err
'
test_expect_success '--dry-run shows the configuration and how the workers would be started' '
	$run --dry-run -n 2 -c cancer.cfg --set params.max_depth=3 >out 2>err &&
	grep "max_depth = 3" out && grep "eval_metric" out &&
	grep -e "--trainer xgboost" out && test_path_is_missing runs/xgboost
'

# rank NAME PATH LABEL QID: write NAME.cfg, to learn ranks from the queries in column QID.
rank () {
	cat >$1.cfg <<-EOF
	trainer = "xgboost";
	num_boost_round = 2;
	label = "$3";
	qid = "$4";
	params = { objective = "rank:pairwise"; };
	datasets = { train = { path = "$2"; }; };
	EOF
}
test_expect_success 'a query that occurs again in another file is refused, with both lines' '
	mkdir queries && printf "1 qid:1 1:1\n0 qid:1 1:2\n" >queries/a.svm &&
	printf "1 qid:2 1:1\n0 qid:1 1:2\n" >b.svm && gzip -c b.svm >queries/b.svm.gz &&
	rank queries "queries/*svm*" label qid &&
	for n in 1 2; do
		expect_status 3 $run -n $n --name queries-$n -c queries.cfg 2>err &&
		grep "query 1 begins at .*/a.svm:1, and occurs again at .*/b.svm.gz:2" err ||
			return 1
	done
'
test_expect_success 'so it is in files whose rows are not lines' '
	mkdir arrays && "$PYTHON" - <<-\EOF &&
	import numpy

	rows = numpy.zeros(4, dtype=[("q", "i4"), ("x", "f4"), ("y", "f4")])
	rows["q"] = 1, 2, 3, 2
	numpy.save("arrays/a.npy", rows[:2])
	numpy.save("arrays/b.npy", rows[2:])
	EOF
	rank arrays arrays y q &&
	expect_status 3 $run -n 2 --name arrays -c arrays.cfg 2>err &&
	grep "query 2 begins at row 1 of .*/a.npy (the first one is 0)" err &&
	grep "occurs again at row 1 of .*/b.npy" err
'
test_done
