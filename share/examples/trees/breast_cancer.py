"""Write breast-cancer-train.csv and breast-cancer-test.csv: the measurements of 569 tumours
(Wisconsin Diagnostic Breast Cancer), from the files of scikit-learn.

    python3 breast_cancer.py

Every fifth row is for the test. The label is the column "malignant", 0 or 1.
"""
import csv
import importlib.util
import os
import sys

MEASURED = ("radius", "texture", "perimeter", "area", "smoothness", "compactness",
            "concavity", "concave_points", "symmetry", "fractal_dimension")
NAMES = [f"{kind}_{what}" for kind in ("mean", "error", "worst") for what in MEASURED]


def source():
    found = importlib.util.find_spec("sklearn")
    if found is None:
        sys.exit("breast_cancer.py: the data come with scikit-learn: apt-get install "
                 "python3-sklearn, or pip install scikit-learn")
    return os.path.join(os.path.dirname(found.origin), "datasets", "data",
                        "breast_cancer.csv")


def rows():
    """Lists of 30 numbers and the label. In the file 1 is benign; its first line has its
    size, and no names."""
    with open(source(), newline="") as file:
        for row in list(csv.reader(file))[1:]:
            yield row[:-1] + [str(1 - int(row[-1]))]


if __name__ == "__main__":
    with open("breast-cancer-train.csv", "w", newline="") as train, \
            open("breast-cancer-test.csv", "w", newline="") as test:
        writers = [csv.writer(train), csv.writer(test)]
        for writer in writers:
            writer.writerow(NAMES + ["malignant"])
        for i, row in enumerate(rows()):
            writers[i % 5 == 4].writerow(row)
