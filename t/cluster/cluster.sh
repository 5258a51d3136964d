# cluster.sh - sourced before setup.sh by a test script that needs the Slurm test cluster.
# From there on the script runs on the login node of a cluster of its own (see
# t/cluster/cluster), and every process of the cluster ends with the script. CLUSTER_NODES (4)
# and the other settings of `cluster` may be set before. Defines
#
#   cluster COMMAND...   control the nodes: cluster kill n2, cluster clean, ...
#   job_state JOB STATE  succeeds if squeue reports this state and reason for a job, such as
#                        "PENDING BeginTime"; "" means that the job is over
#   kill_on NODE         kill all workers on a node
#   worker_on NODE NAME  print the process id, on its node, of the worker that writes the
#                        heartbeats of the first attempt of a run in the directory `runs`
#
# and CLUSTER_SHARED, a directory that all nodes see. If a cluster is not possible, the whole
# script is skipped, with the reason.

: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
export top_srcdir

cluster()
{
    "$top_srcdir/t/cluster/cluster" "$@"
}

# A controller that does not answer says nothing about the job.
job_state()
{
    job_said=$(squeue -h -j "$1" -o "%T %r" 2>&1) || case $job_said in
    *"Invalid job id"*) job_said= ;;
    *) return 1 ;;
    esac
    test "$job_said" = "$2"
}

kill_on()
{
    cluster on "$1" sh <<'END'
for p in /proc/[0-9]*; do
    tr '\0' ' ' <$p/cmdline | grep -q '^[^ ]*/raytrain-worker ' && kill -KILL "${p#/proc/}"
done
true
END
}

worker_on()
{
    tr -d '\0' <"runs/$2/logs/attempt-0/heartbeats" |
        awk -v node="$1" '$4 == node { print $3 }'
}

if test "${CLUSTER_TEST:-}" != "$0"; then
    cluster_why=$(cluster missing)
    if test -n "$cluster_why"; then
        echo "1..0 # SKIP cluster: $cluster_why"
        exit 0
    fi
    CLUSTER_TEST=$0
    export CLUSTER_TEST
    exec "$top_srcdir/t/cluster/cluster" run "${CLUSTER_NODES:-4}" -- sh "$0" "$@"
fi
