/*
 * metrics_collector.h - how the launcher collects reports from the journals of the
 * attempts into result.json (metrics.h).
 */
#ifndef RAYTRAIN_RUN_METRICS_COLLECTOR_H
#define RAYTRAIN_RUN_METRICS_COLLECTOR_H

#include <stdint.h>

#include "run/logged_report.h"
#include "util/error.h"

struct metrics_collector;

/* First collects what earlier launchers have not collected. result.json becomes a new
 * file, which no other process has open, and whose size no other node has cached. */
int metrics_collector_open(const char *run_dir, struct metrics_collector **out,
                           struct error *err);
/* From now on, follow the reports of the attempt with this log directory. */
int metrics_collector_follow(struct metrics_collector *c, const char *log_dir,
                             struct error *err);
/* Call on_report for each new report, even if result.json cannot be written: the write
 * is retried later. */
int metrics_collector_poll(struct metrics_collector *c,
                           void (*on_report)(void *arg, struct logged_report *report),
                           void *arg, struct error *err);
/* The iteration of the last report in result.json; -1: there is none. */
int64_t metrics_collector_iteration(const struct metrics_collector *c);
/* After the last report: result.json is a new, durable file again, which every node
 * sees whole; the journals are removed. Only a close may follow: it may have been made in
 * a copy of this process. */
int metrics_collector_settle(struct metrics_collector *c, struct error *err);
void metrics_collector_close(struct metrics_collector *c); /* NULL is fine */

#endif
