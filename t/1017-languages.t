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
	grep "\"word\" must be an integer" err && cmp rows.idx restored.idx
'

# ---- Fortran ----

FC=${FC:-mpifort}
fortran=$stage/share/raytrain/fortran
sources="$fortran/raytrain_c.f90 $fortran/raytrain.f90"
header=$srcdir/src/include/raytrain.h
if command -v "$FC" >/dev/null && "$FC" --version >/dev/null 2>&1; then
	test_set_prereq FORTRAN
else
	say "no Fortran compiler: scripts/packages install test"
fi
# Programs need the sanitizers that the library was built with.
sanitizers=
if nm -D "$stage/lib/libraytrain.so" | grep -q __asan_init; then
	sanitizers=-fsanitize=address,undefined
fi
# compile OUTPUT ARG...: compile Fortran, in the folder OUTPUT.d, which gets the .mod files.
compile () {
	out=$PWD/$1 &&
	shift &&
	mkdir -p "$out.d" &&
	(cd "$out.d" && "$FC" -std=f2018 -Wall -Wextra -O2 -g -o "$out" "$@")
}
without_comments () {
	sed 's,/\*.*\*/,,; /\/\*/,/\*\//d' "$1"
}
# Print each function of the C API and the number of its arguments.
functions_of_c () {
	without_comments "$header" | tr '\n' ' ' | tr -s ' ' | grep -oE 'RAYTRAIN_API [^;]*\);' |
	sed -E 's/\(\*[a-z_]+\)\([^()]*\)/f/; s/.*[ *](raytrain_[a-z0-9_]+)\((.*)\);/\1 \2/' | arity
	echo raytrain_mpi_comm_f 2
}
# The same of the Fortran module, where functions may have another name than their symbol.
functions_of_fortran () {
	sed -e ':join' -e '/&$/N; s/ *&\n */ /; t join' "$fortran/raytrain_c.f90" |
	sed -nE 's/.*(function|subroutine) (\w+)\((.*)\) bind\(c(, name="(\w+)")?\).*/\5=\2 \3/p' |
	sed -E 's/^=//; s/=\w+//' | grep ^raytrain_ | arity
}
arity () {
	awk '{ name = $1; $1 = ""; print name, $0 ~ /^ *(void)?$/ ? 0 : gsub(",", ",") + 1 }'
}
# Print the constants of the C API.
constants () {
	without_comments "$header" | tr '\n' ' ' | grep -oE 'typedef enum [^}]*}' |
	grep -oE 'RAYTRAIN_[A-Z0-9_]+'
	echo RAYTRAIN_MAX_DIMS RAYTRAIN_NAME_MAX | tr ' ' '\n'
}
# Print the names of the structs of the C API.
structs () {
	without_comments "$header" | grep -oE 'typedef struct raytrain_[a-z]+ {' | cut -d ' ' -f 3
}

test_expect_success 'the Fortran module has every function of raytrain.h' '
	functions_of_c | sort >expect && functions_of_fortran | sort >actual &&
	grep -x "raytrain_report 4" expect && grep -x "raytrain_version 0" expect &&
	test_cmp expect actual &&
	sed "s/ .*//; s/_comm_f/_comm/" expect >names &&
	for name in $(cat names); do
		grep -qE "(function|subroutine) $name\(" $sources || { echo "no $name"; return 1; }
	done
'
test_expect_success FORTRAN 'constants and types have the same values and sizes in C and Fortran' '
	constants >names && test "$(wc -l <names)" -gt 30 && structs >types && test -s types &&
	{
		echo "#include <stdio.h>" && echo "#include <raytrain.h>" && echo "int main(void) {" &&
		sed "s/.*/printf(\"& %d\\\\n\", (int)&);/" names &&
		sed "s/.*/printf(\"& %d\\\\n\", (int)sizeof(&));/" types && echo "}"
	} >values.c &&
	{
		echo "use raytrain" && echo "implicit none" &&
		sed "s/.*/type(&) :: t_&/" types &&
		sed "s/.*/print \"(a, i0)\", \"& \", &/" names &&
		sed "s/.*/print \"(a, i0)\", \"& \", c_sizeof(t_&)/" types && echo "end"
	} >values.f90 &&
	${CC:-cc} -I"$stage/include" -o values_c values.c && ./values_c >expect &&
	compile values_f -Wno-unused $sources "$PWD/values.f90" $sanitizers "$stage/lib/libraytrain.so" &&
	LD_LIBRARY_PATH=$stage/lib ./values_f >actual && test_cmp expect actual
'
test_expect_success FORTRAN 'C and Fortran learn the same weights' '
	compile hello_f.so -shared -fPIC $sources "$srcdir/share/examples/hello.f90" &&
	learns fortran "$PWD/hello_f.so" && weights fortran >actual && weights c >expect &&
	test_cmp expect actual
'
test_expect_success FORTRAN 'a program in Fortran gets its arguments, and is a worker' '
	cat >main.f90 <<-\EOF &&
	program main
	  use raytrain
	  implicit none
	  interface
	    integer(c_int) function train_func(ctx) bind(c)
	      import; type(c_ptr), value :: ctx
	    end function
	  end interface
	  stop raytrain_main(train_func)
	end program
	integer(c_int) function train_func(ctx) bind(c)
	  use raytrain
	  implicit none
	  type(c_ptr), value :: ctx
	  type(c_ptr) :: argv
	  train_func = 100
	  if (raytrain_args(ctx, argv) == 2) train_func = 0
	end function
	EOF
	compile main $sources "$PWD/main.f90" $sanitizers "$stage/lib/libraytrain.so" \
		-Wl,-rpath,"$stage/lib" &&
	$run --name main ./main one "two words" 2>err &&
	expect_status 1 $run --name args ./main one 2>err && grep 100 err
'
test_expect_success FORTRAN 'the wrappers of the Fortran module do what they say' '
	compile wrappers.so -shared -fPIC -Wno-compare-reals $sources "$srcdir/t/check/fortran_wrappers.f90" &&
	$run --name fortran-wrappers $settings --dataset rows=rows.idx "$PWD/wrappers.so" 2>err
'
test_expect_success FORTRAN 'HDF5 has the dimensions in reverse, and Fortran reads what it wrote' '
	h5dump -d /matrix runs/fortran-wrappers/checkpoint_000001.h5 >dump &&
	grep "( 2, 3 )" dump && grep "(0,0): 1, 2, 3,\$" dump &&
	h5dump -d /shards runs/fortran-wrappers/checkpoint_000001.h5 | grep "(1,0): 4, 5, 6\$" &&
	$run --name fortran-wrappers --resume $settings --dataset rows=rows.idx \
		--set train_loop_config.again=true "$PWD/wrappers.so" 2>err && cmp rows.idx restored_f.idx
'
test_expect_success FORTRAN 'a batch mapper in Fortran reads, makes and removes columns' '
	cat >maps.f90 <<-\EOF &&
	integer(c_int) function halve(batch) bind(c) result(rc)
	  use raytrain
	  implicit none
	  type(c_ptr), value :: batch
	  type(raytrain_tensor) :: x
	  type(c_ptr) :: half, size_of
	  real(c_double), pointer :: from(:), to(:, :)
	  integer(c_int32_t), pointer :: codes(:)
	  integer(c_int64_t) :: n
	  n = raytrain_batch_rows(batch)
	  rc = raytrain_batch_column(batch, "x", x)
	  if (rc == RAYTRAIN_OK) rc = raytrain_batch_output(batch, "half", RAYTRAIN_FLOAT64, [2_c_int64_t], half)
	  if (rc == RAYTRAIN_OK) rc = raytrain_batch_output_words(batch, "size", ["low ", "high"], size_of)
	  if (rc == RAYTRAIN_OK) rc = raytrain_batch_remove(batch, "x")
	  if (rc /= RAYTRAIN_OK .or. n == 0) return
	  call c_f_pointer(x%data, from, [n])
	  call c_f_pointer(half, to, [2_c_int64_t, n])
	  call c_f_pointer(size_of, codes, [n])
	  to(1, :) = from / 2
	  to(2, :) = -from
	  codes = merge(1, 0, from > 2)
	  if (any(from > 3)) rc = raytrain_batch_fail(batch, RAYTRAIN_EINVAL, "more than three")
	end function
	EOF
	compile maps.so -shared -fPIC $sources "$PWD/maps.f90" $sanitizers "$stage/lib/libraytrain.so" &&
	cat >maps.cfg <<-\EOF &&
	datasets = { rows = { path = "x.csv"; types = { x = "float64"; }; }; };
	preprocessor = ( { batch_mapper = { function = "halve"; library = "maps.so"; }; } );
	EOF
	printf "x\n1\n2\n3\n" >x.csv &&
	raytrain-run --launcher local --storage runs -n 1 --name maps -c maps.cfg \
		"$modules/train_rows.so" got rows half size 2>err &&
	printf "half=%s size=%s\n" 0.5,-1 0 1,-2 0 1.5,-3 1 >expect && test_cmp expect got.0 &&
	expect_status 1 raytrain-run --launcher local --storage runs -n 1 --name gone -c maps.cfg \
		"$modules/train_rows.so" got rows x 2>err && grep "no column \"x\"" err &&
	printf "x\n1\n4\n" >x.csv &&
	expect_status 3 raytrain-run --launcher local --storage runs -n 1 --name late -c maps.cfg \
		"$modules/train_rows.so" got rows half size 2>err &&
	grep "batch_mapper \"halve\": more than three" err
'
test_done
