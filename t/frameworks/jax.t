#!/bin/sh
test_description='jax itself under raytrain: two workers, checkpoints, and the death of each'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/frameworks/frameworks.sh"

framework_is_there jax
framework_trains jax jax
test_done
