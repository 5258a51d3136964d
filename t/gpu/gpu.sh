# gpu.sh - sourced after setup.sh by scripts that need an NVIDIA GPU, and CUDA to compile with:
# nvcc, the runtime and cuBLAS, in CUDA_HOME or /usr/local/cuda. Debian has them outside of its
# main archive only. The script fails without them: it was asked to show what a GPU does.

cuda=${CUDA_HOME:-/usr/local/cuda}
PATH=$PATH:$cuda/bin
devices=$(nvidia-smi -L 2>/dev/null | grep -c "^GPU")
run="raytrain-run --launcher local --storage runs"

test_expect_success 'there is an NVIDIA GPU (nvidia-smi -L lists it)' '
	test "$devices" -gt 0
'
test_expect_success 'there is CUDA to compile with (set CUDA_HOME)' '
	command -v nvcc && test -f "$cuda/include/cuda_runtime.h" && test -d "$cuda/lib64"
'
test "$test_failure" -eq 0 || test_done

# compile_c OUTPUT SOURCE...: a training function for GPUs.
compile_c () {
	output=$1 && shift &&
	${CC:-cc} -O2 -shared -fPIC -o "$output" "$@" -I"$stage/include" -I"$cuda/include" \
		-L"$cuda/lib64" -Wl,-rpath,"$cuda/lib64" -lcublas -lcudart -lstdc++ -lm
}
