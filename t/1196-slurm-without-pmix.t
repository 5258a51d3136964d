#!/bin/sh
test_description='a Slurm without the PMIx plugin is refused before anything starts

If this Slurm has the plugin, its srun is replaced by one that does not list it.'
CLUSTER_NODES=2
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
cd "$CLUSTER_SHARED" || exit 1

if srun --mpi=list 2>&1 | grep -q pmix; then
	mkdir without && cat >without/srun <<-EOF && chmod +x without/srun || exit 1
	#!/bin/sh
	test "\$*" = --mpi=list || exec "$(command -v srun)" "\$@"
	printf "MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n"
	EOF
	PATH=$PWD/without:$PATH
fi

# refused COMMAND...: it is refused with status 3 and one message, and no run starts.
refused () {
	expect_status 3 "$@" 2>err && test 1 -eq "$(grep -c "^raytrain-run: " err)" &&
	grep "need its plugin mpi/pmix.*srun --mpi=list has only: none, .*pmi2" err &&
	grep -e "--launcher local works without it" err && test_path_is_missing runs
}

test_expect_success 'without the plugin a run outside an allocation is refused and requests none' '
	refused raytrain-run --launcher slurm --storage runs --name out -n 2 "$train" &&
	test -z "$(squeue -h)"
'
test_expect_success 'without the plugin a run inside an allocation is refused' '
	refused salloc -Q -N2 raytrain-run --storage runs --name in -n 2 "$train"
'
test_expect_success 'other interfaces than PMIx are refused' '
	for type in pmi2 none pmix_v4; do
		refused raytrain-run --launcher slurm --storage runs --name other -n 2 \
			--srun-args=--mpi=$type "$train" || return 1
	done
'
test_expect_success 'several copies of raytrain-run are reported first, at length once' '
	expect_status 2 srun -n 3 raytrain-run --storage runs --name copies -n 2 "$train" \
		2>err &&
	test 1 -eq "$(grep -c "leave out srun, and use --workers 3" err)" &&
	! grep plugin err && test_path_is_missing runs
'
test_expect_success 'a heterogeneous allocation is reported first' '
	expect_status 3 salloc -Q -n 1 -N 1 : -n 1 -N 1 \
		raytrain-run --storage runs --name het -n 2 "$train" 2>err &&
	grep "heterogeneous: it has 2 components" err && ! grep plugin err
'
test_expect_success '--launcher local in an allocation needs no plugin' '
	salloc -Q -N1 -n2 srun -n1 -c2 raytrain-run --launcher local --storage runs --name one \
		-n 2 "$train" 2>err &&
	test -f runs/one/checkpoint_000005.h5 && cluster clean 60
'
test_done
