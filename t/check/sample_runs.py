"""
Write the directory of a run, as raytrain-run leaves it, without running anything.

    sample_runs.py KIND RUN [REPORTS [METRICS]]

    failed     three attempts: one failed, one was resumed and failed, one is stopped
    long       REPORTS reports of METRICS (8) metrics on four ranks, one attempt
    nasty      names, messages and texts that try to end what surrounds them
    diverged   an attempt whose loss grew without limit, and one that went back
    nan        metrics without a number in some reports, or in all
    empty      a configuration alone: no attempt, no report
    unstarted  an attempt that made no report
    many       thirty attempts, and 60 metrics
    sweep      a directory of eight runs with METRICS (3) metrics, of different lengths: one
               has a long name, one made REPORTS (60) reports, one a single report, one none
"""
import json
import math
import os
import random
import sys

START = 1764000000
NASTY = "</script><img src=x onerror=alert(1)>"

CONFIG = """train_func = "/home/eva/train.so";
backend = "mpi";
seed = 7;
train_loop_config = { lr = 0.001; batch = 64; };
scaling_config = { num_workers = 4; };
run_config = { name = "%s"; checkpoint_config = {
    checkpoint_score_attribute = "accuracy"; num_to_keep = 3; }; };
"""


class Run:
    def __init__(self, path):
        self.path = path
        self.lines = []
        os.makedirs(path)

    def file(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text)

    def report(self, iteration, attempt, time, metrics, **more):
        """Metrics: NAME: (MEAN, SPREAD over the ranks), or a text or a list."""
        line = {"training_iteration": iteration, "attempt": attempt,
                "timestamp": START + round(time), "time_total_s": 1.5 * iteration,
                "time_this_iter_s": 1.5, "time_since_restore": time, "world_size": 4}
        by_rank = {}
        for name, value in metrics.items():
            if isinstance(value, tuple):
                mean, spread = value
                line[name] = mean
                by_rank[name] = {"rank0": mean,
                                 "min": None if mean is None else mean - spread,
                                 "max": None if mean is None else mean + spread}
            else:
                line[name] = value
                by_rank[name] = {}
        line.update(more)
        line["by_rank"] = by_rank
        self.lines.append(json.dumps(line))

    def attempt(self, k, start, end, outcome, **more):
        record = {"attempt": k, "workers": 4, "launcher": "slurm",
                  "nodes": [{"name": "n%d" % i, "tasks": 2} for i in (1, 2)],
                  "start": START + start, "checkpoint": None}
        if end is not None:
            record["end"] = START + end
        if outcome:
            record["outcome"] = outcome
        record.update(more)
        self.file("logs/attempt-%d/attempt.json" % k, json.dumps(record))

    def close(self):
        if self.lines:
            self.file("result.json", "\n".join(self.lines) + "\n")


def curve(i, n):
    noise = random.gauss(0, 0.02)
    loss = 2.3 * math.exp(-4 * i / n) + 0.12 + abs(noise)
    return {"loss": (loss, 0.1 * loss),
            "accuracy": (1 - 0.8 * math.exp(-5 * i / n) + noise / 2, 0.01),
            "lr": (0.001 * (0.5 + 0.5 * math.cos(math.pi * i / n)), 0)}


def failed(run):
    run.file("run.cfg", CONFIG % "failed")
    for i in range(1, 61):
        run.report(i, 0, 2.0 * i, curve(i, 200), data_wait_s=0.3,
                   checkpoint="checkpoint_%06d.h5" % i if i % 10 == 0 else None,
                   **({"checkpoint_stall_s": 0.02 * i} if i % 10 == 0 else {}))
    run.attempt(0, 0, 125, "failed", rank=3, host="n2", signal=9, exit_status=0,
                cause="oom", message="rank 3 was killed: out of memory\nask for more")
    run.file("logs/attempt-0/rank-00003.err",
             "".join("line %d\n" % i for i in range(100)) +
             "progress 1%\rprogress 100%\n\033[31mMemoryError\033[0m: <b>no</b>\n")
    for i in range(51, 121):
        run.report(i, 1, 130 + 2.0 * (i - 50), curve(i, 200), data_wait_s=0.1)
    run.attempt(1, 130, 275, "failed", rank=0, host="n1", signal=0, exit_status=7,
                cause="worker", message="rank 0: exit status 7",
                checkpoint="/scratch/checkpoint_000050.h5")
    for i in range(101, 201):
        run.report(i, 2, 90000 + 2.0 * (i - 100), curve(i, 200), data_wait_s=0.1)
    run.attempt(2, 90000, 90210, "stopped", rank=-1, host="", signal=15, cause="signal",
                message="SIGTERM was received", checkpoint="/scratch/checkpoint_000100.h5")


def long(run, n, n_metrics=8):
    run.file("run.cfg", CONFIG % "long")
    for i in range(1, n + 1):
        metrics = curve(i, n)
        for extra in range(n_metrics - 3):
            value = math.sin(i / n * (extra + 1)) + random.gauss(0, 0.1)
            metrics["layer%d/norm" % extra] = (value, 0.05)
        run.report(i, 0, 0.5 * i, metrics, data_wait_s=0.01)
    run.attempt(0, 0, n * 0.5, "finished")


def nasty(run):
    run.file("run.cfg", CONFIG % "nasty" + "# " + NASTY + " \001\n")
    for i in range(1, 4):
        run.report(i, 0, float(i), {
            NASTY: (i / 7, 0.01), "'\"><script>alert(1)</script>": (1.0 * i, 0),
            "\033[31mred\u202eder": (2.0, 0), "note": NASTY, "vector": [1, 2, 3],
            "<!--": (float(i), 0), "]]>": (3.0, 0)})
    run.attempt(0, 0, 9, "failed" + NASTY, rank=1, host=NASTY, cause=NASTY,
                message="a" + NASTY + "\033]0;x\a", checkpoint="/" + NASTY,
                nodes=[{"name": NASTY, "tasks": 1}])
    run.attempt(1, 10, 19, "failed", rank=1, host="n1", message=NASTY + "\nsecond")
    run.file("logs/attempt-1/rank-00001.err", NASTY + "\n\033]0;title\a\udcff\n")


def nan(run):
    run.file("run.cfg", CONFIG % "nan")
    for i in range(1, 31):
        hole = 10 <= i < 15 or i == 20
        run.report(i, 0, 2.0 * i, {
            "holes": (None if hole else i * 1.0, 0), "never": (None, 0),
            "alone": (5.0 if i == 17 else None, 0), "constant": (3.0, 0),
            "words": "word: " + "g\u00fcnstig " * 50, "word": "x" * 300,
            "large": (1e308 * (1 if i % 2 else -1), 0), "tiny": (1e-300 * i, 0)})
    run.attempt(0, 0, 60, "finished")


def diverged(run):
    run.file("run.cfg", CONFIG % "diverged")
    for i in range(1, 21):
        run.report(i, 0, float(i), {"loss": (1.0 if i < 10 else 1.05 if i > 18 else 10.0 ** i, 0)})
    run.attempt(0, 0, 20, "failed", rank=0, host="n1", exit_status=1, message="diverged")
    for i in range(10, 16):
        run.report(i, 1, 20.0 + i, {"loss": (1.0 - i / 100, 0)})
    run.attempt(1, 20, 40, "stopped")


def empty(run):
    run.file("run.cfg", CONFIG % "empty")


def unstarted(run):
    run.file("run.cfg", CONFIG % "unstarted")
    run.attempt(0, 0, 3, "failed", rank=-1, host="", message="srun: no such partition",
                cause="start")


def many(run):
    run.file("run.cfg", CONFIG % "many")
    iteration = 0
    for k in range(30):
        for _ in range(20):
            iteration += 1
            run.report(iteration, k, 2.0 * iteration, {
                "group%d/metric%02d" % (m % 5, m): (m + math.sin(iteration / 20 + m), 0.1)
                for m in range(60)})
        run.attempt(k, 40 * k, 40 * k + 39, "failed" if k < 29 else "finished",
                    rank=0, host="n1", message="rank 0: exit status 1")


def sweep(run, n=60, n_metrics=3):
    names = ["lr=%g" % rate for rate in (0.1, 0.03, 0.01, 0.003)]
    names += ["a-name-that-is-longer-than-any-column-of-the-page-can-be-and-does-not-end-here",
              "single", "nothing", "lr=0.1 <b>& \"more\""]
    for k, name in enumerate(names):
        one = Run(os.path.join(run.path, name))
        text = CONFIG % name.replace('"', "'")
        text = text.replace("0.001", repr(0.1 / (k + 1))).replace('"accuracy"; n', '"loss"; '
                            'checkpoint_score_order = "min"; n')
        one.file("run.cfg", text.replace("batch = 64", "batch = %d" % (16 << (k % 3))))
        length = {"single": 1, "nothing": 0}.get(name, n if k == 0 else 20 + 7 * k)
        for i in range(1, length + 1):
            metrics = {"m%02d/of a layer" % m: (m + math.sin(i / 20 + m + k / 5), 0.1)
                       for m in range(n_metrics - 3)}
            metrics.update({key: (value * (1 + k / 10), spread)
                            for key, (value, spread) in curve(i, 60).items()
                            if key != "accuracy" or k % 2 == 0})
            one.report(i, 0, 2.0 * i, metrics)
        if length:
            one.attempt(0, 0, 2 * length, "failed" if k == 3 else "finished", rank=0, host="n1",
                        message="rank 0: exit status 1")
        one.close()


def main():
    kind, path = sys.argv[1:3]
    random.seed(7)
    run = Run(path)
    if kind in ("long", "sweep"):
        globals()[kind](run, *map(int, sys.argv[3:]))
    else:
        globals()[kind](run)
    run.close()


main()
