# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Restoring a checkpoint of 1 GiB with verification on two ranks, both of which read all of it,
# against read() of the same bytes in the same two processes, from a warm cache: into new
# memory, as in a worker that has just started, and into memory that was used before, where
# only memory bandwidth matters and half of the bytes are read twice. One process that verifies
# with all cores against one that reads. They take turns in going first. Saving and restoring
# 10,000 tensors of 4 KiB against two seconds. The size of files against that of their tensors.
turns=8
gib=1073741824

rows()
{
    echo "restore s <=1.3"
    echo "restore-warm s <=1.5"
    echo "verify s <=1"
    echo "tensors s <=1"
    echo "file-size MiB <=1.01"
    echo "file-size-tensors MiB <=1.05"
}

prepare()
{
    make -C "$build" scripts/bench.d/restore >&2 &&
        mpiexec.hydra -n 2 "$build/scripts/bench.d/restore" \
            save "$work/large.h5" $gib 128 >"$work/large" && sync
}

# ratio NAME BYTES PAYLOAD
sizes()
{
    awk -v row="$1" -v a="$2" -v b="$3" \
        'BEGIN { printf "%s %.3f %.3f\n", row, a / 1048576, b / 1048576 }'
}

sample()
{
    local restore=$build/scripts/bench.d/restore kind ours theirs seconds bytes payload
    local first=ours
    [ $(($1 % 2)) -eq 0 ] || first=theirs
    mpiexec.hydra -n 2 "$restore" read "$work/large.h5" 128 $first >"$work/read" || return
    while read -r kind ours theirs; do
        echo "restore${kind#fresh} $ours $theirs" | sed 's/restorewarm/restore-warm/'
    done <"$work/read"
    echo "verify $("$restore" verify "$work/large.h5" $first)"
    read -r seconds bytes payload <"$work/large"
    sizes file-size "$bytes" "$payload"
    mpiexec.hydra -n 2 "$restore" save "$work/small.h5" 40960000 10000 \
        >"$work/small" || return
    read -r seconds bytes payload <"$work/small"
    echo "tensors $seconds 2"
    sizes file-size-tensors "$bytes" "$payload"
    rm "$work/small.h5"
}
