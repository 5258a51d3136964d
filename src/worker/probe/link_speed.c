/*
 * link_speed.c - times messages between two ranks, and compares their clocks by the
 * fastest of several questions.
 */
#include "probe/link_speed.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define SMALL_MANY 200
#define LARGE      ((size_t)4 << 20)
#define LARGE_MANY 8
#define CLOCK_MANY 20

/* Send to the peer and back `many` times; the lower rank begins. Returns 0, and the
 * seconds for all in *took. */
static int bounce(struct comm *comm, int peer, void *buf, size_t n, int many,
                  double *took, struct error *err)
{
    double start = clock_now();

    for (int i = 0; i < many; i++) {
        bool first = comm->rank < peer;

        if ((first && comm->ops->sendrecv(comm, buf, n, peer, NULL, 0, -1, err) < 0) ||
            comm->ops->sendrecv(comm, NULL, 0, -1, buf, n, peer, err) < 0 ||
            (!first && comm->ops->sendrecv(comm, buf, n, peer, NULL, 0, -1, err) < 0))
            return -1;
    }
    *took = clock_now() - start;
    return 0;
}

int link_speed_measure(struct comm *comm, int peer, struct link_speed *speed,
                       struct error *err)
{
    char *buf = calloc(1, LARGE);
    double took = 0;
    int rc = buf ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = bounce(comm, peer, buf, 8, SMALL_MANY / 10, &took, err); /* connects */
    if (rc == 0)
        rc = bounce(comm, peer, buf, 8, SMALL_MANY, &took, err);
    speed->latency_s = took / (2 * SMALL_MANY);
    if (rc == 0)
        rc = bounce(comm, peer, buf, LARGE, 1, &took, err);
    if (rc == 0)
        rc = bounce(comm, peer, buf, LARGE, LARGE_MANY, &took, err);
    speed->bytes_s = 2.0 * LARGE_MANY * (double)LARGE / (took > 1e-9 ? took : 1e-9);
    free(buf);
    return rc;
}

/* Ask for the peer's clock; *round_s: how long that took. */
static int clock_ask(struct comm *comm, int peer, double *ahead_s, double *round_s,
                     struct error *err)
{
    double before = clock_unix_double(), theirs = 0, after;

    if (comm->ops->sendrecv(comm, &before, sizeof before, peer, NULL, 0, -1, err) < 0 ||
        comm->ops->sendrecv(comm, NULL, 0, -1, &theirs, sizeof theirs, peer, err) < 0)
        return -1;
    after = clock_unix_double();
    *round_s = after - before;
    *ahead_s = theirs - (before + after) / 2;
    return 0;
}

static int clock_answer(struct comm *comm, struct error *err)
{
    double now;

    if (comm->ops->sendrecv(comm, NULL, 0, -1, &now, sizeof now, 0, err) < 0)
        return -1;
    now = clock_unix_double();
    return comm->ops->sendrecv(comm, &now, sizeof now, 0, NULL, 0, -1, err);
}

int link_clock_compare(struct comm *comm, int peer, double *ahead_s, double *error_s,
                       struct error *err)
{
    double result[2] = {0, 1e9};

    for (int i = 0; i < CLOCK_MANY; i++) {
        double ahead, round;

        if (comm->rank != 0) {
            if (clock_answer(comm, err) < 0)
                return -1;
            continue;
        }
        if (clock_ask(comm, peer, &ahead, &round, err) < 0)
            return -1;
        if (round / 2 < result[1]) {
            result[0] = ahead;
            result[1] = round / 2;
        }
    }
    if (comm->rank == 0
            ? comm->ops->sendrecv(comm, result, sizeof result, peer, NULL, 0, -1, err)
            : comm->ops->sendrecv(comm, NULL, 0, -1, result, sizeof result, 0, err))
        return -1;
    *ahead_s = result[0];
    *error_s = result[1];
    return 0;
}
