#!/bin/sh
test_description='the batch scripts of share/sbatch and README.md work on a Slurm cluster'
CLUSTER_CPUS=32
export CLUSTER_CPUS
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"

templates=$srcdir/share/sbatch
results=raytrain_results
cd "$CLUSTER_SHARED" || exit 1
cp "$modules/train_model.so" train.so &&
cp "$builddir/share/examples/hello.so" fashion_mlp.so || exit 1

# submit FILE: submit a job, $job, and wait for it; sbatch --wait polls too slowly.
submit () {
	job=$(sbatch --parsable "$1") && eventually job_state "$job" ""
}
# smaller FILE: print the script with a quarter of the workers, on as many nodes.
smaller () {
	sed -e 's/ntasks-per-node=8/ntasks-per-node=2/' -e 's/--workers 32/--workers 8/' "$1"
}
finished () {
	raytrain-inspect --json "$results/$1" >inspect.json &&
	jq -e '.status == "finished"' inspect.json
}

test_expect_success 'cpu.sbatch runs to the end' '
	echo "run_config = { };" >fashion_mlp.cfg &&
	smaller "$templates/cpu.sbatch" >cpu.sbatch &&
	submit cpu.sbatch && finished "fashion-$job" &&
	grep "8 workers on 4 nodes, launcher slurm" "fashion-$job.log"
'
test_expect_success 'gpu.sbatch runs to the end' '
	echo "train_loop_config = { iterations = 2; };" >train.cfg &&
	submit "$templates/gpu.sbatch" && finished "train-$job" &&
	grep "8 workers on 2 nodes, launcher slurm" "train-gpu-$job.log"
'
test_expect_success 'the batch script of README.md runs to the end' '
	sed -n "/^#!\/bin\/bash/,/^\`\`\`/p" "$srcdir/README.md" | sed "\$d" >readme.full &&
	smaller readme.full >readme.sbatch &&
	submit readme.sbatch && finished "fashion-$job"
'
test_expect_success 'python.sbatch runs to the end' '
	cat >train.py <<-\EOF &&
	import os
	import raytrain
	raytrain.report({"rank": int(os.environ["RANK"]), "port": float(os.environ["MASTER_PORT"])})
	EOF
	sed -e "s/cpus-per-task=8/cpus-per-task=1/; s/cpus-per-worker 8/cpus-per-worker 1/" \
		"$templates/python.sbatch" >python.sbatch &&
	submit python.sbatch && finished "train-py-$job" &&
	jq -e ".last_report.port > 0" inspect.json
'
test_expect_success 'elastic.sbatch runs to the end' '
	submit "$templates/elastic.sbatch" && finished "elastic-$job" &&
	grep "16 workers on 4 nodes, launcher slurm" "elastic-$job.log"
'
test_expect_success 'each task of array.sbatch has a run with a size of its own' '
	submit "$templates/array.sbatch" &&
	for task in 0 1 2 3; do
		finished "array-$job-$task" &&
		h5dump -H -d /model/weight "$results/array-$job-$task/checkpoint_000002.h5" |
		grep "SIMPLE { ( $((100 << task)) )" || return 1
	done
'
test_expect_success 'requeue.sbatch requeues its job when the run is stopped' '
	cat >train.cfg <<-EOF &&
	train_loop_config = { ready = "$PWD/ready"; gate = "$PWD/gate"; };
	EOF
	job=$(sbatch --parsable "$templates/requeue.sbatch") && eventually test -e ready &&
	scancel --batch --signal=USR1 "$job" &&
	eventually grep -q "stopping at the next report" "long-run-$job.log" &&
	: >gate && eventually job_state "$job" "PENDING BeginTime" &&
	test_path_is_missing "$results/long-$job/checkpoint_000005.h5"
'
test_expect_success 'requeue.sbatch continues the run when the job starts again' '
	go_on && eventually job_state "$job" "" && finished "long-$job" &&
	test -e "$results/long-$job/checkpoint_000005.h5" &&
	jq -e ".attempts | length == 2" inspect.json && cluster clean
'
test_done
