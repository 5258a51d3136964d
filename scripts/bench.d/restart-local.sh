# shellcheck shell=bash disable=SC2034,SC2154
# From kill -9 of a rank to the first report of the next attempt, with two workers on this
# machine, against the restart of the same job by torchrun.

rows()
{
    echo "restart-local ms ours<=500"
}

prepare()
{
    compile "$work/restart.so" -shared -fPIC "$top/scripts/bench.d/restart.c"
}

# between FILE...: print the milliseconds from "killed" to "reported" in the workers' output.
between()
{
    cat "$@" | awk '
        { at[$1] = $2 }
        END {
            if (!("killed" in at) || !("reported" in at)) exit 1
            printf "%.3f\n", (at["reported"] - at["killed"]) * 1000
        }'
}

sample()
{
    local ours theirs
    "$bin/raytrain-run" --launcher local --workers 2 --max-failures 1 --fresh \
        --progress none --storage "$work" --name run "$work/restart.so" \
        >&2 2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
    ours=$(between "$work"/run/logs/attempt-*/*.out) || return
    rm -rf "$work"/run* "$work/model"
    # Debian's torchrun needs -r and -t on Python 3.11.
    /usr/bin/python3 -m torch.distributed.run --standalone --nproc_per_node 2 -r 9:1 -t 9:1 \
        --max_restarts 1 --log_dir "$work/torch" "$top/scripts/bench.d/restart.py" \
        "$work/model" >"$work/stdout" 2>"$work/stderr" ||
        { cat "$work/stderr" >&2; return 1; }
    theirs=$(between "$work/stdout") || return
    rm -rf "$work/torch"
    echo "restart-local $ours $theirs"
}
