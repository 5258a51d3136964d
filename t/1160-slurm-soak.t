#!/bin/sh
test_description='on a Slurm cluster, too: killed at whatever moment, the same bits

t/soak/soak says what is checked; SOAK_SHARE as in 1060-soak.t. Slurm itself would notice a
dead node after five minutes.'
CLUSTER_NODES=3 CLUSTER_SLURMD_TIMEOUT=300 CLUSTER_KILL_WAIT=2
export CLUSTER_SLURMD_TIMEOUT CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1

# soak LAUNCHER STORAGE KILLS SEED ARG...: ranks on two nodes, and two on one. What it found goes
# into the log also where the test is quiet.
soak () {
	launcher=$1 storage=$2 kills=$3 seed=$4
	shift 4
	"$srcdir/t/soak/soak" --launcher "$launcher" --storage "$storage" --workers 3 \
		--kills $((kills / ${SOAK_SHARE:-1})) --seed "$seed" \
		--keep "$PWD/soak.$seed" "$stage/bin" "$modules/train_model.so" "$@" \
		>said 2>&1 && return
	sed "s/^/# /" said >&5
	return 1
}

test_expect_success '15 kills, checkpoints saved in the background' '
	soak slurm plain 15 1
'
test_expect_success '10 kills, checkpoints saved before the report returns' '
	soak slurm plain 10 2 --set run_config.checkpoint_config.mode=sync
'
test_expect_success '8 kills of a batch job, and of the node that its script runs on' '
	soak batch plain 8 3
'
test_expect_success '8 kills of a batch job on storage that each node caches' '
	soak batch cached 8 4
'
test_done
