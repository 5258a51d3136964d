/*
 * collective_wait.c - records a wait in the rank status file, and forms the warning and
 * the error about ranks that do not agree.
 */
#include "config.h"
#include "rank/collective_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "rank/stack_trace.h"
#include "util/rank_list.h"

void collective_wait_begin(struct collective_wait *w, const char *call)
{
    w->call = call;
    w->calls++;
    w->recorded = false;
    w->next_note = COLLECTIVE_WAIT_NOTE_S;
    stack_trace_set_call(call, w->calls);
}

/* A failure is ignored: the record is only for the user. */
static void place_record(const struct collective_wait *w)
{
    if (w->place)
        rank_status_write(w->place, RANK_STATUS_WAITING, w->call, w->calls);
}

/* Has another rank made as many calls as this one, but waits in a different call? */
static bool is_elsewhere(const struct collective_wait *w, const struct rank_status *at)
{
    return at->calls == w->calls && strcmp(at->call, w->call) != 0;
}

static bool is_missing(const struct collective_wait *w, const struct rank_status *at)
{
    return at->calls != w->calls || is_elsewhere(w, at);
}

bool collective_wait_sentence(const struct collective_wait *w,
                              const struct rank_status at[], double waited_s, char *out,
                              int out_max)
{
    char list[RANK_LIST_MAX];
    bool *missing = calloc((size_t)w->size, sizeof *missing);
    int n_missing = 0, lowest = -1, elsewhere = -1;

    if (!missing)
        return false;
    for (int i = 0; i < w->size; i++) {
        missing[i] = i != w->rank && is_missing(w, &at[i]);
        n_missing += missing[i];
        if (!missing[i] && lowest < 0)
            lowest = i;
        if (missing[i] && elsewhere < 0 && is_elsewhere(w, &at[i]))
            elsewhere = i;
    }
    if (elsewhere >= 0)
        snprintf(out, (size_t)out_max,
                 "%s has waited %.0f s for %s; rank %d waits in %s", w->call, waited_s,
                 rank_list(missing, w->size, list), elsewhere, at[elsewhere].call);
    else
        snprintf(out, (size_t)out_max, "%s has waited %.0f s for %s", w->call, waited_s,
                 rank_list(missing, w->size, list));
    free(missing);
    return n_missing > 0 && lowest == w->rank;
}

void collective_wait_announce(struct collective_wait *w)
{
    if (!w->recorded)
        place_record(w);
    w->recorded = true;
}

void collective_wait_absent(const struct collective_wait *w, char list[RANK_LIST_MAX])
{
    struct rank_status *at = NULL;
    bool *missing = NULL;
    int n = 0;

    list[0] = '\0';
    if (!w->place)
        return;
    at = rank_status_read(w->log_dir, RANK_STATUS_WAITING, w->size);
    missing = calloc((size_t)w->size, sizeof *missing);
    for (int i = 0; at && missing && i < w->size; i++) {
        missing[i] = i != w->rank && is_missing(w, &at[i]);
        n += missing[i];
    }
    if (n > 0)
        rank_list(missing, w->size, list);
    free(missing);
    free(at);
}

int collective_wait_disagreement(const struct collective_wait *w,
                                 const struct rank_status at[], struct error *err)
{
    for (int i = 0; i < w->size; i++)
        if (i != w->rank && is_elsewhere(w, &at[i]))
            return error_set(err, RAYTRAIN_ECOMM,
                             "the workers do not agree: rank %d waits in %s, but rank "
                             "%d in %s. Every worker makes the same calls in the same "
                             "order",
                             w->rank, w->call, i, at[i].call);
    return 0;
}

int collective_wait_check(const struct collective_wait *w, double waited_s,
                          struct error *err)
{
    struct rank_status *at;
    int rc = 0;

    if (waited_s < COLLECTIVE_WAIT_RECORD_S)
        return 0;
    at = rank_status_read(w->log_dir, RANK_STATUS_WAITING, w->size);
    if (at)
        rc = collective_wait_disagreement(w, at, err);
    free(at);
    return rc;
}

void collective_wait_hook(void *arg, double waited_s)
{
    struct collective_wait *w = arg;
    struct rank_status *at;
    char text[256];

    if (waited_s >= COLLECTIVE_WAIT_RECORD_S)
        collective_wait_announce(w);
    if (waited_s < w->next_note)
        return;
    w->next_note += COLLECTIVE_WAIT_NOTE_S;
    /* Only the lowest rank that waits reads the records of all ranks. */
    if (w->place &&
        !rank_status_is_lowest(w->place, RANK_STATUS_WAITING, w->call, w->calls))
        return;
    at = rank_status_read(w->log_dir, RANK_STATUS_WAITING, w->size);
    if (at && collective_wait_sentence(w, at, waited_s, text, sizeof text))
        event_add(w->log_dir, EVENT_WARNING, "%s", text);
    free(at);
}
