# shellcheck shell=bash disable=SC2034,SC2154
# An MLP with PyTorch's DistributedDataParallel, two workers with one thread each. torch-start is
# from the command to the end of the first training step, against torchrun; torch-start-hand
# against the same processes with their variables set by hand. torch-ddp is samples/s with
# raytrain's averaging of gradients, torch-gloo with gloo in both, against torchrun.
turns=5
steps=300

rows()
{
    echo "torch-start ms <=0.526"
    echo "torch-start-hand ms diff<=200"
    echo "torch-ddp samples/s >=1.5"
    echo "torch-gloo samples/s >=0.98"
}

prepare()
{
    script=$top/scripts/bench.d/torch-mlp.py
    export OMP_NUM_THREADS=1
}

# result NAME FILE: the number that rank 0 has printed.
result()
{
    awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' "$2"
}

# since START FILE: milliseconds from START to the end of the first step.
since()
{
    awk -v start="${1/,/.}" -v first="$(result first "$2")" \
        'BEGIN { if (first == "") exit 1; printf "%.3f\n", (first - start) * 1000 }'
}

# ours PREPARE STEPS
ours()
{
    rm -rf "$work/run"
    "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run --backend torch -- /usr/bin/python3 "$script" "$1" "$2" \
        2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
    cp "$work/run/logs/attempt-0/rank-00000.out" "$work/out"
}

# Debian's torchrun needs -r and -t on Python 3.11.
torchrun_()
{
    rm -rf "$work/torch"
    /usr/bin/python3 -m torch.distributed.run --standalone --nproc_per_node 2 -r 9:1 \
        -t 9:1 --log_dir "$work/torch" "$script" plain "$1" >"$work/out" \
        2>"$work/stderr" || { cat "$work/stderr" >&2; return 1; }
}

by_hand()
{
    local rank port
    port=$(/usr/bin/python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])')
    begun=$EPOCHREALTIME
    for rank in 1 0; do
        RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 \
            MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            /usr/bin/python3 "$script" plain "$1" >"$work/out.$rank" 2>"$work/err.$rank" &
    done
    wait
    cp "$work/out.0" "$work/out"
}

sample()
{
    local a b c begun
    begun=$EPOCHREALTIME
    ours raytrain 1 && a=$(since "$begun" "$work/out") || return
    begun=$EPOCHREALTIME
    torchrun_ 1 && b=$(since "$begun" "$work/out") || return
    by_hand 1 && c=$(since "$begun" "$work/out") || return
    echo "torch-start $a $b"
    echo "torch-start-hand $a $c"
    ours raytrain $steps && a=$(result rate "$work/out") || return
    torchrun_ $steps && b=$(result rate "$work/out") || return
    ours gloo $steps && c=$(result rate "$work/out") || return
    echo "torch-ddp $a $b"
    echo "torch-gloo $c $b"
}
