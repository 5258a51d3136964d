#!/bin/sh
test_description='man pages are clean, and every function of the API has one'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

man=$srcdir/share/man
headers="$srcdir/src/include/raytrain.h $srcdir/src/include/raytrain_mpi.h
	$srcdir/src/include/raytrain_callback.h"

# Print the prototypes of the API, one per line, with single spaces.
prototypes () {
	sed 's,/\*.*\*/,,; /\/\*/,/\*\//d' $headers | tr '\n' ' ' | tr -s ' ' |
	grep -oE 'RAYTRAIN_(CALLBACK_)?API [^;]*\);' | sed 's/^RAYTRAIN_[A-Z_]* //; s/[*] /*/g'
}
names () {
	prototypes | sed -E 's/^[^(]*[ *](raytrain_[a-z0-9_]+)\(.*/\1/'
}
# The same for the SYNOPSIS sections of all pages.
documented () {
	sed -n '/^\.SH SYNOPSIS/,/^\.fi/s/^\.B "\(.*\)"$/\1/p' "$man"/raytrain_*.3 |
	sed 's/\\-/-/g' | tr '\n' ' ' | tr -s ' ' | sed 's/; /;\n/g'
}

test_expect_success 'the header declares functions' '
	names >names && grep -qx raytrain_report names && grep -qx raytrain_mpi_comm names &&
	test "$(wc -l <names)" -gt 50
'
test_expect_success 'every function has a page' '
	for name in $(cat names); do
		test -f "$man/$name.3" || test -f "$builddir/share/man/links/$name.3" ||
		{ echo "no page: $name.3"; return 1; }
	done
'
test_expect_success 'a page that includes another is named there' '
	for link in "$builddir"/share/man/links/*.3; do
		name=$(basename "$link" .3) &&
		page=$(sed -n "s,^\.so man3/,,p" "$link") &&
		{ test -z "$page" || sed -n 3p "$man/$page" | grep -qw "$name"; } ||
		{ echo "$link leads astray: $page"; return 1; }
	done
'
test_expect_success 'the synopses have exactly the prototypes of the header' '
	prototypes | sort >expected && documented | sort >actual && test_cmp expected actual
'
test_expect_success 'groff and man print no warnings' '
	: >warnings &&
	for page in "$man"/*.[1-9]; do
		groff -ww -z -man -Tutf8 -K utf8 "$page" 2>>warnings || return 1
		MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l -Tutf8 "$page" >text 2>>warnings ||
		return 1
		test -s text || echo "$page: empty" >>warnings
	done &&
	test_cmp /dev/null warnings
'
test_expect_success 'mandoc has no complaint but about style' '
	mandoc -Tlint -W warning "$man"/*.[1-9] >complaints 2>&1;
	test_cmp /dev/null complaints
'
test_expect_success 'every page has a name that whatis finds' '
	for page in "$man"/*.[1-9]; do
		lexgrog "$page" >/dev/null || { echo "$page"; return 1; }
	done
'
test_expect_success 'every page that is referred to exists' '
	cat "$man"/*.[1-9] | sed "s/\\\\-/-/g" |
	grep -oE "^\.BR raytrain[a-z_.0-9-]* \([1-9]\)" | sort -u |
	sed -E "s/^\.BR (.*) \(([1-9])\)/\1.\2/" >references &&
	test -s references &&
	for page in $(cat references); do
		test -f "$man/$page" || test -f "$builddir/share/man/links/$page" ||
		{ echo "no page: $page"; return 1; }
	done
'
test_expect_success 'make html makes a page of each, with links that lead to pages' '
	"$man/html/make" pages "$man"/*.[1-9] &&
	for page in "$man"/*.[1-9]; do
		test -s "pages/${page##*/}.html" && grep -q "\"${page##*/}.html\"" pages/index.html ||
		return 1
	done &&
	grep -q "<a href=\"raytrain-run.1.html\">" pages/raytrain.7.html &&
	grep -q "<a href=\"raytrain_rank.3.html\"><b>raytrain_world_size" pages/*.html &&
	grep -ohE "href=\"[^\"#]+" pages/*.html | sed "s/href=.//" | sort -u >targets &&
	for target in $(cat targets); do
		test -e "pages/$target" || { echo "$target is not there"; return 1; }
	done
'
test_done
