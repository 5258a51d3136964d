#!/bin/sh
test_description='README.md is up to date, and its commands work'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

readme=$srcdir/README.md

test_expect_success 'the training function in README.md is examples/hello.c' '
	sed -n "/^\`\`\`c\$/,/^\`\`\`\$/p" "$readme" | sed "1d;\$d" >actual &&
	test_cmp "$srcdir/share/examples/hello.c" actual
'
test_expect_success 'the first screen of README.md has quickstart and test' '
	head -n 24 "$readme" >screen &&
	grep -q "^scripts/quickstart" screen && grep -q "^scripts/test" screen &&
	test -x "$srcdir/scripts/quickstart" && test -x "$srcdir/scripts/test"
'
test_expect_success 'README.md is short' '
	test "$(wc -c <"$readme")" -le 8192
'
named () {
	python3 "$srcdir/t/check/named_paths.py" "$1"
}
test_expect_success 'files and functions named in the guides and in sources exist' '
	named "$srcdir" >found && test_must_be_empty found
'
test_expect_success 'a file or a function that is named, and does not exist, is detected' '
	mkdir -p tree/src/common/util tree/t && echo "int f(void);" >tree/src/common/util/a.h &&
	printf "%s\n" "\`src/common/util/a.h\`, \`util/a.h\`, \`f()\`, t/" "\`common/util/b.c\`" \
		"\`c.py\` and \`g()\`" "scripts/none" "\`f()\` in" "\`a.h\`, \`f()\` (\`util/a.c\`)" \
		>tree/HACKING.md &&
	printf "%s\n" "/* See util/a.h, util/c.h, other/d.h" " * a.h, e.h, and t/0001-none.t. */" \
		>tree/src/common/util/a.c &&
	named tree >found &&
	cat >expect <<-\EOF &&
	HACKING.md: there is no f() in util/a.c
	HACKING.md:2: there is no common/util/b.c
	HACKING.md:3: there is no c.py
	HACKING.md:3: there is no g()
	HACKING.md:4: there is no scripts/none
	src/common/util/a.c:1: there is no util/c.h
	src/common/util/a.c:2: there is no e.h
	src/common/util/a.c:2: there is no t/0001-none.t
	EOF
	test_cmp expect found
'
# The commands of README.md are those of a tree that the quickstart has built; here they are
# run with an installation below another prefix. README.md quotes nothing, so the path of this
# directory must not contain blanks.
prefix=$SHARNESS_TEST_DIRECTORY/opt-9030
install_tree () {
	rm -rf "$prefix" && mkdir -p "$prefix" && cp -a "$stage/." "$prefix" &&
	sed -i "s|^prefix=.*|prefix=$prefix|; s|^libdir=/.*|libdir=$prefix/lib|" \
		"$prefix"/lib/pkgconfig/*.pc
}
# blocks LANGUAGE: the blocks of README.md in it.
blocks () {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme"
}
# page_lines PAGE: the lines between .nf and .fi in a manual, as a reader sees them.
page_lines () {
	sed -n '/^\.nf$/,/^\.fi$/p' "$srcdir/share/man/$1" |
	sed -e '/^\.[nf][fi]$/d' -e 's/\\-/-/g' -e 's/\\e/\\/g'
}
lines_to_type () {
	{ blocks sh && page_lines raytrain_main.3; } |
	grep -E "^(export|cc|raytrain-run|raytrain-inspect|h5dump) " |
	sed "s|\$PWD/build/install|$prefix|g"
}
# Sanitizers require that all parts of a program are built with them.
cc_like_the_library () {
	if nm -D "$stage/lib/libraytrain.so" | grep -q __asan_init; then
		echo "cc () { command cc -fsanitize=address,undefined \"\$@\"; }"
	fi
}
script_of_readme () {
	blocks python | sed "1d;\$d"
}
test_expect_success 'the commands of README.md build and run the examples, below any prefix' '
	install_tree && lines_to_type >lines && grep -q "^export PATH" lines &&
	grep -q "^raytrain-run .*train.py" lines && grep -q hello_main lines &&
	mkdir work bin && ln -s "$PYTHON" bin/python3 && PATH=$PWD/bin:$PATH &&
	script_of_readme >work/train.py && cp "$srcdir"/share/examples/hello*.c work &&
	ln -s "$srcdir/share" work/share &&
	{ cc_like_the_library && cat lines; } >script &&
	(unset LD_LIBRARY_PATH && cd work && sh -ex ../script) >out 2>&1 || { cat out; return 1; } &&
	test -f work/raytrain_results/hello/checkpoint_000020.h5 &&
	test -f work/raytrain_results/hello_main/result.h5 &&
	test -f work/raytrain_results/train/checkpoint_000020.h5
'
test_expect_success 'the Python script of README.md trains with one worker, and continues when resumed' '
	(unset LD_LIBRARY_PATH && cd work && PATH=$prefix/bin:$PATH &&
	raytrain-run -q --backend torch --name one --set run_config.stop.training_iteration=3 \
		-- python3 train.py &&
	raytrain-run -q --backend torch --name one --resume --workers 2 -- python3 train.py) &&
	test "$(jq -s length work/raytrain_results/one/result.json)" = 20
'
test_expect_success 'a function that calls MPI is compiled by the flags of raytrain-mpi' '
	printf "%s\n" "#include <raytrain_mpi.h>" "int train_func(raytrain_context *ctx)" \
		"{ MPI_Comm comm; return raytrain_mpi_comm(ctx, &comm); }" >work/train.c &&
	{ cc_like_the_library && echo "cc -shared -fPIC -o train.so train.c \\
		\$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs raytrain-mpi)"; } \
		>script && (cd work && sh -ex ../script) &&
	(unset LD_LIBRARY_PATH && cd work && "$prefix/bin/raytrain-run" -q --name so ./train.so) &&
	rm -r "$prefix"
'
# The commands that ask a service for an image need the images of Fashion-MNIST.
images=/usr/share/datasets/fashion-mnist
serve_lines () {
	page_lines raytrain.7 | sed -n "/^raytrain-serve/,/infer\$/p"
}
# The first of them begins to serve: those after it are typed when it has said so.
served () {
	grep -q "^raytrain-serve: serving" err
}
test ! -d "$images" || ! command -v curl >/dev/null || test_set_prereq IMAGES
test_expect_success IMAGES 'the commands of raytrain(7) serve the model of the quickstart' '
	raytrain-run --launcher local -n 1 -c "$srcdir/share/examples/fashion_mlp.cfg" -q \
		--set train_loop_config.hidden=[16] --set train_loop_config.epochs=1 \
		"$builddir/share/examples/fashion_mlp.so" &&
	cp "$builddir/share/examples/fashion_mlp.so" . && ln -s "$srcdir/share" share &&
	serve_lines >lines && sed "/&\$/q" lines >first && sed "1,/&\$/d" lines >rest &&
	grep "^share/examples/serve/image.sh" rest &&
	{ . ./first; } 2>err && service=$! && eventually served &&
	sh -ex ./rest >out && grep "\"class\"" out &&
	kill "$service" && wait "$service" && test_path_is_missing socket
'
test_expect_success 'the shells accept the batch templates and the scripts' '
	for script in "$srcdir"/share/sbatch/*.sbatch "$srcdir"/scripts/bench.d/*.sh \
		"$srcdir"/scripts/bench "$srcdir"/scripts/test "$srcdir"/scripts/soak \
		"$srcdir"/scripts/matrix "$srcdir"/scripts/package "$srcdir"/scripts/pictures \
		"$srcdir"/t/soak/soak "$srcdir"/t/soak/*.sh; do
		bash -n "$script" || return 1
	done &&
	for script in scripts/build scripts/packages scripts/quickstart share/man/html/make \
		t/packages/use; do
		sh -n "$srcdir/$script" || return 1
	done
'
test_expect_success 'scripts/packages prints a list, and refuses unknown groups' '
	env -u MPI "$srcdir/scripts/packages" build example test bench >list &&
	grep -qx libhdf5-mpich-dev list && grep -qx dataset-fashion-mnist list &&
	grep -qx slurmd list && ! grep -vx "[a-z0-9.+-]*" list &&
	MPI=openmpi "$srcdir/scripts/packages" build >list &&
	grep -qx libhdf5-openmpi-dev list && ! grep mpich list &&
	test_expect_code 2 "$srcdir/scripts/packages" nonsense
'
test_expect_success 'each row of the benchmark has a unit and a bound' '
	"$srcdir/scripts/bench" --list >rows && grep -qx mlp rows &&
	for file in "$srcdir"/scripts/bench.d/*.sh; do
		bash -c ". \"\$1\"; rows" rows "$file" || return 1
	done >defined &&
	test "$(wc -l <rows)" -eq "$(wc -l <defined)" &&
	! grep -vE "^[a-zA-Z0-9-]+ [^ ]+ (<=|>=|diff<=|ours<=)[0-9.]+\$" defined
'
test_done
