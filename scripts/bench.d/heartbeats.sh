# shellcheck shell=bash disable=SC2034,SC2154
# The cost of monitoring the nodes of a run, with two workers on two nodes of the test cluster:
# the processor time of the heartbeats (4 per second, 30 times the default), and the additional
# processor time of raytrain-run, compared with that of the whole run. The duration of a run
# varies by more than a hundred times as much.
turns=3

rows()
{
    echo "heartbeats s <=1.005"
}

prepare()
{
    [ -r /proc/self/schedstat ] ||
        { echo >&2 "bench: this kernel counts no processor time of threads"; return 1; }
    compile "$work/steady.so" -shared -fPIC "$top/scripts/bench.d/steady.c"
}

# seconds PID...: print the processor time of these processes and of the children for which
# they have waited; with -t NAME, only that of threads with this name.
seconds()
{
    local name= task comm ns rest total=0 fields ticks=0
    [ "$1" != -t ] || { name=$2; shift 2; }
    for pid; do
        for task in /proc/"$pid"/task/*; do
            read -r comm <"$task/comm"
            [ -z "$name" ] || [ "$comm" = "$name" ] || continue
            read -r ns rest <"$task/schedstat"
            total=$((total + ns))
        done
        [ -z "$name" ] || continue
        read -r -a fields <"/proc/$pid/stat"
        ticks=$((ticks + fields[15] + fields[16]))
    done
    awk -v ns="$total" -v ticks="$ticks" -v hz="$(getconf CLK_TCK)" \
        'BEGIN { printf "%.6f\n", ns / 1e9 + ticks / hz }'
}

# reached N: wait until iteration N is reported, with a limit.
reached()
{
    local until=$((SECONDS + 30))
    until grep -qs "\"training_iteration\":$1," "$work/run/result.json"; do
        [ $SECONDS -lt $until ] || return
        sleep 0.05
    done
}

# spent: print the processor time so far, as "WORKERS HEARTBEATS RAYTRAIN-RUN".
spent()
{
    echo "$(seconds "${workers[@]}") $(seconds -t heartbeat "${workers[@]}") $(seconds "$run")"
}

# of_run TIMEOUT: print the same for 500 iterations. Runs on the login node, in an allocation.
of_run()
{
    local workers run before after
    rm -rf "$work/run"
    "$bin/raytrain-run" --launcher slurm --workers 2 --placement STRICT_SPREAD \
        --progress none --storage "$work" --name run \
        --set run_config.failure_config.node_timeout_s="$1" \
        "$work/steady.so" 100000 2>"$work/stderr" & run=$!
    reached 20 || return
    workers=($(grep -lx raytrain-worker /proc/[0-9]*/comm | cut -d/ -f3))
    before=$(spent)
    reached 520 || return
    after=$(spent)
    kill -TERM $run
    wait $run
    echo "$before $after" | awk '{ printf "%.6f %.6f %.6f\n", $4 - $1, $5 - $2, $6 - $3 }'
}

pair()
{
    local with without
    with=$(of_run 1) && without=$(of_run 0) &&
        echo "$with $without" | awk '{
            more = $2 + ($3 > $6 ? $3 - $6 : 0)
            printf "heartbeats %.6f %.6f\n", $1 + $3, $1 + $3 - more
        }'
}

sample()
{
    export work bin top
    export -f pair of_run spent seconds reached
    timeout 90 "$top/t/cluster/cluster" run 2 -- salloc --quiet --exclusive -N 2 \
        bash -c pair || { cat "$work/stderr" >&2; return 1; }
}
