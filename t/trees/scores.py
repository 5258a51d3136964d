#!/usr/bin/python3
"""Compare the scores of two trainings.

    scores.py TOLERANCE A B...

Each file has a line of JSON for each round, as a run's result.json. B has the scores
DATASET-METRIC of A's last round, up to TOLERANCE times max(1, score), and as many rounds.
"""
import json
import sys


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


tolerance, first, *others = sys.argv[1:]
wanted = lines(first)
names = [name for name in wanted[-1] if name.startswith(("train-", "valid-"))]
assert names, first
wrong = []
for other in others:
    found = lines(other)
    if len(found) != len(wanted):
        wrong.append(f"{other}: {len(found)} rounds, not {len(wanted)}")
    for name in names:
        a, b = wanted[-1][name], found[-1].get(name)
        print(f"{other}: {name} {b}, expected {a}")
        if b is None or not abs(a - b) <= float(tolerance) * max(1, abs(a)):
            wrong.append(f"{other}: {name} is {b}, expected {a}")
sys.exit("\n".join(wrong) or 0)
