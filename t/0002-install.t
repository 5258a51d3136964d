#!/bin/bash

test_description='What make install installs: headers for C and C++, pkg-config files, completion'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

CC=${CC:-cc}
CXX=${CXX:-c++}
PKG_CONFIG_PATH=$stage/lib/pkgconfig
export PKG_CONFIG_PATH
# package ARG...: pkg-config, as if raytrain were installed under its prefix.
package () {
	pkg-config --define-variable=prefix="$stage" "$@"
}

# A program that links against libraytrain.
cat >program.c <<'EOF'
#include <raytrain.h>

static int train_func(raytrain_context *ctx)
{
    return raytrain_rank(ctx);
}

int main(int argc, char *argv[])
{
    return raytrain_main(argc, argv, train_func);
}
EOF

test_expect_success 'headers, library, pkg-config file and completion are installed' '
	test -f "$stage/include/raytrain.h" &&
	test -f "$stage/include/raytrain.hpp" &&
	test -f "$stage/share/raytrain/python/raytrain/torch/__init__.py" &&
	cat "$stage"/lib/python3*/*-packages/raytrain.pth >pth &&
	grep -x ".*/share/raytrain/python" pth &&
	test -f "$stage/include/raytrain_mpi.h" &&
	test -f "$stage/lib/pkgconfig/raytrain.pc" &&
	test -f "$stage/share/bash-completion/completions/raytrain-run" &&
	test -f "$stage/lib/libraytrain.so"
'

test_expect_success 'pkg-config prints the flags of raytrain and raytrain-mpi' '
	package --exists --print-errors raytrain &&
	test "$(package --cflags raytrain | tr -d " ")" = "-I$stage/include" &&
	test "$(package --libs raytrain | tr -s " " | sed "s/ *$//")" = \
		"-L$stage/lib -Wl,-rpath,$stage/lib -lraytrain" &&
	package --libs raytrain-mpi >libs && grep -e "-lraytrain" libs && grep -e "-lmpi" libs
'

test_expect_success 'the versions of header and pkg-config file are equal' '
	cat >version.c <<-\EOF &&
	#include <raytrain.h>
	#if RAYTRAIN_VERSION_AT_LEAST(0, 1) && !RAYTRAIN_VERSION_AT_LEAST(99, 0)
	version RAYTRAIN_VERSION_MAJOR.RAYTRAIN_VERSION_MINOR.RAYTRAIN_VERSION_PATCH
	#endif
	EOF
	$CC $(package --cflags raytrain) -E version.c >preprocessed &&
	sed -n "s/^version //p" preprocessed | tr -d " " >got &&
	package --modversion raytrain >expect && test_cmp expect got
'

test_expect_success 'raytrain.h compiles as strict C99, C11 and C17' '
	for std in c99 c11 gnu17; do
		$CC -std=$std -Wall -Wextra -pedantic -Werror $(package --cflags raytrain) \
			-c program.c -o program.o || return 1
	done
'

test_expect_success 'raytrain.h compiles as C++11, C++17 and C++20' '
	for std in c++11 c++17 c++20; do
		$CXX -x c++ -std=$std -Wall -Wextra -pedantic -Werror \
			$(package --cflags raytrain) -c program.c -o program.o || return 1
	done
'

test_expect_success 'raytrain.hpp compiles as C++11, C++17 and C++20' '
	for std in c++11 c++17 c++20; do
		$CXX -std=$std -Wall -Wextra -pedantic -Werror $(package --cflags raytrain) \
			-fPIC -shared -o hello.so "$srcdir/share/examples/hello.cc" || return 1
	done
'

test_expect_success 'raytrain_callback.h compiles as strict C99 and C++11' '
	echo "#include <raytrain_callback.h>" >callback.c &&
	$CC -std=c99 -Wall -Wextra -pedantic -Werror $(package --cflags raytrain) \
		-c callback.c -o callback.o &&
	$CXX -x c++ -std=c++11 -Wall -Wextra -pedantic -Werror $(package --cflags raytrain) \
		-c callback.c -o callback.o
'
test_expect_success 'raytrain_mpi.h compiles as C and C++' '
	echo "#include <raytrain_mpi.h>" >mpi.c &&
	flags=$(package --cflags raytrain-mpi) &&
	$CC -Wall -Wextra -Werror $flags -c mpi.c -o mpi.o &&
	$CXX -x c++ -Wall -Wextra -Werror $flags -c mpi.c -o mpi.o
'

test_expect_success 'the library exports public names only' '
	nm -D --defined-only "$stage/lib/libraytrain.so" >symbols &&
	sed "s/.* //" symbols >names &&
	grep -x raytrain_status_name names &&
	# what linkers and sanitizers add to any library
	{ grep -vE "^(raytrain_|__bss_start$|_edata$|_end$|_init$|_fini$|__odr_asan)" names \
		>found || :; } &&
	test_must_be_empty found
'

# complete_line WORD...: print the completions of the last word.
complete_line () {
	bash -c '
		. "$1"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_raytrain_run "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"
	' complete "$stage/share/bash-completion/completions/raytrain-run" "$@"
}

test_expect_success 'bash completion completes options, values and file names' '
	mkdir -p dir files &&
	: >files/a.cfg &&
	test "$(complete_line raytrain-run --launcher s)" = slurm &&
	test "$(complete_line raytrain-run --placement = STRICT_P)" = STRICT_PACK &&
	test "$(complete_line raytrain-run --progress =)" = "$(printf "%s\n" auto bar plain none)" &&
	test "$(complete_line raytrain-run -c files/)" = files/a.cfg &&
	test "$(complete_line raytrain-run --storage di)" = dir &&
	test -z "$(complete_line raytrain-run -n "")" &&
	test "$(complete_line raytrain-predict --checkpoint di)" = dir &&
	test "$(complete_line raytrain-predict --data-format li)" = libsvm &&
	test "$(complete_line raytrain-predict --las)" = --last &&
	test -z "$(complete_line raytrain-inspect --head "")" &&
	test "$(complete_line raytrain-inspect --he)" = "$(printf "%s\n" --head --help)" &&
	for tool in raytrain-inspect raytrain-predict; do
		bash -c ". \"\$1\" && complete -p \$2" - \
			"$stage/share/bash-completion/completions/$tool" $tool || return 1
	done
'

test_expect_success 'scripts/packages without dpkg lists the packages and succeeds' '
	mkdir bin &&
	for tool in sh cat echo sed printf; do
		ln -s "$(command -v $tool)" bin/ || return 1
	done &&
	PATH=$PWD/bin "$srcdir/scripts/packages" install build 2>err &&
	grep "not a Debian system" err && grep libpmix-dev err
'

test_done
