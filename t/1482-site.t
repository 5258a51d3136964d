#!/bin/sh
test_description='the file of a site: what it sets, what overrides it, and what is refused in it'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local"
train=$modules/train_model.so
RAYTRAIN_SITE_CONFIG=$PWD/site.cfg
export RAYTRAIN_SITE_CONFIG

# site LINE...: the file has these lines.
site () {
	printf "%s\n" "$@" >site.cfg && chmod 644 site.cfg
}
# in_allocation COMMAND...: in the environment of an allocation, for --dry-run.
in_allocation () {
	SLURM_JOB_ID=7 SLURM_JOB_NODELIST="n[1-2]" SLURM_JOB_NUM_NODES=2 \
		SLURM_JOB_CPUS_PER_NODE="4(x2)" SLURM_NNODES=2 "$@"
}
# refused TEXT LINE...: a file with these lines is refused, with this text.
refused () {
	text=$1 && shift && site "$@" &&
	expect_status 3 $run --dry-run "$train" 2>err && grep -F "$text" err
}

test_expect_success 'a file that the variable names has to exist' '
	! test -e site.cfg && test_must_fail $run --dry-run "$train" 2>err && grep site.cfg err &&
	RAYTRAIN_SITE_CONFIG= $run --dry-run "$train" >out && ! grep "site.s file" out
'
test_expect_success 'arguments of srun come before those of the user, and with the plugin for PMIx' '
	site "mpi = \"pmix_v4\";" "srun_args = \"--cpu-bind=cores --label\";" &&
	in_allocation raytrain-run --launcher slurm --dry-run -n 2 --srun-args=--cpu-bind=none \
		"$train" >out &&
	grep -e "--mpi=pmix .*--mpi=pmix_v4 --cpu-bind=cores --label --cpu-bind=none" out &&
	grep "^# the site.s file: .*/site.cfg" out
'
test_expect_success 'the default of the storage has variables; files and flags override it' '
	site "storage_path = \"$PWD/scratch/\$WHERE/\${WHERE}s/runs\";" &&
	WHERE=here $run --dry-run "$train" >out &&
	grep "storage_path = \"$PWD/scratch/here/heres/runs\"" out &&
	echo "run_config = { storage_path = \"/elsewhere\"; };" >user.cfg &&
	WHERE=here $run --dry-run -c user.cfg "$train" >out && grep "storage_path = \"/elsewhere\"" out &&
	WHERE=here $run --dry-run --storage /flag "$train" >out && grep "storage_path = \"/flag\"" out
'
test_expect_success 'a run is stored where the site says' '
	site "storage_path = \"$PWD/scratch\";" && $run --name stored "$train" 2>err &&
	test -f scratch/stored/result.h5
'
test_expect_success 'a variable that is not set is refused, with the line' '
	refused "site.cfg:2: storage_path: WHERE_ELSE is not set" "" "storage_path = \"/s/\$WHERE_ELSE\";"
'
test_expect_success 'all keys that are unknown are named at once' '
	refused "site.cfg:1: srun_arg: unknown key; did you mean" "srun_arg = \"--label\";" \
		"mpi = \"pmix\";" "login_node = \"n\";" "mpi_plugin = 5;" &&
	grep "site.cfg:3: login_node: unknown key" err && grep "site.cfg:4: mpi_plugin: unknown" err
'
test_expect_success 'what is wrong in the file is refused, with the line and what to write' '
	refused "site.cfg:1: " "srun_arg = \"--label\";" && grep srun_args err &&
	refused "site.cfg:2: srun_args: " "# line" "srun_args = 5;" &&
	refused "site.cfg:1: srun_args: " "srun_args = \"--comment=\\\"open\";" &&
	refused "site.cfg:1: mpi: \"none\"" "mpi = \"none\";" &&
	refused "site.cfg:1: mpi: " "mpi = \"pmix --label\";" &&
	refused "site.cfg:1: prologue: \"here\" is not an absolute path" "prologue = \"here\";" &&
	refused "site.cfg:1: local_workers_max: " "local_workers_max = 2;" &&
	refused "site.cfg:2: " "mpi = \"pmix\";" "mpi = ;"
'
test_expect_success 'a file that others may change is refused' '
	for mode in 664 646; do
		site "mpi = \"pmix\";" && chmod $mode site.cfg &&
		expect_status 3 $run --dry-run "$train" 2>err && grep "chmod go-w" err || return 1
	done
'
if test "$(id -u)" = 0 && test "$(stat -c %u /proc/self)" = 0; then
	test_set_prereq ROOT
fi
test_expect_success ROOT 'a file of another user is refused' '
	site "mpi = \"pmix\";" && chown 12345 site.cfg &&
	expect_status 3 $run --dry-run "$train" 2>err && grep "site.cfg. belongs to another user (uid 12345)" err &&
	chown 0 site.cfg
'
host=$(hostname)
test_expect_success 'a login node takes as many local workers as the site allows' '
	site "login_nodes = [\"other*\", \"${host%?}*\"];" "local_workers_max = 2;" &&
	$run -n 2 --storage runs --name two "$train" 2>err &&
	expect_status 4 $run -n 3 --storage runs --name three "$train" 2>err &&
	grep "$host is a login node.* 2 local workers, not 3.*use an allocation" err &&
	test_path_is_missing runs/three &&
	expect_status 4 raytrain-run -n 3 --dry-run "$train" 2>err
'
test_expect_success 'a range of workers is made smaller there' '
	$run -n 1:8 --storage runs --name range "$train" 2>err &&
	! test -e runs/range/logs/attempt-0/rank-00002.out
'
test_expect_success 'no local worker is allowed there by default, and other hosts are free' '
	site "login_nodes = [\"$host\"];" &&
	expect_status 4 $run -n 1 --storage runs --name none "$train" 2>err &&
	site "login_nodes = [\"login*\", \"$host.\"];" &&
	$run -n 3 --storage runs --name free "$train" 2>err
'
test_expect_success '--check names the file, and starts no workers on a login node' '
	site "login_nodes = [\"$host\"];" "prologue = \"/no/such/file\";" &&
	expect_status 4 $run --check --json --storage runs >json &&
	jq -r ".findings[] | [.topic, .name, .verdict, .detail] | join(\"|\")" json >list &&
	grep "^site file|contents|ok|.*/site.cfg" list &&
	grep "^site file|prologue|wrong|/no/such/file" list &&
	grep "^workers|start|skipped|$host is a login node" list &&
	grep "^MPI|library|skipped|the site does not allow workers here" list
'
test_expect_success '--check reports what is wrong in the file' '
	site "" "mpi = 3;" && expect_status 4 $run --check --json --storage runs >json &&
	jq -r ".findings[] | select(.topic == \"site file\") | .detail" json >detail &&
	grep "site.cfg:2: mpi: " detail && jq -e "[.findings[].topic] | index(\"MPI\")" json
'
test_expect_success 'batch jobs have the prologue and the arguments of the site first' '
	echo "module load of-site" >of-site && printf "module load of-user" >of-user &&
	site "prologue = \"$PWD/of-site\";" "sbatch_args = \"--account=all --comment=site\";" &&
	raytrain-run --submit --dry-run --prologue of-user --sbatch-args=--account=mine \
		--storage runs --name job "$train" >script &&
	grep -A 1 "^module load of-site" script | grep "^module load of-user" &&
	grep "^#SBATCH" script >head && grep -n account=all head && grep comment=site head &&
	test "$(grep -n account=all head | cut -d: -f1)" -lt "$(grep -n account=mine head | cut -d: -f1)"
'
test_done
