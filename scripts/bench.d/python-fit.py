# python-fit.py fit DIR | report BYTES | loader TURN: the figures of a row of python-fit.sh, in
# milliseconds. All but the first run in two workers, of which rank 0 prints.
import os
import sys
import tempfile
import time

import raytrain


def nothing():
    pass


def fit(folder):
    """fit() after `import raytrain`."""
    from raytrain import DataParallelTrainer, RunConfig, ScalingConfig

    start = time.perf_counter()
    DataParallelTrainer(
        nothing, scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(launcher="local", storage_path=folder, name="fit", verbose=0)).fit()
    return ["%.3f" % ((time.perf_counter() - start) * 1000)]


def timed(call):
    raytrain.barrier()
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def report(size):
    """Medians: of a report with a directory, and of a copy into warm memory."""
    rank, size, took = raytrain.get_context().get_world_rank(), int(size), [[], []]
    warm = bytearray(size)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state")
        with open(path, "wb") as file:
            file.write(os.urandom(size))

        def copy():
            with open(path, "rb", buffering=0) as file:
                file.readinto(warm)

        for turn in range(9):
            checkpoint = raytrain.Checkpoint.from_directory(folder) if rank == 0 else None
            took[0].append(timed(lambda: raytrain.report({"turn": turn}, checkpoint=checkpoint)))
            raytrain.barrier()
            time.sleep(0.5)  # until it is written: the next report does not wait for it
            took[1].append(timed(copy))
    return ["%.3f" % sorted(t[2:])[3] for t in took]  # both buffers are warm


def loader(turn):
    """Sums of epochs that alternate."""
    from raytrain.torch import prepare_data_loader
    from torch.utils.data import DataLoader, TensorDataset
    import torch

    rows = TensorDataset(torch.rand(20000, 784), torch.arange(20000))
    loaders = [prepare_data_loader(DataLoader(rows, 64, shuffle=True), resume_position=resumes)
               for resumes in (True, False)]
    took = [[], []]

    def epoch(batches):
        for batch in batches:
            pass

    for i in range(12):
        which = (i + int(turn)) % 2
        for k in (which, 1 - which):
            took[k].append(timed(lambda: epoch(loaders[k])))
    return ["%.3f" % sum(t[1:]) for t in took]


if __name__ == "__main__":
    figures = globals()[sys.argv[1]](sys.argv[2])
    if raytrain.get_context().get_world_rank() == 0:
        print(*figures, flush=True)
