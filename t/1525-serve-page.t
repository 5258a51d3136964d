#!/bin/sh
test_description='the page of a service, in headless Chromium'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/browser.sh"

test_expect_success 'the page shows what a model takes and gives, and predicts a row' '
	look_at serve_browser.py "$check/serve_front"
'
rmdir "$TMPDIR"
test_done
