/*
 * node_probe.h - asks nodes whether they answer. A separate process does so, since a
 * question to a dead node blocks.
 */
#ifndef RAYTRAIN_LAUNCH_NODE_PROBE_H
#define RAYTRAIN_LAUNCH_NODE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum node_answer {
    NODE_UNKNOWN, /* it could not be asked, or time ran out */
    NODE_SILENT,  /* it was asked and did not answer, or has left the job */
    /* its kernel answers, but nothing there can start a worker now: its workers may be
     * alive, or all its processes may be dead */
    NODE_REFUSES,
    NODE_ANSWERS
};

enum node_purpose {
    NODE_IS_ALIVE, /* the cheap question, which may be repeated often */
    NODE_IS_OURS   /* it also belongs to the job, so it could start a worker */
};

/* What a probe may keep for the next one of this process; zeroed at first. */
struct node_memo {
    char text[64];
};

/* Fill answers[0..n), all NODE_UNKNOWN at first, each only when it is final: the
 * process that runs this may be killed at any time. May block for some seconds. */
typedef void node_ask(enum node_purpose purpose, char *const *nodes, size_t n,
                      enum node_answer *answers, struct node_memo *memo);

struct node_probe;

/* Start a process that runs `ask`. */
int node_probe_start(node_ask *ask, enum node_purpose purpose, char *const *nodes,
                     size_t n, struct node_probe **out, struct error *err);
/* Never blocks. True once all answers are final. A probe that takes too long is killed;
 * answers that it has not given then stay NODE_UNKNOWN. */
bool node_probe_done(struct node_probe *p);
size_t node_probe_count(const struct node_probe *p);
const char *node_probe_node(const struct node_probe *p, size_t i);
enum node_answer node_probe_answer(const struct node_probe *p, size_t i);
void node_probe_destroy(struct node_probe *p); /* kills it; NULL is fine */

#endif
