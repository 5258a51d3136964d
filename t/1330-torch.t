#!/bin/sh
test_description='PyTorch: gradients of DDP are averaged by the workers themselves'
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
run="raytrain-run --launcher local --storage runs --progress none --backend torch"
cases=$srcdir/t/check/ddp_cases.py

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

# said RUN ATTEMPT: what the ranks printed, sorted.
said () {
	sort "runs/$1/logs/attempt-$2"/rank-*.out
}

test_expect_success 'two workers get the gradients that gloo computes, in all ways to use DDP' '
	$run --name cases -n 2 -- "$PYTHON" "$cases" 2>err &&
	test 28 -eq "$(said cases 0 | grep -c "^ok ")"
'
test_expect_success 'four workers, which divide the work, get the same bits on all ranks' '
	$run --name four -n 4 -- "$PYTHON" "$cases" plain two_types sparse join 2>err &&
	test 16 -eq "$(said four 0 | grep -c "^ok ")"
'
test_expect_success 'workers of a node average in place; by their companions if one of them cannot' '
	cat >transport.py <<-\PY &&
	import sys, torch, raytrain.torch
	from raytrain._session import session
	from raytrain.torch import _reducer
	def cannot(*args):
	    raise OSError("another libc")
	rank = raytrain.get_context().get_world_rank()
	if sys.argv[1] == "_ByCompanion" and rank == 1:
	    _reducer.Average = cannot
	transport = _reducer._transport_open(session(), 64)
	assert type(transport).__name__ == sys.argv[1], transport
	take = transport.add(torch.arange(10.0) * rank)
	transport.finish()
	assert torch.equal(take(), torch.arange(10.0) / 2), take()
	PY
	for transport in _InPlace _ByCompanion; do
		$run --name $transport -n 2 -- "$PYTHON" transport.py $transport 2>err || return 1
	done
'
test_expect_success 'gradients are views of the buckets, unless the script says otherwise' '
	cat >view.py <<-\PY &&
	import torch, raytrain.torch
	prepare = raytrain.torch.prepare_model
	assert prepare(torch.nn.Linear(4, 4)).gradient_as_bucket_view
	other = {"gradient_as_bucket_view": False}
	assert not prepare(torch.nn.Linear(4, 4), parallel_strategy_kwargs=other).gradient_as_bucket_view
	PY
	$run --name view -n 2 -- "$PYTHON" view.py 2>err
'
"$PYTHON" -c "import torch; raise SystemExit(torch.cuda.is_available())" &&
	test_set_prereq NO_CUDA
test_expect_success NO_CUDA 'workers with GPUs whose torch uses none are warned of it once' '
	cat >cpu.py <<-\PY &&
	import raytrain.torch
	for i in range(2):
	    assert raytrain.torch.get_device().type == "cpu"
	PY
	CUDA_VISIBLE_DEVICES=4,5 $run --name cpu -n 2 --gpu -- "$PYTHON" cpu.py 2>err &&
	test 1 -eq "$(grep -c "they train on CPUs" err)" && grep "torch .* is built without CUDA" err &&
	$run --name nogpu -n 1 -- "$PYTHON" cpu.py 2>err && ! grep "train on CPUs" err
'
cat >differ.py <<-\EOF
	import sys, torch, raytrain.torch
	rank = raytrain.get_context().get_world_rank()
	model = raytrain.torch.prepare_model(torch.nn.Linear(4, 4))
	if sys.argv[1] == "size":
	    from raytrain.torch._reducer import Reducer
	    Reducer(torch.nn.Linear(4 + rank, 4))
	if sys.argv[1] == "layout":
	    from raytrain._session import session
	    s = session()
	    mine = s.call("gradients_open", {"bytes": 64})[0]["id"]
	    s.call("gradients_wait", {"id": mine, "ranges": [[0, 4 + rank, "float32"]]})
	if sys.argv[1] == "buckets":
	    from raytrain.torch._reducer import Reducer
	    transport = Reducer(torch.nn.Linear(4, 4))._transport
	    transport.add(torch.zeros(4 + rank))
	    transport.finish()
	if sys.argv[1] == "range":
	    from raytrain._session import session
	    s = session()
	    mine = s.call("gradients_open", {"bytes": 64})[0]["id"]
	    s.post(b"", {"op": "gradients_ready", "id": mine, "ranges": [[32, 9, "float32"]]})
	    s.call("gradients_wait", {"id": mine, "ranges": []})
EOF
test_expect_success 'ranks with models of other sizes get an error that says so' '
	expect_status 1 $run --name size -n 2 -- "$PYTHON" differ.py size 2>err &&
	grep "rank 0 opened memory for [0-9]* bytes of gradients, but rank 1 opened memory" err
'
test_expect_success 'ranks that average other gradients get an error, no wrong numbers' '
	for how in layout buckets; do
		expect_status 1 $run --name $how -n 2 -- "$PYTHON" differ.py $how 2>err &&
		grep "they average gradients of other sizes" err || return 1
	done
'
test_expect_success 'gradients outside the memory are refused' '
	expect_status 3 $run --name range -n 2 -- "$PYTHON" differ.py range 2>err &&
	grep "9 gradients at byte 32 are not in memory for 64 bytes" err
'
test_done
