#!/usr/bin/env python3
"""track.py - keep the metrics of many runs in one SQLite database, as experiment trackers do.

    run_config = { callbacks = ( "json",
        { type = "command"; argv = ["./track.py", "runs.db"];
          events = ["start", "report", "rewind", "end"]; } ); };

Then, for example:

    sqlite3 runs.db "select run, max(value) from metrics where name = 'accuracy' group by run"

For another tracker, such as MLflow or Weights & Biases, replace the class Database.
"""
import json
import sqlite3
import sys


class Database:
    """Two tables: runs, and a row of metrics for each report and name."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path, timeout=30)
        self.connection.executescript("""
            create table if not exists runs (path text primary key, run text, status text);
            create table if not exists metrics (path text, run text, iteration integer,
                                                name text, value real,
                                                primary key (path, iteration, name));
            """)

    def start(self, run, path):
        self.run, self.path = run, path
        self.connection.execute("insert or replace into runs values (?, ?, 'running')",
                                (path, run))
        self.connection.commit()

    def report(self, iteration, metrics):
        self.connection.executemany(
            "insert or replace into metrics values (?, ?, ?, ?, ?)",
            [(self.path, self.run, iteration, name, value) for name, value in metrics.items()])
        self.connection.commit()

    def rewind(self, iteration):
        """Later reports do not count any more: an attempt goes on from a checkpoint."""
        self.connection.execute("delete from metrics where path = ? and iteration > ?",
                                (self.path, iteration))
        self.connection.commit()

    def end(self, status):
        self.connection.execute("update runs set status = ? where path = ?",
                                (status, self.path))
        self.connection.commit()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: track.py DATABASE")
    database = Database(sys.argv[1])
    for line in sys.stdin:
        event = json.loads(line)
        if event["event"] == "start":
            database.start(event["run"], event["path"])
        elif event["event"] == "report":
            report = event["report"]
            database.report(report["training_iteration"],
                            {name: report[name] for name in report["by_rank"]
                             if isinstance(report[name], (int, float))})
        elif event["event"] == "rewind":
            database.rewind(event["training_iteration"])
        elif event["event"] == "end":
            database.end(event["result"]["status"])


if __name__ == "__main__":
    main()
