#!/bin/sh

test_description='Slurm and PMIx that are incompatible: the cause is reported'

CLUSTER_NODES=2
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1
plugin=$(srun --mpi=list 2>&1 | grep -o "pmix_v[0-9]*" | head -n1)

run () {
	raytrain-run --launcher slurm --storage runs -n 2 --placement STRICT_SPREAD "$@" \
		"$train" 2>err
}

test_expect_success '--srun-args selects the plugin for a version of PMIx' '
	test -n "$plugin" && run --name named "--srun-args=--mpi=$plugin"
'
test_expect_success 'a missing PMIx plugin is refused before anything starts' '
	expect_status 3 run --name version --srun-args=--mpi=pmix_v99 &&
	grep "no plugin mpi/pmix_v99 here" err && grep -e "--srun-args=--mpi=$plugin" err &&
	test_path_is_missing runs/version
'
test_expect_success 'a PMIX_MCA variable is passed to the workers' '
	PMIX_MCA_psec=native run --name native
'
test_expect_success 'incompatible PMIx security modules are reported' '
	test_must_fail env PMIX_MCA_psec=none raytrain-run --launcher slurm --storage runs \
		-n 2 --name psec "$train" 2>err &&
	grep "PMIx_Init.*PMIX_MCA_psec=none in the environment names none of them" err &&
	cluster clean 60
'
test_expect_success 'a node without libpmix is named' '
	lib=$(ldconfig -p | sed -n "s/.*libpmix.so.2 .*=> //p" | head -n1) &&
	cluster on n2 mount --bind /dev/null "$(readlink -f "$lib")" &&
	test_must_fail run --name nolib &&
	grep "slurmd on node n2 could not set the step up.*cannot load libpmix" err &&
	cluster clean 60
'
test_done
