#!/bin/sh

test_description='the page of raytrain-inspect -o report.html, in headless Chromium

At phone and desktop widths, light and dark: nothing is wider than the window, curves and
labels have room, texts can be read, a pointer and the arrow keys show the values of
result.json, and the page asks for nothing and complains about nothing.'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/browser.sh"

# look KIND...: make a run and a page of each kind, and look at the pages in a browser.
look () {
	set -- "$@" -- &&
	while test "$1" != --; do
		"$PYTHON" "$srcdir/t/check/sample_runs.py" "$1" "runs/$1" $reports &&
		raytrain-inspect -o "$1.html" "runs/$1" &&
		set -- "$@" "$1.html" "runs/$1" && shift || return 1
	done
	shift && look_at page_browser.py "$@"
}

test_expect_success 'a run with failures, holes and texts that could break the page is shown' '
	reports= look failed diverged nan nasty
'

test_expect_success 'runs without reports are shown' '
	reports= look empty unstarted
'

test_expect_success 'sixty metrics, thirty attempts and many reports are shown' '
	reports= look many
'

test_expect_success 'a page that compares runs is shown, with their values at the pointer' '
	"$PYTHON" "$srcdir/t/check/sample_runs.py" sweep runs/sweep &&
	raytrain-inspect --compare runs/sweep -o sweep.html &&
	look_at page_browser.py sweep.html runs/sweep
'

rmdir "$TMPDIR"
test_done
