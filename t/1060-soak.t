#!/bin/sh
test_description='any process is killed at any moment: the run finishes with the same bits

t/soak/soak describes what is checked; scripts/soak runs longer ones by hand. For slower
builds, SOAK_SHARE divides the number of kills.'
. "$(dirname "$0")/setup.sh"

# soak SEED ARG...: if it fails, its output goes to the log even if the test is quiet.
soak () {
	seed=$1
	shift
	"$srcdir/t/soak/soak" --kills $((100 / ${SOAK_SHARE:-1})) --seed "$seed" \
		--keep "$PWD/soak.$seed" \
		"$stage/bin" "$modules/train_model.so" "$@" >said 2>&1 && return
	sed "s/^/# /" said >&5
	return 1
}

test_expect_success 'a run survives 100 kills with checkpoints saved in the background' '
	soak 1
'
test_expect_success 'a run survives 100 kills with checkpoints saved synchronously' '
	soak 2 --set run_config.checkpoint_config.mode=sync
'
test_done
