# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# With an NVIDIA GPU, nvcc and cuBLAS, and PyTorch for CUDA (DEVICE_PYTHON, default python3): the
# MLP of the row mlp on one GPU, against the same network, batches and optimizer in PyTorch.
turns=5

rows()
{
    echo "mlp-device samples/s >=1.0"
}

prepare()
{
    local examples=$top/share/examples cuda=${CUDA_HOME:-/usr/local/cuda}
    python=${DEVICE_PYTHON:-python3}
    nvidia-smi -L 2>/dev/null | grep -q '^GPU' ||
        { echo >&2 "bench: mlp-device needs an NVIDIA GPU, and nvidia-smi -L lists none"
          return 1; }
    "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
        { echo >&2 "bench: mlp-device needs PyTorch for CUDA: set DEVICE_PYTHON to a python that has it"
          return 1; }
    PATH=$PATH:$cuda/bin nvcc -O2 -Xcompiler -fPIC -c -o "$work/mlp_cuda.o" \
        "$examples/mlp_cuda.cu" &&
        compile "$work/mlp.so" -shared -fPIC "$examples/fashion_mlp.c" "$examples/mlp.c" \
            "$work/mlp_cuda.o" -L"$cuda/lib64" -Wl,-rpath,"$cuda/lib64" -lcublas -lcudart \
            -lstdc++ -lm
}

sample()
{
    "$bin/raytrain-run" --launcher local --gpu --workers 1 --progress none --storage "$work" \
        --name run --config "$top/share/examples/fashion_mlp.cfg" \
        --set train_loop_config.batch_size=128 --set train_loop_config.epochs=3 \
        "$work/mlp.so" >&2 || return
    echo "mlp-device $(tail -n 1 "$work/run/result.json" | jq -r .samples_per_s)" \
        "$("$python" "$top/scripts/bench.d/mlp-device.py" 3)"
    rm -rf "$work/run"
}
