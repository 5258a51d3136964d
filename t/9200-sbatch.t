#!/bin/sh
test_description='the batch scripts of share/sbatch and README.md work on a Slurm cluster'
CLUSTER_CPUS=32
export CLUSTER_CPUS
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"
. "$srcdir/t/predict.sh"

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
	sed -n "/^#!\/bin\/bash/,/^\`\`\`/p" "$srcdir/README.md" | sed "\$d" >readme.sbatch &&
	cp "$builddir/share/examples/hello.so" . && submit readme.sbatch && finished "hello-$job"
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
test_expect_success 'container.sbatch runs to the end' '
	mkdir -p image bin && printf "#!/bin/sh\n%s\n" "while test \"\$1\" != image; do shift; done; shift" \
		"exec env -i \$(env | sed -n s/^APPTAINERENV_//p) PATH=/usr/bin:/bin \"\$@\"" >bin/apptainer &&
	chmod +x bin/apptainer && sed -e "s/cpus-per-task=8/cpus-per-task=1/; s/cpus-per-worker 8/cpus-per-worker 1/" \
		"$templates/container.sbatch" >container.sbatch &&
	(PATH=$PWD/bin:$PATH IMAGE=image && export IMAGE PATH && submit container.sbatch && finished "train-img-$job")
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
# serving TEMPLATE: print the script with a model of t/check/predictions.c in place of images.
serving () {
	sed -e 's|^ *--input .*|    --input x:float32:3 --input id:int64 ./predictions.so|' "$1"
}
# served N: N services of the run answer by the lines of --where.
served () {
	raytrain-serve --where "$results/fashion" >where 2>/dev/null &&
	test "$(wc -l <where)" = "$1" && while read -r line; do
		bash -c "$line" >model.json && jq -e ".versions == [\"2\"]" model.json || return 1
	done <where
}
# ends_well: it is cancelled, answers what it has accepted, and leaves no address.
ends_well () {
	scancel "$job" && eventually job_state "$job" "" &&
	test_path_is_missing "$results"/fashion/serve/*/address.json && cluster clean
}
test_expect_success 'serve.sbatch answers the login node, until scancel' '
	make_rows 10 && make_model && mv runs/model "$results/fashion" && cp "$model" predictions.so &&
	serving "$templates/serve.sbatch" >serve.sbatch &&
	job=$(sbatch --parsable serve.sbatch) && eventually served 1 &&
	test "$(squeue -h -s -j "$job" -o %i | grep -vc "batch\|extern")" = 4 && ends_well
'
# Its workers are processes of srun's tasks, which have the CPUs that this machine really has.
test_expect_success 'serve-nodes.sbatch answers on each node, until scancel' '
	serving "$templates/serve-nodes.sbatch" |
	sed -e "s/--workers 4 --cpus-per-worker 2/--workers 1 --cpus-per-worker 1/" \
		>serve-nodes.sbatch && grep -e "--workers 1" serve-nodes.sbatch &&
	job=$(sbatch --parsable serve-nodes.sbatch) && eventually served 2 &&
	test "$(jq -r .host "$results"/fashion/serve/*/address.json | sort -u | wc -l)" = 2 &&
	raytrain-serve --where --haproxy "$results/fashion" >proxy.cfg &&
	test "$(grep -c "^    server " proxy.cfg)" = 2 && ends_well
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
