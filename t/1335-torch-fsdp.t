#!/bin/sh
test_description='parameters that FSDP divides among the workers, resumed on another number of them'
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
run="raytrain-run --launcher local --storage runs --progress none --backend torch"

if ! "$PYTHON" -c "import torch.distributed.checkpoint.state_dict" 2>/dev/null; then
	skip_all="no torch, or one that does not read and set the state of FSDP"
	test_done
fi
"$PYTHON" -c "from torch.distributed.fsdp import fully_shard" 2>/dev/null &&
	test_set_prereq FSDP2

# Each worker has a part of each parameter and of its moments: also of one row, of which all
# workers but the first have nothing. The data do not depend on the number of workers, so
# neither does the result, but for rounding.
#
# FSDP2 of torch 2.6 divides parameters on CPUs, but does not compute there: the gradients
# are those of a copy of the model that is given all parameters.
cat >fsdp.py <<-\EOF
	import copy, sys, warnings
	import torch
	import torch.distributed as dist
	from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
	from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
	from torch.distributed.fsdp import StateDictType
	import raytrain as train
	from raytrain.torch import load_state, prepare_model

	warnings.simplefilter("ignore", FutureWarning)
	kind, until = sys.argv[1], int(sys.argv[2])
	rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
	dist.init_process_group("gloo")
	torch.manual_seed(7)
	model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(),
	                            torch.nn.Linear(16, 3), torch.nn.Linear(3, 1))
	twin = copy.deepcopy(model)
	if kind == "fsdp2":
	    from torch.distributed.device_mesh import init_device_mesh
	    from torch.distributed.fsdp import fully_shard
	    mesh = init_device_mesh("cpu", (size,))
	    fully_shard(model[0], mesh=mesh)
	    fully_shard(model, mesh=mesh)
	elif kind == "fsdp1":
	    model = prepare_model(model, parallel_strategy="fsdp",
	                          parallel_strategy_kwargs={"use_orig_params": True})
	    if size == 1:
	        kind = "plain"
	    else:
	        FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
	optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

	def forward(x):
	    if kind != "fsdp2":
	        return model(x[rank::size])
	    whole = {name: value.full_tensor() for name, value in model.named_parameters()}
	    return torch.func.functional_call(twin, whole, (x,))

	def train_step(step):
	    x = torch.randn(12, 6, generator=torch.Generator().manual_seed(step))
	    y = x.sum(1, keepdim=True) ** 2
	    optimizer.zero_grad()
	    loss = torch.nn.functional.mse_loss(
	        forward(x), y if kind == "fsdp2" else y[rank::size])
	    loss.backward()
	    optimizer.step()
	    return loss.item()

	def state(step):
	    if kind == "fsdp1":  # get_state_dict() fails with an empty ShardedTensor
	        of_model, of_optimizer = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
	    else:
	        of_model, of_optimizer = get_state_dict(model, optimizer)
	    return {"model": of_model, "optimizer": of_optimizer, "step": step}

	def restore(loaded):
	    if kind == "fsdp1":
	        model.load_state_dict(loaded["model"])
	        optimizer.load_state_dict(
	            FSDP.optim_state_dict_to_load(model, optimizer, loaded["optimizer"]))
	    else:
	        set_state_dict(model, optimizer, model_state_dict=loaded["model"],
	                       optim_state_dict=loaded["optimizer"])
	    return loaded["step"]

	def numbers(value):
	    if hasattr(value, "local_shards"):
	        return sum(shard.tensor.numel() for shard in value.local_shards())
	    return (value.to_local() if hasattr(value, "to_local") else value).numel()

	first = 0
	if train.get_checkpoint():
	    train_step(100)  # the optimizer has tensors after its first step
	    first = restore(load_state(state(0)))
	for step in range(first, until):
	    loss = train_step(step)
	    now = state(step + 1)
	    train.report({"numbers": sum(map(numbers, now["model"].values())), "loss": loss},
	                 checkpoint=train.Checkpoint.from_dict(now))
	dist.destroy_process_group()
EOF
# same CHECKPOINT CHECKPOINT...: the same numbers, but for rounding.
same () {
	PYTHONPATH=$stage/share/raytrain/python "$PYTHON" - "$@" <<-\EOF
	import sys
	from raytrain import Checkpoint
	import torch
	def tensors(value, path=""):
	    if isinstance(value, dict):
	        return {n: t for k, v in value.items() for n, t in tensors(v, f"{path}/{k}").items()}
	    return {path: value} if torch.is_tensor(value) else {}
	first, *others = (Checkpoint(path).to_dict() for path in sys.argv[1:])
	a = tensors(first)
	assert len(a) == 6 + 6 * 3 and others, list(a)
	for path, other in zip(sys.argv[2:], others):
	    b = tensors(other)
	    assert first["step"] == other["step"] and sorted(a) == sorted(b), (path, list(b))
	    for name in a:
	        assert type(a[name]) is type(b[name]) is torch.Tensor, (path, name)
	        assert torch.allclose(a[name], b[name], rtol=1e-3, atol=1e-5), (path, name)
	EOF
}
test_expect_success 'one worker trains the model without FSDP' '
	$run --name plain -n 1 -- "$PYTHON" fsdp.py plain 4 2>err
'
for kind in fsdp1 fsdp2; do
	prereq=
	[ $kind = fsdp1 ] || prereq=FSDP2
	test_expect_success $prereq "$kind: three workers save one array of each parameter" '
		$run --name $kind -n 3 -- "$PYTHON" fsdp.py $kind 4 2>err &&
		tail -n 1 runs/$kind/result.json >last &&
		jq -e ".by_rank.numbers.max < 2 * 167 / 3" last &&
		h5dump -H -d /model/0.weight runs/$kind/checkpoint_000002.h5 >dump &&
		grep "( 16, 6 )" dump &&
		h5dump -H -d /optimizer/state/3.bias/exp_avg runs/$kind/checkpoint_000002.h5 >dump &&
		grep "( 1 )" dump
	'
	# Where there is FSDP2, the old one has fewer runs.
	counts="1 2"
	test $kind = fsdp2 || ! test_have_prereq FSDP2 || counts=2
	for n in $counts; do
		test_expect_success $prereq "$kind: a run of three workers continues with $n" '
			$run --name $kind-$n -n $n --resume=runs/$kind/checkpoint_000002.h5 -- \
				"$PYTHON" fsdp.py $kind 4 2>err &&
			test -f runs/$kind-$n/checkpoint_000004.h5
		'
	done
	test "$counts" = 2 ||
	test_expect_success $prereq "$kind: three workers continue with what one has saved" '
		$run --name $kind-plain -n 3 --resume=runs/plain/checkpoint_000002.h5 -- \
			"$PYTHON" fsdp.py $kind 4 2>err && test -f runs/$kind-plain/checkpoint_000004.h5
	'
	test_expect_success $prereq "$kind: each of these runs ends with the numbers of one worker" '
		same runs/plain/checkpoint_000004.h5 runs/$kind/checkpoint_000004.h5 \
			runs/$kind-*/checkpoint_000004.h5
	'
done
# Four workers divide tensors in two ways at once; three others divide them in one.
cat >parts.py <<-\EOF
	import sys
	import torch
	import torch.distributed as dist
	from torch.distributed.device_mesh import init_device_mesh
	from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
	import raytrain as train
	from raytrain.torch import load_state

	dist.init_process_group("gloo")
	size = dist.get_world_size()
	grid = torch.arange(35).reshape(7, 5)
	def tensors(mesh, first, second):
	    divide = lambda tensor, *placements: distribute_tensor(tensor, mesh, placements)
	    again = divide(grid.float(), *first)
	    return {
	        "whole": divide(grid + 1, *[Replicate()] * mesh.ndim),
	        "first": again, "again": again,
	        "second": divide(grid.float(), *second).bfloat16(),
	        "complex": divide(grid.float(), *second) * (1 - 1j),
	        "bool": divide(grid, *first) % 3 == 0,
	        "short": divide(torch.arange(2), *[Shard(0)] * mesh.ndim),
	        "plain": grid * 2.0,
	    }

	def raises(kind, text, call, *args):
	    try:
	        call(*args)
	    except kind as e:
	        assert text in str(e), e
	        return
	    raise AssertionError(f"{text}: it did not raise")

	if sys.argv[1] == "save":
	    mesh = init_device_mesh("cpu", (2, 2))
	    mine = tensors(mesh, (Replicate(), Shard(0)), (Shard(1), Shard(0)))
	    raises(TypeError, "sum: a checkpoint cannot have a DTensor with the placement",
	           train.report, {}, train.Checkpoint.from_dict({"sum": DTensor.from_local(
	               torch.ones(3), mesh, [Partial(), Partial()])}))
	    train.report({}, train.Checkpoint.from_dict({"in": mine}))
	else:
	    mesh = init_device_mesh("cpu", (size,))
	    want = tensors(mesh, (Shard(1),), (Shard(0),))
	    mine = {name: torch.zeros_like(value) for name, value in want.items()}
	    mine["again"] = mine["first"]
	    load_state({"in": mine})
	    for name, value in want.items():
	        get = lambda t: t.to_local() if hasattr(t, "to_local") else t
	        assert mine[name].dtype == value.dtype, name
	        assert torch.equal(get(mine[name]), get(value)), name
	    stored = train.get_checkpoint().to_dict(shards=False)["in"]
	    kinds = {name: type(value).__name__ for name, value in stored.items()}
	    assert [n for n in kinds if kinds[n] == "Tensor"] == ["whole", "plain"], kinds
	    assert stored["complex"].shape == (7, 5) and stored["again"] is stored["first"]
	    assert torch.equal(stored["complex"].read((6, 1), (1, 2)).imag, -grid[6:7, 1:3].float())
	    raises(KeyError, "in/other", load_state, {"in": {"other": torch.zeros(1)}})
	    raises(ValueError, "in/first has the shape (7, 5) in the checkpoint", load_state,
	           {"in": {"first": want["short"]}})
	    assert load_state({"in": {"plain": None}})["in"]["plain"].sum() == 2 * grid.sum()
	dist.destroy_process_group()
EOF
test_expect_success FSDP2 'DTensors of a mesh of 2 x 2 workers are read by three' '
	$run --name grid -n 4 -- "$PYTHON" parts.py save 2>err &&
	h5dump -d /in/whole -s 6,3 -c 1,2 runs/grid/checkpoint_000001.h5 >dump &&
	grep "(6,3): 34, 35" dump &&
	h5dump -d /in/first -s 6,3 -c 1,2 runs/grid/checkpoint_000001.h5 >dump &&
	grep "(6,3): 33, 34" dump &&
	$run --name grid-3 -n 3 --resume=runs/grid/checkpoint_000001.h5 -- \
		"$PYTHON" parts.py load 2>err
'
cat >get-model.py <<-\EOF
	import torch
	import torch.distributed as dist
	from torch.distributed.fsdp import fully_shard
	from torch.distributed.device_mesh import init_device_mesh
	import raytrain as train
	from raytrain.torch import TorchCheckpoint

	dist.init_process_group("gloo")
	size = dist.get_world_size()
	torch.manual_seed(size)
	model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
	fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
	start = train.get_checkpoint()
	if start:
	    TorchCheckpoint.from_checkpoint(start).get_model(model)
	    torch.manual_seed(2)
	    other = torch.nn.Linear(2, 3)
	    assert torch.equal(model[0].weight.full_tensor(), other.weight)
	    assert torch.equal(model[0].bias.full_tensor(), other.bias)
	else:
	    train.report({}, TorchCheckpoint.from_model(model))
	dist.destroy_process_group()
EOF
test_expect_success FSDP2 'TorchCheckpoint takes and gives a model that is divided' '
	$run --name model -n 2 -- "$PYTHON" get-model.py 2>err &&
	$run --name model-3 -n 3 --resume=runs/model/checkpoint_000001.h5 -- \
		"$PYTHON" get-model.py 2>err
'

test_done
