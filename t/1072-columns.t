#!/bin/sh
test_description='tensors that ranks cut into columns: by all tiers, for any reader

Each rank has some columns of slabs/columns, which is the model as a table of 4 rows; a run
that restores it compares the two.'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs --set run_config.checkpoint_config.mode=sync \
	--set train_loop_config.slabs=true --set train_loop_config.size=40000 \
	--set train_loop_config.iterations=2"
train=$modules/train_model.so
last=checkpoint_000002.h5

for tier in storage memory staging; do
	case $tier in
	storage) with= ;;
	memory) with="--set run_config.checkpoint_config.replicas=1" ;;
	staging) with="--set run_config.sync_config.staging_path=stage" ;;
	esac
	test_expect_success "$tier: 3 ranks write them by parts, and every byte is verified" '
		$run --name $tier -n 3 $with "$train" 2>err &&
		h5ls -r runs/$tier/$last >list &&
		grep "^/slabs/columns *Dataset {4, 10000}" list &&
		grep "^/raytrain/parts/slabs/columns *Dataset {40000}" list &&
		raytrain-inspect --verify runs/$tier/$last
	'
	for n in 1 2 3 5; do
		test_expect_success "$tier: $n ranks restore them" '
			$run --name $tier-$n -n $n $with --resume=runs/$tier/$last \
				--set train_loop_config.iterations=3 "$train" 2>err
		'
	done
	test_expect_success "$tier: a worker that is killed gets them again" '
		$run --name $tier-killed -n 3 $with --max-failures 1 \
			--set train_loop_config.fail=kill --set train_loop_config.fail_at=2 \
			--set train_loop_config.fail_once=killed-$tier "$train" 2>err &&
		test -e killed-$tier &&
		test "$(model_of runs/$tier-killed/$last)" = "$(model_of runs/$tier/$last)"
	'
done
test_expect_success 'h5dump reads the same numbers from the columns as from the model' '
	h5dump -d /model/weight -b LE -o model runs/storage/$last >out &&
	h5dump -d /slabs/columns -b LE -o columns runs/storage/$last >out &&
	cmp model columns
'
test_expect_success 'h5py reads the same numbers from the columns as from the model' '
	$PYTHON - runs/storage/$last <<-\PY
	import h5py, sys
	f = h5py.File(sys.argv[1], "r")
	model = f["model/weight"][...].reshape(4, 10000)
	assert (f["slabs/columns"][...] == model).all()
	assert (f["slabs/columns"][1:3, 3000:7001] == model[1:3, 3000:7001]).all()
	PY
'
test_expect_success '--export writes them in row-major order' '
	raytrain-inspect --export exported runs/storage/$last &&
	$PYTHON -c "
import numpy
model = numpy.load(\"exported/model/weight.npy\")
assert (numpy.load(\"exported/slabs/columns.npy\") == model.reshape(4, 10000)).all()"
'
test_expect_success '--diff compares them' '
	raytrain-inspect --diff runs/storage/$last runs/memory/$last &&
	expect_status 1 raytrain-inspect --diff runs/storage/$last runs/storage-3/checkpoint_000003.h5 \
		>out && grep slabs/columns out
'
test_done
