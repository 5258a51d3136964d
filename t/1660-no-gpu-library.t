#!/bin/sh
test_description='no library for GPUs is opened without --gpu or a tensor on a GPU

All such libraries are found first in a folder, as a file that logs which process has opened it
(t/device/opened.c). They have no functions: a process that needs one of them fails.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"

PYTHONPATH=$stage/share/raytrain/python
export PYTHONPATH
mkdir trap
for name in libcuda.so.1 libcuda.so libcudart.so libnccl.so.2 libnccl.so libnvidia-ml.so.1 \
	libnvidia-ml.so libamdhip64.so.7 libamdhip64.so.6 libamdhip64.so.5 libamdhip64.so \
	librccl.so.1 librccl.so librocm_smi64.so.1 libamd_smi.so libze_loader.so.1
do
	# A copy each: files that are the same one are opened once.
	cp "$builddir/t/device/opened.so" "trap/$name" || exit 1
done
OPENED_LOG=$PWD/log
LD_LIBRARY_PATH=$PWD/trap${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OPENED_LOG LD_LIBRARY_PATH
case $(ldd "$stage/bin/raytrain-run") in
*asan*)
	skip_all='the library of AddressSanitizer has to be loaded first'
	test_done
	;;
esac

run="raytrain-run --launcher local --storage runs"
# none_opened: the log is empty, and what has been opened is printed.
none_opened () {
	test ! -s log || { cat >&2 log; return 1; }
}
# opened NAME...: these libraries have been opened.
opened () {
	for name; do
		grep -q "/$name " log || { echo >&2 "$name: not opened"; return 1; }
	done
}

test_expect_success 'a library that is opened is noticed' '
	"$PYTHON" -c "import ctypes; ctypes.CDLL(\"libnvidia-ml.so.1\")" &&
	opened libnvidia-ml.so.1 && ! none_opened && rm log
'
test_expect_success 'a tensor on a GPU opens the library of its vendor, and is refused' '
	expect_status 3 $run --name cuda --set train_loop_config.device=false \
		--set train_loop_config.fail=host --set train_loop_config.fail_at=1 \
		"$modules/device_model.so" 2>err &&
	opened libcuda.so.1 && ! grep amdhip log && rm log &&
	expect_status 3 $run --name hip --set train_loop_config.device=false \
		--set train_loop_config.hip=true --set train_loop_config.fail=host \
		--set train_loop_config.fail_at=1 "$modules/device_model.so" 2>err &&
	grep "libamdhip64.so has no hip" err &&
	opened libamdhip64.so.7 && ! grep libcuda log && rm log
'
test_expect_success 'a run with checkpoints, collectives, callbacks and a restart opens none' '
	$run -n 3 --name train --max-failures 1 --callback csv --callback tensorboard \
		--callback prometheus --set train_loop_config.fail=kill \
		--set train_loop_config.fail_at=3 --set "train_loop_config.fail_once=$PWD/once" \
		--set train_loop_config.fail_rank=1 "$modules/train_model.so" 2>err &&
	grep "attempt 1" err && none_opened &&
	$run -n 3 --name collectives "$modules/collectives.so" 2>err && none_opened &&
	$run --name tensors -n 2 --set train_loop_config.device=false \
		--set train_loop_config.collect=true "$modules/device_model.so" 2>err && none_opened
'
test_expect_success 'nor does a command, with raytrain-report or in Python' '
	$run -n 2 --name shell -- sh -c "raytrain-report loss=1" 2>err && none_opened &&
	cat >report.py <<-\EOT &&
	import raytrain
	assert raytrain.get_context().get_world_size() == 2
	raytrain.report({"loss": 1})
	EOT
	$run -n 2 --name script -- "$PYTHON" report.py 2>err && none_opened
'
test_expect_success 'nor do predictions and a service' '
	make_rows 100 && make_model &&
	raytrain-predict --launcher local -n 2 --checkpoint runs/model --data rows.npz \
		-o predicted.csv "$model" 2>err && none_opened &&
	{ raytrain-serve runs/model --input x:float32:3 --input id:int64 --listen ./socket \
		"$model" 2>err & } && service=$! &&
	eventually curl -s -f --unix-socket socket -o ready http://localhost/v2/health/ready &&
	kill $service && wait $service && none_opened
'
test_expect_success 'nor do raytrain-inspect, --check, and a dry run of a batch job' '
	raytrain-inspect runs/train >out && raytrain-inspect runs >out &&
	raytrain-inspect runs/train --plot loss >out && raytrain-inspect runs/train -o page.html &&
	raytrain-inspect --verify runs/model/checkpoint_000002.h5 >out && none_opened &&
	raytrain-run --check --launcher local --storage runs >out && none_opened &&
	raytrain-run --submit --dry-run --name batch "$modules/train_model.so" >out && none_opened
'
test_expect_success 'nor does the Python client, with fit() and its callbacks' '
	cat >fit.py <<-\EOT &&
	import raytrain

	class Follow(raytrain.UserCallback):
	    reports = 0
	    def after_report(self, run_context, metrics, checkpoint):
	        Follow.reports += 1

	def train():
	    for i in range(3):
	        raytrain.report({"loss": i})

	if __name__ == "__main__":
	    raytrain.DataParallelTrainer(
	        train, scaling_config=raytrain.ScalingConfig(num_workers=2),
	        run_config=raytrain.RunConfig(name="fit", storage_path="runs", launcher="local",
	                                      callbacks=[Follow()])).fit()
	    assert Follow.reports == 3
	EOT
	"$PYTHON" fit.py 2>err && none_opened
'
test_done
