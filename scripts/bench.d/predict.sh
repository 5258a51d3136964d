# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain-predict with the network of the quick start, 784-512-512-10, on the images of
# Fashion-MNIST four times over, on 2 workers with one thread each, against twice the speed of
# the same computation in a single process. The speed is that of its last report: from the first
# batch until all parts are on disk, without the start and without the output being put
# together.
turns=7

rows()
{
    echo "predict rows/s >=0.95"
}

prepare()
{
    examples=$top/share/examples
    images=/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
    gzip -dc "$images" >"$work/images0.idx" || return
    for k in 1 2 3; do
        ln -sf images0.idx "$work/images$k.idx"
    done
    compile "$work/plain" "$top/scripts/bench.d/predict_plain.c" "$examples"/mlp{,_cpu}.c \
        -I"$examples" $(pkg-config --cflags --libs openblas) -lm &&
        compile "$work/mlp.so" -shared -fPIC "$examples/fashion_mlp.c" \
            "$examples"/mlp{,_cpu}.c $(pkg-config --cflags --libs openblas) -lm &&
        "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
            --name run --config "$examples/fashion_mlp.cfg" \
            --set train_loop_config.epochs=1 "$work/mlp.so" >&2
}

ours()
{
    "$bin/raytrain-predict" --launcher local --workers 2 --progress none --keep-run \
        --checkpoint "$work/run" --data "$work/images*.idx" -o "$work/out.h5" \
        "$work/mlp.so" >&2 || return
    jq -r .rows_per_s "$work/out.h5.run/result.json" | tail -n 1
    rm -rf "$work/out.h5.run"
}

sample()
{
    local ours theirs
    theirs=$(OPENBLAS_NUM_THREADS=1 "$work/plain" "$work/images0.idx" 4) &&
        ours=$(ours) || return
    echo "predict $ours $(awk "BEGIN { print 2 * $theirs }")"
}
