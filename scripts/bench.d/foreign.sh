# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Opening a 1 GiB HDF5 file that h5py wrote and reading all of it, by one worker, against h5py
# reading it: into memory that has been touched, from a warm cache. They take turns in going
# first.
turns=8
bytes=1073741824

rows()
{
    echo "foreign ms <=1.0"
}

prepare()
{
    /usr/bin/python3 "$top/scripts/bench.d/foreign.py" make "$work/other.h5" $bytes >&2 &&
        compile "$work/foreign.so" -shared -fPIC "$top/scripts/bench.d/foreign.c" && sync
}

ours()
{
    "$bin/raytrain-run" --launcher local --workers 1 --progress none \
        --storage "$work" --name run "$work/foreign.so" "$work/other.h5" 5 >&2 &&
        cat "$work/run/logs/attempt-0/rank-00000.out" && rm -rf "$work/run"
}

theirs()
{
    /usr/bin/python3 "$top/scripts/bench.d/foreign.py" read "$work/other.h5" 5
}

sample()
{
    local ours theirs
    if [ $(($1 % 2)) -eq 0 ]; then
        ours=$(ours) && theirs=$(theirs)
    else
        theirs=$(theirs) && ours=$(ours)
    fi || return
    echo "foreign $ours $theirs"
}
