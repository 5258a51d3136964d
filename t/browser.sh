# browser.sh - sourced after setup.sh by a script that looks at a page in headless Chromium.
# Without Chromium, the whole script is skipped.
#
#   look_at PROGRAM ARG...   run a program of t/check that looks, for at most 200 s; succeeds
#                            if it does, and nothing of its browser is left
#
# Such a script ends with rmdir "$TMPDIR".

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
	skip_all='needs the packages chromium and chromium-driver'
	test_done
fi

# The paths of Chromium's sockets must be short.
TMPDIR=$(mktemp -d /tmp/raytrain-page.XXXXXX)
export TMPDIR

look_at () {
	program=$srcdir/t/check/$1 && shift &&
	timeout --kill-after=5 200 "$PYTHON" "$program" "$@" && no_browser_left
}

# No directory of one, and no process that uses it.
no_browser_left () {
	is_empty "$TMPDIR" && ! grep -lsF "$TMPDIR/" /proc/[0-9]*/cmdline
}
