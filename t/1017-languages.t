#!/bin/sh
test_description='training functions in C++ and in Fortran'
. "$(dirname "$0")/setup.sh"

examples=$builddir/share/examples
run="raytrain-run --launcher local --storage runs -n 2"
settings="--set train_loop_config.count=7 --set train_loop_config.lr=0.5
	--set train_loop_config.word=hello --set train_loop_config.flag=true"

# learns NAME TRAIN_FUNC: it fits the slope as hello.c does, and continues.
learns () {
	$run --name "$1" "$2" 2>err &&
	tail -n 1 "runs/$1/result.json" >last && jq -e ".slope > 2.7 and .slope < 3.3" last &&
	$run --name "$1" --resume --set train_loop_config.epochs=12 "$2" 2>err &&
	tail -n 1 "runs/$1/result.json" >last && jq -e ".training_iteration == 12" last
}
# weights RUN: print the weights that hello has learnt in ten iterations.
weights () {
	h5dump -d /model/weights "runs/$1/checkpoint_000010.h5" | sed 1d
}

# Ten rows, a float32 each.
test_expect_success 'create a dataset' '
	{ printf "\0\0\015\001\0\0\0\012" && head -c 40 /dev/zero; } >rows.idx
'
test_expect_success 'C and C++ learn the same weights' '
	$run --name c "$examples/hello.so" 2>err && learns cxx "$examples/hello_cxx.so" &&
	weights c >expect && weights cxx >actual && test_cmp expect actual
'
test_expect_success 'the wrappers of raytrain.hpp do what they say, and throw on errors' '
	$run --name wrappers $settings --dataset rows=rows.idx "$modules/cxx_wrappers.so" \
		2>err
'
test_expect_success 'a checkpoint that C++ wrote is read in C++, and an error reaches the user' '
	expect_status 3 $run --name wrappers --resume $settings --dataset rows=rows.idx \
		--set train_loop_config.again=true "$modules/cxx_wrappers.so" 2>err &&
	grep "\"word\" must be an integer" err
'
test_done
