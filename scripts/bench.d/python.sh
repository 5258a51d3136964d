# shellcheck shell=bash disable=SC2034,SC2154
# The Python module, with two workers on this machine. report: raytrain.report() without a
# checkpoint. torch-stall: how long a report with a state_dict of 256 MiB takes, against copying
# the same tensors into memory that has been written before; torch-stall-save: against torch.save
# and fsync, for information. torch-restart: from kill -9 of a rank to the first report of the next
# attempt, less the time in which that imports torch. import: `import raytrain`.
turns=5

rows()
{
    echo "python-report ms ours<=0.5"
    echo "python-import ms ours<=30"
    echo "torch-stall ms <=1.25"
    echo "torch-stall-save ms <=1"
    echo "torch-restart ms ours<=500"
}

prepare()
{
    script=$top/scripts/bench.d/torch-session.py
    export OMP_NUM_THREADS=1
}

# session OPTION... -- ARG...: the figures of rank 0 in $work/out.
session()
{
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    rm -rf "$work/run"
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run --backend torch "${options[@]}" -- /usr/bin/python3 "$script" "${@:2}" \
        2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
    cat "$work"/run/logs/attempt-*/rank-*.out >"$work/out"
}

imported()
{
    PYTHONPATH=$build/install/share/raytrain/python /usr/bin/python3 -c '
import time
begun = time.perf_counter()
import raytrain
print("%.3f" % ((time.perf_counter() - begun) * 1000))'
}

sample()
{
    local stall
    session -- report && echo "python-report $(cat "$work/out") 0.5" || return
    echo "python-import $(imported) 30"
    session -- stall "$work/saved" && mapfile -t stall <"$work/out" || return
    echo "torch-stall ${stall[0]} ${stall[1]}"
    echo "torch-stall-save ${stall[0]} ${stall[2]}"
    session --max-failures 1 -- restart || return
    awk '{ at[$1] = $2 }
        END {
            printf "torch-restart %.3f 500\n",
                (at["reported"] - at["killed"] - at["imported"]) * 1000
        }' "$work/out"
}
