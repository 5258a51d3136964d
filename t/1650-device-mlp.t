#!/bin/sh
test_description='the MLP of share/examples on a GPU, with stand-ins for CUDA and cuBLAS

The kernels of mlp_cuda.cu are compiled for the host (t/device/runtime): these tests show that
they compute what those for the CPU do, not that they work on a GPU.'
. "$(dirname "$0")/setup.sh"

devices=$builddir/t/device
run="raytrain-run --launcher local --storage runs -c $srcdir/share/examples/fashion_mlp.cfg
	--set datasets.train.limit=6000 --set datasets.test.limit=1000
	--set train_loop_config.epochs=2 --set train_loop_config.hidden=[64,32]"
mkdir standin && ln -s "$devices/libcuda.so.1" standin/ || exit 1
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

if ! test -f "$devices/fashion_mlp.so" || ! test -d /usr/share/datasets/fashion-mnist; then
	skip_all='OpenBLAS or Fashion-MNIST is missing'
	test_done
fi

# on_device COMMAND...: with the stand-in for the library of the driver.
on_device () {
	LD_LIBRARY_PATH=$PWD/standin:$LD_LIBRARY_PATH "$@"
}
# near FILE FILE: the same words, and numbers that differ by rounding.
near () {
	paste -d "\n" "$1" "$2" | awk '
		NR % 2 { n = split($0, a); next }
		{
			m = split($0, b)
			bad += m != n || a[1] != b[1]
			for (i = 2; i <= n; i++) {
				d = a[i] - b[i]
				d = d < 0 ? -d : d
				s = a[i] < 0 ? -a[i] : a[i]
				if (!(d <= 2e-5 * (1 + s))) {
					print "differs: " a[1], i, a[i], b[i]
					bad++
				}
			}
			blocks++
		}
		END { exit !(blocks == 13 && !bad) }' >differences || { head >&2 -n 5 differences; return 1; }
}

test_expect_success 'the kernels for a GPU compute what those for the CPU do' '
	"$devices/mlp_numbers" >cpu && on_device "$devices/mlp_numbers_device" >gpu && near cpu gpu
'
test_expect_success 'kernels that combine sums in blocks of threads compute what the CPU does' '
	STANDIN_CUDA_THREADS=1 on_device "$devices/mlp_numbers_device" >threads && near cpu threads
'
test_expect_success 'an allocation without room is not an error of the next kernel' '
	on_device "$devices/mlp_numbers_device" full >full && test_cmp gpu full
'
test_expect_success 'a network that the CPU has trained predicts the same on a GPU' '
	$run --name cpu -n 2 "$builddir/share/examples/fashion_mlp.so" 2>err &&
	for where in cpu gpu; do
		train=$builddir/share/examples/fashion_mlp.so
		test $where = cpu || train=$devices/fashion_mlp.so
		on_device raytrain-predict --launcher local -n 2 --checkpoint runs/cpu --data \
			/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz \
			--output $where.csv "$train" 2>err || return 1
	done &&
	cut -d, -f1 cpu.csv >cpu.classes && cut -d, -f1 gpu.csv >gpu.classes &&
	test "$(wc -l <cpu.classes)" -eq 10001 &&
	test "$(diff cpu.classes gpu.classes | grep -c "^<")" -le 10
'
accuracy_of () {
	tail -n 1 "runs/$1/result.json" | jq .accuracy
}
test_expect_success 'the network learns on GPUs as well as on the CPU, also if it is resumed' '
	on_device $run --name gpu -n 2 "$devices/fashion_mlp.so" 2>err &&
	echo "$(accuracy_of cpu) $(accuracy_of gpu)" >accuracies &&
	awk "{ d = \$1 - \$2; exit !(\$1 > 0.5 && d < 0.02 && d > -0.02) }" accuracies &&
	on_device $run --name parts -n 2 --set run_config.stop.training_iteration=1 \
		"$devices/fashion_mlp.so" 2>err &&
	on_device $run --name parts -n 2 --set run_config.stop.training_iteration=2 --resume \
		"$devices/fashion_mlp.so" 2>err &&
	h5diff runs/gpu/checkpoint_000002.h5 runs/parts/checkpoint_000002.h5 /model /model
'
test_done
