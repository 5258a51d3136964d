# data.py make PATH ROWS [gzip]: write an HDF5 file with ROWS images as float32, x, and labels,
# y; compressed, with chunks of 256 rows.
# data.py read PATH: two processes read half of the rows of x and y each, in the fastest way
# that h5py has: whole slices in file order. Prints the milliseconds.
import multiprocessing
import sys
import time

import h5py
import numpy

CHUNK = 256


def half(path, k, barrier):
    with h5py.File(path, "r") as f:
        x, y = f["x"], f["y"]
        n = len(x) // 2 // CHUNK * CHUNK
        begin, end = (0, n) if k == 0 else (n, len(x))
        out, labels = numpy.ones((4 * CHUNK, 784), "f4"), numpy.ones(4 * CHUNK, "u1")
        barrier.wait()
        for i in range(begin, end, 4 * CHUNK):
            rows = min(4 * CHUNK, end - i)
            x.read_direct(out, numpy.s_[i:i + rows], numpy.s_[:rows])
            y.read_direct(labels, numpy.s_[i:i + rows], numpy.s_[:rows])
        barrier.wait()


what, path = sys.argv[1:3]
if what == "make":
    rows = int(sys.argv[3])
    random = numpy.random.default_rng(1)
    packed = len(sys.argv) > 4
    with h5py.File(path, "w") as f:
        for name, shape, kind in ("x", (784,), "f4"), ("y", (), "u1"):
            how = {"chunks": (CHUNK, *shape), "compression": "gzip", "compression_opts": 4,
                   "shuffle": True} if packed else {}
            d = f.create_dataset(name, (rows, *shape), kind, **how)
            for i in range(0, rows, 4096):
                k = min(4096, rows - i)
                bright = random.integers(0, 256, (k, *shape)) * \
                    (random.random((k, *shape)) < 0.5)
                d[i:i + k] = (bright / 255).astype(kind) if kind == "f4" else bright
else:
    barrier = multiprocessing.Barrier(3)
    children = [multiprocessing.Process(target=half, args=(path, k, barrier))
                for k in range(2)]
    for child in children:
        child.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    print("%.3f" % ((time.perf_counter() - start) * 1000))
    for child in children:
        child.join()
