# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# MLP 784-512-512-10 on Fashion-MNIST, 128 rows a worker and step, 2 workers with a thread
# each, against twice the same loop in one process that talks to nobody.
turns=7

rows()
{
    echo "mlp samples/s >=0.93"
}

prepare()
{
    examples=$top/share/examples
    compile "$work/plain" "$top/scripts/bench.d/mlp_plain.c" "$examples/mlp.c" \
        -I"$examples" $(pkg-config --cflags --libs openblas zlib) -lm &&
        compile "$work/mlp.so" -shared -fPIC "$examples/fashion_mlp.c" \
            "$examples/mlp.c" $(pkg-config --cflags --libs openblas) -lm
}

# The middle one of the figures on standard input.
middle()
{
    sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'
}

sample()
{
    local ours theirs
    theirs=$(OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$work/plain" 3 | middle) || return
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run --config "$top/share/examples/fashion_mlp.cfg" \
        --set train_loop_config.batch_size=128 --set train_loop_config.epochs=3 \
        "$work/mlp.so" >&2 || return
    ours=$(jq -r .samples_per_s "$work/run/result.json" | middle)
    rm -rf "$work/run"
    echo "mlp $ours $(awk "BEGIN { print 2 * $theirs }")"
}
