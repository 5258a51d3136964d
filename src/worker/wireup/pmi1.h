/*
 * pmi1.h - the server side of the PMI-1 wire protocol, as a state machine: a line in, a
 * line out. It knows neither sockets nor PMIx; those are behind struct pmi1_ops.
 *
 * What a client puts is kept until its next barrier and then shared all at once: one
 * blob for each rank and barrier. What others put is fetched when a key is asked for
 * that this rank did not put itself.
 */
#ifndef RAYTRAIN_WIREUP_PMI1_H
#define RAYTRAIN_WIREUP_PMI1_H

#include <stddef.h>

#include "util/error.h"

/* The limits that clients are given, terminating NUL included. MPICH's client reads
 * lines into 1024 bytes: longer values than these would not arrive. */
#define PMI1_KVSNAME_MAX 256
#define PMI1_KEY_MAX     64
#define PMI1_VALUE_MAX   1024
/* No line is longer, newline included. */
#define PMI1_LINE_MAX 4096

struct pmi1_ops {
    /* All ranks: share data[0..n) (n may be 0) as this rank's blob number `round`. */
    int (*share)(void *arg, unsigned round, const char *data, size_t n,
                 struct error *err);
    /* A rank's blob of an earlier barrier; the caller frees it. Waits for no other
     * rank. */
    int (*fetch)(void *arg, int rank, unsigned round, char **data, size_t *n,
                 struct error *err);
    /* The client asks to end the group. Need not return. */
    void (*abort)(void *arg, int exit_status, const char *message);
};

struct pmi1_config {
    int rank, size;
    const char *kvsname; /* the name of the group, unique among groups */
    const char *mapping; /* PMI_process_mapping; NULL: not known */
    const struct pmi1_ops *ops;
    void *arg;
};

enum pmi1_next { PMI1_ERROR = -1, PMI1_GO_ON, PMI1_FINISHED };

struct pmi1;

struct pmi1 *pmi1_create(const struct pmi1_config *config, struct error *err);
void pmi1_destroy(struct pmi1 *p); /* NULL is fine */

/*
 * Answer one line (without its newline; it may contain any bytes but NUL, and is
 * modified). *reply is what to send, newline included, or ""; it belongs to p, until
 * the next call. PMI1_FINISHED: the client has finalized, or asked for an abort.
 * PMI1_ERROR: not PMI-1, or an operation of the group has failed: the group cannot
 * continue.
 */
enum pmi1_next pmi1_line(struct pmi1 *p, char *line, const char **reply,
                         struct error *err);

#endif
