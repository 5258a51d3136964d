/*
 * rounds.h - what the tasks of all ranks do together: rounds, which are fences of PMIx
 * that all of them make in the same order.
 *
 * In a round, the leaders of the nodes may give each other bytes, for PMIx servers whose
 * clients are children of the tasks (child_server.h); the other ranks of a node join
 * when their leader asks for it (node_channel.h). A round that has begun cannot be left:
 * so at the end of an attempt all ranks make rounds until all say in the same one that
 * they end.
 *
 * Fences of fewer ranks would do without the others, but hang under Slurm 22.05.
 */
#ifndef RAYTRAIN_WIREUP_ROUNDS_H
#define RAYTRAIN_WIREUP_ROUNDS_H

#include "wireup/wireup.h"

struct rounds;

/* COLLECTIVE */
int rounds_open(struct wireup *w, struct rounds **out, struct error *err);
void rounds_close(struct rounds *r);

/* A wireup_exchange_nodes (wireup.h) with the rounds as arg: on a leader, in one thread
 * at a time. RAYTRAIN_ECOMM if a rank has ended meanwhile. */
int rounds_exchange(void *arg, const char *data, size_t n, char **all, size_t *n_all,
                    struct error *err);
/* On another rank: poll this descriptor for reading, and join the round that the leader
 * has asked for. -1: there will be none. */
int rounds_fd(const struct rounds *r);
int rounds_join(struct rounds *r, struct error *err);

enum rounds_end {
    ROUNDS_END_CLEAN = 'c', /* with 0 or 75 */
    ROUNDS_END_FAILED = 'f' /* by itself, or it was ended for another one */
};

/* COLLECTIVE: end. *clean: all ranks have ended cleanly. No exchange is under way then,
 * and none can begin before rounds_resume(). */
int rounds_end(struct rounds *r, enum rounds_end mine, bool *clean, struct error *err);
void rounds_resume(struct rounds *r);

#endif
