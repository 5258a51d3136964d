# shellcheck shell=bash disable=SC2034,SC2154
# map_batches() in two workers, an epoch of batches of 1,000,000 x 50 float32 from NumPy's file,
# against pandas in one process that reads the same file: the same function of a DataFrame.
turns=5

rows()
{
    echo "map-batches ms <=0.6"
}

# alone COMMAND...: as a process with one thread, and the client that is installed.
alone()
{
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PATH=$bin:$PATH \
        PYTHONPATH=$build/install/share/raytrain/python \
        /usr/bin/python3 "$top/scripts/bench.d/map-batches.py" "$@"
}

prepare()
{
    /usr/bin/python3 -c 'import pandas' && alone make "$work" && sync
}

sample()
{
    local ours theirs

    theirs=$(alone pandas "$work") && ours=$(alone train "$work") &&
        echo "map-batches $ours $theirs"
    rm -rf "$work"/run "$work"/run.*
}
