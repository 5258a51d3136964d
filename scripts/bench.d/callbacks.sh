# shellcheck shell=bash disable=SC2034,SC2154
# A run of one worker that reports ten metrics about 1,000 times a second: with all callbacks
# against none.
turns=5
count=4000

rows()
{
    echo "callbacks-all s <=1.02"
}

prepare()
{
    compile "$work/callbacks.so" -shared -fPIC "$top/scripts/bench.d/callbacks.c" &&
        compile "$work/print.so" -shared -fPIC "$top/share/examples/callbacks/print.c"
}

# seconds LIST: of a run with these callbacks.
seconds()
{
    "$bin/raytrain-run" --launcher local --progress none --storage "$work" --name run \
        --set "run_config.callbacks=$1" "$work/callbacks.so" "$count" >&2 || return
    cat "$work/run/logs/attempt-0/rank-00000.out"
    rm -rf "$work/run"
}

sample()
{
    local ours theirs
    local all="(\"json\", \"csv\", \"tensorboard\", \"prometheus\", { type = \"command\";
        argv = [\"sh\", \"-c\", \"exec cat >/dev/null\"]; },
        { type = \"library\"; path = \"$work/print.so\"; args = [\"a\"]; })"
    if [ $(($1 % 2)) -eq 0 ]; then
        ours=$(seconds "$all") && theirs=$(seconds "()") || return
    else
        theirs=$(seconds "()") && ours=$(seconds "$all") || return
    fi
    echo "callbacks-all $ours $theirs"
}
