/*
 * preemption_notice.h - the notice that the nodes of an attempt are about to be taken
 * away, from the launcher to rank 0, which gives it to the other ranks. Both files of
 * it are in the log directory; the second one is written when the batch system has said
 * how long the processes may live, and replaced if that changes.
 *
 *   preemption       {"deadline_ms": 1700000000000, "nodes": [["n1", 0, 4], ...]}: a node's
 *                    name, its first rank and their number
 *   preemption.end   {"deadline_ms": ...}
 */
#ifndef RAYTRAIN_PROTOCOL_PREEMPTION_NOTICE_H
#define RAYTRAIN_PROTOCOL_PREEMPTION_NOTICE_H

#include <jansson.h>

#include "util/error.h"

/* nodes is stolen, even on failure; deadline: Unix time, 0: not known. */
int preemption_notice_write(const char *log_dir, json_t *nodes, double deadline,
                            struct error *err);
int preemption_notice_write_end(const char *log_dir, double deadline,
                                struct error *err);

/* The notice, with the earlier deadline of both files; NULL: there is none. New. */
json_t *preemption_notice_read(const char *log_dir);

/* Append ranks first .. first + n - 1 of a node. -1 without memory. */
int preemption_notice_add(json_t *nodes, const char *name, int first, int n);

#endif
