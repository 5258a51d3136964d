# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Training of the quick start's network on Fashion-MNIST in HDF5, shuffled in windows and read
# ahead by raytrain, against the same batches from memory, by one worker on one core: what
# reads ahead takes its time from training. 128 rows in a step. A run's second epoch is timed;
# the two take turns within it, a stretch of steps at a time (training.c).
turns=7

rows()
{
    echo "data-training samples/s >=0.98"
}

prepare()
{
    local examples=$top/share/examples
    /usr/bin/python3 "$top/scripts/bench.d/training.py" "$work/images.h5" >&2 &&
        compile "$work/training.so" -shared -fPIC "$top/scripts/bench.d/training.c" \
            "$examples"/mlp{,_cpu}.c -I"$examples" $(pkg-config --cflags --libs openblas) -lm && sync
}

sample()
{
    taskset -c 0 "$bin/raytrain-run" --launcher local --workers 1 --progress none \
        --storage "$work" --name run --dataset "train=$work/images.h5" \
        --set datasets.train.shuffle=true --set datasets.train.shuffle_window=20000 \
        "$work/training.so" >&2 &&
        echo "data-training $(cat "$work/run/logs/attempt-0/rank-00000.out")" &&
        rm -rf "$work/run"
}
