# shellcheck shell=bash disable=SC2034,SC2154
# What it costs a training with one worker to show 100,000 lines of output in a terminal,
# compared with --show none. The terminal is that of script(1).
turns=5

rows()
{
    echo "show-100000-lines s <=1.02"
}

prepare()
{
    compile "$work/show.so" -shared -fPIC "$top/scripts/bench.d/show.c"
}

# seconds RANKS: print how long the training took.
seconds()
{
    TERM=xterm script -qec "$bin/raytrain-run --launcher local --workers 1 --show $1 \
        --storage $work --name run $work/show.so $work/seconds" /dev/null \
        >/dev/null 2>&1 </dev/null || return
    cat "$work/seconds"
    rm -rf "$work/run"
}

sample()
{
    local shown none
    if [ $(($1 % 2)) = 0 ]; then
        shown=$(seconds rank0) && none=$(seconds none)
    else
        none=$(seconds none) && shown=$(seconds rank0)
    fi && echo "show-100000-lines $shown $none"
}
