# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# From kill -9 of a rank to the first report of the next attempt, with four workers on four
# nodes of the test cluster. Theirs is a plain srun --mpi=pmix of a program that initialises
# PMIx and MPI on the same nodes, which is the minimum for any restart in a new step. For
# restarts in the same step, theirs is ours in a new one.
turns=1

rows()
{
    echo "restart-slurm ms ours<=1500"
    echo "restart-same-step ms ours<=700"
}

prepare()
{
    compile "$work/restart.so" -shared -fPIC "$top/scripts/bench.d/restart.c" &&
        compile "$work/hello" "$top/scripts/bench.d/pmix_hello.c" \
            $(pkg-config --cflags --libs mpich pmix)
}

# restart ARG...: print how long a restart takes.
restart()
{
    "$bin/raytrain-run" --launcher slurm --workers 4 --placement STRICT_SPREAD \
        --max-failures 1 --progress none --storage "$work" --name run "$@" \
        "$work/restart.so" >&2 2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
    cat "$work"/run/logs/attempt-*/*.out | awk '
        { at[$1] = $2 }
        END { printf "%.3f\n", (at["reported"] - at["killed"]) * 1000 }'
    rm -rf "$work/run"
}

# This runs on the login node, in an allocation, and prints the pairs.
pairs()
{
    local i new same theirs
    for ((i = 0; i < 7; i++)); do
        new=$(restart) && same=$(restart --restart same_step) || return
        theirs=$(milliseconds srun --mpi=pmix -n 4 "$work/hello") || return
        echo "restart-slurm $new $theirs"
        echo "restart-same-step $same $new"
    done
}

sample()
{
    export work bin top
    export -f restart pairs milliseconds
    "$top/t/cluster/cluster" run 4 -- salloc --quiet -N 4 -n 4 bash -c pairs
}
