/*
 * node_return.h - nodes that were lost: are they back?
 */
#ifndef RAYTRAIN_WATCH_NODE_RETURN_H
#define RAYTRAIN_WATCH_NODE_RETURN_H

#include "callback/callback.h"
#include "train/worker_group.h"

/* Ask those that may come back; *probe is left as it is where there are none, or they
 * cannot be asked now. */
void node_return_ask(const struct worker_group_spec *spec, struct node_probe **probe);
/* The probe is done: nodes that answer are used again, and that is reported. How many
 * they are; *awaited, unless NULL: some node refuses, and may answer in a moment. */
int node_return_take(const struct worker_group_spec *spec,
                     struct callback_list *callbacks, const struct node_probe *probe,
                     bool *awaited);

#endif
