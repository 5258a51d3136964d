#!/usr/bin/python3
"""Write the data of tests of the trainers of trees as CSV files with names.

    data.py scikit-learn            cancer, wine, diabetes: of scikit-learn's own files
    data.py lightgbm DIRECTORY      binary, regression, multiclass, rank: of LightGBM's examples

Of each dataset there are NAME-train.csv and NAME-valid.csv. In those of scikit-learn, a
feature is replaced by its level among the rows, one of 64: XGBoost makes the same bins of
such numbers on any number of workers. NAME-raw-train.csv and NAME-raw-valid.csv have the
features as they are.
"""
import csv
import glob
import gzip
import importlib.util
import os
import sys

import numpy as np

LEVELS = 64


def write(path, names, columns):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(names)
        rows.writerows(zip(*columns))


def texts(column):
    """A column of numbers as CSV; those that are missing are empty."""
    return ["" if np.isnan(v) else repr(int(v)) if v == int(v) else repr(float(v))
            for v in column]


def split(name, names, columns):
    """Every fourth row is for validation; the others stay in their order."""
    valid = np.arange(len(columns[0])) % 4 == 3
    for part, chosen in (("train", ~valid), ("valid", valid)):
        write(f"{name}-{part}.csv", names,
              [np.asarray(column, dtype=object)[chosen] for column in columns])


def levels(column):
    return np.searchsorted(np.sort(column), column) * LEVELS // len(column)


# ---- scikit-learn ----

def both(name, features, label, labels, more=()):
    """With levels, and as they are; `more` are further columns: (name, texts)."""
    names = [f"f{k}" for k in range(features.shape[1])]
    for suffix, numbers in (("", np.apply_along_axis(levels, 0, features)),
                            ("-raw", features)):
        split(name + suffix, names + [n for n, _ in more] + [label],
              [texts(column) for column in numbers.T] + [c for _, c in more] + [labels])


def scikit_learn():
    package = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    folder = os.path.join(package, "datasets", "data")

    def table(file):
        with open(os.path.join(folder, file), newline="") as rows:
            head, *body = csv.reader(rows)
        return head[2:], np.array(body, dtype=np.float64)

    def packed(file):
        with gzip.open(os.path.join(folder, file)) as rows:
            return np.loadtxt(rows)

    words, rows = table("breast_cancer.csv")
    malignant = words.index("malignant")
    both("cancer", rows[:, :-1], "malignant",
         ["%d" % (label == malignant) for label in rows[:, -1]])
    both("words", rows[:, :-1], "diagnosis", [words[int(label)] for label in rows[:, -1]])
    # Its rows are in the order of the classes, so that workers lack one. Two columns say
    # nothing: a constant and one that is all missing.
    _, rows = table("wine_data.csv")
    both("wine", rows[:, :-1], "cultivar", ["%d" % label for label in rows[:, -1]],
         (("constant", ["7"] * len(rows)), ("missing", [""] * len(rows))))
    # Some values are missing. 6 rows are fewer than the workers of a test, with 2 of each.
    rows = packed("diabetes_data_raw.csv.gz")
    both("diabetes", rows, "progression", texts(packed("diabetes_target.csv.gz")))
    for name in glob.glob("diabetes*.csv"):
        with open(name) as file:
            head, *lines = file.read().splitlines()
        lines = [line if i % 5 else "," + line.partition(",")[2]
                 for i, line in enumerate(lines)]
        with open(name, "w") as file:
            file.write("\n".join([head] + lines) + "\n")
        with open(name.replace("diabetes", "few"), "w") as file:
            file.write("\n".join([head] + lines[:3]) + "\n")


# ---- LightGBM ----

def ranking(folder, part, path):
    """LIBSVM rows with qid, of one file of rows and one of the sizes of queries."""
    with open(os.path.join(folder, f"rank.{part}.query")) as sizes:
        queries = [query for query, size in enumerate(sizes) for _ in range(int(size))]
    with open(os.path.join(folder, f"rank.{part}")) as rows, open(path, "w") as out:
        for query, row in zip(queries, rows, strict=True):
            label, features = row.split(" ", 1)
            out.write(f"{label} qid:{query} {features}")


def lightgbm(examples):
    for name, folder in (("binary", "binary_classification"), ("regression", "regression"),
                         ("multiclass", "multiclass_classification")):
        for part, file in (("train", "train"), ("valid", "test")):
            path = os.path.join(examples, folder, f"{name}.{file}")
            columns = list(np.loadtxt(path, dtype=str).T)
            names = ["label"] + [f"f{k}" for k in range(len(columns) - 1)]
            # LightGBM reads these by itself.
            for column, ending in (("weight", ".weight"), ("init", ".init")):
                if os.path.exists(path + ending):
                    names.append(column)
                    columns.append(np.loadtxt(path + ending, dtype=str))
            write(f"{name}-{part}.csv", names, columns)
    for part, file in (("train", "train"), ("valid", "test")):
        ranking(os.path.join(examples, "lambdarank"), file, f"rank-{part}.libsvm")


if __name__ == "__main__":
    {"scikit-learn": scikit_learn, "lightgbm": lightgbm}[sys.argv[1]](*sys.argv[2:])
