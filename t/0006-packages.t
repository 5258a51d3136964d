#!/bin/sh
test_description='the Debian packages have all that make install installs, and the dependencies of the build'
. "$(dirname "$0")/setup.sh"

debian=$srcdir/share/packaging/debian

if ! test -d "$debian"
then
	skip_all='the source has no share/packaging'
	test_done
fi

# patterns FILE...: the patterns of files in these lists, as regular expressions of whole paths.
patterns () {
	cat "$@" | sed 's/\./\\./g; s,\*,[^/]*,g; s,^,^,; s,$,(/.*)?$,'
}
# installed: the files of make install, as with --prefix=/usr in Debian.
installed () {
	(cd "$stage" && find . -type f -o -type l) |
	sed -E 's,^\./,usr/,; s,^usr/(local/)?lib/python3[^/]*/,usr/lib/python3/,
		/^usr\/lib\/python3/!s,^usr/lib/,usr/lib/TRIPLET/,' | sort
}

test_expect_success 'each installed file is in one package, or is left out on purpose' '
	installed >files && test "$(wc -l <files)" -gt 100 &&
	for list in "$debian"/*.install "$debian"/not-installed; do
		patterns "$list" >list && grep -E -f list files || return 1
	done | sort >found &&
	uniq -d found >twice && test_must_be_empty twice && test_cmp files found
'
test_expect_success 'each pattern of the packages finds a file' '
	cat "$debian"/*.install "$debian"/not-installed >all &&
	while read -r pattern; do
		echo "$pattern" >one && patterns one >list && grep -qE -f list files ||
			{ echo "no file: $pattern"; return 1; }
	done <all
'
# Compilers and autotools are parts of build-essential and debhelper.
test_expect_success 'the libraries that the build needs are dependencies of the source package' '
	env -u MPI -u RELEASE "$srcdir/scripts/packages" build | grep "^lib.*-dev$" |
	grep -vx libc6-dev | sort >expected &&
	sed -n "/^Build-Depends:/,/^\$/p" "$debian/control" | tr -d "\n" |
	sed "s/^Build-Depends://" | tr ", " "\n\n" | grep "^lib.*-dev$" | sort >actual &&
	test "$(wc -l <actual)" -gt 5 && test_cmp expected actual
'
# What the recipe depends on, without Spack: a stand-in for the names that it uses.
spack_dependencies () {
	mkdir -p spack && cat >spack/package.py <<-\EOF &&
	class AutotoolsPackage:
	    pass
	def depends_on(spec, **how):
	    print(spec)
	def version(*what, **how):
	    print("version", *what)
	def variant(*what, **how):
	    pass
	EOF
	PYTHONPATH=$PWD "$PYTHON" -B "$srcdir/share/packaging/spack/packages/raytrain/package.py"
}
test_expect_success 'the recipe for Spack has the version, and the libraries that configure asks for' '
	spack_dependencies >spec && "$stage/bin/raytrain-run" --version >version &&
	grep -F "$(sed -n "s/^version //p" spec)" version &&
	sed -n "s/^PKG_CHECK_MODULES(\[[A-Z_]*\], \[\([a-z-]*\).*/\1/p" "$srcdir/configure.ac" |
	sed "s/^lib\(xxhash\|zstd\|protobuf-c\)/\1/" >asked && test "$(wc -l <asked)" -gt 8 &&
	for library in $(cat asked) libdeflate mpi hdf5; do
		grep -qE "^$library(-api)?([@+].*)?\$" spec || { echo "without $library"; return 1; }
	done
'
test_expect_success 'each program has a manual and a completion' '
	for program in "$stage"/bin/*; do
		name=$(basename "$program") && test -f "$stage/share/man/man1/$name.1" &&
			test -f "$stage/share/bash-completion/completions/$name" &&
			grep -qw "$name" "$stage/share/zsh/site-functions/_raytrain" || return 1
	done
'
test_done
