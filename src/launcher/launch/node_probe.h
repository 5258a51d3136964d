/*
 * node_probe.h - do these nodes answer? Asked by a process of its own, since a dead
 * node keeps its questioner waiting.
 */
#ifndef RAYTRAIN_LAUNCH_NODE_PROBE_H
#define RAYTRAIN_LAUNCH_NODE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum node_answer {
    NODE_UNKNOWN, /* it could not be asked, or there was no time for it */
    NODE_SILENT,  /* it was asked and did not answer, or is no longer of the job */
    NODE_REFUSES, /* its kernel answers, but nothing there can start a worker now: its
                     workers may live, or all its processes may be dead */
    NODE_ANSWERS
};

enum node_purpose {
    NODE_IS_ALIVE, /* the cheap question, asked again and again */
    NODE_IS_OURS   /* and it belongs to the job: could a worker be started there? */
};

/* What a question may leave behind for the next one of this process; zeroes at first.
 */
struct node_memo {
    char text[64];
};

/* Fill answers[0..n), all NODE_UNKNOWN before, each only when it is final: the process
 * that runs this may be ended at any time. May block for some seconds. */
typedef void node_ask(enum node_purpose purpose, char *const *nodes, size_t n,
                      enum node_answer *answers, struct node_memo *memo);

struct node_probe;

/* Start a process that runs `ask`. */
int node_probe_start(node_ask *ask, enum node_purpose purpose, char *const *nodes,
                     size_t n, struct node_probe **out, struct error *err);
/* Never blocks. True once all is known, or will not be: one that takes too long is
 * ended, and what it has not decided stays NODE_UNKNOWN. */
bool node_probe_done(struct node_probe *p);
size_t node_probe_count(const struct node_probe *p);
const char *node_probe_node(const struct node_probe *p, size_t i);
enum node_answer node_probe_answer(const struct node_probe *p, size_t i);
void node_probe_destroy(struct node_probe *p); /* ends it; NULL is fine */

#endif
