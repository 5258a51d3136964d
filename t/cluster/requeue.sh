# requeue.sh - sourced after setup.sh by a script with a cluster whose jobs are requeued: $job is
# the job, whose script writes its exit status to the file `status` unless that is 75.
#
#   go_on   waits until the job is back in the queue, and lets it start soon
#   over    succeeds if the job is over for good

# Slurm delays a requeued job for two minutes, counted again from when its processes are
# gone. Shorten that to a few seconds; not to zero, because the nodes refuse a job that was
# granted in the second in which they ended it. A start that is already near is not changed,
# or it would be postponed forever.
go_on () {
	eventually job_state "$job" "PENDING BeginTime" && test_path_is_missing status &&
	eventually hastened
}
hastened () {
	started && return
	hasten
	return 1
}
hasten () {
	begin=$(scontrol show job "$job" | sed -n "s/.* EligibleTime=//p") &&
	if test "$(date -d "$begin" +%s)" -gt $(($(date +%s) + 10)); then
		scontrol update JobId="$job" StartTime=now+3
	fi
}
started () {
	test -e status || ! squeue -h -j "$job" -o %T | grep -q PENDING
}
waiting_or_over () {
	test -e status || job_state "$job" "PENDING BeginTime"
}
# The newest versions of Slurm requeue a job that was requeued in its grace time once more
# after its end: then its script finds that there is nothing to do.
over () {
	job_state "$job" "" && return
	! squeue -h -j "$job" -o %T | grep -q PENDING || hasten
	return 1
}
