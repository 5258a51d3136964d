# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Dead nodes, on the test cluster. node-lost: from the power-off of one of two nodes to
# the first report of the attempt on the other one and a spare, with node_timeout_s = 5;
# theirs is that timeout. heartbeats: the iterations of two workers on two nodes with a
# heartbeat 4 times a second (30 times as often as by default) and with none, in turns.
turns=1

rows()
{
    echo "node-lost s ours<=10"
    echo "heartbeats s <=1.005"
}

prepare()
{
    compile "$work/steady.so" -shared -fPIC "$top/scripts/bench.d/steady.c"
}

# steady TIMEOUT STEPS ARG...: this process becomes raytrain-run.
steady()
{
    local timeout=$1 steps=$2
    shift 2
    exec "$bin/raytrain-run" --launcher slurm --workers 2 --placement STRICT_SPREAD \
        --progress none --storage "$work" --name run \
        --set run_config.failure_config.node_timeout_s="$timeout" "$@" \
        "$work/steady.so" "$steps" 2>"$work/stderr"
}

# Seconds from the power-off of n2 to the next attempt's first report.
node_lost()
{
    local start end run
    rm -rf "$work/run"
    steady 5 100000 --set scaling_config.spare_nodes=1 & run=$!
    until grep -qs '"attempt":0' "$work/run/result.json"; do sleep 0.02; done
    start=$EPOCHREALTIME
    "$top/t/cluster/cluster" poweroff n2 || return
    until grep -qs '"attempt":1' "$work/run/result.json"; do sleep 0.02; done
    end=$EPOCHREALTIME
    kill -TERM $run
    wait $run
    "$top/t/cluster/cluster" revive n2 || return
    awk -v s="$start" -v e="$end" 'BEGIN { printf "node-lost %.3f 5\n", e - s }'
}

# How long the iterations take.
seconds()
{
    rm -rf "$work/run"
    (steady "$1" 200) && cat "$work"/run/logs/attempt-0/*.out
}

# On the login node, inside an allocation.
pairs()
{
    local i
    for ((i = 0; i < 7; i++)); do
        echo "heartbeats $(seconds 1) $(seconds 0)"
    done
}

# Each in an allocation of its own: Slurm does not forget the step on the lost node.
sample()
{
    local i
    export work bin top
    export -f steady seconds node_lost pairs
    "$top/t/cluster/cluster" run 2 -- salloc --quiet --exclusive -N 2 bash -c pairs &&
        for ((i = 0; i < 3; i++)); do
            CLUSTER_SLURMD_TIMEOUT=300 "$top/t/cluster/cluster" run 3 -- \
                salloc --quiet --no-kill --exclusive -N 3 bash -c node_lost || return
        done
}
