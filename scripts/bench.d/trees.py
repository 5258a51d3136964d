# trees.py - trees.sh: the data, and what the libraries need without raytrain. A model is trained
# as trees.sh says, in a process with two threads, and evaluated on its rows after each round.
#
#   trees.py make DIR ROWS          write rows.h5, ROWS x 50 numbers and a label, and rows.csv,
#                                   10,000 x 20
#   trees.py xgboost FILE ROUNDS PARAMS
#   trees.py lightgbm FILE ROUNDS PARAMS LIBRARY
#                                   print the median of the milliseconds of a round; PARAMS is JSON
#   trees.py matrix FILE PARAMS     print the MiB of the first half of the rows and of all that
#                                   XGBoost has for them in memory
#   trees.py peak COMMAND...        run it; print the MiB of its largest process
import ctypes
import json
import resource
import statistics
import subprocess
import sys
import time

MIB = 1 << 20


def make(folder, rows):
    import h5py
    import numpy

    random = numpy.random.default_rng(1)

    def label_of(x):
        score = x[:, 0] - x[:, 1] * x[:, 2] + numpy.abs(x[:, 3]) + numpy.sin(3 * x[:, 4])
        return score + random.standard_normal(len(x), dtype="f4") > 0.6

    with h5py.File(folder + "/rows.h5", "w") as f:
        x = f.create_dataset("x", (rows, 50), "f4")
        label = f.create_dataset("label", (rows,), "f4")
        for at in range(0, rows, 1 << 18):
            block = random.standard_normal((min(1 << 18, rows - at), 50), dtype="f4")
            x[at : at + len(block)] = block
            label[at : at + len(block)] = label_of(block)
    block = random.standard_normal((10000, 20), dtype="f4")
    with open(folder + "/rows.csv", "w") as out:
        print(*("x%d" % i for i in range(20)), "label", sep=",", file=out)
        for row, y in zip(block, label_of(block)):
            print(*("%.6g" % v for v in row), int(y), sep=",", file=out)


def read(path, part=1.0):
    import h5py
    import numpy

    with h5py.File(path, "r") as f:
        n = int(f["x"].shape[0] * part)
        x = numpy.empty((n, f["x"].shape[1]), "f4")
        label = numpy.empty(n, "f4")
        f["x"].read_direct(x, numpy.s_[:n])
        f["label"].read_direct(label, numpy.s_[:n])
    return x, label


def median_ms(rounds, step):
    times = []
    for i in range(rounds):
        begun = time.perf_counter()
        step(i)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times[1:])


def xgboost(path, rounds, params):
    import xgboost as xgb

    x, label = read(path)
    matrix = xgb.DMatrix(x, label, nthread=2)
    del x
    booster = xgb.Booster(dict(params, nthread=2), [matrix])

    def step(i):
        booster.update(matrix, i)
        booster.eval(matrix, "train", i)

    return median_ms(rounds, step)


def lightgbm(path, rounds, params, library):
    library = ctypes.CDLL(library)
    library.LGBM_GetLastError.restype = ctypes.c_char_p
    dataset, booster, done = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    scores = (ctypes.c_double * 8)()

    def call(name, *args):
        if getattr(library, name)(*args) != 0:
            raise SystemExit(library.LGBM_GetLastError().decode())

    x, label = read(path)
    text = " ".join("%s=%s" % p for p in dict(params, num_threads=2).items()).encode()
    data = x.ctypes.data_as(ctypes.c_void_p)
    call("LGBM_DatasetCreateFromMat", data, 0, len(x), x.shape[1], 1, text, None,
         ctypes.byref(dataset))
    call("LGBM_DatasetSetField", dataset, b"label", label.ctypes.data_as(ctypes.c_void_p),
         len(label), 0)
    call("LGBM_BoosterCreate", dataset, text, ctypes.byref(booster))

    def step(_):
        call("LGBM_BoosterUpdateOneIter", booster, ctypes.byref(done))
        call("LGBM_BoosterGetEval", booster, 0, ctypes.byref(done), scores)

    return median_ms(rounds, step)


# What the kernel says of this process, in MiB.
def memory(key):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key)) / 1024


# Its matrix also has what it makes of that in the first round: the bins of all numbers.
def matrix(path, params):
    import xgboost as xgb

    x, label = read(path, 0.5)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak is what there is now
    before = memory("VmHWM")
    rows = xgb.DMatrix(x, label, nthread=1)
    booster = xgb.Booster(dict(params, nthread=1), [rows])
    for i in range(3):
        booster.update(rows, i)
        booster.eval(rows, "train", i)
    return (x.nbytes + label.nbytes) / MIB + memory("VmHWM") - before


def peak(command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


what, args = sys.argv[1], sys.argv[2:]
if what == "make":
    make(args[0], int(args[1]))
elif what == "xgboost":
    print("%.3f" % xgboost(args[0], int(args[1]), json.loads(args[2])))
elif what == "lightgbm":
    print("%.3f" % lightgbm(args[0], int(args[1]), json.loads(args[2]), args[3]))
elif what == "matrix":
    print("%.1f" % matrix(args[0], json.loads(args[1])))
elif what == "peak":
    print("%.1f" % peak(args))
