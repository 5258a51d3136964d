/*
 * node_survey.h - finds which nodes can start workers: all nodes after an attempt has
 * failed, and lost nodes now and then.
 *
 * A node whose slurmd refuses connections, or which does not answer at all, cannot
 * start workers, whether its earlier workers are alive or not.
 */
#ifndef RAYTRAIN_WATCH_NODE_SURVEY_H
#define RAYTRAIN_WATCH_NODE_SURVEY_H

#include "watch/watch.h"

/*
 * Ask all nodes that are considered usable, and leave those that are not out of later
 * plans; if no node answers, nothing changes. True: the attempt ran on a node that is
 * left out, and finding names it.
 */
bool node_survey(const struct watch_view *view, launcher_wait *wait, void *arg,
                 struct failure *finding);

/* Ask the lost nodes that may be used again. *probe stays as it is if there are none,
 * or they cannot be asked now. */
void node_return_ask(const struct watch_view *view, struct node_probe **probe);
/* After the probe is done: nodes that answer are used again, with a note. Returns their
 * number; *awaited (may be NULL) is set if some node refuses connections, and so may
 * answer soon. */
int node_return_take(const struct watch_view *view, const struct node_probe *probe,
                     bool *awaited);

/* "lost node n2 and 3 more: it refuses connections to slurmd". */
void node_lost_describe(const char *node, enum node_answer answer, size_t others,
                        char *text, size_t size);

#endif
