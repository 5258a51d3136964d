# training.py PATH: write the training set of Fashion-MNIST as HDF5: the images x, the labels y,
# and the number of each row.
import gzip
import sys

import h5py
import numpy

FOLDER = "/usr/share/datasets/fashion-mnist/train-"


def read(name, header):
    with gzip.open(FOLDER + name + "-ubyte.gz") as f:
        return numpy.frombuffer(f.read()[header:], "u1")


with h5py.File(sys.argv[1], "w") as f:
    f["x"] = read("images-idx3", 16).reshape(-1, 784)
    f["y"] = read("labels-idx1", 8)
    f["row"] = numpy.arange(len(f["y"]), dtype="u4")
