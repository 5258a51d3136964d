#!/bin/sh
test_description='PyTorch: where the processes meet, mixed precision, torchrun, and GPUs that are faked'
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
PYTHONPATH=$stage/share/raytrain/python
export OMP_NUM_THREADS PYTHONPATH
run="raytrain-run --launcher local --storage runs --progress none --backend torch"

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

own_tmp # killed processes of multiprocessing and torchrun leave files
cat >group.py <<\EOF
import sys
import torch, torch.distributed as dist
import raytrain, raytrain.torch
raytrain.torch.prepare_model(torch.nn.Linear(2, 2))
given = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(given)
raytrain.report({"sum": given.item()})
if sys.argv[1:] and raytrain.get_context().get_attempt() == 0:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
EOF
# It is not among those that the kernel gives to other processes in the meantime.
free_port () {
	"$PYTHON" -c "
import random, socket
first = int(open(\"/proc/sys/net/ipv4/ip_local_port_range\").read().split()[0])
ports = range(max(1024, first - 10000), first)
for port in random.sample(ports, min(100, len(ports))) or [0]:
    if port == 0:  # the kernel gives them all
        with socket.socket() as s:
            s.bind((\"127.0.0.1\", 0))
            print(s.getsockname()[1])
        break
    with socket.socket() as s:
        if s.connect_ex((\"127.0.0.1\", port)) != 0:
            print(port)
            break"
}
# "env" and "tcp" are words for env://, and fit() has the first one as default.
for kind in env:// tcp://HOST:PORT file://PATH; do
	case $kind in
	env*) method=$kind ;;
	tcp*) method=tcp://localhost:$(free_port) ;;
	file*) method="file://$PWD/a b/meet" ;;
	esac
	mkdir -p "a b"
	test_expect_success "processes meet by init_method $kind" '
		$run --name met --fresh -n 2 --set backend_config.init_method="\"$method\"" -- \
			"$PYTHON" group.py 2>err && jq -e ".sum == 3" runs/met/result.json
	'
done
test_expect_success 'a file of an attempt that was killed does not hold up the next one' '
	: >"a b/again.attempt-1" &&
	$run --name again -n 2 --max-failures 1 \
		--set backend_config.init_method="\"file://$PWD/a b/again\"" -- \
		"$PYTHON" group.py killed 2>err &&
	json_is runs/again/logs/attempt-1/attempt.json .outcome finished
'
test_expect_success 'an address of another node, and a taken port, are errors that say so' '
	expect_status 1 $run --name other -n 2 \
		--set backend_config.init_method="\"tcp://192.0.2.1:29500\"" -- \
		"$PYTHON" group.py 2>err &&
	grep "rank 0, on .*, cannot use init_method .tcp://192.0.2.1:29500" err &&
	"$PYTHON" -c "
import socket, subprocess, sys
s = socket.socket()
s.bind((\"127.0.0.1\", 0))
s.listen()
sys.exit(subprocess.call(sys.argv[1:] + [
    \"--set\", \"backend_config.init_method=\\\"tcp://127.0.0.1:%d\\\"\" % s.getsockname()[1],
    \"--\", sys.executable, \"group.py\"]))" $run --name taken -n 2 2>err
	test $? -eq 1 && grep "cannot use init_method .*Address already in use" err
'
test_expect_success 'an init_method that is none is refused before anything runs' '
	for method in mpi:// tcp://host tcp://host:99999 file://x "file:///"; do
		expect_status 3 $run --name none -n 2 \
			--set backend_config.init_method="\"$method\"" -- true 2>err &&
		grep "backend_config.init_method: expected .*not \"$method\"" err || return 1
	done &&
	for method in env tcp tcp://127.0.0.1:29500 tcp://[::1]:29500; do
		$run --dry-run --name none -n 2 \
			--set backend_config.init_method="\"$method\"" -- true >out || return 1
	done &&
	cat >config.py <<-\EOF &&
	from raytrain.torch import TorchConfig
	for good in "env", "tcp", "env://", "tcp://node1:29500", "tcp://[::1]:29500", "file:///x":
	    TorchConfig(init_method=good)
	for bad in "mpi://", "tcp://host", "file://x", "":
	    try:
	        TorchConfig(init_method=bad)
	    except ValueError as error:
	        assert repr(bad) in str(error)
	    else:
	        assert False, bad
	EOF
	"$PYTHON" config.py
'
test_expect_success 'fit() passes TorchConfig(init_method=...) on' '
	cat >fit.py <<-\EOF &&
	import sys
	import raytrain
	from raytrain import RunConfig, ScalingConfig
	from raytrain.torch import TorchConfig, TorchTrainer
	def train():
	    import torch.distributed as dist
	    raytrain.report({"size": dist.get_world_size()})
	result = TorchTrainer(train, torch_config=TorchConfig(init_method="file://" + sys.argv[1]),
	                      scaling_config=ScalingConfig(num_workers=2),
	                      run_config=RunConfig(name="fit", storage_path="runs")).fit()
	assert result.metrics["size"] == 2
	EOF
	"$PYTHON" fit.py "$PWD/by-fit" 2>err && grep "file://.*/by-fit" runs/fit/run.cfg
'

cat >amp.py <<\EOF
import torch
import raytrain, raytrain.torch
from raytrain import RunConfig, ScalingConfig
from raytrain.torch import TorchTrainer

def train():
    torch.manual_seed(raytrain.get_context().get_world_rank())
    raytrain.torch.accelerate(amp=True)
    seen = []
    net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    net[0].register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    model = raytrain.torch.prepare_model(net)
    optimizer = raytrain.torch.prepare_optimizer(torch.optim.Adam(model.parameters(), lr=0.01))
    first = None
    for step in range(150):
        x = torch.rand(64, 2)
        loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        raytrain.torch.backward(loss)
        optimizer.step()
        first = loss.item() if first is None else first
    weights = torch.cat([p.detach().flatten() for p in net.parameters()])
    raytrain.report({"first": first, "loss": loss.item(), "half": set(seen) == {torch.bfloat16},
                     "wide": model(x).dtype == torch.float32 == weights.dtype,
                     "sum": weights.double().sum().item()})

result = TorchTrainer(train, scaling_config=ScalingConfig(num_workers=2),
                      run_config=RunConfig(name="amp", storage_path="runs")).fit()
m = result.metrics
assert m["half"] == 1 and m["wide"] == 1, m
assert m["loss"] < m["first"] / 10, m
assert m["by_rank"]["sum"]["min"] == m["by_rank"]["sum"]["max"], m
EOF
test_expect_success 'accelerate(amp=True) computes in bfloat16, and learns the same on all workers' '
	"$PYTHON" amp.py 2>err
'

# Groups of one worker each, whose threads let go of tensors after the end of the script.
cat >end.py <<\EOF
import torch, torch.distributed as dist
import raytrain as train

dist.init_process_group("gloo")
groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
train.report({})
dist.barrier()
for i in range(40):
    dist.all_reduce(torch.ones(2), group=groups[dist.get_rank()], async_op=True)
EOF
test_expect_success 'threads of Gloo that are still at work do not fail the end of a script' '
	$run --name end -n 2 -- "$PYTHON" end.py 2>err
'
cat >gpus.py <<\EOF
"""What the module does with GPUs, seen with a faked torch.cuda."""
import os, sys
from unittest import mock
import torch
import raytrain.torch
from raytrain import _session
from raytrain.torch import _data_loader, _place, _train_loop

def devices(n, local_rank, workers):
    place = mock.Mock(local_rank=local_rank, local_world_size=workers, has_companion=False)
    with mock.patch.object(_train_loop, "place", lambda: place), \
            mock.patch("torch.cuda.is_available", lambda: n > 0), \
            mock.patch("torch.cuda.device_count", lambda: n):
        return [d.index for d in raytrain.torch.get_devices()]

# In the order of backend torch: the first GPU of each rank, then the second ones.
assert [devices(4, r, 4) for r in range(4)] == [[0], [1], [2], [3]]
assert [devices(4, r, 2) for r in range(2)] == [[0, 2], [1, 3]]
assert [devices(1, r, 2) for r in range(2)] == [[0], [0]]
assert devices(5, 1, 2) == [1, 3] and devices(0, 0, 2) == [None]
_session.uses_gpu = False
assert devices(4, 1, 4) == [None]
_session.uses_gpu = None

# DDP is given the one GPU that a model is on, and none for others.
cpu, first, second = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)
assert _train_loop._device_ids({second}) == {"device_ids": [1], "output_device": 1}
assert _train_loop._device_ids({cpu}) == _train_loop._device_ids({first, second}) == {}

# prepare_model(): "cuda" without a number is this worker's GPU.
used = []
class Model(torch.nn.Module):
    def to(self, device):
        used.append(("model", str(device)))
        return self
for move, expected in ((True, "cuda:1"), (torch.device("cuda"), "cuda:1"),
                       (torch.device("cuda:3"), "cuda:3")):
    del used[:]
    with mock.patch.object(_train_loop, "get_device", lambda: second), \
            mock.patch.object(_train_loop, "ensure_process_group", lambda d: used.append(("group", str(d)))), \
            mock.patch("torch.cuda.set_device", lambda d: used.append(("set", str(d)))):
        raytrain.torch.prepare_model(Model(), move_to_device=move)
    assert used == [("set", expected), ("group", expected), ("model", expected)], used

# The loader that copies ahead: all batches in order; each waits for its copy before it is
# handed out, and the next is copied by then.
events = []
class Stream:
    def __init__(self, name):
        self.name = name
    def wait_stream(self, other):
        events.append("wait")
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
def moved(batch, device, later):
    events.append("copy %d" % batch[0])
    return batch
with mock.patch("torch.cuda.Stream", lambda device: Stream("side"), create=True), \
        mock.patch("torch.cuda.stream", lambda stream: stream), \
        mock.patch("torch.cuda.current_stream", lambda device: Stream("main")), \
        mock.patch.object(_data_loader, "_moved", moved):
    loader = _data_loader._DeviceLoader([(i,) for i in range(3)], first, True)
    assert len(loader) == 3
    for batch in loader:
        events.append("use %d" % batch[0])
assert events == ["copy 0", "wait", "copy 1", "use 0", "wait", "copy 2", "use 1",
                  "wait", "use 2"], events
EOF
test_expect_success 'GPUs of a worker, of its model and of its loader (faked)' '
	"$PYTHON" gpus.py
'

cat >plain.py <<\EOF
import os
import torch, torch.distributed as dist
dist.init_process_group("gloo")
assert os.environ["LOCAL_WORLD_SIZE"] == "2"
import raytrain.torch
torch.manual_seed(3)
model = raytrain.torch.prepare_model(torch.nn.Linear(4, 1))
torch.manual_seed(dist.get_rank())
model(torch.rand(8, 4)).sum().backward()
gradient = next(model.parameters()).grad.flatten().tolist()
with open("gradient.%d" % dist.get_rank(), "w") as file:
    print(gradient, file=file)
EOF
# torch 2.4 and later of Debian has no libuv, which torchrun uses. Debian's torchrun needs -r
# and -t with Python 3.11.
"$PYTHON" -c "
import sys, torch
sys.exit(tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 4))
" && command -v torchrun >/dev/null && test_set_prereq TORCHRUN
torchrun="torchrun -r 9:1 -t 9:1 --standalone --nproc_per_node 2"
test_expect_success TORCHRUN 'a script for torchrun gets the same gradients from raytrain-run' '
	$torchrun plain.py 2>err && mkdir by-torchrun && mv gradient.* by-torchrun &&
	$run --name plain -n 2 -- "$PYTHON" plain.py 2>err &&
	for rank in 0 1; do
		test_cmp by-torchrun/gradient.$rank gradient.$rank || return 1
	done
'
test_expect_success TORCHRUN 'the example for PyTorch trains under torchrun, too' '
	$torchrun "$srcdir/share/examples/python/fashion_mnist_torch.py" \
		--rows 1500 --hidden 16 --epochs 1 2>err && ! grep Error err
'
test_done
