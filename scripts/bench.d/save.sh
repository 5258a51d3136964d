# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# A checkpoint of 1 GiB by 2 workers on the local disk: a durable one, against one process that
# writes the same bytes and syncs; and how long training waits for one in the background,
# against copying the same bytes, divided in the same way, into warm memory.
turns=3
bytes=1073741824

rows()
{
    echo "save-replicated ms <=1.1"
    echo "save-sharded ms <=1.05"
    echo "stall ms <=1.2"
}

prepare()
{
    compile "$work/save.so" -shared -fPIC "$top/scripts/bench.d/save.c" \
        $(pkg-config --cflags mpich)
}

sample()
{
    local row mode
    for row in save-replicated save-sharded stall; do
        [[ " ${chosen[*]}" == *" $row "* ]] || continue
        mode=sync
        [ $row = stall ] && mode=async
        "$bin/raytrain-run" --launcher local --workers 2 --progress none \
            --storage "$work" --name run --set run_config.checkpoint_config.mode=$mode \
            "$work/save.so" $row $bytes 3 >&2 || return
        cat "$work/run/logs/attempt-0/rank-00000.out"
        rm -rf "$work/run"
    done
}
