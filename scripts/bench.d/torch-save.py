# torch-save.py PATH BYTES: torch.save and fsync, twice. Prints the milliseconds of the second.
import os
import sys
import time

import torch

path, n = sys.argv[1], int(sys.argv[2])
model = torch.arange(n // 8, dtype=torch.int64)
for turn in range(2):
    os.sync()
    start = time.perf_counter()
    with open(path, "wb") as f:
        torch.save({"model": model}, f)
        f.flush()
        os.fsync(f.fileno())
    ms = (time.perf_counter() - start) * 1000
    os.unlink(path)
print("%.3f" % ms)
