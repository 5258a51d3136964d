#!/bin/sh
test_description='job arrays: a run for each task, named after the task; the example of a sweep'
CLUSTER_NODES=2
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"

train=$modules/train_model.so
sweep=$srcdir/share/examples/sweep
cd "$CLUSTER_SHARED" || exit 1

# finished NAME...: these runs have come to their ends.
finished () {
	for name; do
		raytrain-inspect --json "raytrain_results/$name" >inspect.json &&
		json_is inspect.json .status finished || return 1
	done
}

test_expect_success 'tasks of an array have runs of their own without a name' '
	job=$(raytrain-run --submit --array 0-2 -n 2 "$train" 2>err) &&
	grep -F "raytrain_results/train_model-%a" err && eventually job_state "$job" "" &&
	finished train_model-0 train_model-1 train_model-2 &&
	test_path_is_missing raytrain_results/train_model &&
	grep "train_model-2" "train_model-${job}_2.log"
'
test_expect_success '%A, %a and %j in a name are the numbers of array, task and job' '
	cat >names.sbatch <<-EOF &&
	#!/bin/sh
	#SBATCH -n 1 --array=4,6 -o names-%a.log
	echo "\$SLURM_JOB_ID" >id-\$SLURM_ARRAY_TASK_ID
	exec raytrain-run --name "%A_%a-%j-100%%-%x" "$train"
	EOF
	job=$(sbatch --parsable names.sbatch) && eventually job_state "$job" "" &&
	finished "${job}_4-$(cat id-4)-100%-%x" "${job}_6-$(cat id-6)-100%-%x"
'
test_expect_success 'a name of an array task is refused where there is none' '
	expect_status 3 raytrain-run --launcher local --name "lr-%a" "$train" 2>err &&
	grep -e "%a, but this process is in no job array" err &&
	expect_status 3 salloc -Q -n 1 raytrain-run --name "lr-%A" "$train" 2>err &&
	salloc -Q -n 1 raytrain-run --name "in-%j" "$train" 2>err &&
	test -d "$(echo raytrain_results/in-[0-9]*)"
'
test_expect_success 'a sweep that is submitted is an array, with a value for each task' '
	raytrain-run -q --submit --dry-run -n 1 --sweep seed=5,6,7 "$train" >script 2>err &&
	grep -e "--array=0-2" script && grep -e "--sweep" script &&
	array=$(raytrain-run -q --submit -n 1 --name swept --sweep seed=5,6 "$train") &&
	eventually job_state "$array" "" &&
	grep "^seed = 5" raytrain_results/swept-0/run.cfg &&
	grep "^seed = 6" raytrain_results/swept-1/run.cfg &&
	test -f raytrain_results/swept-1/checkpoint_000005.h5
'
# waits NAME ARG...: print a line of a batch script that runs raytrain-run with these arguments,
# and waits after iteration 2 until gate-NAME is there. Then it still takes some seconds, so that
# a request to stop arrives before its end.
waits () {
	name=$1 && shift
	echo "exec raytrain-run -n 1 --resume --requeue-on-stop $*" \
		"--set train_loop_config.ready=$PWD/ready-$name" \
		"--set train_loop_config.gate=$PWD/gate-$name" \
		"--set train_loop_config.iterations=50" \
		"--set train_loop_config.iteration_ms=100 $train"
}
# The last task of an array has the id of the array.
test_expect_success 'a task that is stopped goes back to the queue without the other tasks' '
	cat >back.sbatch <<-EOF &&
	#!/bin/sh
	#SBATCH -n 1 --array=0-2 --requeue --open-mode=append -o back-%a.log
	echo "\$SLURM_JOB_ID" >back-id-\$SLURM_ARRAY_TASK_ID
	$(waits back-\$SLURM_ARRAY_TASK_ID --name back-%a)
	EOF
	: >gate-back-0 && array=$(sbatch --parsable back.sbatch) && job=${array}_2 &&
	eventually test -e ready-back-1 && eventually test -e ready-back-2 &&
	eventually job_state "${array}_0" "" && test "$(cat back-id-2)" = "$array" &&
	scancel --batch --signal=USR1 "$job" &&
	eventually grep "stopping at the next report" back-2.log && : >gate-back-2 && go_on &&
	grep "job $job goes back to the queue" back-2.log && eventually job_state "$job" "" &&
	finished back-0 back-2 && test "$(squeue -h -r -j "$array" -o "%K %T")" = "1 RUNNING" &&
	: >gate-back-1 && eventually job_state "$array" "" && finished back-0 back-1 back-2 &&
	test "$(ls -d raytrain_results/back-*/logs/attempt-* | wc -l)" -eq 4
'
test_expect_success 'a job that was submitted from within a task is not a task' '
	cat >inner.sbatch <<-EOF &&
	#!/bin/sh
	#SBATCH -n 1 --requeue --open-mode=append -o inner.log
	echo "\$SLURM_ARRAY_TASK_ID \$SLURM_RESTART_COUNT" >>inner
	raytrain-run --name lr-%a "$train"
	$(waits inner)
	EOF
	cat >outer.sbatch <<-EOF &&
	#!/bin/sh
	#SBATCH -n 1 --array=1 --requeue -o outer.log
	sbatch --parsable inner.sbatch >outer
	until test -e gate-inner; do sleep 0.1; done
	EOF
	outer=$(sbatch --parsable outer.sbatch) && eventually test -e ready-inner &&
	job=$(cat outer) && grep -e "%a, but this process is in no job array" inner.log &&
	scancel --batch --signal=USR1 "$job" &&
	eventually grep "stopping at the next report" inner.log && : >gate-inner && go_on &&
	eventually job_state "$job" "" && finished train_model && eventually job_state "$outer" "" &&
	printf "1 \n1 1\n" >expected && test_cmp expected inner && test "$(wc -l <outer)" -eq 1
'
test_expect_success 'the example trains with three learning rates, and compares them' '
	cp "$builddir/share/examples/tabular.so" "$srcdir/share/examples/tabular/tabular.cfg" . &&
	"$PYTHON" "$srcdir/share/examples/tabular/customers.py" 500 &&
	sed -i "s/epochs = 20/epochs = 3/; s/batch_size = 512/batch_size = 64/" tabular.cfg &&
	job=$(sbatch --parsable "$sweep/sweep.sbatch") && eventually job_state "$job" "" &&
	finished lr-0 lr-1 lr-2 &&
	"$PYTHON" "$sweep/compare.py" raytrain_results/lr-* >table && cat table &&
	test "$(wc -l <table)" -eq 4 &&
	for rate in 0.02 0.1 0.5; do
		grep -E "^lr-[0-2] +$rate +finished +[0-9.]+ +[0-9.]+$" table || return 1
	done &&
	sed 1d table | sort -k 5 -g -r -s >sorted && sed 1d table >rest && test_cmp sorted rest &&
	cluster clean
'
test_done
