/*
 * collective_wait.h - for which ranks does a collective call wait? After a while every
 * waiting rank records in the rank status file what it is waiting in; once a minute, the
 * lowest of them names the ranks that have recorded nothing. That depends on no other
 * rank, not even rank 0, and costs a few bytes a rank.
 */
#ifndef RAYTRAIN_RANK_COLLECTIVE_WAIT_H
#define RAYTRAIN_RANK_COLLECTIVE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/rank_status.h"
#include "util/error.h"
#include "util/rank_list.h"

#define COLLECTIVE_WAIT_RECORD_S 10.0 /* a rank that has waited this long records it */
#define COLLECTIVE_WAIT_NOTE_S                                                         \
    60.0 /* after this, and every time again, the user
                                         is warned */

struct collective_wait {
    const char *log_dir;
    struct rank_status_place *place; /* NULL: it records nothing */
    int rank, size;
    const char *call; /* what it is waiting in */
    int64_t calls;    /* collective calls so far */
    bool recorded;
    double next_note;
};

/* Before each collective call. */
void collective_wait_begin(struct collective_wait *w, const char *call);
/* comm->waiting: arg is the struct collective_wait. */
void collective_wait_hook(void *arg, double waited_s);
/* Record now that this rank waits in this call, unless it is recorded: one write. */
void collective_wait_announce(struct collective_wait *w);
/* Which ranks do not wait in this call, as far as they have recorded it? "" if that is not
 * known. Reads the records of all ranks. */
void collective_wait_absent(const struct collective_wait *w, char list[RANK_LIST_MAX]);
/*
 * Does another rank wait in a different call that has the same number? Then neither of
 * the two will ever return: -1 and RAYTRAIN_ECOMM, naming both. For calls that do not
 * begin with a match (session/call_match.c), about once a second.
 */
int collective_wait_check(const struct collective_wait *w, double waited_s,
                          struct error *err);
/* Pure: the same, from what all ranks have recorded. */
int collective_wait_disagreement(const struct collective_wait *w,
                                 const struct rank_status at[], struct error *err);
/*
 * Pure: the warning to the user, from what all ranks have recorded. False if it is not
 * for this rank to write, or if no rank is missing.
 */
bool collective_wait_sentence(const struct collective_wait *w,
                              const struct rank_status at[], double waited_s, char *out,
                              int out_max);

#endif
