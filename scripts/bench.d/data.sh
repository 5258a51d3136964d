# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Batches of a dataset in HDF5, from a warm cache.
#   data-window   images of float32, shuffled in windows, by one worker on one core, against
#                 copying as many bytes in memory, from one place that has them all to one
#                 that has a batch and is used again and again
#   data-deflate  the same compressed, by two workers in file order, against two processes with
#                 h5py that read half of the file each
turns=5
images=300000
packed=40000

rows()
{
    echo "data-window ms <=2.0"
    echo "data-deflate ms <=0.667"
}

prepare()
{
    /usr/bin/python3 "$top/scripts/bench.d/data.py" make "$work/plain.h5" $images >&2 &&
        /usr/bin/python3 "$top/scripts/bench.d/data.py" make "$work/packed.h5" $packed gzip >&2 &&
        compile "$work/data.so" -shared -fPIC "$top/scripts/bench.d/data.c" && sync
}

# ours CORES FILE WORKERS KEYS [ARG...]: prints what the training function prints.
ours()
{
    local cores=$1 file=$2 workers=$3 keys=$4
    shift 4
    echo "datasets = { d = { path = \"$file\"; $keys }; };" >"$work/data.cfg"
    taskset -c "$cores" "$bin/raytrain-run" -c "$work/data.cfg" --launcher local --workers "$workers" \
        --progress none --storage "$work" --name run "$work/data.so" "$@" >&2 &&
        cat "$work/run/logs/attempt-0/rank-00000.out" && rm -rf "$work/run"
}

sample()
{
    local window packed theirs
    window=$(ours 0 "$work/plain.h5" 1 'shuffle = true; shuffle_window = 20000;' copy) ||
        return
    if [ $(($1 % 2)) -eq 0 ]; then
        packed=$(ours 0,1 "$work/packed.h5" 2 '') &&
            theirs=$(/usr/bin/python3 "$top/scripts/bench.d/data.py" read "$work/packed.h5")
    else
        theirs=$(/usr/bin/python3 "$top/scripts/bench.d/data.py" read "$work/packed.h5") &&
            packed=$(ours 0,1 "$work/packed.h5" 2 '')
    fi || return
    echo "data-window $window"
    echo "data-deflate ${packed% *} $theirs"
}
