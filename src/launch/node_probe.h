/*
 * node_probe.h - do these nodes answer? Asked by a process of its own, since a dead
 * node is one that keeps who asks it waiting.
 */
#ifndef RAYTRAIN_LAUNCH_NODE_PROBE_H
#define RAYTRAIN_LAUNCH_NODE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum node_answer {
    NODE_UNKNOWN, /* it could not be asked */
    NODE_SILENT,  /* it was asked and did not answer, or it is known to be down */
    NODE_REFUSES, /* it lives, but could start no worker now */
    NODE_ANSWERS
};

/* Fill answers[0..n), all NODE_UNKNOWN before. May block for some seconds. */
typedef void node_ask(char *const *nodes, size_t n, enum node_answer *answers);

struct node_probe;

/* Start a process that runs `ask`. */
int node_probe_start(node_ask *ask, char *const *nodes, size_t n,
                     struct node_probe **out, struct error *err);
/* Never blocks. True once all is known, or will not be: one that takes too long is
 * ended. */
bool node_probe_done(struct node_probe *p);
size_t node_probe_count(const struct node_probe *p);
const char *node_probe_node(const struct node_probe *p, size_t i);
enum node_answer node_probe_answer(const struct node_probe *p, size_t i);
void node_probe_destroy(struct node_probe *p); /* ends it; NULL is fine */

#endif
