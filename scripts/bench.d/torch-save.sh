# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# How long training waits for a checkpoint of 1 GiB: two workers that save in the background,
# against torch.save and fsync of the same bytes by one process, which does not train
# meanwhile.
turns=5
bytes=1073741824

rows()
{
    echo "torch-save ms <=0.2"
}

prepare()
{
    compile "$work/save.so" -shared -fPIC "$top/scripts/bench.d/save.c" \
        $(pkg-config --cflags mpich)
}

sample()
{
    local ours theirs
    "$bin/raytrain-run" --launcher local --workers 2 --progress none \
        --storage "$work" --name run "$work/save.so" stall $bytes 1 >&2 || return
    ours=$(awk '{ print $2 }' "$work/run/logs/attempt-0/rank-00000.out")
    rm -rf "$work/run"
    theirs=$(/usr/bin/python3 "$top/scripts/bench.d/torch-save.py" "$work/torch" $bytes) ||
        return
    echo "torch-save $ours $theirs"
}
