#!/bin/sh
test_description='lightning itself under raytrain: two workers, checkpoints, and the death of each'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/frameworks/frameworks.sh"

framework_is_there lightning torch
framework_trains torch lightning
test_done
