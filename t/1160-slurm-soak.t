#!/bin/sh
test_description='on a Slurm cluster, too: killed at whatever moment, the same bits

t/soak/soak says what is checked; SOAK_SHARE as in 1060-soak.t.'
CLUSTER_NODES=2
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1

# soak SEED ARG...: ranks on both nodes, and two on one. What it found goes into the log
# also where the test is quiet.
soak () {
	seed=$1
	shift
	"$srcdir/t/soak/soak" --launcher slurm --workers 3 \
		--kills $((15 / ${SOAK_SHARE:-1})) --seed "$seed" \
		--keep "$PWD/soak.$seed" "$stage/bin" "$modules/train_model.so" "$@" \
		>said 2>&1 && return
	sed "s/^/# /" said >&5
	return 1
}

test_expect_success '15 kills, checkpoints saved in the background' '
	soak 1
'
test_expect_success '15 kills, checkpoints saved before the report returns' '
	soak 2 --set run_config.checkpoint_config.mode=sync
'
test_done
