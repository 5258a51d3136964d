/*
 * report_follow.h - follow the reports of a run while they are made, from any node, and
 * across attempts. Reads result.json and the journals, and writes nothing.
 */
#ifndef RAYTRAIN_RUN_REPORT_FOLLOW_H
#define RAYTRAIN_RUN_REPORT_FOLLOW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct report_follower;

/* The first poll delivers the last n reports that there are by then. */
int report_follow_open(const char *run_dir, size_t n, struct report_follower **out,
                       struct error *err);
/* Call on_report once for each report since the last call, in order. */
int report_follow_poll(struct report_follower *f,
                       void (*on_report)(void *arg, const json_t *report), void *arg,
                       struct error *err);
void report_follow_close(struct report_follower *f); /* NULL is fine */

/* Deliver the complete lines of a file that grows, from *offset on, which is advanced. A
 * missing file has none; one that is shorter than before is read from its beginning.
 * depth: see util/run_record.h. */
int line_follow(const char *path, unsigned depth, uint64_t *offset,
                void (*on_line)(void *arg, const char *line, size_t n), void *arg,
                struct error *err);

#endif
