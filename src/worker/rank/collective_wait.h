/*
 * collective_wait.h - who does a collective call wait for? After a while every waiting
 * rank says in the whereabouts of the attempt what it is waiting in; the lowest of them
 * names, once a minute, the ranks that have said nothing. No rank is needed for that,
 * also not rank 0, and its cost is a few bytes a rank.
 */
#ifndef RAYTRAIN_RANK_COLLECTIVE_WAIT_H
#define RAYTRAIN_RANK_COLLECTIVE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/whereabouts.h"
#include "util/error.h"

#define WAITING_RECORD_S 10.0 /* a rank that has waited this long says so */
#define WAITING_NOTE_S   60.0 /* then, and each time again, the user is told */

struct waiting {
    const char *log_dir;
    struct whereabouts_place *place; /* NULL: it says nothing */
    int rank, size;
    const char *call; /* what it is waiting in */
    int64_t calls;    /* collective calls so far */
    bool recorded;
    double next_note;
};

/* Before each collective call. */
void waiting_begin(struct waiting *w, const char *call);
/* comm->waiting: arg is the struct waiting. */
void waiting_hook(void *arg, double waited_s);
/*
 * Does another rank wait in another call, as far on as this one? Then none of the two
 * will ever come back: -1 and RAYTRAIN_ECOMM, with both. For calls that do not begin
 * with a meeting (session/meeting.c), about once a second.
 */
int waiting_check(const struct waiting *w, double waited_s, struct error *err);
/* Pure: the same, given what all ranks have said in the file. */
int waiting_disagreement(const struct waiting *w, const struct whereabouts at[],
                         struct error *err);
/*
 * Pure: what the user is told, given what all ranks have said in the file. False where
 * this rank is not the one to tell, or nobody is missing.
 */
bool waiting_sentence(const struct waiting *w, const struct whereabouts at[],
                      double waited_s, char *out, int out_max);

#endif
