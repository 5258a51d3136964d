# shellcheck shell=bash disable=SC2034,SC2154
# With an NVIDIA GPU, CUDA and NCCL. A checkpoint of 4 GiB on the GPU: how long training waits
# for it, against one cudaMemcpyAsync() of the bytes to pinned memory, and if the memory is
# handed over; getting it back, verified, against read() and cudaMemcpy(). A sum of 4 MiB over
# all GPUs of this machine against ncclAllReduce(); with one GPU, what the call costs more.
turns=5
gib4=4294967296

rows()
{
    echo "device-stall ms <=1.05"
    echo "device-give ms ours<=5"
    echo "device-restore ms <=1.0"
    if [ "$(devices)" -gt 1 ]; then
        echo "device-allreduce us <=1.02"
    else
        echo "device-allreduce us diff<=5"
    fi
}

devices()
{
    nvidia-smi -L 2>/dev/null | grep -c '^GPU'
}

prepare()
{
    cuda=${CUDA_HOME:-/usr/local/cuda}
    [ "$(devices)" -gt 0 ] ||
        { echo >&2 "bench: the rows device-* need an NVIDIA GPU, and nvidia-smi -L lists none"
          return 1; }
    compile "$work/device.so" -shared -fPIC "$top/scripts/bench.d/device.c" \
        -I"$cuda/include" -L"$cuda/lib64" -Wl,-rpath,"$cuda/lib64" -lcudart -lnccl ||
        { echo >&2 "bench: the rows device-* need CUDA and NCCL, with their headers: set CUDA_HOME"
          return 1; }
}

sample()
{
    local row bytes workers
    for row in device-stall device-give device-restore device-allreduce; do
        [[ " ${chosen[*]}" == *" $row "* ]] || continue
        workers=1 bytes=$gib4
        [ $row != device-allreduce ] || { workers=$(devices) bytes=4194304; }
        "$bin/raytrain-run" --launcher local --gpu --workers "$workers" --progress none \
            --storage "$work" --name run "$work/device.so" $row $bytes 3 >&2 || return
        cat "$work/run/logs/attempt-0/rank-00000.out"
        rm -rf "$work/run"
    done
}
