#!/bin/sh
test_description='accelerate itself under raytrain: two workers, checkpoints, and the death of each'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/frameworks/frameworks.sh"

framework_is_there accelerate torch
framework_trains torch accelerate
test_done
