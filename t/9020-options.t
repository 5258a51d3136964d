#!/bin/sh
test_description='the options: --help, README.md and raytrain-run(1) know the same ones'
. "$(dirname "$0")/setup.sh"

options () {
	grep -oE -e '--[a-z][a-z-]*' | sort -u
}

test_expect_success '--help lists options' '
	raytrain-run --help >help && grep -E "^ +(-[a-z], )?--" help | options >expected &&
	test "$(wc -l <expected)" -gt 20
'
test_expect_success 'the table of README.md has the same' '
	sed -n "/^| option/,/^\$/p" "$srcdir/README.md" | grep -oE "^\|[^|]*\|" |
	options >actual && test_cmp expected actual
'
test_expect_success 'so have the paragraphs of raytrain-run(1)' '
	sed -n "/^\.SH OPTIONS/,/^\.SH SIGNALS/p" "$srcdir/share/man/raytrain-run.1" |
	sed "s/\\\\-/-/g" | grep -A 1 "^\.TP" | options >actual &&
	test_cmp expected actual
'
test_expect_success 'README.md names all configuration that it uses' '
	grep -q "raytrain.cfg(5)" "$srcdir/README.md"
'
test_done
