/*
 * node_survey.h - an attempt has failed: which nodes could start workers again?
 *
 * A node whose slurmd refuses connections, or which does not answer at all, can start
 * none, whether the workers that it had are alive or not.
 */
#ifndef RAYTRAIN_WATCH_NODE_SURVEY_H
#define RAYTRAIN_WATCH_NODE_SURVEY_H

#include "watch/watch.h"

/* Waits for so many seconds; false: there is no more time for it. */
typedef bool wait_a_while(void *arg, double seconds);

/*
 * Ask all nodes that count as usable, and leave those out of later plans that are not,
 * unless none is. True: the attempt had one of them, and finding says which.
 */
bool node_survey(const struct worker_group_spec *spec, wait_a_while *wait, void *arg,
                 struct watch_finding *finding);

/* "node n2: its slurmd refuses connections", for a node that is given up. */
void node_lost_describe(const char *node, enum node_answer answer, size_t others,
                        char *text, size_t size);

#endif
