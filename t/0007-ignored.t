#!/bin/sh
test_description='a build in the source tree leaves no file that git would add'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

git -C "$srcdir" rev-parse --verify --quiet HEAD >/dev/null 2>&1 || {
	skip_all='this source tree is not a clone'
	test_done
}

# What is built has the same path in a build tree as in the source tree. Files from before the
# latest Makefile may be left from another version.
test_expect_success 'git ignores every file of this build' '
	(cd "$builddir" && find . \( -path ./install -o -path "./bench.*" -o -path ./runs -o \
		-path ./t/trash -o -name "trash directory.*" \) -prune -o \
		-type f \( -newer Makefile -o -name Makefile \) -print) |
	sed "s,^\./,," >built && grep -qx Makefile built &&
	{ git -C "$srcdir" check-ignore --no-index --stdin --verbose --non-matching <built >checked || :; } &&
	sed -n "s/^:*	//p" checked >left &&
	{ grep "^[^:]*:[0-9]*:!" checked >>left || :; } &&
	test_must_be_empty left
'
test_expect_success 'git ignores no file of the source tree' '
	git -C "$srcdir" ls-files --cached --ignored --exclude-standard >ignored &&
	test_must_be_empty ignored
'
test_done
