#!/bin/sh
test_description='on a Slurm cluster any process is killed at any moment: the same bits

t/soak/soak describes what is checked; SOAK_SHARE is as in t/1060-soak.t. Slurm itself would
detect a dead node after five minutes.'
CLUSTER_NODES=3 CLUSTER_SLURMD_TIMEOUT=300 CLUSTER_KILL_WAIT=2
export CLUSTER_SLURMD_TIMEOUT CLUSTER_KILL_WAIT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1

# soak LAUNCHER STORAGE KILLS SEED ARG...: three workers on two nodes. If it fails, its output
# goes to the log even if the test is quiet.
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

test_expect_success 'a run survives 15 kills with checkpoints saved in the background' '
	soak slurm plain 15 1
'
test_expect_success 'a run survives 10 kills with checkpoints saved synchronously' '
	soak slurm plain 10 2 --set run_config.checkpoint_config.mode=sync
'
test_expect_success 'a run that restarts in the same step survives 10 kills, including its tasks' '
	soak slurm plain 10 5 --restart same_step
'
test_expect_success 'a batch job survives 8 kills, also of the node of its script' '
	soak batch plain 8 3
'
test_expect_success 'a batch job survives 8 kills on storage that each node caches' '
	soak batch cached 8 4
'
test_done
