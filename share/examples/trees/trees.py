"""The same in Python: train on the tumours of breast_cancer.py, and ask the model.

    python3 breast_cancer.py && python3 trees.py [xgboost|lightgbm] [WORKERS]
"""
import sys

from raytrain import BatchPredictor, RunConfig, ScalingConfig
from raytrain.data import read_csv
from raytrain.lightgbm import LightGBMPredictor, LightGBMTrainer
from raytrain.xgboost import XGBoostPredictor, XGBoostTrainer

CHOICES = {
    "xgboost": (XGBoostTrainer, XGBoostPredictor, "test-logloss",
                {"objective": "binary:logistic", "eta": 0.1, "max_depth": 3,
                 "eval_metric": ["auc", "logloss"]}),
    "lightgbm": (LightGBMTrainer, LightGBMPredictor, "test-binary_logloss",
                 {"objective": "binary", "learning_rate": 0.1, "max_depth": 3,
                  "metric": ["auc", "binary_logloss"]}),
}

if __name__ == "__main__":
    library = sys.argv[1] if sys.argv[1:] else "xgboost"
    Trainer, Predictor, metric, params = CHOICES[library]
    result = Trainer(
        datasets={"train": read_csv("breast-cancer-train.csv"),
                  "test": read_csv("breast-cancer-test.csv")},
        label_column="malignant", params=params, num_boost_round=300,
        early_stopping_rounds=20, early_stopping_metric=metric,
        scaling_config=ScalingConfig(num_workers=int(sys.argv[2]) if sys.argv[2:] else 2),
        run_config=RunConfig(name=f"trees-{library}")).fit()
    print(f"{result.metrics['training_iteration']} rounds, auc",
          f"{result.metrics['test-auc']:.3f}")
    for feature, gain in list(Trainer.get_importance(result.checkpoint).items())[:3]:
        print(f"{gain:10.1f} {feature}")

    # All rows, on two workers, by raytrain-predict.
    made = BatchPredictor.from_checkpoint(result.checkpoint, Predictor).predict(
        read_csv("breast-cancer-test.csv"), num_workers=2, keep_columns=["malignant"],
        outputs=["class"]).materialize()
    right = (made["class"] == made["malignant"]).mean()
    print(f"{100 * right:.0f} % of {len(made['class'])} tumours are recognized")

    try:  # A few rows in this process, by the library's own module
        predictor = Predictor.from_checkpoint(result.checkpoint)
    except ImportError as error:
        sys.exit(str(error))
    few = read_csv("breast-cancer-test.csv", limit=3).materialize()
    print("probabilities", [round(float(p), 3) for p in predictor.predict(few)["predictions"]])
