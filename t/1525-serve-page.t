#!/bin/sh
test_description='the page of a service, in headless Chromium'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
	skip_all='needs the packages chromium and chromium-driver'
	test_done
fi

# The paths of Chromium's sockets must be short.
TMPDIR=$(mktemp -d /tmp/raytrain-page.XXXXXX)
export TMPDIR

test_expect_success 'it shows what a model takes and gives, and predicts a row' '
	timeout --kill-after=5 200 "$PYTHON" "$srcdir/t/check/serve_browser.py" \
		"$check/serve_front" && is_empty "$TMPDIR"
'
rmdir "$TMPDIR"
test_done
