/*
 * rabit_tracker.h - where the members of XGBoost 1.7 to 2.0 meet: these versions bring
 * their collectives ("rabit"), but the rendezvous, the tracker, only as Python code.
 * Later ones have theirs in the library.
 *
 * Each member connects, says which one it is, and learns its neighbours in a tree and
 * in a ring, and the ports of those that were there before it. A member is known by its
 * task id: its rank, and a secret that all members of this run share, and no other
 * process. Other connections are closed; none of them keeps a member waiting.
 *
 * The links between members are XGBoost's own, and it checks nothing there.
 */
#ifndef RAYTRAIN_GBDT_RABIT_TRACKER_H
#define RAYTRAIN_GBDT_RABIT_TRACKER_H

#include "util/error.h"

#define RABIT_SECRET_BYTES 16
/* "0000000012-" and the secret in hexadecimal digits. */
#define RABIT_TASK_MAX (12 + 2 * RABIT_SECRET_BYTES)

struct rabit_tracker;

void rabit_task_id(int rank, const unsigned char secret[RABIT_SECRET_BYTES],
                   char text[RABIT_TASK_MAX]);

/* Start a thread that serves `members` members at a listening socket, which it owns
 * then, also on failure. */
int rabit_tracker_start(int listening, int members,
                        const unsigned char secret[RABIT_SECRET_BYTES],
                        struct rabit_tracker **out, struct error *err);

/* End the thread at once; members that still wait get an error. NULL is fine. -1, and
 * the reason, if that had failed before. */
int rabit_tracker_stop(struct rabit_tracker *t, struct error *err);

#endif
