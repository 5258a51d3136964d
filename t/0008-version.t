#!/bin/sh
test_description='the version is that of configure.ac wherever it is written'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

version=$(sed -n 's/^AC_INIT(\[raytrain\], \[\([0-9.]*\)\].*/\1/p' "$srcdir/configure.ac")

# found ROOT: print each place in a source tree that has the version, and what it says there.
found () {
	(
		cd "$1" || exit 1
		sed -n 's/^## \([0-9][0-9.]*\)$/NEWS.md \1/p' NEWS.md | head -n 1
		sed -n 's/.*raytrain@\([0-9.]*[0-9]\).*/INSTALL.md \1/p' INSTALL.md
		for page in share/man/*.[1-9]; do
			sed -n "s|^\.TH .* \"raytrain \([^\"]*\)\" .*|$page \1|p" "$page"
		done
		sed -n 's|.*such as "\([0-9.]*\)".*|share/man/raytrain_run_dir.3 \1|p' \
			share/man/raytrain_run_dir.3
		sed -n 's/^#define RAYTRAIN_VERSION_[A-Z]* \([0-9]*\)$/\1/p' src/include/raytrain.h |
			paste -sd . | sed 's|^|src/include/raytrain.h |'
		sed -n 's|^version = "\(.*\)"$|share/python/pyproject.toml \1|p' \
			share/python/pyproject.toml
		sed -n 's|^__version__ = "\(.*\)"$|share/python/raytrain/__init__.py \1|p' \
			share/python/raytrain/__init__.py
		spack=share/packaging/spack/packages/raytrain/package.py
		sed -n "s|.*raytrain@\([0-9.]*[0-9]\).*|$spack \1|p
			s|^    version(\"\(.*\)\".*|$spack \1|p" $spack
	)
}

test_expect_success 'every file has the version of configure.ac' '
	test -n "$version" && found "$srcdir" >places &&
	for file in NEWS.md INSTALL.md src/include/raytrain.h share/python/pyproject.toml \
		share/python/raytrain/__init__.py package.py share/man/raytrain_run_dir.3; do
		grep -q "$file " places || { echo "no version in $file"; return 1; }
	done &&
	test "$(grep -c "^share/man/" places)" -gt 30 &&
	{ grep -v " $version\$" places >other || :; } && test_must_be_empty other
'
test_done
