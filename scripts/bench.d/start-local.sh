# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain-run with an empty training function, against mpiexec.hydra with an MPI hello: with 2
# workers, and with 8 and 32, more than there are processors on a small machine. MPI_Init takes
# nearly all of the processor time of the latter, here and there.
turns=15

rows()
{
    echo "start-local ms <=1.6"
    echo "start-local-8 ms ours<=500"
    echo "start-local-32 ms ours<=2000"
}

prepare()
{
    compile "$work/empty.so" -shared -fPIC "$top/scripts/bench.d/empty.c" &&
        compile "$work/hello" "$top/scripts/bench.d/mpi_hello.c" \
            $(pkg-config --cflags --libs mpich)
}

# pair ROW N: measure both with N processes.
pair()
{
    local ours theirs
    wanted "$1" || return 0
    ours=$(milliseconds "$bin/raytrain-run" --launcher local --workers "$2" --fresh \
        --progress none --storage "$work" --name run "$work/empty.so") || return
    rm -rf "$work"/run*
    theirs=$(milliseconds mpiexec.hydra -n "$2" "$work/hello") || return
    echo "$1 $ours $theirs"
}

# 32 take seconds: in every third turn.
sample()
{
    pair start-local 2 && pair start-local-8 8 || return
    [ $(($1 % 3)) -ne 0 ] || pair start-local-32 32
}
