# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# What the code for GPUs costs a training on the host: this raytrain against the one before
# that code was there, built from the history in the same way, with the same training functions,
# in turns. The MLP as in the row mlp; a durable save of 256 MiB to memory, and how long training
# waits for one in the background, as in save.sh. Every change since then counts, for better or
# worse.
turns=15
bytes=268435456

rows()
{
    echo "device-seam-mlp samples/s >=0.99"
    echo "device-seam-save ms <=1.01"
    echo "device-seam-stall ms <=1.01"
}

# The last version without src/worker/device; it is built once, which takes minutes.
before()
{
    local first commit
    first=$(git -C "$top" log --diff-filter=A --format=%H -- src/worker/device/device.c |
        tail -n 1)
    if ! commit=$(git -C "$top" rev-parse --quiet --verify "${first:-none}~1"); then
        echo >&2 "bench: device-seam needs the history of git, as a full clone has it"
        return 1
    fi
    old=$build/bench.before-devices
    [ "$(cat "$old/commit" 2>/dev/null)" != "$commit" ] || return 0
    rm -rf "$old" && mkdir -p "$old/source" &&
        git -C "$top" archive "$commit" | tar -x -C "$old/source" || return
    if ! (cd "$old/source" && autoreconf -i && mkdir build && cd build &&
        ../configure --prefix="$old/install" && make -j"$(nproc)" install) >"$old/log" 2>&1
    then
        tail -n 20 "$old/log" >&2
        return 1
    fi
    echo "$commit" >"$old/commit"
}

prepare()
{
    local examples=$top/share/examples
    before &&
        compile "$work/mlp.so" -shared -fPIC "$examples/fashion_mlp.c" \
            "$examples"/mlp{,_cpu}.c $(pkg-config --cflags --libs openblas) -lm &&
        compile "$work/save.so" -shared -fPIC "$top/scripts/bench.d/save.c" \
            $(pkg-config --cflags mpich) &&
        shm=$(mktemp -d /dev/shm/raytrain-bench.XXXXXX) && trap 'rm -rf "$shm"' EXIT
}

# run BIN STORAGE ARG...
run()
{
    local from=$1 storage=$2
    shift 2
    rm -rf "$storage/run"
    "$from/raytrain-run" --launcher local --workers 2 --progress none \
        --storage "$storage" --name run "$@" >&2
}

# number ROW BIN
number()
{
    local mode=sync row=save-replicated
    if [ "$1" = device-seam-mlp ]; then
        run "$2" "$work" --config "$top/share/examples/fashion_mlp.cfg" \
            --set train_loop_config.batch_size=128 --set train_loop_config.epochs=2 \
            "$work/mlp.so" && tail -n 1 "$work/run/result.json" | jq -r .samples_per_s
        return
    fi
    [ "$1" = device-seam-save ] || { mode=async; row=stall; }
    run "$2" "$shm" --set run_config.checkpoint_config.mode=$mode "$work/save.so" $row \
        $bytes 5 || return
    awk '{ print $2 }' "$shm/run/logs/attempt-0/rank-00000.out" | sort -n | sed -n 3p
}

sample()
{
    local row ours theirs
    for row in device-seam-mlp device-seam-save device-seam-stall; do
        [[ " ${chosen[*]}" == *" $row "* ]] || continue
        if [ $(($1 % 2)) -eq 0 ]; then
            ours=$(number $row "$bin") && theirs=$(number $row "$old/install/bin")
        else
            theirs=$(number $row "$old/install/bin") && ours=$(number $row "$bin")
        fi || return
        [ -n "$ours" ] && [ -n "$theirs" ] || return
        echo "$row $ours $theirs"
    done
}
