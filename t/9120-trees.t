#!/bin/sh
test_description='the example of trees: a table of tumours, by raytrain-run and by Python'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/trees.sh"
trees_need numpy xgboost

trees=$srcdir/share/examples/trees
PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

test_expect_success 'the data of the example are a table with names' '
	"$PYTHON" "$trees/breast_cancer.py" && wc -l <breast-cancer-train.csv >lines &&
	test "$(cat lines)" = 457 && raytrain-inspect breast-cancer-test.csv >out &&
	grep -E " mean_radius$" out && grep -E " malignant$" out
'
test_expect_success 'two workers train, stop early, and keep the best round' '
	raytrain-run --launcher local -c "$trees/trees.cfg" \
		--set run_config.storage_path=runs 2>err &&
	grep "early stopping: test-logloss has not improved for 20 rounds" err &&
	tail -n 1 runs/trees/result.json >last && jq -e ".[\"test-auc\"] > 0.98" last
'
test_expect_success 'the run predicts a table, most of it right' '
	raytrain-predict --launcher local -n 2 --checkpoint runs/trees --outputs class \
		--data breast-cancer-test.csv --columns malignant -o malignant.csv 2>err &&
	grep "rows 113" err && ! grep checkpoint_interval_s err &&
	awk -F, "NR > 1 { n++; hits += \$1 == \$2 }
		END { print n, hits; exit n != 113 || hits < 0.94 * n }" malignant.csv
'
test_expect_success 'the example in Python trains, stops early and predicts as its configuration file does' '
	"$PYTHON" "$trees/trees.py" xgboost 1 >out 2>err &&
	grep -E "rounds, auc (1.000|0.9[89])" out && grep " worst_radius" out &&
	grep -E "(9[4-9]|100) % of 113 tumours are recognized" out &&
	grep -E "probabilities .0[.]9" out
'

# The library is built once per machine. There is none where its source cannot be had.
library=$("$srcdir/t/lightgbm-library" 2>library.err)
test $? = 77 || test_set_prereq LIGHTGBM
test_expect_success LIGHTGBM 'the example trains with LightGBM, whose module only predicting in Python needs' '
	test -f "$library" || { cat library.err; return 1; } &&
	{ RAYTRAIN_LIGHTGBM_LIBRARY=$library "$PYTHON" "$trees/trees.py" lightgbm >out 2>err ||
		grep "the module lightgbm is needed" err; } &&
	grep "early stopping: test-binary_logloss has not improved for 20 rounds" err &&
	grep -E "rounds, auc (1.000|0.9[89])" out &&
	grep -E "(9[4-9]|100) % of 113 tumours are recognized" out
'
test_done
