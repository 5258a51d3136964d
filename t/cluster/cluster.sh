# cluster.sh - sourced by a test script, before sharness.sh, that needs the Slurm test
# cluster. From there on the script runs on the login node of a cluster of its own (see
# t/cluster/cluster), and everything in it ends with the script. CLUSTER_NODES (4) and the
# other settings of `cluster` may be set before. Defines
#
#   cluster COMMAND...   the nodes: cluster kill n2, cluster clean, ...
#
#   job_state JOB STATE  what squeue says of it, with its reason, is this; "" once it is over
#
# and CLUSTER_SHARED, a directory that all nodes see. Where there can be no cluster, the
# whole script is skipped, with the reason.

: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
export top_srcdir

cluster()
{
    "$top_srcdir/t/cluster/cluster" "$@"
}

job_state()
{
    test "$(squeue -h -j "$1" -o "%T %r" 2>/dev/null)" = "$2"
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
