# shellcheck shell=bash disable=SC2034,SC2154
# From the power-off of one of two nodes to the first report of the attempt on the other one and
# a spare one, with node_timeout_s = 5, on the test cluster; theirs is that timeout.
turns=3

rows()
{
    echo "node-lost s ours<=10"
}

prepare()
{
    compile "$work/steady.so" -shared -fPIC "$top/scripts/bench.d/steady.c"
}

# reported PATTERN: wait until there is such a report, with a limit.
reported()
{
    local until=$((SECONDS + 30))
    until grep -qs "$1" "$work/run/result.json"; do
        [ $SECONDS -lt $until ] || return
        sleep 0.02
    done
}

# This runs on the login node, in an allocation of three nodes. The run ends with the cluster.
lost()
{
    local start end
    "$bin/raytrain-run" --launcher slurm --workers 2 --placement STRICT_SPREAD \
        --progress none --storage "$work" --name run \
        --set scaling_config.spare_nodes=1 \
        --set run_config.failure_config.node_timeout_s=5 \
        "$work/steady.so" 100000 2>"$work/stderr" &
    reported '"attempt":0' || return
    start=$EPOCHREALTIME
    "$top/t/cluster/cluster" poweroff n2 || return
    reported '"attempt":1' || return
    end=$EPOCHREALTIME
    awk -v s="${start/,/.}" -v e="${end/,/.}" \
        'BEGIN { printf "node-lost %.3f 5\n", e - s }'
    kill -KILL $!
}

# Each turn has its own cluster, because Slurm does not forget the step on the lost node.
sample()
{
    rm -rf "$work/run"
    export work bin top
    export -f lost reported
    CLUSTER_SLURMD_TIMEOUT=300 timeout 75 "$top/t/cluster/cluster" run 3 -- \
        salloc --quiet --no-kill --exclusive -N 3 bash -c lost ||
        { cat "$work/stderr" >&2; return 1; }
}
