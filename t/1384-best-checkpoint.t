#!/bin/sh
test_description='which checkpoint of a run predicts: the best one by its score'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

run="raytrain-run --launcher local --storage runs -q"
predict="raytrain-predict --launcher local --data rows.npz"

# predicts_by K RUN [OPTION...]: checkpoint K of the run predicts, whose weight is K. Times
# the number of row 1 that is K.
predicts_by () {
	k=$1 name=$2 && shift 2 &&
	$predict --checkpoint runs/$name --fresh "$@" -o $name.csv "$model" 2>err &&
	test "$(sed -n 3p $name.csv | cut -d, -f2)" = $k ||
	{ head -n 3 $name.csv err; return 1; }
}

test_expect_success 'the highest score is the best, or the lowest if the run says so' '
	make_rows 10 &&
	$run --name high --score score "$model" && predicts_by 2 high &&
	$run --name low --score score:min "$model" && predicts_by 1 low &&
	predicts_by 3 low --last
'
test_expect_success 'without a score the newest checkpoint is the best' '
	$run --name none "$model" && predicts_by 3 none
'
test_expect_success 'a NaN is worse than any score, whichever order is asked for' '
	$run --name nan-max --score score --set train_loop_config.nan_at=2 "$model" &&
	predicts_by 3 nan-max &&
	$run --name nan-min --score score:min --set train_loop_config.nan_at=1 \
		"$model" && predicts_by 3 nan-min
'
test_expect_success 'the best one is there when others have been deleted' '
	$run --name pruned --keep 1 --score score "$model" &&
	test_path_is_missing runs/pruned/checkpoint_000001.h5 && predicts_by 2 pruned &&
	predicts_by 3 pruned --last
'
test_expect_success 'of those that are left the best one is taken' '
	$run --name lost --score score "$model" && rm runs/lost/checkpoint_000002.h5 &&
	predicts_by 3 lost
'
# cut_short FILE: shorten it.
cut_short () {
	truncate -s $(($(wc -c <"$1") - 100)) "$1"
}
test_expect_success 'one that is cut short may be the best: an error, not another model' '
	cp -r runs/high runs/cut && best=runs/cut/checkpoint_000002.h5 &&
	cut_short $best && cp $best kept &&
	expect_status 5 $predict --checkpoint runs/cut -o cut.csv "$model" 2>err &&
	grep checkpoint_000002.h5 err && grep -e --last err &&
	test_path_is_missing cut.csv && cmp kept $best && predicts_by 3 cut --last
'
test_expect_success 'nor is an older one taken for the newest' '
	cut_short runs/cut/checkpoint_000003.h5 &&
	expect_status 5 $predict --checkpoint runs/cut --last -o cut2.csv "$model" 2>err &&
	grep checkpoint_000003.h5 err && test_path_is_missing cut2.csv
'
test_expect_success 'a best one with a changed byte is an error, and stays as it is' '
	cp -r runs/high runs/byte && best=runs/byte/checkpoint_000002.h5 &&
	at=$("$PYTHON" -c "import struct; print(open(\"$best\", \"rb\").read().find(struct.pack(\"<d\", 2)))") &&
	test "$at" -gt 0 && printf "\377" | dd of=$best bs=1 seek=$at conv=notrunc 2>/dev/null &&
	cp $best kept &&
	test_must_fail $predict --checkpoint runs/byte -o byte.csv "$model" 2>err &&
	grep checkpoint_000002.h5 err && test_path_is_missing byte.csv && cmp kept $best &&
	predicts_by 3 byte --last
'
test_done
