#!/bin/sh
test_description='bad input gives a clear error and the right exit status, and loses nothing'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs -n 2"
run_anywhere="raytrain-run --storage runs -n 2"
train=$modules/train_model.so

# fails NAME STATUS ARG...: a run of that name ends with this status; standard error is in err.
fails () {
	name=$1 expected=$2
	shift 2
	expect_status "$expected" $run --name "$name" "$@" "$train" 2>err
}

test_expect_success 'a missing shared object is refused' '
	expect_status 3 $run --name a ./missing.so 2>err &&
	grep "missing.so" err && test_path_is_missing runs/a
'
test_expect_success 'a shared object without train_func is refused' '
	expect_status 3 $run --name b "$modules/no_train_func.so" 2>err &&
	grep "train_func" err
'
test_expect_success 'a shared object that needs a missing library is refused' '
	cc -shared -fPIC -o libgone.so -x c - </dev/null &&
	echo "int train_func(void *c){(void)c;return 0;}" >f.c &&
	cc -shared -fPIC -o needs.so f.c -Wl,--no-as-needed ./libgone.so && rm libgone.so &&
	expect_status 3 $run --name c ./needs.so 2>err &&
	grep "libgone.so" err
'
test_expect_success 'a program that never calls raytrain_main is an error' '
	expect_status 3 $run --name plain --max-failures 2 "$check/plain_mpi" 2>err &&
	grep "plain_mpi.*never called raytrain_main()" err && grep "mpiexec -n 2" err &&
	test_path_is_missing runs/plain/logs/attempt-1 &&
	raytrain-inspect runs/plain >out && grep "^status *failed" out &&
	expect_status 3 $run --name hostname /bin/hostname 2>err && grep "raytrain_main()" err
'
test_expect_success 'copies started by mpiexec are refused, and none of them is silent' '
	PMI_SIZE=2 PMI_RANK=0 expect_status 2 $run_anywhere --name copies "$train" 2>err &&
	grep "leave out mpiexec" err &&
	PMI_SIZE=2 PMI_RANK=1 expect_status 2 $run_anywhere --name copies "$train" 2>err &&
	test 1 -eq $(wc -l <err) &&
	grep "copy 1 of 2 .*if there are no copies, unset PMI_SIZE and PMI_RANK" err &&
	test_path_is_missing runs/copies &&
	PMI_SIZE=2 PMI_RANK=0 $run --name side-by-side "$train" 2>err
'
test_expect_success 'a program that fails before raytrain_main is reported with its status' '
	expect_status 1 $run --name false /bin/false 2>err &&
	grep "ended with exit status 1" err && ! grep "raytrain_main" err
'
test_expect_success 'a program that does not find its libraries is reported with the way to link it' '
	printf "%s\n" "#!/bin/sh" "exit 127" >unlinked && chmod +x unlinked &&
	expect_status 1 $run --name unlinked ./unlinked 2>err &&
	grep "pkg-config --libs raytrain" err
'
test_expect_success 'a training function that returns an error is reported' '
	fails d 1 --set train_loop_config.fail=return &&
	grep "rank 0" err && grep "returned 1" err
'
test_expect_success 'a training function that calls exit is reported' '
	fails e 1 --set train_loop_config.fail=exit && grep "exit" err &&
	fails f 1 --set train_loop_config.fail=exit0 && grep "exit" err
'
test_expect_success 'a rank that calls _exit is an error, not a hang' '
	expect_status 1 $run --name f1 --set train_loop_config.how=_exit \
		--set train_loop_config.rank=1 "$modules/misbehave.so" 2>err &&
	grep "rank 1" err && grep "_exit" err
'
test_expect_success 'a training function that aborts is reported' '
	fails g 1 --set train_loop_config.fail=abort --set train_loop_config.fail_rank=1 &&
	grep "rank 1" err && grep -i "abort" err
'
test_expect_success 'a training function that is killed by a signal is reported' '
	ASAN_OPTIONS=handle_segv=0 fails h 1 --set run_config.checkpoint_config.mode=sync \
		--set train_loop_config.fail=segv --set train_loop_config.fail_rank=1 &&
	grep "rank 1" err && grep -i "segmentation fault" err &&
	fails i 1 --set train_loop_config.fail=kill && grep "signal 9" err
'
test_expect_success 'checkpoints saved before a failure remain' '
	test -f runs/h/checkpoint_000002.h5 &&
	raytrain-inspect --verify runs/h/checkpoint_000002.h5
'
test_expect_success 'a worker that returns an error completes the save in progress' '
	fails t 1 --set train_loop_config.fail=return --set train_loop_config.fail_rank=1 &&
	raytrain-inspect --verify runs/t/checkpoint_000002.h5 &&
	fails u 1 --set train_loop_config.fail=exit --set train_loop_config.fail_rank=1 &&
	raytrain-inspect --verify runs/u/checkpoint_000002.h5
'
test_expect_success 'a rank that returns early is an error, not a hang' '
	fails j 1 --set train_loop_config.fail=early --set train_loop_config.fail_rank=1 &&
	grep -i "return" err
'
test_expect_success 'a NaN is recorded, with a warning' '
	$run --name k --set train_loop_config.fail=nan "$train" 2>err &&
	grep -i "nan" err && grep "loss" err &&
	sed -n 3p runs/k/result.json | jq -e ".loss == null" &&
	sed -n 4p runs/k/result.json | jq -e ".loss != null"
'
test_expect_success 'an unknown key is reported with file, line and a suggestion' '
	printf "scaling_config = {\n  num_worker = 2;\n};\n" >bad.cfg &&
	expect_status 3 raytrain-run -c bad.cfg "$train" 2>err &&
	grep "bad.cfg:2" err && grep "num_workers" err
'
test_expect_success 'a wrong type, a number out of range and a syntax error are reported with the line' '
	printf "scaling_config = { num_workers = \"many\"; };\n" >bad.cfg &&
	expect_status 3 raytrain-run -c bad.cfg "$train" 2>err && grep "bad.cfg:1" err &&
	printf "\nscaling_config = { num_workers = -2; };\n" >bad.cfg &&
	expect_status 3 raytrain-run -c bad.cfg "$train" 2>err && grep "bad.cfg:2" err &&
	printf "\n\nscaling_config = {{ ;\n" >bad.cfg &&
	expect_status 3 raytrain-run -c bad.cfg "$train" 2>err && grep "bad.cfg:3" err
'
test_expect_success 'an unknown flag is refused with a suggestion' '
	expect_status 2 raytrain-run --wrokers 2 "$train" 2>err && grep -e "--workers" err
'
test_expect_success 'no command abbreviates its long options' '
	while read -r option command; do
		expect_status 2 $command 2>err &&
		grep "options are not abbreviated; did you mean $option?" err || return 1
	done <<-EOF
	--dry-run raytrain-run --dry $train
	--name raytrain-run --nam x $train
	--keep-run raytrain-predict --data x.csv -o x.csv --checkpoint x.h5 --keep id
	--where raytrain-serve --whe runs
	--json raytrain-inspect --js runs
	--output raytrain-inspect runs --out=x.html
	--should-stop raytrain-report --should
	--total raytrain-report --tot
	EOF
'
test_expect_success 'a word that is not a file here is not executed, although PATH has it' '
	mkdir -p bin && printf "%s\n" "#!/bin/sh" ": >\"$PWD/executed\"" >bin/keeper &&
	chmod +x bin/keeper && PATH=$PWD/bin:$PATH && export PATH &&
	expect_status 3 $run --name word keeper 2>err &&
	grep "no file .keeper. here; if the program $PWD/bin/keeper is meant" err &&
	grep -e "comes after --: -- keeper" err &&
	test_path_is_missing runs/word && test_path_is_missing executed &&
	$run --name word -- keeper 2>err && test -f executed
'
test_expect_success 'an error names the words that were taken for the function and its arguments' '
	expect_status 2 raytrain-predict --checkpoint x.h5 --data x.csv id -o p.csv 2>err &&
	grep -e "--output is missing.*.id. was taken for the predict function.*-o p.csv" err &&
	expect_status 3 $run --name odd stray "$train" --name x 2>err &&
	grep "no file .stray. here.* was taken for the training function.*--name x" err
'
test_expect_success 'more GPUs, CPUs or memory than available are refused' '
	fails l 4 --gpu --gpus-per-worker 100 && grep "100" err &&
	fails m 4 --cpus-per-worker 10000 && grep "10000" err &&
	fails n 4 --mem-per-worker 100000G && grep -i "memory" err &&
	test_path_is_missing runs/l && test_path_is_missing runs/n
'
test_expect_success 'more workers than this machine can run are refused' '
	expect_status 4 raytrain-run --launcher local --storage runs -n 100000 --name many \
		"$train" 2>err && grep "100000 workers do not fit in this machine" err &&
	test_path_is_missing runs/many
'
test_expect_success 'a directory name that is not UTF-8 works' '
	odd=$(printf "caf\\351") && mkdir "$odd" &&
	(cd "$odd" && $run --name u --json "$train" >out.json 2>err) &&
	json_is "$odd/out.json" .status finished &&
	(cd "$odd" && expect_status 1 $run --name v --set train_loop_config.fail=kill \
		--json "$train" >out.json 2>err) && grep "signal 9" "$odd/err" &&
	json_is "$odd/out.json" .status failed &&
	raytrain-inspect --verify "$odd/runs/u" >shown && grep finished shown
'
test_expect_success 'a storage path that cannot be created is named, with status 5' '
	expect_status 5 $run --storage /proc/nowhere/runs --name o "$train" 2>err &&
	grep "cannot create directory /proc/nowhere" err
'
test_expect_success 'a storage path that is not a directory is refused' '
	: >file && expect_status 5 $run --storage file/x --name o "$train" 2>err &&
	grep "file" err
'
test_expect_success 'a hostile run name is refused' '
	for name in ../x "a/b" . .. "$(printf "a\nb")" "$(printf %0300d 1)"; do
		expect_status 3 $run --name "$name" "$train" 2>err || return 1
	done &&
	expect_status 2 $run --name "" "$train" 2>err && test_path_is_missing x
'
odd_name=$(cat <<'END'
a "b" $(touch pwned) '\''
END
)
test_expect_success 'a run name with spaces and quotes works' '
	name=$odd_name &&
	$run --name "$name" "$train" 2>err && test -f "runs/$name/result.h5" &&
	test_path_is_missing pwned
'
test_expect_success '--resume=CHECKPOINT refuses a missing, a foreign and a damaged file' '
	fails p 3 --resume=gone.h5 && grep "gone.h5" err &&
	echo "not hdf5" >foreign.h5 && fails q 5 --resume=foreign.h5 && grep foreign.h5 err &&
	cp runs/d/checkpoint_000002.h5 cut.h5 && truncate -s -100 cut.h5 &&
	fails r 5 --resume=cut.h5 && grep cut.h5 err
'
test_expect_success '--resume without an existing run starts one' '
	$run --name s --resume "$train" 2>err && test -f runs/s/checkpoint_000005.h5
'
test_done
