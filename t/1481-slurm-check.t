#!/bin/sh
test_description='raytrain-run --check under Slurm: a cluster that works, and one that is broken in many ways'
CLUSTER_NODES=3 CLUSTER_KILL_WAIT=2 CLUSTER_STEPD_WAIT=2 CLUSTER_CONF='JobRequeue=0'
export CLUSTER_KILL_WAIT CLUSTER_STEPD_WAIT CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

cd "$CLUSTER_SHARED" || exit 1
check="raytrain-run --check --json --storage runs"

# found FILE VERDICT TOPIC NAME [TEXT]: there is such a finding, with this text in its detail,
# and with a remedy unless it is ok.
found () {
	jq -e --arg verdict "$2" --arg topic "$3" --arg name "$4" --arg text "$5" \
		'.findings | any(.topic == $topic and .name == $name and .verdict == $verdict
		and (.detail | contains($text)) and (.remedy != null or .verdict == "ok"))' \
		"$1" >/dev/null && return 0
	echo >&2 "not found: $2 $3 $4 $5" &&
	jq >&2 -c --arg topic "$3" '.findings[] | select(.topic == $topic)' "$1"
	return 1
}
# on_nodes NODES ARG...: the check with two workers on these nodes; its status.
on_nodes () {
	nodes=$1
	shift
	salloc -Q -w "$nodes" -N 2 -n 2 $check "$@" >json 2>err
}
case $(ldd "$stage/bin/raytrain-run") in
*asan*) ;; # its library must be the first one
*) test_set_prereq PRELOAD ;;
esac

test_expect_success 'a cluster that works: workers on two nodes, an allocation is taken and given back' '
	$check --launcher slurm >json 2>err && json_is json .launcher slurm &&
	found json ok workers run "2 on 2 nodes" && found json ok slurm "PMIx plugin" &&
	found json ok slurm controller && found json ok slurm nodes &&
	found json ok storage coherence && found json ok storage "fcntl of nodes" &&
	found json ok storage "page of two nodes" && found json ok nodes clocks &&
	found json ok nodes "host names" && jq -r ".findings[].name" json | grep "between nodes" &&
	test_path_is_missing runs && cluster clean
'
test_expect_success 'outside an allocation nothing is submitted' '
	$check >json && json_is json .launcher local && found json ok workers run "on 1 node" &&
	found json skipped storage coherence "one node" && found json skipped nodes clocks "one node" &&
	found json ok slurm controller && test "$(squeue -h | wc -l)" -eq 0
'
test_expect_success 'a short KillWait and JobRequeue=0 are warnings' '
	found json warning slurm KillWait "2 sec" && found json warning slurm JobRequeue 0
'
test_expect_success 'nodes of an allocation that have no worker are named' '
	salloc -Q -N 3 -n 3 $check -n 2 >json 2>err &&
	found json skipped nodes "other nodes" "1 of 3 nodes"
'
test_expect_success 'one GPU for each worker is ok' '
	$check --launcher slurm --gpu >json 2>err && found json ok GPUs binding "1 of its own"
'
test_expect_success 'a Slurm without the PMIx plugin is wrong, and no allocation is taken' '
	mkdir without && cat >without/srun <<-EOT && chmod +x without/srun &&
	#!/bin/sh
	test "\$*" = --mpi=list || exec "$(command -v srun)" "\$@"
	printf "MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n"
	EOT
	(PATH=$PWD/without:$PATH && expect_status 4 $check --launcher slurm >json) &&
	found json wrong slurm "PMIx plugin" pmi2 &&
	found json skipped workers start "no allocation" && found json skipped MPI library "no allocation"
'
test_expect_success 'options that srun refuses are wrong' '
	expect_status 4 on_nodes n[1-2] --srun-args=--nonsense &&
	found json wrong workers start nonsense
'
test_expect_success 'an allocation that cannot be had is wrong' '
	SALLOC_PARTITION=none expect_status 4 $check --launcher slurm >json 2>err &&
	found json wrong slurm allocation
'
test_expect_success PRELOAD 'a clock that differs is a warning, and far off it is wrong' '
	SKEWED_HOST=n2 SKEWED_S=5 LD_PRELOAD=$modules/skewed_clock.so on_nodes n[1-2] &&
	found json warning nodes clocks "n2: 5.0 s ahead" &&
	SKEWED_HOST=n2 SKEWED_S=-90 LD_PRELOAD=$modules/skewed_clock.so \
		expect_status 4 on_nodes n[1-2] && found json wrong nodes clocks "n2: 90.0 s behind"
'
test_expect_success 'a small /dev/shm of a node is wrong' '
	cluster on n2 mount -o remount,size=20m /dev/shm &&
	expect_status 4 on_nodes n[1-2] && found json wrong nodes /dev/shm "n2: 20M" &&
	found json ok nodes /dev/shm n1 && cluster on n2 mount -o remount,size=1g /dev/shm
'
test_expect_success 'names of nodes that are not resolved are wrong' '
	cluster on n2 mount --bind /dev/null /etc/hosts &&
	expect_status 4 on_nodes n[1-2] && found json wrong nodes "host names" "n2: cannot resolve n1" &&
	cluster on n2 umount /etc/hosts
'
test_expect_success 'a node that is drained is a warning' '
	scontrol update NodeName=n3 State=DRAIN Reason=test &&
	$check >json && found json warning slurm nodes "n3: drain" &&
	scontrol update NodeName=n3 State=RESUME
'
test_expect_success 'storage that a node caches is a warning' '
	mkdir cached && cluster cache n3 "$PWD/cached" &&
	on_nodes n[1,3] --storage cached && found json warning storage coherence n3 &&
	is_empty cached
'
test_expect_success 'storage that a node does not see is wrong' '
	mkdir apart && cluster hide n3 "$PWD/apart" &&
	expect_status 4 on_nodes n[1,3] --storage apart && found json wrong storage "seen by workers" n3 &&
	is_empty apart
'
test_expect_success 'storage that does not answer is wrong, after a limit' '
	mkdir silent && cluster cache login "$PWD/silent" && daemon=$(pidof passthrough_ll) &&
	kill -STOP $daemon &&
	{ expect_status 4 $check --launcher local --storage silent >json; status=$?; kill -CONT $daemon
	test $status -eq 0; } &&
	found json wrong storage directory "has not answered" && found json ok workers run &&
	found json skipped storage sync "does not answer"
'
test_expect_success 'raytrain-worker that a node does not see is wrong' '
	cluster hide n3 "$stage/libexec" &&
	expect_status 4 on_nodes n[1,3] && found json wrong workers start
'
test_expect_success 'a controller that does not answer is wrong, after a limit' '
	kill -STOP $(pidof slurmctld) &&
	{ expect_status 4 $check >json; status=$?; kill -CONT $(pidof slurmctld); test $status -eq 0; } &&
	found json wrong slurm controller && found json ok workers run &&
	found json skipped slurm nodes "does not answer" && found json skipped slurm KillWait answer
'
test_expect_success 'no job, process or file is left' '
	cluster clean && test_path_is_missing runs && no_process_left
'
test_done
