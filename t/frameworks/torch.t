#!/bin/sh
test_description='torch itself under raytrain: two workers, checkpoints, and the death of each'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/frameworks/frameworks.sh"

framework_is_there torch
framework_trains torch torch
test_done
