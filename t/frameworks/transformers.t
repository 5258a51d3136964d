#!/bin/sh
test_description='transformers itself under raytrain: two workers, checkpoints, and the death of each'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/frameworks/frameworks.sh"

framework_is_there transformers torch
framework_trains torch transformers
test_done
