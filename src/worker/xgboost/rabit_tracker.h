/*
 * rabit_tracker.h - connects the members of XGBoost 1.7 to 2.0. These versions have
 * collectives ("rabit"), but their rendezvous, the tracker, is Python code. In later
 * versions it is in the library.
 *
 * Each member connects, sends its task id, and receives its neighbours in a tree and in
 * a ring, with the ports of those that are connected already. The task id has the rank,
 * and a secret that only the members of this run know. Other connections are closed,
 * and cannot keep a member waiting.
 *
 * XGBoost makes the links between members itself, and does not check who connects.
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

/* Starts a thread that serves `members` members at a listening socket. The socket is
 * closed in any case, also on failure. */
int rabit_tracker_start(int listening, int members,
                        const unsigned char secret[RABIT_SECRET_BYTES],
                        struct rabit_tracker **out, struct error *err);

/* Ends the thread at once; members that still wait get an error. NULL is fine. Returns
 * -1, with the reason, if members could not be connected. */
int rabit_tracker_stop(struct rabit_tracker *t, struct error *err);

#endif
