#!/bin/sh
test_description='a thousand nodes, and a hundred runs at once: placement, commands and questions to Slurm'
CLUSTER_NODES=1000 CLUSTER_SIMULATED=yes CLUSTER_SLURMD_TIMEOUT=0
# On a busy machine a hundred requests at once are not all answered within 10 s, its default.
CLUSTER_CONF=MessageTimeout=60
export CLUSTER_SIMULATED CLUSTER_SLURMD_TIMEOUT CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

# Nothing can run on these nodes. So srun only notes its arguments, and waits, as for workers
# that compute; and something listens where slurmd would.
train=$modules/train_model.so
mkdir bin
cat >bin/srun <<EOF
#!/bin/sh
case " \$* " in
*" --ntasks="*) echo "\$@" >>"$PWD/steps" && exec sleep 1000 ;;
esac
exec $(command -v srun) "\$@"
EOF
chmod +x bin/srun
PATH=$PWD/bin:$PATH
export PATH
: >steps

# allocate COUNT NODES: make COUNT jobs; the file `jobs` has their ids and nodes.
allocate () {
	for i in $(seq "$1"); do
		salloc --no-shell --quiet -N "$2" --exclusive --time=60 2>>salloc.err &
	done
	eventually allocated "$1"
}
allocated () {
	squeue --noheader --states=CONFIGURING --format="%i %N" >jobs && test "$(wc -l <jobs)" -eq "$1"
}
# in_job JOB NODELIST COUNT COMMAND...: run the command as in this job, with 4 CPUs a node.
in_job () {
	job=$1 list=$2 count=$3
	shift 3
	SLURM_JOB_ID=$job SLURM_JOB_NODELIST=$list SLURM_JOB_NUM_NODES=$count \
		SLURM_JOB_CPUS_PER_NODE="4(x$count)" "$@"
}
# questions: print how many questions slurmctld has answered since `sdiag -r`, except for those
# of this script. One squeue is three of them, and one scontrol show config two.
questions () {
	sdiag | sed -n "/by message type/,/by user/p" |
	awk -F"count:" "/STATS_INFO|JOB_READY/ { next } NF > 1 { n += \$2 } END { print n + 0 }"
}

asked_at_most () {
	asked=$(questions) && echo "$asked questions" && test "$asked" -le "$1"
}
# all_started COUNT: at least that many steps were started; a run may have lost a node meanwhile.
all_started () {
	test "$(wc -l <steps)" -ge "$1"
}

test_expect_success 'slurmctld has a thousand nodes' '
	test "$(scontrol --oneliner show node | wc -l)" -eq 1000
'
test_expect_success 'a job gets all of them' '
	allocate 1 1000 && read -r job list <jobs && test "$list" = "n[1-1000]"
'
test_expect_success 'the command for 4,000 ranks on a thousand nodes is short, without a question' '
	sdiag -r && in_job $job "$list" 1000 raytrain-run --launcher slurm --dry-run -n 4000 \
		--storage runs --name all "$train" >out 2>err &&
	grep "^srun .*--ntasks=4000 --nodes=1000 .*--ntasks-per-node=4" out >command &&
	test "$(wc -c <command)" -lt 2000 && asked_at_most 0
'
test_expect_success 'the command for an uneven number of ranks is short as well' '
	in_job $job "$list" 1000 raytrain-run --launcher slurm --dry-run -n 3999 \
		--storage runs --name uneven "$train" >out 2>err &&
	grep "^srun .*--ntasks=3999 " out >command && test "$(wc -c <command)" -lt 3000
'
test_expect_success 'a thousand nodes are placed, one rank on each' '
	in_job $job "$list" 1000 raytrain-run --launcher slurm --dry-run -n 1000 \
		--placement STRICT_SPREAD --storage runs --name spread "$train" >out 2>err &&
	grep "^srun .*--ntasks=1000 --nodes=1000 .*--ntasks-per-node=1" out
'

# listen COUNT: accept connections where the slurmds of all nodes would; the file `probed`
# appears after COUNT.
listen () {
	rm -f listening probed
	"$PYTHON" -c "
import socket, sys
s = socket.create_server((\"0.0.0.0\", 6818), backlog=4096)
open(\"listening\", \"w\")
n = 0
while True:
    s.accept()[0].close()
    n += 1
    if n == int(sys.argv[1]):
        open(\"probed\", \"w\")
" "$1" &
	listener=$!
	eventually test -e listening
}
start_watched () {
	in_job $job "$list" 1000 raytrain-run --launcher slurm -n 1000 --placement STRICT_SPREAD \
		--storage runs --name watched --set run_config.failure_config.node_timeout_s=2 \
		--set run_config.failure_config.start_timeout_s=0 "$train" 2>err &
	pid=$!
}
test_expect_success 'while a thousand nodes answer, slurmctld is not asked about them' '
	listen 3000 && start_watched && eventually all_started 1 && sdiag -r &&
	eventually test -e probed && test -d /proc/$pid &&
	! grep lost err && asked_at_most 4
'
test_expect_success 'one of a thousand nodes that does not answer is found' '
	sdiag -r && ip route add unreachable 10.77.4.7 table local &&
	eventually grep "lost node n757" err && asked_at_most 20 &&
	kill -TERM $pid && { wait $pid || :; } && kill $listener && scancel $job &&
	ip route del unreachable 10.77.4.7 table local
'
test_expect_success 'a hundred runs at once ask slurmctld twice each, however often they probe nodes' '
	: >steps && allocate 100 10 && listen 3000 && sdiag -r && pids= &&
	while read -r job list; do
		in_job $job "$list" 10 raytrain-run --launcher slurm -n 10 --progress none \
			--storage runs --name "r$job" "$train" 2>"err.$job" \
			--set run_config.failure_config.node_timeout_s=2 &
		pids="$pids $!"
	done <jobs &&
	eventually all_started 100 && eventually test -e probed && asked_at_most 600 &&
	kill -KILL $pids $listener
'
test_done
