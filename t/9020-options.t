#!/bin/sh
test_description='--help, README.md and raytrain-run(1) have the same options'
. "$(dirname "$0")/setup.sh"

options () {
	grep -oE -e '--[a-z][a-z-]*' | sort -u
}

test_expect_success '--help lists options' '
	raytrain-run --help >help && grep -E "^ +(-[a-z], )?--" help | options >expected &&
	test "$(wc -l <expected)" -gt 20
'
test_expect_success 'the table of README.md has the options of --help' '
	sed -n "/^| option/,/^\$/p" "$srcdir/README.md" | grep -oE "^\|[^|]*\|" |
	options >actual && test_cmp expected actual
'
test_expect_success 'the paragraphs of raytrain-run(1) have the options of --help' '
	sed -n "/^\.SH OPTIONS/,/^\.SH SIGNALS/p" "$srcdir/share/man/raytrain-run.1" |
	sed "s/\\\\-/-/g" | grep -A 1 "^\.TP" | options >actual &&
	test_cmp expected actual
'
test_expect_success 'the paragraphs of raytrain-predict(1) have the options of its --help' '
	raytrain-predict --help >help && grep -E "^ +(-[a-z], )?--" help | options >expected &&
	sed -n "/^\.SH OPTIONS/,/^\.SH EXIT/p" "$srcdir/share/man/raytrain-predict.1" |
	sed "s/\\\\-/-/g" | grep -A 1 "^\.TP" | options >actual &&
	test_cmp expected actual
'
test_expect_success 'README.md refers to raytrain.cfg(5)' '
	grep -q "raytrain.cfg(5)" "$srcdir/README.md"
'
test_done
