#!/bin/sh
test_description='the MLP of share/examples on real GPUs, by cuBLAS, against the same on the CPU'
. "$(dirname "$0")/../setup.sh"
. "$srcdir/t/gpu/gpu.sh"

examples=$srcdir/share/examples
cpu=$builddir/share/examples/fashion_mlp.so
fashion="$run -c $examples/fashion_mlp.cfg --set train_loop_config.epochs=2"
OPENBLAS_NUM_THREADS=2
export OPENBLAS_NUM_THREADS

test_expect_success 'the example is compiled by the lines at the head of mlp_cuda.cu' '
	nvcc -O2 -Xcompiler -fPIC -c -o mlp_cuda.o "$examples/mlp_cuda.cu" &&
	compile_c gpu.so "$examples/fashion_mlp.c" "$examples/mlp.c" mlp_cuda.o &&
	${CC:-cc} -O2 -o numbers "$srcdir/t/device/mlp_numbers.c" -I"$examples" mlp_cuda.o \
		-L"$cuda/lib64" -Wl,-rpath,"$cuda/lib64" -lcublas -lcudart -lstdc++ -lm
'
test_expect_success 'the kernels compute what those for the CPU do' '
	"$builddir/t/device/mlp_numbers" >cpu && ./numbers >gpu &&
	paste -d "\n" cpu gpu | awk "
		NR % 2 { n = split(\$0, a); next }
		{
			bad += split(\$0, b) != n || a[1] != b[1]
			for (i = 2; i <= n; i++) {
				d = a[i] - b[i]
				bad += (d < 0 ? -d : d) > 1e-4 * (1 + (a[i] < 0 ? -a[i] : a[i]))
			}
		}
		END { print NR / 2, bad + 0 }" >differences && echo 13 0 | test_cmp - differences
'
accuracy_of () {
	tail -n 1 "runs/$1/result.json" | jq .accuracy
}
as_good () {
	echo "$(accuracy_of cpu) $(accuracy_of "$1")" >accuracies && cat accuracies &&
	awk "{ d = \$1 - \$2; exit !(\$1 > 0.8 && d < 0.02 && d > -0.02) }" accuracies
}
test_expect_success 'the network learns on one GPU as well as on the CPU' '
	$fashion -n 2 --name cpu "$cpu" 2>err &&
	$fashion --gpu -n 1 --set train_loop_config.batch_size=128 --name one ./gpu.so 2>err &&
	as_good one
'
test_expect_success 'reports have the memory of the GPU, as NVML says it' '
	tail -n 1 runs/one/result.json |
	jq -e ".gpu_memory_used_bytes > 0 and .gpu_utilization >= 0"
'
test_expect_success 'the network learns on all GPUs, and if workers share one' '
	$fashion --gpu -n "$devices" --name all ./gpu.so 2>err && as_good all &&
	$fashion -n 2 --name shared ./gpu.so 2>err && as_good shared
'
test_expect_success 'interrupted and resumed, it has the same bits' '
	$fashion --gpu -n 1 --name whole ./gpu.so 2>err &&
	$fashion --gpu -n 1 --name parts --set run_config.stop.training_iteration=1 ./gpu.so 2>err &&
	$fashion --gpu -n 1 --name parts --resume ./gpu.so 2>err &&
	h5diff runs/whole/checkpoint_000002.h5 runs/parts/checkpoint_000002.h5 /model /model
'
test_expect_success 'a checkpoint of GPUs predicts on the CPU, and one of the CPU on a GPU' '
	for name in one cpu; do
		for so in ./gpu.so "$cpu"; do
			raytrain-predict --launcher local --checkpoint runs/$name --data \
				/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz \
				-o "$name-$(basename "$so").csv" "$so" 2>err || return 1
		done &&
		cut -d, -f1 $name-gpu.so.csv >classes &&
		cut -d, -f1 $name-fashion_mlp.so.csv >expected &&
		test "$(diff classes expected | grep -c "^<")" -le 20 || return 1
	done
'
test_done
