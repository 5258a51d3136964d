#!/bin/sh
test_description='the example of a table: impute, encode, scale, train, predict; in C and in Python'
. "$(dirname "$0")/setup.sh"

tabular=$srcdir/share/examples/tabular
PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

test_expect_success 'the data have missing ages and words' '
	"$PYTHON" "$tabular/customers.py" 2000 &&
	raytrain-inspect customers-train.csv >out &&
	grep -E "^float64 +[1-9][0-9]* .* age$" out && grep -E "^4 words .* city$" out &&
	grep -E "^2 words .* bought$" out
'

test_expect_success 'the training function in C learns to predict customers' '
	cp "$builddir/share/examples/tabular.so" . &&
	raytrain-run --launcher local -c "$tabular/tabular.cfg" \
		--set train_loop_config.epochs=4 --set train_loop_config.batch_size=64 \
		--set run_config.storage_path=runs 2>err &&
	tail -n 1 runs/tabular/result.json >last && jq -e ".accuracy > 0.8" last &&
	h5dump -d /raytrain/preprocessor/1/standard_scaler/age/mean \
		runs/tabular/checkpoint_000004.h5
'

test_expect_success 'the checkpoint predicts other customers, whose table has no label' '
	cut -d, -f1-3 customers-test.csv >new.csv &&
	raytrain-predict --launcher local -n 2 --checkpoint runs/tabular --data new.csv \
		-o bought.csv ./tabular.so 2>err &&
	test "$(head -n 1 bought.csv)" = probability &&
	paste -d, customers-test.csv bought.csv >both.csv &&
	awk -F, "NR > 1 { n++; hits += (\$5 > 0.5) == (\$4 ~ /yes/) }
		END { print n, hits; exit n != 400 || hits < 0.8 * n }" both.csv
'

# served OPTION...: a service of the run answers the rows of new.csv, in the file answer.
served () {
	rm -f socket && { raytrain-serve runs/tabular --listen ./socket -q "$@" ./tabular.so & } &&
	service=$! && eventually curl -sf --unix-socket socket http://localhost/v2/health/ready &&
	curl -sf --unix-socket socket http://localhost/v2/models/tabular >model.json &&
	curl -sf --unix-socket socket -H "Content-Type: text/csv" --data-binary @new.csv \
		http://localhost/v2/models/tabular/infer >answer.json &&
	kill "$service" && wait "$service" &&
	jq ".outputs[0].data[]" answer.json >answer
}
same_probabilities () {
	sed 1d bought.csv >expected && test "$(wc -l <answer)" = 400 &&
	paste -d " " answer expected |
	awk "{ d = \$1 - \$2; if (d * d > 1e-12) wrong = 1 } END { exit wrong }"
}
test_expect_success 'a service of the run takes the columns of the training, without the label' '
	served && jq -e "[.inputs[].name] == [\"age\", \"income\", \"city\"]" model.json &&
	same_probabilities
'
test_expect_success 'a service of the run takes rows of a file with a label, too' '
	mv customers-train.csv away.csv &&
	served --like customers-test.csv &&
	jq -e "[.inputs[].name] == [\"age\", \"income\", \"city\"]" model.json && same_probabilities
'
test_expect_success 'without either, the sentence says what to add' '
	expect_status 3 timeout 60 raytrain-serve runs/tabular ./tabular.so 2>err &&
	grep -e "customers-train.csv: No such file.*--input.*--like" err && mv away.csv customers-train.csv
'

# raytrain.torch needs torch 1.10.
if "$PYTHON" -c "import numpy, torch; torch.frombuffer" 2>/dev/null; then
	test_set_prereq TORCH
fi
test_expect_success TORCH 'the one in Python does, too, and its checkpoint is asked about two more' '
	"$PYTHON" "$tabular/tabular.py" 1 >out 2>err &&
	grep -E "accuracy 0[.][89]" out && grep "Bonn, Lyon, Porto, Turin" out &&
	grep "probabilities .0[.][0-4].*, 0[.][5-9]" out
'
test_done
