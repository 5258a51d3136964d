#!/usr/bin/python3
"""Print the scores in a log of LightGBM's own program, a line of JSON for each round.

    lightgbm-log.py LOG

They have the names of raytrain's: train-l2, valid-l2.
"""
import json
import re
import sys

rounds = {}
with open(sys.argv[1]) as log:
    for line in log:
        found = re.search(r"Iteration:(\d+), (training|valid_1) (\S+) : (\S+)", line)
        if found:
            number, part, metric, score = found.groups()
            name = f"{'train' if part == 'training' else 'valid'}-{metric}"
            rounds.setdefault(int(number), {})[name] = float(score)
assert rounds, f"no scores in {sys.argv[1]}"
for _, scores in sorted(rounds.items()):
    print(json.dumps(scores))
