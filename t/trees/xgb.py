#!/usr/bin/python3
"""Train by XGBoost's own Python module in one process, for comparison.

    xgb.py NAME LABEL ROUNDS [KEY=VALUE...] [early=N]

Reads NAME-train.csv and NAME-valid.csv; writes NAME.ubj, the model, and NAME.json, the
scores after each round, a line each, and the best round. VALUE is JSON, or else a word.
"""
import json
import sys

import numpy as np
import xgboost


def read(path, label):
    with open(path) as file:
        names = file.readline().strip().split(",")
    rows = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=np.float64, ndmin=2)
    at = names.index(label)
    features = np.delete(rows, at, axis=1).astype(np.float32)
    del names[at]
    return xgboost.DMatrix(features, rows[:, at], feature_names=names)


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(name, label, rounds, *params):
    params = {key: value(text) for key, text in (p.split("=", 1) for p in params)}
    early = params.pop("early", None)
    params = {"tree_method": "hist", "nthread": 1} | params
    sets = [(read(f"{name}-{part}.csv", label), part) for part in ("train", "valid")]
    scores = {}
    model = xgboost.train(params, sets[0][0], int(rounds), evals=sets, evals_result=scores,
                          verbose_eval=False, early_stopping_rounds=early)
    best = model.best_iteration if early else -1
    if early:
        model = model[:best + 1]
    # This module notes the last round as the best one, for versions before 1.4.
    model.set_attr(**{key: None for key in model.attributes()})
    model.save_model(name + ".ubj")
    done = len(next(iter(scores["train"].values())))
    with open(name + ".json", "w") as out:
        for i in range(done):
            line = {f"{part}-{metric}": values[i] for part, by_metric in scores.items()
                    for metric, values in by_metric.items()}
            print(json.dumps(line | {"best": best, "rounds": done}), file=out)


main(*sys.argv[1:])
