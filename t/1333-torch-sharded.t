#!/bin/sh
test_description='PyTorch state that is divided among the workers, resumed on another number of them'
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
run="raytrain-run --launcher local --storage runs --progress none --backend torch"

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

# Each worker has the moments of its own parameters. Before a report, rank 0 collects them;
# afterwards each worker takes those of the parameters that are its own then. The data do not
# depend on the number of workers, so neither does the result, but for rounding.
cat >zero.py <<-\EOF
	import sys
	import torch
	from torch.distributed.optim import ZeroRedundancyOptimizer
	import raytrain as train
	from raytrain.torch import load_state, prepare_model

	until = int(sys.argv[1])
	rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
	torch.manual_seed(7)
	model = prepare_model(torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(),
	                                          torch.nn.Linear(16, 3)))
	plain = getattr(model, "module", model)
	optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
	first, start = 0, train.get_checkpoint()
	if start:
	    state = start.to_dict()
	    load_state({"model": plain.state_dict()})
	    optimizer.load_state_dict(state["optimizer"])
	    first = state["step"]
	for step in range(first, until):
	    x = torch.randn(12, 6, generator=torch.Generator().manual_seed(step))
	    y = x[:, :3] * x[:, 3:]
	    optimizer.zero_grad()
	    torch.nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
	    optimizer.step()
	    mine = sum(v.numel() for s in optimizer.optim.state.values() for v in s.values()
	               if torch.is_tensor(v))
	    checkpoint = None
	    optimizer.consolidate_state_dict(to=0)
	    if rank == 0:
	        checkpoint = train.Checkpoint.from_dict({
	            "model": plain.state_dict(), "optimizer": optimizer.state_dict(),
	            "step": step + 1})
	    train.report({"numbers": mine}, checkpoint=checkpoint)
EOF
test_expect_success 'the moments of an optimizer are divided among three workers' '
	$run --name three -n 3 -- "$PYTHON" zero.py 4 2>err &&
	tail -n 1 runs/three/result.json >last &&
	jq -e ".by_rank.numbers.max < 2 * 3 * (7 * 16 + 17 * 3) / 3" last
'
# same CHECKPOINT CHECKPOINT: the same numbers, but for rounding.
same () {
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" - "$@" <<-\EOF
	import sys
	from raytrain import Checkpoint
	import torch
	a, b = (Checkpoint(path).to_dict() for path in sys.argv[1:])
	assert a["step"] == b["step"]
	for name in a["model"]:
	    assert torch.allclose(a["model"][name], b["model"][name], rtol=1e-3, atol=1e-5), name
	moments = lambda state: [v for s in state["optimizer"]["state"].values() for v in s.values()]
	assert len(moments(a)) == len(moments(b)) > 0
	for x, y in zip(moments(a), moments(b)):
	    assert x == y if not torch.is_tensor(x) else torch.allclose(x, y, rtol=1e-3, atol=1e-6)
	EOF
}
for n in 1 2; do
	test_expect_success "a run of three workers continues with $n, as if there had been three" '
		$run --name to-$n -n $n --resume=runs/three/checkpoint_000002.h5 -- \
			"$PYTHON" zero.py 4 2>err &&
		same runs/three/checkpoint_000004.h5 runs/to-$n/checkpoint_000004.h5
	'
done

test_done
