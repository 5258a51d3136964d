"""Compare runs: the setting that differs, and the last loss and accuracy; the best run first.

    python3 compare.py raytrain_results/lr-*
"""
import json
import os
import re
import subprocess
import sys


def learning_rate(path):
    with open(os.path.join(path, "run.cfg")) as file:
        return float(re.search(r"\blr = ([^;]+);", file.read()).group(1))


def look(path):
    text = subprocess.run(["raytrain-inspect", "--json", path], check=True,
                          stdout=subprocess.PIPE).stdout
    run = json.loads(text)
    return (os.path.basename(path), learning_rate(path), run["status"],
            run["last_report"] or {})


runs = [look(path.rstrip("/")) for path in sys.argv[1:]]
runs.sort(key=lambda run: run[3].get("accuracy", 0), reverse=True)
print("%-12s %-8s %-10s %-10s %s" % ("run", "lr", "status", "loss", "accuracy"))
for name, rate, status, last in runs:
    print("%-12s %-8g %-10s %-10.4g %.4g" % (name, rate, status,
          last.get("loss", float("nan")), last.get("accuracy", float("nan"))))
