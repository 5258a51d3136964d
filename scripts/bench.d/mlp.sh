# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# MLP 784-512-512-10 on Fashion-MNIST, 128 rows per worker and step, 2 workers with one thread
# each, against twice the speed of the same loop in a single process. The second row is for
# information: against two such processes at the same time, which is the speed of the machine
# without communication. Many short turns, because the speed of a machine changes within
# seconds.
turns=11

rows()
{
    echo "mlp samples/s >=0.95"
    echo "mlp-beside samples/s >=0"
}

prepare()
{
    examples=$top/share/examples
    compile "$work/plain" "$top/scripts/bench.d/mlp_plain.c" "$examples"/mlp{,_cpu}.c \
        -I"$examples" $(pkg-config --cflags --libs openblas zlib) -lm &&
        compile "$work/mlp.so" -shared -fPIC "$examples/fashion_mlp.c" \
            "$examples"/mlp{,_cpu}.c $(pkg-config --cflags --libs openblas) -lm
}

# Print samples/s of one process in its second epoch; the first one is for warming up.
plain()
{
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$work/plain" 2 | tail -n 1
}

ours()
{
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run --config "$top/share/examples/fashion_mlp.cfg" \
        --set train_loop_config.batch_size=128 --set train_loop_config.epochs=2 \
        "$work/mlp.so" >&2 || return
    jq -r .samples_per_s "$work/run/result.json" | tail -n 1
    rm -rf "$work/run"
}

sample()
{
    local ours theirs other
    theirs=$(plain) && ours=$(ours) || return
    plain >"$work/other" &
    other=$(plain) && wait $! || return
    echo "mlp $ours $(awk "BEGIN { print 2 * $theirs }")"
    echo "mlp-beside $ours $(awk "BEGIN { print $other + $(cat "$work/other") }")"
}
