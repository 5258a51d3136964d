# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain_report() of ten metrics without a checkpoint, on two workers: against a bare
# MPI_Allreduce of the same size; and the last 1,000 of a million reports against the first.
turns=3

rows()
{
    echo "report-latency us diff<=50"
    echo "report-million us <=1.1"
}

prepare()
{
    compile "$work/report.so" -shared -fPIC "$top/scripts/bench.d/report.c" \
        $(pkg-config --cflags mpich)
}

sample()
{
    local row
    local -A count=([latency]=10000 [million]=1000000)
    for row in latency million; do
        [[ " ${chosen[*]}" == *" report-$row "* || ${chosen[0]} == "report-$row "* ]] || continue
        "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
            --name run "$work/report.so" $row ${count[$row]} >&2 || return
        echo "report-$row $(cat "$work/run/logs/attempt-0/rank-00000.out")"
        rm -rf "$work/run"
    done
}
