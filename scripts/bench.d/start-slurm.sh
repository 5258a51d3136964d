# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain-run with an empty training function in a Slurm allocation, against a plain srun
# --mpi=pmix of a program that initialises PMIx and MPI, on the test cluster.
turns=1

rows()
{
    echo "start-slurm ms <=1.25"
}

prepare()
{
    compile "$work/empty.so" -shared -fPIC "$top/scripts/bench.d/empty.c" &&
        compile "$work/hello" "$top/scripts/bench.d/pmix_hello.c" \
            $(pkg-config --cflags --libs mpich pmix)
}

# This runs on the login node, in an allocation, and prints the pairs.
pairs()
{
    local i ours theirs
    for ((i = 0; i < 15; i++)); do
        ours=$(milliseconds "$bin/raytrain-run" --launcher slurm --workers 2 \
            --progress none --storage "$work" --name run "$work/empty.so") || return
        rm -rf "$work/run"
        theirs=$(milliseconds srun --mpi=pmix -n 2 "$work/hello") || return
        echo "start-slurm $ours $theirs"
    done
}

sample()
{
    export work bin top
    export -f pairs milliseconds
    "$top/t/cluster/cluster" run 1 -- salloc --quiet -N 1 -n 2 bash -c pairs
}
