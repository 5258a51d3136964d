# shellcheck shell=bash disable=SC2034,SC2154
# What scripts in Python wait for, with two workers on this machine. fit-empty: fit() of a function
# that does nothing. report-directory-small, report-directory: a report with a directory that has a
# file of 1 kB, one of 10 MB, the latter against copying these into memory that has been written
# before. torch-loader: an epoch of a DataLoader of prepare_data_loader(), against one whose position
# is not kept.
turns=5

rows()
{
    echo "fit-empty ms ours<=500"
    echo "report-directory-small ms ours<=5"
    echo "report-directory ms <=2"
    echo "torch-loader ms <=1.01"
}

prepare()
{
    script=$top/scripts/bench.d/python-fit.py
    export OMP_NUM_THREADS=1 PYTHONPATH=$build/install/share/raytrain/python
}

# session ARG...: what rank 0 prints.
session()
{
    rm -rf "$work/run"
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --show none \
        --storage "$work" --name run --backend torch -- /usr/bin/python3 "$script" "$@" \
        2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
    cat "$work/run/logs/attempt-0/rank-00000.out"
}

sample()
{
    local figures
    rm -rf "$work/fit"
    figures=$(/usr/bin/python3 "$script" fit "$work") || return
    echo "fit-empty $figures 500"
    figures=$(session report 1000) || return
    echo "report-directory-small ${figures% *} 5"
    figures=$(session report 10000000) || return
    echo "report-directory $figures"
    figures=$(session loader "$1") || return
    echo "torch-loader $figures"
}
