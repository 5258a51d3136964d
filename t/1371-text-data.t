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
test_expect_success 'a wrong row fails the run with file and line, as bad input' '
	printf "a,b\n1,2\n3\n" >bad.csv &&
	expect_status 3 $run -n 2 --name bad --dataset train=bad.csv "$rows" 2>err &&
	grep "bad.csv:3" err && no_temporary runs/bad
'
test_expect_success 'ids beyond int64 stay different: they are words, which is said once' '
	printf "id,x\n%s,1\n%s,2\n%s,3\n" 18446744073709551614 18446744073709551615 7 >ids.csv &&
	set -- --dataset train=ids.csv --set datasets.train.columns="[\"id\"]" &&
	expect_status 1 $run -n 2 --name ids "$@" --set train_loop_config.batches=0 "$rows" 2>err &&
	grep "dataset \"train\": column \"id\" has whole numbers of more than 64 bits" err >said &&
	test "$(wc -l <said)" = 1 &&
	part=runs/ids/data/train/$(jq -r .parts[0].name runs/ids/data/train/index.json) &&
	grep -qa 18446744073709551614 "$part" && grep -qa 18446744073709551615 "$part" &&
	test_might_fail $run -n 1 --name ids --resume "$@" "$rows" 2>err && ! grep "64 bits" err
'

# half NAME: a run that ends in the middle of an epoch of all rows.
half () {
	expect_status 1 $run -n 2 --name "$1" --dataset train="$PWD/c-*.csv.gz" $settings \
		--set train_loop_config.batches=4 "$rows" 2>err && test "$(printed "$1" | wc -l)" = 80
}
# rest NAME: what that run prints when it is resumed on other workers.
rest () {
	$run -n 3 --name "$1" --resume --dataset train="$PWD/c-*.csv.gz" $settings "$rows" 2>err &&
	printed "$1" >actual && test_cmp expect actual
}
cp d-0.csv.gz c-0.csv.gz && cp d-1.csv.gz c-1.csv.gz
test_expect_success 'a changed byte in converted rows is noticed, and they are converted again' '
	half flip && part=runs/flip/data/train/$(jq -r .parts[0].name runs/flip/data/train/index.json) &&
	jq -e ".parts[0].sums | length > 3" runs/flip/data/train/index.json &&
	"$PYTHON" -c "
data = bytearray(open(\"$part\", \"rb\").read())
data[data.index((150).to_bytes(8, \"little\") + (151).to_bytes(8, \"little\")) + 1] ^= 1
open(\"$part\", \"wb\").write(data)" &&
	rest flip && grep "converted again.*$part" err && test_path_is_missing "$part"
'
test_expect_success 'text that was copied again is used in the middle of an epoch if its rows are the same' '
	half copied && zcat c-1.csv.gz | gzip -1 >n && mv n c-1.csv.gz && rest copied
'
test_expect_success 'text that has changed is refused in the middle of an epoch, with the way out' '
	half other && { zcat d-1.csv.gz | sed s/Oslo/Bonn/; } | gzip >c-1.csv.gz &&
	for i in 1 2; do
		expect_status 3 $run -n 2 --name other --resume --dataset train="$PWD/c-*.csv.gz" \
			$settings "$rows" 2>err &&
		grep "c-1.csv.gz has .* bytes, and had" err &&
		grep "remove .*runs/other/data/train" err || return 1
	done &&
	cp d-1.csv.gz c-1.csv.gz && rest other
'

grep -q "define RAYTRAIN_FAULTS" "$builddir/config.h" && test_set_prereq FAULTS
# holds GATE: a worker waits at this FIFO.
holds () {
	for worker in $(worker_pids); do
		find /proc/$worker/fd -lname "*/$1" 2>/dev/null
	done | grep -q .
}
# heard: both workers have received the request to stop.
heard () {
	for worker in $(worker_pids); do
		grep -ls "eventfd-count: *[1-9]" /proc/$worker/fdinfo/* | head -n 1
	done >noted && test "$(wc -l <noted)" = 2
}
# stop_converting SIGNAL: send it to a run whose rank 1 has not parsed all of its text yet.
stop_converting () {
	mkfifo "gate-$1" &&
	{ RAYTRAIN_FAULT=dataset.convert:1:wait RAYTRAIN_FAULT_FIFO=$PWD/gate-$1 \
		$run -n 2 --name "stop-$1" --json --dataset train="$PWD/d-*.csv.gz" $settings \
		$program 2>err >result.json & } && pid=$! &&
	exec 7<>"gate-$1" && eventually holds "gate-$1" && kill -"$1" $pid && eventually heard &&
	exec 7>&-
}
# The first training function returns the status of the call, the other another number.
for signal in TERM INT USR1; do
	case $signal in
	TERM) program=$rows ;;
	*) program="$modules/train_rows.so got train id" ;;
	esac
	test_expect_success FAULTS "SIG$signal ends a conversion with status 75, and nothing of it is left" '
		stop_converting $signal && expect_status 75 wait $pid &&
		json_is result.json .status stopped .cause signal && ! grep "not stopped within" err &&
		is_empty runs/stop-$signal/data/train && no_process_left
	'
done
test_expect_success FAULTS 'a run that was stopped while it converted text converts it again when it is resumed' '
	$run -n 3 --name stop-TERM --resume --dataset train="$PWD/d-*.csv.gz" $settings "$rows" 2>err &&
	printed stop-TERM >actual && test_cmp expect actual
'
test_expect_success FAULTS 'a prediction that converts its input stops on request, and continues with --resume' '
	awk "BEGIN { print \"id,x\"; for (i = 0; i < 50; i++) print i \",\" i / 4 }" >p.csv &&
	$run -n 1 --name model "$modules/predictions.so" 2>err &&
	predict="raytrain-predict --launcher local -n 2 --checkpoint runs/model --data p.csv
		--set datasets.predict.types.x=float32 -o out.csv" && mkfifo gate &&
	{ RAYTRAIN_FAULT=dataset.convert:1:wait RAYTRAIN_FAULT_FIFO=$PWD/gate \
		$predict "$modules/predictions.so" 2>err & } && pid=$! &&
	exec 7<>gate && eventually holds gate && kill -TERM $pid && eventually heard && exec 7>&- &&
	expect_status 75 wait $pid && is_empty out.csv.run/data/predict &&
	$predict --resume "$modules/predictions.so" 2>err && test "$(wc -l <out.csv)" = 51
'
test_done
