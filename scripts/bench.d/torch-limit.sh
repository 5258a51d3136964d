# shellcheck shell=bash disable=SC2034,SC2154
# The MLP of torch.sh, workers with one thread each: samples/s with raytrain's averaging of
# gradients, beside the same workers in the same run when they do not average (torch-limit), and
# beside gloo under raytrain-run (torch-ddp-8). With 8 workers where there are 16 CPUs.
turns=5
steps=300

rows()
{
    echo "torch-limit samples/s >=0.85"
    [ "$(nproc)" -ge 16 ] || return 0
    echo "torch-limit-8 samples/s >=0.85"
    echo "torch-ddp-8 samples/s >=1.3"
}

prepare()
{
    export OMP_NUM_THREADS=1
}

# run PREPARE WORKERS
run()
{
    rm -rf "$work/run"
    "$bin/raytrain-run" --launcher local --workers "$2" --progress none --show none \
        --storage "$work" --name run --backend torch -- /usr/bin/python3 "$top/scripts/bench.d/torch-mlp.py" \
        "$1" "$steps" 2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
}

# result NAME: the number that rank 0 has printed.
result()
{
    awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' \
        "$work/run/logs/attempt-0/rank-00000.out"
}

# limit WORKERS: the rates with averaging and without.
limit()
{
    run limit "$1" && echo "$(result rate) $(result none)"
}

sample()
{
    local ours none
    limit 2 >"$work/two" || return
    echo "torch-limit $(cat "$work/two")"
    [ "$(nproc)" -ge 16 ] || return 0
    limit 8 >"$work/eight" && read -r ours none <"$work/eight" || return
    echo "torch-limit-8 $ours $none"
    run gloo 8 && echo "torch-ddp-8 $ours $(result rate)"
}
