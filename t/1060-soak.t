#!/bin/sh
test_description='whoever is killed at whatever moment: the run finishes, with the same bits

t/soak/soak says what is checked; scripts/soak is for longer ones by hand. SOAK_SHARE is for
slower builds: one kill of so many (1).'
. "$(dirname "$0")/setup.sh"

# soak SEED ARG...: what it found goes into the log also where the test is quiet.
soak () {
	seed=$1
	shift
	"$srcdir/t/soak/soak" --kills $((100 / ${SOAK_SHARE:-1})) --seed "$seed" \
		--keep "$PWD/soak.$seed" \
		"$stage/bin" "$modules/train_model.so" "$@" >said 2>&1 && return
	sed "s/^/# /" said >&5
	return 1
}

test_expect_success '100 kills, checkpoints saved in the background' '
	soak 1
'
test_expect_success '100 kills, checkpoints saved before the report returns' '
	soak 2 --set run_config.checkpoint_config.mode=sync
'
test_done
