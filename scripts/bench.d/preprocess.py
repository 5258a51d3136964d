# preprocess.py make DIR ROWS CATEGORIES: write rows.h5 with ROWS x 20 numbers, and words.h5 with
#     CATEGORIES numbers of 10 categories, some of which are missing.
# preprocess.py scale|encode DIR: what scikit-learn takes in two processes, each with half of the
#     rows, to read, fit and transform them. Prints milliseconds. The halves are not fitted
#     together, which would take longer.
import multiprocessing
import sys
import time

import h5py
import numpy


def make(folder, rows, categories):
    random = numpy.random.default_rng(1)
    with h5py.File(folder + "/rows.h5", "w") as f:
        x = f.create_dataset("x", (rows, 20), "f4")
        for at in range(0, rows, 1 << 20):
            n = min(1 << 20, rows - at)
            x[at : at + n] = random.random((n, 20), dtype="f4")
    with h5py.File(folder + "/words.h5", "w") as f:
        c = random.integers(0, 10, categories).astype("f4")
        c[random.integers(0, categories, categories // 100)] = numpy.nan
        f["c"] = c


def half(path, name, part):
    with h5py.File(path, "r") as f:
        n = len(f[name])
        return f[name][n // 2 * part : n // 2 * (part + 1)]


def scale(folder, part):
    from sklearn.preprocessing import StandardScaler

    yield
    StandardScaler(copy=False).fit_transform(half(folder + "/rows.h5", "x", part))


def encode(folder, part):
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    yield
    c = half(folder + "/words.h5", "c", part).reshape(-1, 1)
    c = SimpleImputer(strategy="most_frequent").fit_transform(c)
    OneHotEncoder(sparse_output=False, dtype="u1").fit_transform(c)


def run(what, folder, part, ready):
    steps = what(folder, part)
    next(steps)
    ready.wait()
    next(steps, None)
    ready.wait()


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    ready = multiprocessing.Barrier(3, timeout=100)
    both = [
        multiprocessing.Process(target=run, args=(globals()[sys.argv[1]], sys.argv[2], i, ready))
        for i in range(2)
    ]
    for process in both:
        process.start()
    ready.wait()
    begun = time.perf_counter()
    ready.wait()
    print("%.3f" % ((time.perf_counter() - begun) * 1000))
