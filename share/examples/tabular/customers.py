"""Write customers-train.csv and customers-test.csv: made-up customers, of which some bought.

    python3 customers.py [ROWS]

Ages are missing here and there, cities are words, and so is the label, "yes" or "no".
"""
import csv
import math
import random
import sys

CITIES = {"Bonn": 1.5, "Lyon": -1.0, "Porto": 0.5, "Turin": -0.5}


def customer(draw):
    age, income = draw.uniform(18, 80), draw.lognormvariate(10, 0.5)
    city = draw.choice(sorted(CITIES))
    score = 0.08 * (age - 45) + 1.5 * math.log(income / 22000) + CITIES[city]
    bought = draw.random() < 1 / (1 + math.exp(-2 * score))
    shown = "" if draw.random() < 0.05 else f"{age:.1f}"
    return [shown, f"{income:.2f}", city, "yes" if bought else "no"]


def write(path, rows, seed):
    draw = random.Random(seed)
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["age", "income", "city", "bought"])
        writer.writerows(customer(draw) for _ in range(rows))


if __name__ == "__main__":
    count = int(sys.argv[1]) if sys.argv[1:] else 10000
    write("customers-train.csv", count, 1)
    write("customers-test.csv", count // 5, 2)
