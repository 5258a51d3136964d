#!/bin/sh
test_description='raytrain-serve under Slurm: steps as workers, ends of jobs, faults'
CLUSTER_NODES=2
CLUSTER_KILL_WAIT=15
CLUSTER_CPUS=8
export CLUSTER_KILL_WAIT CLUSTER_CPUS
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"
. "$srcdir/t/predict.sh"
. "$srcdir/t/cluster/serve.sh"

cd "$CLUSTER_SHARED" || exit 1
cp "$model" fashion_mlp.so && mkdir raytrain_results || exit 1

models_served () {
	raytrain-serve --where models >where 2>/dev/null
}

test_expect_success 'a training leaves a run to serve' '
	make_rows 100 && make_model && mv runs/model raytrain_results/fashion &&
	raytrain-predict --launcher local --checkpoint raytrain_results/fashion \
		--data rows.npz -o rows.csv "$model" 2>err &&
	sed 1d rows.csv | cut -d , -f 1 >expected && test "$(wc -l <expected)" = 100
'
# slow: batches of job.sbatch wait for more rows, so that requests are under way at any time.
slow () {
	sed -i "s/--workers 4/--workers 4 --max-wait-us 200000/" job.sbatch
}
test_expect_success 'serve.sbatch answers the login node, by the line of --where' '
	template serve && slow && submit && predictions 100 >answered &&
	same_numbers answered expected && bash -c "$(cat where)" >model.json && jq -e ".versions == [\"2\"]" model.json
'
# has_other_steps: there are four, and the one that was stopped is none of them.
has_other_steps () {
	has_steps 4 && ! squeue -h -s -j "$job" -o "%i" | grep -qx "$step"
}
test_expect_success 'each worker is a step of the job on its node' '	squeue -h -s -j "$job" -o "%i %N" | grep -v "batch\|extern" >steps &&
	test "$(wc -l <steps)" = 4 && test "$(cut -d " " -f 2 steps | sort -u | wc -l)" = 1
'
test_expect_success 'a request without the token is not answered' '
	ask_url && expect_status 22 curl -sf -m 60 "$url/v2/models/fashion"
'
test_expect_success 'a step that is killed is started again, and requests are answered' '
	step=$(sed -n "s/ .*//p;q" steps) && scancel --signal=KILL "$step" &&
	eventually grep -q "worker .* ended with status" "serve-$job.log" &&
	predictions 100 >answered && same_numbers answered expected &&
	eventually has_steps 4
'
test_expect_success 'a step that is stopped is replaced, and requests are answered' '
	squeue -h -s -j "$job" -o "%i" | grep -v "batch\|extern" >steps &&
	step=$(sed -n 1p steps) && scancel --signal=STOP "$step" &&
	eventually grep -q "no sign of life" "serve-$job.log" &&
	eventually grep -q "worker .* ended with status" "serve-$job.log" &&
	predictions 100 >answered && same_numbers answered expected &&
	eventually has_other_steps
'
test_expect_success 'scancel ends it: requests are answered, and nothing is left' '	under_load scancel "$job" && job_ended && none_wrong &&
	test_path_is_missing raytrain_results/fashion/serve/*/address.json && cluster clean
'
test_expect_success 'SIGUSR1 ends it with status 0' '
	submit && under_load scancel --batch --signal=USR1 "$job" && job_ended &&
	none_wrong && ended_well && cluster clean
'
test_expect_success 'the time limit ends it with status 0' '
	sed -i "s/USR1@60/USR1@50/" job.sbatch && submit --time=1 && job_ended &&
	ended_well && cluster clean
'
test_expect_success 'a job that is requeued serves again' '
	submit --requeue --open-mode=append && scontrol requeue "$job" &&
	eventually job_state "$job" "PENDING BeginTime" &&
	scontrol update JobId="$job" StartTime=now+3 &&
	eventually served && predictions 10 >answered &&
	head -n 10 expected >ten && same_numbers answered ten && scancel "$job" && cluster clean
'
test_expect_success 'two services of one run share a node' '
	template serve && sed -i "s/--ntasks=4/--ntasks=2/; s/--workers 4/--workers 2/" job.sbatch &&
	first=$(sbatch --parsable -w n1 --mem=500 job.sbatch) &&
	second=$(sbatch --parsable -w n1 --mem=500 job.sbatch) &&
	eventually served 2 && test "$(sort -u where | wc -l)" = 2 &&
	while read -r line; do
		bash -c "$line" >model.json && jq -e .name model.json || return 1
	done <where && scancel "$first" "$second" && cluster clean
'
test_expect_success 'each worker of a job with GPUs has one of its own' '
	template serve && sed -i "s/^##SBATCH/#SBATCH/; s/--workers 4/--workers 4 --gpu/" job.sbatch &&
	submit && eventually has_gpus 4 &&
	scancel "$job" && cluster clean
'
test_expect_success 'more workers than the job has room for are refused' '
	template serve && sed -i "s/--workers 4/--workers 40/" job.sbatch &&
	job=$(sbatch --parsable job.sbatch) && job_ended && grep "40 workers" "serve-$job.log"
'
test_expect_success '--follow needs steps for two versions' '
	template serve && sed -i "s/--workers 4/--workers 4 --follow/" job.sbatch &&
	job=$(sbatch --parsable job.sbatch) && job_ended &&
	grep -e "--launcher local" "serve-$job.log" &&
	submit --exclusive && predictions 10 >answered && same_numbers answered ten &&
	scancel "$job" && cluster clean
'
test_expect_success 'each of several models has its workers, and all of them must fit' '
	mkdir models && ln -s ../raytrain_results/fashion models/best &&
	ln -s ../raytrain_results/fashion/checkpoint_000001.h5 models/first &&
	template serve && sed -i "s|raytrain-serve raytrain_results/fashion|raytrain-serve --models models|
		s/--workers 4/--workers 2/" job.sbatch &&
	job=$(sbatch --parsable job.sbatch) && eventually models_served && has_steps 4 &&
	bash -c "$(cat where)" >index.json &&
	test "$(jq -c "[.[] | [.name, .version]]" index.json)" = \
		"[[\"best\",\"2\"],[\"first\",\"1\"]]" &&
	scancel "$job" && cluster clean &&
	sed -i "s/--workers 2/--workers 3/" job.sbatch &&
	job=$(sbatch --parsable job.sbatch) && job_ended &&
	grep "each of the 2 models has 3 workers" "serve-$job.log"
'
test_done
