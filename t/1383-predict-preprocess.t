#!/bin/sh
test_description='a prediction applies the preprocessors that the training has fitted'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

predict="raytrain-predict --launcher local --checkpoint runs/people -c people.cfg"

cat >compare.py <<-\EOF
import csv

with open("expected.csv") as f:
    expected = [float(line) for line in f]
with open("one.csv", newline="") as f:
    rows = list(csv.DictReader(f))
with open("people.csv", newline="") as f:
    people = list(csv.DictReader(f))
assert len(rows) == len(expected) == 1003
for row, person, score in zip(rows, people, expected):
    assert abs(float(row["score"]) - score) < 1e-5 * (1 + abs(score)), (row, score)
    assert row["city"] == person["city"] and row["id"] == person["id"], (row, person)
    age = person["age"] or "nan"
    assert repr(float(row["age"])) == repr(float(age)), (row, person)
EOF

test_expect_success 'one worker predicts what imputing, scaling and encoding by hand gives' '
	make_people 1003 &&
	raytrain-run --launcher local --storage runs -n 2 --name people --score score \
		-c people.cfg "$model" 2>err && grep "fitted: dataset \"train\", 1003 rows" err &&
	$predict --columns id,city,age -o one.csv "$model" 2>err && "$PYTHON" compare.py
'
test_expect_success 'two and three workers predict the same bits, and keep what rows had before' '
	$predict --columns id,city,age -o one.h5 "$model" 2>err &&
	for n in 2 3; do
		$predict -n $n --columns id,city,age -o $n.csv "$model" 2>err &&
		$predict -n $n --columns id,city,age -o $n.h5 "$model" 2>err &&
		test_cmp one.csv $n.csv && cmp one.h5 $n.h5 || return 1
	done
'
test_expect_success 'rows of another dataset are changed by what the training set has taught' '
	head -n 101 people.csv >few.csv &&
	$predict -n 2 --columns id,city,age --data few.csv -o few-out.csv "$model" 2>err &&
	cut -d, -f1-5 one.csv | head -n 101 >first && cut -d, -f1-5 few-out.csv >few &&
	test_cmp first few
'
test_expect_success 'words that the training set does not have are none of its categories' '
	printf "id,age,income,city\n0,40,3000,Oslo\n1,40,3000,Bonn\n2,40,3000,Lyon\n" >odd.csv &&
	$predict --data odd.csv --columns city -o odd-out.csv "$model" 2>err &&
	awk -F, "NR > 1 { score[\$1] = \$2 }
		END { bonn = score[\"Bonn\"] - score[\"Oslo\"]; lyon = score[\"Lyon\"] - score[\"Oslo\"]
			exit NR != 4 || (bonn - 2)^2 > 1e-9 || (lyon - 2)^2 > 1e-9 }" odd-out.csv
'
test_done
