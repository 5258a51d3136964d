#!/bin/sh
test_description='raytrain-run --submit: the command line as a batch job'
CLUSTER_NODES=2
CLUSTER_CONF='PartitionName=small Nodes=n1 MaxTime=INFINITE'
export CLUSTER_CONF
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/cluster/requeue.sh"

train=$modules/train_model.so
# a directory whose name a shell or sbatch could mistake for something else
work="$CLUSTER_SHARED/it's \$HOME, #1, %j"
mkdir "$work" && cd "$work" || exit 1
run="raytrain-run --submit --storage runs"

# finished NAME: the run has come to its end, according to its records.
finished () {
	raytrain-inspect --json "runs/$1" >inspect.json && json_is inspect.json .status finished
}
# no_job: the queue is empty.
no_job () {
	test -z "$(squeue -h)"
}

test_expect_success 'a dry run prints a script with the resources of the workers' '
	$run --dry-run -n 4 --cpus-per-worker 2 --mem-per-worker 100M --gpu --placement SPREAD \
		--time 10 --account me --qos normal --partition main --max-failures 2 \
		"$train" >script 2>err &&
	for option in ntasks=4 cpus-per-task=2 mem-per-cpu=50M gpus-per-task=1 spread-job time=10 \
		account=me qos=normal partition=main requeue no-kill signal=B:USR1@60; do
		grep -xe "#SBATCH --$option" script || return 1
	done &&
	bash -n script && no_job && test_path_is_missing runs
'
# Both the options of sbatch and the argument have blanks and characters with a meaning.
test_expect_success 'the script of a dry run can be submitted by hand, from another directory' '
	printf "export GREETING=hello\ncd /" >prologue.sh &&
	$run --dry-run --name by-hand -n 2 --prologue prologue.sh \
		--sbatch-args "--comment=\"not #1\" -p small" -- \
		sh -c "test \"\$GREETING\" = hello && raytrain-report n=1" >script &&
	job=$(cd .. && sbatch --parsable "$work/script") &&
	scontrol -o show job "$job" >shown && grep "Comment=not #1" shown &&
	grep "Partition=small" shown && eventually job_state "$job" "" && finished by-hand
'
test_expect_success 'the id of the job is printed, and arguments arrive unchanged' '
	cat >expected <<-\EOF &&
	2: a b, it'"'"'s, "$HOME" `id` \, *
	EOF
	job=$($run --name args -n 2 "$check/train_main" "a b" "it'"'"'s" "\"\$HOME\" \`id\` \\" "*" \
		2>err) &&
	grep -F "job $job, whose messages are in $work/args-$job.log" err &&
	follow=$(sed -n "s/.*once it has started: //p" err) && grep -F -e --follow err &&
	eventually job_state "$job" "" && finished args &&
	test_cmp expected runs/args/logs/attempt-0/rank-00000.out &&
	grep "2 workers on 1 node, launcher slurm" "args-$job.log" &&
	eval "$follow" >out && grep finished out
'
test_expect_success 'a directory where Slurm cannot write the messages of a job is refused' '
	for dir in "back\\slash" "quo\"te"; do
		mkdir -p "$dir" && (cd "$dir" &&
		expect_status 3 $run --name there "$train" 2>err &&
		grep "Submit from another directory" err) || return 1
	done && no_job
'
test_expect_success 'an existing run is neither continued nor set aside without being asked' '
	expect_status 3 $run --name args -n 2 "$check/train_main" 2>err &&
	grep -e "--resume.*--fresh" err && no_job
'
test_expect_success '--partition outranks a variable, and --sbatch-args outranks both' '
	job=$(SBATCH_PARTITION=nowhere $run --name outranks --partition main "$check/train_main" \
		2>err) && eventually job_state "$job" "" && finished outranks &&
	$run --dry-run --name more -n 8 --partition small --sbatch-args "-p main" \
		"$check/train_main" >script && grep -x "#SBATCH -p main" script
'
test_expect_success 'a job that can never start is refused, with a partition that has room' '
	expect_status 4 $run --name large -n 9 "$train" 2>err && grep "8" err &&
	! grep -e "--partition" err &&
	expect_status 4 $run --name large -n 8 --partition small "$train" 2>err &&
	grep "add --partition main" err && no_job
'
test_expect_success 'a refusal of sbatch that has several lines is shown as lines' '
	expect_status 3 $run --name refused --sbatch-args "--mem=9999999" "$train" 2>err &&
	grep "^raytrain-run: the job was not submitted: .*sbatch: error: " err &&
	grep "^ *sbatch: error: .*submission failed" err && ! grep -e "\\\\n" -e "x0a" err && no_job
'
test_expect_success 'without a controller nothing is submitted, but a dry run shows the script' '
	SLURM_CONF=$PWD/none && export SLURM_CONF &&
	expect_status 3 $run --name away "$train" 2>err && grep "no job can be submitted" err &&
	$run --dry-run --name away "$train" >script && grep "^exec .*raytrain-run" script;
	status=$? && unset SLURM_CONF && test $status -eq 0
'
test_expect_success 'options of a batch job are refused without --submit, and so is another launcher' '
	expect_status 2 raytrain-run --time 10 "$train" 2>err && grep "add --submit" err &&
	expect_status 2 $run --launcher local "$train" 2>err && grep "local has no batch jobs" err &&
	expect_status 2 $run --partition "a b" "$train" 2>err &&
	expect_status 3 $run --fresh --requeue-on-stop "$train" 2>err &&
	grep "another --name" err && no_job
'
test_expect_success 'a job that is requeued continues its run' '
	job=$($run --name long -n 2 --requeue-on-stop -q \
		--set "train_loop_config.ready=\"$PWD/ready\"" \
		--set "train_loop_config.gate=\"$PWD/gate\"" "$train" 2>err) &&
	test_must_be_empty err && eventually test -e ready &&
	scancel --batch --signal=USR1 "$job" &&
	eventually grep -q "stopping at the next report" "long-$job.log" && : >gate &&
	go_on && eventually job_state "$job" "" && finished long &&
	jq -e ".attempts | length == 2" inspect.json
'
# A requeue of Slurm is not a stop of raytrain-run: the job is killed and starts again.
test_expect_success 'a job with --fresh sets the earlier run aside once, and continues after a requeue' '
	rm -f ready gate &&
	job=$($run --name long -n 2 --fresh --set "train_loop_config.ready=\"$PWD/ready\"" \
		--set "train_loop_config.gate=\"$PWD/gate\"" "$train" 2>err) &&
	eventually test -e ready && eventually test -e runs/long/checkpoint_000002.h5 &&
	scontrol requeue "$job" && eventually job_state "$job" "PENDING BeginTime" && : >gate &&
	go_on && eventually job_state "$job" "" && finished long &&
	jq -e ".attempts | length == 2" inspect.json &&
	test -d runs/long.1 && test_path_is_missing runs/long.2 && cluster clean 60
'
test_done
