"""Compare runs: the setting that differs, and the last loss and accuracy; the best run first.

    python3 compare.py raytrain_results/lr-*
"""
import json
import re
import subprocess
import sys


def row(path):
    text = subprocess.run(["raytrain-inspect", "--json", path], check=True,
                          stdout=subprocess.PIPE).stdout
    run = json.loads(text)
    with open(path + "/run.cfg") as file:
        rate = re.search(r"\blr = ([^;]+);", file.read()).group(1)
    return path.rstrip("/").split("/")[-1], float(rate), run["status"], run["metrics"]


rows = [row(path) for path in sys.argv[1:]]
rows.sort(key=lambda r: -(r[3] or {}).get("accuracy", 0))
print("%-12s %-8s %-10s %-10s %s" % ("run", "lr", "status", "loss", "accuracy"))
for name, rate, status, metrics in rows:
    metrics = metrics or {}
    print("%-12s %-8g %-10s %-10.4g %.4g" % (name, rate, status,
          metrics.get("loss", float("nan")), metrics.get("accuracy", float("nan"))))
