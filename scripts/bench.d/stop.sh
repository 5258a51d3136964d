# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# From SIGUSR1 to raytrain-run to its end with status 75 and a checkpoint of 100 MiB, with two
# workers on this machine. Ours is that time minus one step of the training (0.1 s), for which
# the signal may have to wait; theirs is such a step.
turns=7

rows()
{
    echo "stop ms ours<=1000"
}

prepare()
{
    compile "$work/stop.so" -shared -fPIC "$top/scripts/bench.d/stop.c"
}

sample()
{
    local start end run status
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run \
        --set run_config.checkpoint_config.checkpoint_frequency=1000000 "$work/stop.so" 100000 2>"$work/stderr" & run=$!
    until grep -qs '"training_iteration":3' "$work/run/result.json"; do
        kill -0 $run || { cat "$work/stderr" >&2; return 1; }
        sleep 0.01
    done
    start=$EPOCHREALTIME
    kill -USR1 $run
    wait $run
    status=$?
    end=$EPOCHREALTIME
    [ $status -eq 75 ] || { cat "$work/stderr" >&2; return 1; }
    ls "$work"/run/checkpoint_*.h5 >/dev/null || return
    rm -rf "$work/run"
    awk -v s="$start" -v e="$end" 'BEGIN { printf "stop %.1f 100\n", (e - s) * 1000 - 100 }'
}
