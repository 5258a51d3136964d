# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain-run with an empty training function, against mpiexec.hydra with an MPI hello.
turns=15

rows()
{
    echo "start-local ms <=1.6"
}

prepare()
{
    compile "$work/empty.so" -shared -fPIC "$top/scripts/bench.d/empty.c" &&
        compile "$work/hello" "$top/scripts/bench.d/mpi_hello.c" \
            $(pkg-config --cflags --libs mpich)
}

sample()
{
    local ours theirs
    ours=$(milliseconds "$bin/raytrain-run" --launcher local --workers 2 --fresh \
        --progress none --storage "$work" --name run "$work/empty.so") || return
    rm -rf "$work"/run*
    theirs=$(milliseconds mpiexec.hydra -n 2 "$work/hello") || return
    echo "start-local $ours $theirs"
}
