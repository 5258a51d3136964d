#!/bin/sh
test_description='a PyTorch training continues in the middle of an epoch of its DataLoaders'
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
run="raytrain-run --launcher local --storage runs --progress none --backend torch"

if ! "$PYTHON" -c "import torch; torch.frombuffer" 2>/dev/null; then
	skip_all="no torch of 1.10 or later (python3-torch)"
	test_done
fi

own_tmp # killed processes of multiprocessing and torchrun leave files
cat >loaders.py <<-\EOF
	# loaders.py: takes a batch of each loader in each step, and writes which samples these were to
	# got/LOADER-RANK, with the step. KILL=STEP: rank 1 dies after that step of the first attempt.
	import multiprocessing, os, signal
	import torch, raytrain, raytrain.torch
	from raytrain import Checkpoint
	from raytrain.torch import prepare_data_loader
	from torch.utils.data import (BatchSampler, DataLoader, Dataset, IterableDataset,
	                              RandomSampler, SequentialSampler, get_worker_info)
	from torch.utils.data.distributed import DistributedSampler

	multiprocessing.set_start_method("fork")  # another is the default in Python 3.14
	place = raytrain.get_context()
	rank, workers = place.get_world_rank(), place.get_world_size()

	class Rows(Dataset):
	    def __len__(self): return 41
	    def __getitem__(self, i): return i

	class Stream(IterableDataset):
	    """Each process of each worker has its own 11 numbers; the first process has 5."""
	    def __init__(self): self.at = 0
	    def state_dict(self): return {"at": self.at, "kept": ("a", b"b", None)}
	    def load_state_dict(self, state):
	        assert state["kept"] == ("a", b"b", None), state
	        self.at = state["at"]
	    def __iter__(self):
	        info = get_worker_info()
	        number = rank * 10 + (info.id if info else 0)
	        while self.at < (5 if number % 10 == 0 else 11):
	            self.at += 1
	            yield 1000 * number + self.at
	        self.at = 0

	rows = Rows()
	own = DistributedSampler(rows, workers, rank, seed=5)
	drawn = torch.Generator()
	drawn.manual_seed(place.get_attempt())
	loaders = {
	    "divided": DataLoader(rows, 3, shuffle=True, num_workers=2, persistent_workers=True),
	    "ordered": DataLoader(rows, 4, drop_last=True),
	    "own": DataLoader(rows, 4, sampler=own),
	    "batches": DataLoader(rows, batch_sampler=BatchSampler(SequentialSampler(rows), 7, False)),
	    "random": DataLoader(rows, 5, sampler=RandomSampler(rows, True, 33, drawn)),
	    "stream": DataLoader(Stream(), 2, num_workers=2),
	    "alone": DataLoader(Stream(), 2),
	}
	loaders = {name: prepare_data_loader(loader) for name, loader in loaders.items()}
	again = DataLoader(rows, 4)
	assert prepare_data_loader(again, add_dist_sampler=False, resume_position=False) is again
	checkpoint = raytrain.get_checkpoint()
	state = checkpoint.to_dict() if checkpoint else {"step": -1, "epoch": 0}

	def forever(name):
	    while True:
	        if name == "own":
	            own.set_epoch(state["epoch"])
	        yield from loaders[name]
	        if name == "own":
	            state["epoch"] += 1

	batches = {name: forever(name) for name in loaders}
	for step in range(state["step"] + 1, 17):
	    for name in loaders:
	        with open(f"got/{name}-{rank}", "a") as file:
	            print(step, *next(batches[name]).tolist(), file=file)
	    state["step"] = step
	    raytrain.report({"step": step}, checkpoint=Checkpoint.from_dict(state))
	    if str(step) == os.environ.get("KILL") and place.get_attempt() == 0 and rank == 1:
	        os.kill(os.getpid(), signal.SIGKILL)
EOF
# last_of DIR: the lines of all files; of a step that was repeated, the last one.
last_of () {
	for file in "$1"/*; do
		awk -v file="${file##*/}" '{ line[$1] = $0 }
			END { for (i = 0; i < 17; i++) print file, line[i] }' "$file" || return 1
	done
}
test_expect_success 'after a kill each loader gives the batch that would have come, bit for bit' '
	for kill in none 4 11; do
		mkdir got &&
		KILL=$kill $run --name killed-$kill -n 2 --max-failures 1 \
			--set run_config.checkpoint_config.mode=sync -- "$PYTHON" loaders.py 2>err-$kill &&
		mv got got-$kill && last_of got-$kill >$kill || return 1
	done &&
	test -d runs/killed-11/logs/attempt-1 && test $(wc -l <none) = $((17 * 7 * 2)) &&
	test_cmp none 4 && test_cmp none 11 &&
	test $(wc -l <got-11/divided-0) -lt 34  # it has continued, and not begun again
'
test_expect_success 'an epoch has each sample once for each worker' '
	for rank in 0 1; do
		cut -d " " -f 2- got-none/divided-$rank | tr " " "\n" | head -n 21 || return 1
	done | sort -nu >got && seq 0 40 >expected && test_cmp expected got
'
cat >elastic.py <<-\EOF
	# elastic.py STOP: one epoch, of which it returns after STOP batches.
	import sys
	import torch, raytrain, raytrain.torch
	from raytrain import Checkpoint
	from torch.utils.data import DataLoader
	rank, workers = (raytrain.get_context().get_world_rank(), raytrain.get_context().get_world_size())
	torch.manual_seed(len(sys.argv[1]) * 7 + workers)
	loader = raytrain.torch.prepare_data_loader(DataLoader(range(101), 4, shuffle=True))
	if workers == 3:
	    late = raytrain.torch.prepare_data_loader(DataLoader(range(101), 4, shuffle=True))
	for k, batch in enumerate(loader):
	    print("rows", *batch.tolist(), flush=True)
	    raytrain.report({"k": k}, checkpoint=Checkpoint.from_dict({"k": k}))
	    if k + 1 == int(sys.argv[1]):
	        break
	else:
	    raytrain.report({"k": k}, checkpoint=Checkpoint.from_dict({"k": k}))
EOF
# rows_of NAME FIRST: the samples in the logs of the attempts from number FIRST on.
rows_of () {
	for attempt in runs/$1/logs/attempt-*; do
		test ${attempt##*-} -lt $2 || cat $attempt/rank-*.out
	done | sed -n "s/^rows //p" | tr " " "\n" | sort -n
}
test_expect_success 'on other numbers of workers the rest of an epoch has each sample once' '
	$run --name elastic -n 1 -- "$PYTHON" elastic.py 5 2>err &&
	$run --name elastic -n 3 --resume -- "$PYTHON" elastic.py 2 2>err &&
	$run --name elastic -n 2 --resume -- "$PYTHON" elastic.py 3 2>named &&
	$run --name elastic -n 1 --resume -- "$PYTHON" elastic.py 100 2>err &&
	seq 0 100 >expected && rows_of elastic 0 >got && test_cmp expected got
'
test_expect_success 'positions of loaders that were not prepared again are named' '
	grep "has positions of data loaders" named && test_must_fail grep "positions of data" err
'
test_expect_success 'the next epoch begins at its start, in another order' '
	$run --name elastic -n 2 --resume -- "$PYTHON" elastic.py 101 2>err &&
	rows_of elastic 4 | uniq >got && test_cmp expected got &&
	rows_in_order () { sed -n "s/^rows //p" runs/elastic/logs/attempt-$1/rank-00000.out; } &&
	rows_in_order 0 | head -n 2 >first && rows_in_order 4 | head -n 2 >second &&
	test_must_fail cmp first second
'
cat >ends.py <<-\EOF
	# ends.py: in the first attempt, a checkpoint with each loader at another place; then what comes
	# next of each is written to next-0, and in the second attempt to next-1.
	import os, signal, sys
	import raytrain, raytrain.torch, torch
	from raytrain import Checkpoint
	from raytrain.torch import prepare_data_loader
	from raytrain.torch._data_loader import _DeviceLoader
	from torch.utils.data import (BatchSampler, DataLoader, IterableDataset, RandomSampler,
	                              SequentialSampler)
	from torch.utils.data.distributed import DistributedSampler

	attempt = raytrain.get_context().get_attempt()
	rows = range(22)

	class Unsized:
	    def __iter__(self): return iter([[1, 2], [3]])

	class Stream(IterableDataset):
	    at = 0
	    def state_dict(self): return {"at": self.at}
	    def load_state_dict(self, state): self.at = state["at"]
	    def __iter__(self):
	        while self.at < 8:
	            self.at += 1
	            yield self.at
	        self.at = 0

	def ready(*args, add=True, **kwargs):
	    return prepare_data_loader(DataLoader(rows, *args, **kwargs), add_dist_sampler=add)

	def distributed(): return DistributedSampler(rows, 1, 0, seed=3)
	by_batch, by_row = distributed(), distributed()
	late = ready(4, shuffle=True, add=False)
	late_too = ready(4, sampler=RandomSampler(rows, True, 9))
	changed = ready(4, sampler=(RandomSampler if attempt else SequentialSampler)(rows), add=False)
	back = ready(4, sampler=(SequentialSampler if attempt else RandomSampler)(rows), add=False)
	at_end = {
	    "ordered": ready(4, shuffle=True),
	    "dropped": ready(4, shuffle=True, drop_last=True),
	    "random": ready(4, sampler=RandomSampler(rows, True, 9)),
	    "followed": ready(4, sampler=distributed()),
	    "batches": ready(batch_sampler=BatchSampler(distributed(), 4, True)),
	    "unsized": ready(batch_sampler=Unsized()),
	    "stream": prepare_data_loader(DataLoader(Stream(), 4)),
	    "processes": prepare_data_loader(DataLoader(Stream(), 4, num_workers=1)),
	}
	chosen = {
	    by_batch: ready(batch_sampler=BatchSampler(by_batch, 4, False)),
	    by_row: ready(4, sampler=by_row),
	}
	twice = [ready(4, shuffle=True), ready(4, shuffle=True, add=False)]
	twice += [_DeviceLoader(each, torch.device("cpu"), True)
	          for each in (ready(4, shuffle=True), ready(4, shuffle=True, add=False))]

	def write(name, batches):
	    with open(f"next-{attempt}", "a") as file:
	        print(name, *[batch.tolist() for batch in batches], file=file)

	def last_batch(loader):
	    passed = iter(loader)
	    for _ in range({"dropped": 5, "batches": 5, "unsized": 2, "stream": 2, "processes": 2,
	                    "random": 3}.get(names.get(loader), 6)):
	        next(passed)
	    return passed

	def second_pass(loader):
	    first = iter(loader)
	    next(first)
	    second = iter(loader)
	    next(second), next(second), next(first)
	    del first
	    return second

	names = {loader: name for name, loader in at_end.items()}
	for sampler in chosen:
	    sampler.set_epoch(2)
	if attempt == 0:
	    kept = [iter(changed), iter(back)]
	    for passed in kept:
	        next(passed), next(passed)
	    ended = {name: last_batch(loader) for name, loader in at_end.items()}
	    goes_on = [last_batch(loader) for loader in chosen.values()]
	    goes_on += [second_pass(loader) for loader in twice]
	    raytrain.report({}, checkpoint=Checkpoint.from_dict({}))
	    for passed in ended.values():
	        assert not list(passed)
	else:
	    goes_on = [*chosen.values(), *twice]
	    assert sorted(torch.cat(list(late)).tolist()) == list(rows)
	    assert len(torch.cat(list(late_too))) == 9
	    assert sorted(torch.cat(list(changed)).tolist()) == list(rows)
	    assert torch.cat(list(back)).tolist() == list(rows)
	for number, passed in enumerate(goes_on):
	    write(number, passed)
	for _ in range(0 if attempt else sys.getrecursionlimit()):
	    ready(4, sampler=by_row)  # as by a script that makes a loader for each epoch
	for sampler, loader in chosen.items():
	    sampler.set_epoch(3)
	    write("chosen", loader)
	for name, loader in at_end.items():
	    write(name, loader)
	if attempt == 0:
	    os.kill(os.getpid(), signal.SIGKILL)
EOF
test_expect_success 'a checkpoint at any place: before the first batch, at the last, in a second pass' '
	$run --name ends -n 1 --max-failures 1 --set run_config.checkpoint_config.mode=sync \
		-- "$PYTHON" ends.py 2>err &&
	test $(wc -l <next-0) = 16 && test_cmp next-0 next-1
'
test_expect_success 'after a checkpoint at the last batch of an epoch, the next epoch begins' '
	for name in ordered dropped random followed batches unsized stream processes; do
		grep "^$name \[" next-1 || return 1
	done
'
test_expect_success 'if the script chooses the epoch of that checkpoint, nothing of it is left' '
	grep -x 0 next-1 && grep -x 1 next-1
'
test_expect_success 'another kind of sampler starts at the beginning, with a warning' '
	grep "another kind of sampler" err
'
test_done
