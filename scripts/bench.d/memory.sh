# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Peak resident memory of a worker, against the memory that its training function allocated.
turns=3

rows()
{
    echo "memory MiB diff<=40"
}

prepare()
{
    compile "$work/memory.so" -shared -fPIC "$top/scripts/bench.d/memory.c"
}

sample()
{
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run "$work/memory.so" >&2 || return
    echo "memory $(jq -s 'map(.peak_mib) | max' "$work/run/result.json") 64"
    rm -rf "$work/run"
}
