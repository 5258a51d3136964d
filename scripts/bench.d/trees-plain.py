# trees-plain.py CSV MODEL PARAMS ROUNDS - what trees.sh compares a whole command with: a script
# that trains on a CSV file by XGBoost's Python module with two threads, and saves the model.
import json
import sys

import pandas
import xgboost

rows = pandas.read_csv(sys.argv[1])
matrix = xgboost.DMatrix(rows.drop(columns="label"), rows["label"])
booster = xgboost.train(
    dict(json.loads(sys.argv[3]), nthread=2),
    matrix,
    int(sys.argv[4]),
    evals=[(matrix, "train")],
    verbose_eval=False,
)
booster.save_model(sys.argv[2])
