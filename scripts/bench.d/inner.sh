# shellcheck shell=bash disable=SC2034,SC2154
# A tensor of 256 MiB that 8 ranks have in columns, 32 bytes of each row: saving it against
# saving the same bytes in rows, and what all ranks read to restore their columns against what
# they get. They take turns in going first.
turns=5

rows()
{
    echo "save-inner s <=2"
    echo "restore-inner MiB <=1.5"
}

prepare()
{
    make -C "$build" scripts/bench.d/inner >&2
}

sample()
{
    local inner=$build/scripts/bench.d/inner order="columns rows" cut
    local -A took
    [ $(($1 % 2)) -eq 0 ] || order="rows columns"
    for cut in $order; do
        sync
        took[$cut]=$(mpiexec.hydra -n 8 "$inner" save "$work/$cut.h5" $cut) || return
    done
    echo "save-inner ${took[columns]} ${took[rows]}"
    echo "restore-inner $(mpiexec.hydra -n 8 "$inner" restore "$work/columns.h5")"
    rm "$work/columns.h5" "$work/rows.h5"
}
