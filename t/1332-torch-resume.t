#!/bin/sh
test_description='a PyTorch training that is killed and resumed gives bit-identical results'
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
run="raytrain-run --launcher local --storage runs --progress none --backend torch"
fashion=$srcdir/share/examples/python/fashion_mnist_torch.py
small="--rows 3000 --hidden 32"

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

cat >killed.py <<-\EOF
	# killed.py REPORT SCRIPT ARG...: in the first attempt a rank is killed after a report.
	import os, runpy, signal, sys
	import raytrain
	at, place, reports = int(sys.argv[1]), raytrain.get_context(), 0
	report = raytrain.report
	def report_and_die(*args, **kwargs):
	    global reports
	    report(*args, **kwargs)
	    reports += 1
	    if reports == at and place.get_attempt() == 0:
	        if place.get_world_rank() == at % place.get_world_size():
	            os.kill(os.getpid(), signal.SIGKILL)
	raytrain.report = report_and_die
	del sys.argv[:2]
	runpy.run_path(sys.argv[0], run_name="__main__")
EOF
# The checkpoint of a report may still be being written when the rank dies: then the next
# attempt starts from the one before.
test_expect_success 'a worker killed after a report that was drawn by chance changes no bit' '
	at=$(($$ % 3 + 1)) && echo "killed after report $at" &&
	$run --name calm -n 2 -- "$PYTHON" "$fashion" $small --epochs 4 2>err &&
	$run --name killed -n 2 --max-failures 1 -- "$PYTHON" killed.py $at "$fashion" \
		$small --epochs 4 2>err &&
	test -d runs/killed/logs/attempt-1 &&
	raytrain-inspect --diff runs/calm/checkpoint_000004.h5 \
		runs/killed/checkpoint_000004.h5
'
# DDP's buckets are others in the first step of an attempt: sums must not depend on them.
test_expect_success 'of three workers one is killed, and no bit changes' '
	$run --name calm3 -n 3 -- "$PYTHON" "$fashion" $small --epochs 3 2>err &&
	$run --name killed3 -n 3 --max-failures 1 -- "$PYTHON" killed.py 2 "$fashion" \
		$small --epochs 3 2>err &&
	test -d runs/killed3/logs/attempt-1 &&
	raytrain-inspect --diff runs/calm3/checkpoint_000003.h5 \
		runs/killed3/checkpoint_000003.h5
'
test_expect_success 'gloo yields the same bits as the companions of two workers' '
	$run --name gloo -n 2 -- "$PYTHON" "$fashion" $small --epochs 4 --reducer gloo \
		2>err &&
	raytrain-inspect --diff runs/calm/checkpoint_000004.h5 \
		runs/gloo/checkpoint_000004.h5
'
test_expect_success 'a run continues on one worker, then on two, and learns' '
	$run --name elastic -n 2 -- "$PYTHON" "$fashion" $small --epochs 1 2>err &&
	$run --name elastic -n 1 --resume -- "$PYTHON" "$fashion" $small --epochs 2 2>err &&
	$run --name elastic -n 2 --resume -- "$PYTHON" "$fashion" $small --epochs 3 2>err &&
	jq -s -e "map([.world_size, .epoch]) == [[2, 0], [1, 1], [2, 2]]" runs/elastic/result.json &&
	tail -n 1 runs/elastic/result.json | jq -e ".accuracy > 0.5"
'
test_expect_success 'the example of PyTorch trains as one worker without raytrain-run' '
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" "$fashion" $small --epochs 1 2>err
'
cat >loader.py <<-\EOF
	import multiprocessing, torch, raytrain, raytrain.torch
	from torch.utils.data import DataLoader, Dataset
	multiprocessing.set_start_method("fork")  # another is the default in Python 3.14
	class Rows(Dataset):
	    def __len__(self): return 41
	    def __getitem__(self, i):
	        try:
	            raytrain.report({"x": 1})
	        except raytrain.RaytrainError as e:
	            assert "forked" in str(e), e
	            return i
	        raise AssertionError("a forked process has reported")
	loader = raytrain.torch.prepare_data_loader(
	    DataLoader(Rows(), batch_size=5, num_workers=2, shuffle=True))
	seen = [[int(i) for batch in loader for i in batch] for epoch in range(2)]
	assert seen[0] != seen[1], "the same order in both epochs"
	loader.sampler.set_epoch(7)
	third = [int(i) for batch in loader for i in batch]
	assert third == [int(i) for batch in loader for i in batch]
	print("rows", *sorted(seen[0]))
	model = raytrain.torch.prepare_model(torch.nn.Linear(1, 1))
	for batch in loader:
	    model(batch.float().reshape(-1, 1)).mean().backward()
	raytrain.report({"rows": len(seen[0])})
EOF
test_expect_success 'workers of a DataLoader read, cannot use the session, and share the rows' '
	$run --name loader -n 2 -- "$PYTHON" loader.py 2>err &&
	cat runs/loader/logs/attempt-0/rank-*.out | sed "s/rows //" | tr " " "\n" |
		sort -nu >got && seq 0 40 >expected && test_cmp expected got &&
	jq -e ".rows == 21" runs/loader/result.json
'
cat >model.py <<-\EOF
	import torch, raytrain, raytrain.torch
	from raytrain.torch import TorchCheckpoint
	net = torch.nn.Linear(3, 2)
	model = raytrain.torch.prepare_model(net)
	checkpoint = raytrain.get_checkpoint()
	if checkpoint is None:
	    with torch.no_grad():
	        net.weight.fill_(5)
	    raytrain.report({"loss": 1}, checkpoint=TorchCheckpoint.from_model(model))
	else:
	    TorchCheckpoint.from_checkpoint(checkpoint).get_model(model)
	    assert (net.weight == 5).all()
	    raytrain.report({"loss": 0})
EOF
test_expect_success 'a TorchCheckpoint has the names of the model without DDP, and restores it' '
	$run --name model -n 2 -- "$PYTHON" model.py 2>err &&
	h5dump -n runs/model/checkpoint_000001.h5 | grep "/model/weight" &&
	$run --name again -n 2 --resume=runs/model/checkpoint_000001.h5 -- \
		"$PYTHON" model.py 2>err &&
	jq -e ".loss == 0" runs/again/result.json
'
test_done
