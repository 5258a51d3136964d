# frameworks.sh - sourced after setup.sh by the script of a framework, with the real one, in the
# interpreter FRAMEWORK_PYTHON (Debian's, if it is not set). A script that was asked for fails
# if the framework is missing. All is on CPUs: two workers may have one GPU, or none.

PYTHON=${FRAMEWORK_PYTHON:-$PYTHON}
CUDA_VISIBLE_DEVICES= JAX_PLATFORMS=cpu OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
export PYTHON CUDA_VISIBLE_DEVICES JAX_PLATFORMS OMP_NUM_THREADS TOKENIZERS_PARALLELISM
run="raytrain-run --launcher local --storage runs --progress none --show none -n 2"

# framework_is_there MODULE...: print the versions.
framework_is_there () {
	test_expect_success "there is $1 (FRAMEWORK_PYTHON names the interpreter that has it)" "
		'$PYTHON' -c 'import sys
for name in sys.argv[1:]:
    print(name, __import__(name).__version__)' $* >versions
	"
	test ! -e versions || sed "s/^/# /" versions
	test "$test_failure" -eq 0 || test_done
}
# bits_of NAME: what both ranks of a run have printed of the model at its end, which is the same.
bits_of () {
	for rank in 0 1; do
		grep -h "^bits " $(ls -d runs/$1/logs/attempt-*/rank-*$rank.out | tail -n 1) || return 1
	done | sort -u >bits && test "$(grep -c . bits)" = 1 && cat bits
}
# Two workers train for four epochs, and report each with a checkpoint. A rank dies after two.
framework_trains () {
	command="--backend $1 -- $PYTHON $srcdir/t/frameworks/train_$2.py"
	test_expect_success "$2: two workers train the same model, and save it" '
		$run --name calm $command 2>err && bits_of calm &&
		test "$(jq -s length runs/calm/result.json)" = 4 &&
		ls runs/calm/checkpoint_*.h5
	'
	for rank in 0 1; do
		test_expect_success "$2: after the death of rank $rank the model has the same bits" "
			DIES=$rank $run --name dies-$rank --max-failures 1 $command 2>err &&
			grep 'rank $rank on .*was killed by signal 9' err &&
			json_is runs/dies-$rank/logs/attempt-1/attempt.json .outcome finished &&
			bits_of calm >calm && bits_of dies-$rank >dies && test_cmp calm dies
		"
	done
	test_expect_success 'no process is left' no_process_left
}
