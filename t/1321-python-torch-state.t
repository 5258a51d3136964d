#!/bin/sh
test_description='state of torch in checkpoints'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
. "$srcdir/t/python-state.sh"

if ! "$PYTHON" -c "import torch" 2>/dev/null; then
	skip_all="no torch (python3-torch)"
	test_done
fi
"$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null && test_set_prereq TORCH_1_10

test_expect_success TORCH_1_10 'torch tensors keep types, bits, shared memory and flags' '
	cat >tensors.py <<-\EOF &&
	import sys
	import torch
	import raytrain as train
	from same import same

	def make():
	    torch.manual_seed(3)
	    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.LSTM(4, 5))
	    tied = torch.randn(4, 6)
	    image = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
	    optimizer = torch.optim.Adam(model.parameters())
	    model[1](model[0](torch.randn(2, 3))).sum().backward()
	    optimizer.step()
	    return {
	        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
	        "types": {str(t): torch.arange(6).to(t) for t in (
	            torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16,
	            torch.uint8, torch.bool, torch.complex64, torch.complex128)},
	        "tied": [tied, tied.view(-1), tied.t(), tied[1:3, ::2], tied.detach()],
	        "again": tied, "zero": torch.tensor(2.5), "empty": torch.empty(0, 3),
	        "strided": torch.randn(6, 8)[::2, 1::3], "image": image, "conj": torch.randn(3, dtype=torch.complex64).conj(),
	        "parameter": torch.nn.Parameter(torch.ones(2)), "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
	        "grad": torch.ones(2, requires_grad=True), "size": torch.Size([2, 3]),
	        "bits": torch.tensor([0x7fc1, 0x7f81, -1, 1], dtype=torch.int16).view(torch.bfloat16),
	        "12 dims": torch.randn((1,) * 11 + (3,)),
	    }

	rank = train.get_context().get_world_rank()
	checkpoint = train.get_checkpoint()
	if checkpoint is None:
	    train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict(make()))
	    sys.exit()
	found, made = checkpoint.to_dict(), make()
	same({**made, "conj": made["conj"].resolve_conj()}, found)
	assert found["model"]._metadata == made["model"]._metadata
	torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.LSTM(4, 5)).load_state_dict(found["model"])
	assert found["image"].stride() == made["image"].stride()
	tied = found["tied"]
	assert found["again"] is tied[0]
	tied[0][2, 4] = 99
	assert tied[1][16] == tied[2][4, 2] == tied[3][1, 2] == tied[4][2, 4] == 99
	assert len({t.storage().data_ptr() for t in tied}) == 1
	EOF
	$run --name tensors -n 2 -- $PYTHON tensors.py &&
	h5dump -d /model/0.weight runs/tensors/checkpoint_000001.h5 | grep "( 4, 3 )" &&
	h5dump -d /optimizer/state/0/exp_avg runs/tensors/checkpoint_000001.h5 &&
	{ $run --name tensors-back -n 1 --resume=runs/tensors/checkpoint_000001.h5 -- $PYTHON tensors.py ||
	{ errors_of tensors-back >&2; return 1; }; }
'
test_expect_success 'a torch before 1.10 is refused by its version' '
	cat >old.py <<-\EOF &&
	import torch
	if hasattr(torch, "frombuffer"):
	    del torch.frombuffer
	import raytrain as train
	try:
	    from raytrain.torch import prepare_model
	    raise AssertionError("raytrain.torch can be imported")
	except ImportError as e:
	    assert "needs torch 1.10 or later" in str(e), e
	train.report({}, train.Checkpoint.from_dict({"a": torch.ones(3)}))
	EOF
	expect_status 3 $run --name old -n 1 -- $PYTHON old.py 2>err &&
	grep "tensors in checkpoints need torch 1.10 or later, not [1-9]" err
'
test_done
