# foreign.py make PATH BYTES: write an HDF5 file with one contiguous dataset.
# foreign.py read PATH TURNS: open it and read it into memory that has been touched. Prints the
# median of the milliseconds.
import statistics
import sys
import time

import h5py
import numpy

what, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
if what == "make":
    with h5py.File(path, "w") as f:
        f["weights"] = numpy.arange(n // 4, dtype="float32")
else:
    with h5py.File(path, "r") as f:
        data = numpy.ones(f["weights"].shape, f["weights"].dtype)
    ms = []
    for turn in range(n):
        start = time.perf_counter()
        with h5py.File(path, "r") as f:
            f["weights"].read_direct(data)
        ms.append((time.perf_counter() - start) * 1000)
    print("%.3f" % statistics.median(ms))
