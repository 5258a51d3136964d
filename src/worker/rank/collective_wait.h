/*
 * collective_wait.h - for which ranks does a collective call wait? After a while every
 * waiting rank records the call in the rank status file; once a minute, the lowest of
 * them names the ranks that have recorded nothing. That does not depend on any other
 * rank, not even rank 0, and costs a few bytes per rank.
 */
#ifndef RAYTRAIN_RANK_COLLECTIVE_WAIT_H
#define RAYTRAIN_RANK_COLLECTIVE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/rank_status.h"
#include "util/error.h"
#include "util/rank_list.h"

/* A rank that has waited for this time records it. */
#define COLLECTIVE_WAIT_RECORD_S 10.0
/* The user is warned after this time, and each time that it has passed again. */
#define COLLECTIVE_WAIT_NOTE_S 60.0

struct collective_wait {
    const char *log_dir;
    struct rank_status_place *place; /* NULL: it records nothing */
    int rank, size;
    const char *call; /* in which it waits */
    int64_t calls;    /* collective calls so far */
    bool recorded;
    double next_note;
};

/* Before each collective call. */
void collective_wait_begin(struct collective_wait *w, const char *call);
/* comm->waiting: arg is the struct collective_wait. */
void collective_wait_hook(void *arg, double waited_s);
/* Record now that this rank waits in this call, unless that is recorded: one write. */
void collective_wait_announce(struct collective_wait *w);
/* The ranks that, by their records, do not wait in this call; "" if that is not known.
 * Reads the records of all ranks. */
void collective_wait_absent(const struct collective_wait *w, char list[RANK_LIST_MAX]);
/*
 * Does another rank wait in a different call that has the same number? Then neither
 * call would ever return: -1 and RAYTRAIN_ECOMM, naming both. Used about once a second
 * in calls that do not begin with a match (session/call_match.c).
 */
int collective_wait_check(const struct collective_wait *w, double waited_s,
                          struct error *err);
/* Pure: the same, from the records of all ranks. */
int collective_wait_disagreement(const struct collective_wait *w,
                                 const struct rank_status at[], struct error *err);
/*
 * Pure: the warning to the user, from the records of all ranks. False if another rank
 * writes it, or if no rank is missing.
 */
bool collective_wait_sentence(const struct collective_wait *w,
                              const struct rank_status at[], double waited_s, char *out,
                              int out_max);

#endif
