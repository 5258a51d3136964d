#!/bin/sh
test_description='datasets of text: converted once in a run, and used again when it is resumed'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
rows=$modules/text_rows.so

# Two compressed files of 100 rows: id, a word, a text.
for file in 0 1; do
	{
		echo id,city,note
		i=$((file * 100))
		while test $i -lt $((file * 100 + 100)); do
			case $((i % 3)) in 0) city=Oslo ;; 1) city=Paris ;; *) city= ;; esac
			echo "$i,$city,\"n,$i\""
			i=$((i + 1))
		done
	} | gzip >d-$file.csv.gz
done
settings="--set datasets.train.types.note=text --set datasets.train.shuffle=true"
# printed NAME: the rows that the workers of a run have read, in order.
printed () {
	sed -n 's/^row //p' "runs/$1"/logs/attempt-*/rank-*.out | sort -n
}
index=runs/csv/data/train/index.json

test_expect_success 'a run that fails in the middle of an epoch has converted its CSV files' '
	expect_status 1 $run -n 2 --name csv --dataset train="$PWD/d-*.csv.gz" $settings \
		--set train_loop_config.batches=4 "$rows" 2>err &&
	json_is "$index" .rows 200 .made_from.format csv && test "$(printed csv | wc -l)" = 80 &&
	ls -i "$index" >before && ls -A runs/csv/data/train >files && test "$(wc -l <files)" = 2
'
test_expect_success 'resumed on other workers it reads the other rows, and does not convert again' '
	$run -n 3 --name csv --resume --dataset train="$PWD/d-*.csv.gz" $settings \
		--set train_loop_config.batches=1000 "$rows" 2>err &&
	ls -i "$index" >after && test_cmp before after &&
	awk "BEGIN { for (i = 0; i < 200; i++)
		print i, i % 3 == 0 ? \"Oslo\" : i % 3 == 1 ? \"Paris\" : \"-\", \"n,\" i }" >expect &&
	printed csv >actual && test_cmp expect actual
'
test_expect_success 'h5dump reads the converted rows' '
	part=$(jq -r .parts[0].name "$index") &&
	h5dump "runs/csv/data/train/$part" >dump && grep -c "GROUP \"0000" dump >count &&
	echo 3 >three && test_cmp three count && grep -q "\"words\"" dump
'
test_expect_success 'a wrong row fails the run with file and line' '
	printf "a,b\n1,2\n3\n" >bad.csv &&
	test_must_fail $run -n 2 --name bad --dataset train=bad.csv "$rows" 2>err &&
	grep "bad.csv:3" err && no_temporary runs/bad
'
test_done
