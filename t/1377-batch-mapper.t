#!/bin/sh
test_description='batch mappers: functions in C change batches, in runs, restarts and predictions'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
mapped=$modules/mapped.so
rows=$modules/train_rows.so
PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH

# What the mapper makes of the rows, and what that is without a scale: a, ratio, size.
cat >make.py <<-\EOT
from statistics import mean, pstdev
rows = [(i, i % 5 + 1) for i in range(41)]
with open("rows.csv", "w") as f:
    f.write("a,b\n")
    f.writelines("%.1f,%.1f\n" % row for row in rows)
ratios = [a / b for a, b in rows]
middle, scale = mean(ratios), pstdev(ratios)
words = ["small", "large"]
with open("expected", "w") as f:
    f.writelines("%.9f %s\n" % ((r - middle) / scale, words[a > 20])
                 for (a, b), r in zip(rows, ratios))
with open("expected.csv", "w") as f:
    f.writelines("%.9f %d\n" % ((r - middle) / scale, a > 20)
                 for (a, b), r in zip(rows, ratios))
EOT
cat >run.cfg <<\EOT
datasets = { train = { path = "rows.csv"; }; };
preprocessor = (
    { batch_mapper = { function = "add_ratio"; }; },
    { type = "standard_scaler"; columns = ["ratio"]; }
);
EOT
# all_rows: what the ranks have written to got.RANK, in the order of the rows.
all_rows () {
	cat got.? | sort -n | awk '{ printf "%.9f %s\n", $2, $3 }'
}
# fails PART ARG...: the run fails as a bad configuration does, and says PART.
fails () {
	part=$1 &&
	shift &&
	expect_status 3 $run "$@" 2>err && grep -F -e "$part" err
}

test_expect_success 'batches have what the function makes, and a scaler learns from that' '
	"$PYTHON" make.py &&
	for n in 1 3
	do
		rm -f got.* && $run -n $n --name w$n -c run.cfg "$mapped" got 2>err &&
		grep "fitted: dataset \"train\", 41 rows" err &&
		all_rows >actual && test_cmp expected actual || return 1
	done
'
test_expect_success 'a checkpoint says which function it was, and a resumed run calls it again' '
	h5dump -d /raytrain/preprocessor/configuration runs/w3/checkpoint_000001.h5 >dump &&
	grep "function = .*add_ratio" dump &&
	rm -f got.* && $run -n 2 --name w3 --resume -c run.cfg "$mapped" got 2>err &&
	grep "preprocessors are those of the checkpoint" err &&
	all_rows >actual && test_cmp expected actual
'
test_expect_success 'raytrain-predict finds the function where the predict function is' '
	for n in 1 2
	do
		raytrain-predict --launcher local --checkpoint runs/w3 --data rows.csv -n $n \
			--batch-size 7 -o out$n.csv "$mapped" 2>err &&
		sed 1d out$n.csv | awk -F, "{ printf \"%.9f %s\\n\", \$1, \$2 }" >actual &&
		test_cmp expected.csv actual || return 1
	done
'
test_expect_success 'a shared object without the function is refused, in runs and in predictions' '
	fails "train_rows.so\" has no function add_ratio" --name no -c run.cfg "$rows" got train a &&
	expect_status 3 raytrain-predict --launcher local --checkpoint runs/w3 --data rows.csv \
		-o none.csv "$modules/predictions.so" 2>err &&
	grep "predictions.so. has no function add_ratio" err && test_path_is_missing none.csv
'
test_expect_success 'a library has it for any training function, and may move' '
	mkdir -p lib && cp "$mapped" lib/maps.so &&
	sed "s|add_ratio\";|& library = \"lib/maps.so\";|" run.cfg >library.cfg &&
	$run -n 2 --name lib -c library.cfg "$rows" rows train ratio 2>err &&
	cat rows.0 rows.1 | sed "s/ratio=//" | sort -n >scaled && test "$(wc -l <scaled)" = 41 &&
	expect_status 1 $run -n 1 --name removed -c library.cfg "$rows" got train b 2>err &&
	grep "no column \"b\"; the columns are: a, ratio, size" err &&
	h5dump -d /raytrain/preprocessor/configuration runs/lib/checkpoint_000001.h5 >dump &&
	grep "library = .*/lib/maps.so" dump &&
	mv lib moved && fails "lib/maps.so" -n 2 --name lib --resume -c library.cfg "$rows" rows train &&
	sed "s|lib/maps|moved/maps|" library.cfg >moved.cfg &&
	$run -n 2 --name lib --resume -c moved.cfg "$rows" rows train ratio 2>err &&
	cat rows.0 rows.1 | sed "s/ratio=//" | sort -n >again && test_cmp scaled again
'
# code WORD...: a prediction by the last checkpoint of runs/lib, which names moved/maps.so.
code () {
	rm -f loaded pred.csv &&
	MAPPED_LOADED=$PWD/loaded raytrain-predict --launcher local --data rows.csv -n 2 \
		--checkpoint runs/lib --last --fresh -o pred.csv "$@" "$mapped"
}
# Beside the predict function itself.
library_is_loaded () {
	grep -v "/mapped.so$" loaded
}
test_expect_success 'a library that only a checkpoint names is not loaded without --allow-code' '
	expect_status 3 code 2>err && ! library_is_loaded && test_path_is_missing pred.csv &&
	grep "function \"add_ratio\" of .*/moved/maps.so" err && grep "runs/lib/checkpoint_" err &&
	grep -e "--allow-code" err &&
	cp runs/lib/run.cfg kept.cfg && echo "run_config = { allow_code = true; };" >allow.cfg &&
	"$PYTHON" -c "if True:
		import re
		text, n = re.subn(\"allow_code = false\", \"allow_code = true\", open(\"kept.cfg\").read())
		assert n == 1
		open(\"runs/lib/run.cfg\", \"w\").write(text)" &&
	expect_status 3 code 2>err && ! library_is_loaded && cp kept.cfg runs/lib/run.cfg
'
test_expect_success '--allow-code, or the key of the configuration, loads it' '
	code --allow-code 2>err && library_is_loaded && test "$(wc -l <pred.csv)" = 42 &&
	code -c allow.cfg 2>err && library_is_loaded && test "$(wc -l <pred.csv)" = 42
'
test_expect_success 'a run that starts from the checkpoint needs it, too, without the key preprocessor' '
	sed "/^preprocessor/,\$d" run.cfg >bare.cfg && rm -f loaded &&
	MAPPED_LOADED=$PWD/loaded && export MAPPED_LOADED &&
	test_when_finished "unset MAPPED_LOADED" &&
	ck=$(ls runs/lib/checkpoint_*.h5 | tail -n 1) &&
	fails "--allow-code" --name from --resume="$ck" -c bare.cfg "$rows" rows train ratio &&
	test_path_is_missing loaded && grep "set the key .preprocessor." err &&
	$run --name from --fresh --resume="$ck" --allow-code -c bare.cfg "$rows" rows train ratio &&
	library_is_loaded && test -s rows.0
'
test_expect_success 'a service does not load it either' '
	rm -f loaded &&
	MAPPED_LOADED=$PWD/loaded expect_status 3 timeout 60 raytrain-serve runs/lib --last \
		--launcher local --listen ./socket --like rows.csv "$mapped" 2>err &&
	grep -e "--allow-code" err && ! library_is_loaded
'
test_expect_success 'with --allow-code, links and files that others may write are not loaded' '
	mv moved/maps.so moved/real.so && test_when_finished "mv -f moved/real.so moved/maps.so" &&
	ln -s real.so moved/maps.so &&
	expect_status 3 code --allow-code 2>err && grep "maps.so.*is a link" err &&
	! library_is_loaded &&
	rm moved/maps.so && cp moved/real.so moved/maps.so && chmod g+w moved/maps.so &&
	expect_status 3 code --allow-code 2>err && grep "maps.so.*written by other users" err &&
	! library_is_loaded &&
	rm moved/maps.so && mkfifo moved/maps.so &&
	expect_status 3 code --allow-code 2>err && grep "maps.so.*is not a shared object" err &&
	rm moved/maps.so && echo text >moved/maps.so &&
	expect_status 3 code --allow-code 2>err && grep "cannot load .*moved/maps.so" err
'
test "$(id -u)" = 0 && test_set_prereq ROOT
test_expect_success ROOT 'with --allow-code, a file of another user is not loaded' '
	chown 65534 moved/maps.so && test_when_finished "chown 0 moved/maps.so" &&
	expect_status 3 code --allow-code 2>err && grep "maps.so.*belongs to another user" err &&
	! library_is_loaded
'
test_expect_success 'a command in Python gets the batches of a library' '
	cat >train.py <<-\EOT &&
	import raytrain
	shard = raytrain.get_dataset_shard("train", equal=False)
	words = ["small", "large"]
	with open("got.%d" % raytrain.get_context().get_world_rank(), "w") as f:
	    for batch in shard.iter_batches(batch_size=3):
	        for a, ratio, size in zip(batch["a"], batch["ratio"], batch["size"]):
	            print(a, repr(float(ratio)), size, file=f)
	raytrain.report({}, checkpoint=raytrain.Checkpoint.from_dict({"a": 1}))
	stored = raytrain.Checkpoint("runs/lib/checkpoint_000002.h5").get_preprocessor()
	rows = {"a": batch["a"], "b": batch["a"] + 1}
	assert stored.transform_batch(rows)["ratio"].shape == batch["a"].shape
	EOT
	rm -f got.* && $run -n 2 --name py -c moved.cfg -- "$PYTHON" train.py 2>err &&
	all_rows >actual && test_cmp expected actual &&
	fails "a command has no functions in C" --name py2 -c run.cfg -- "$PYTHON" train.py
'
# mapper NAME: a configuration with this function of the library alone.
mapper () {
	cat <<-EOT
	datasets = { train = { path = "rows.csv"; }; };
	preprocessor = ( { batch_mapper = { function = "$1"; library = "moved/maps.so"; }; } );
	EOT
}
test_expect_success 'the reason that a function gives fails the run' '
	mapper fail_late >late.cfg &&
	fails "batch_mapper \"fail_late\": a seven" -n 2 --name late -c late.cfg "$rows" got train a
'
test_expect_success 'a crash in the function is one of the worker, whose log names it' '
	mapper crash_here >crash.cfg &&
	expect_status 1 $run -n 1 --name crash -c crash.cfg "$rows" got train a 2>err &&
	grep -r crash_here runs/crash/logs
'
test_done
