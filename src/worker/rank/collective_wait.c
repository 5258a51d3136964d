#include "config.h"
#include "rank/collective_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/notes.h"
#include "rank/stack_trace.h"
#include "util/rank_list.h"

void waiting_begin(struct waiting *w, const char *call)
{
    w->call = call;
    w->calls++;
    w->recorded = false;
    w->next_note = WAITING_NOTE_S;
    stack_trace_set_call(call, w->calls);
}

/* Nothing here is worth failing for. */
static void place_record(const struct waiting *w)
{
    if (w->place)
        whereabouts_write(w->place, WHEREABOUTS_WAITING, w->call, w->calls);
}

/* Is another rank as far on as this one, but in the wrong call? */
static bool is_elsewhere(const struct waiting *w, const struct whereabouts *at)
{
    return at->calls == w->calls && strcmp(at->call, w->call) != 0;
}

static bool is_missing(const struct waiting *w, const struct whereabouts *at)
{
    return at->calls != w->calls || is_elsewhere(w, at);
}

bool waiting_sentence(const struct waiting *w, const struct whereabouts at[],
                      double waited_s, char *out, int out_max)
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

int waiting_disagreement(const struct waiting *w, const struct whereabouts at[],
                         struct error *err)
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

int waiting_check(const struct waiting *w, double waited_s, struct error *err)
{
    struct whereabouts *at;
    int rc = 0;

    if (waited_s < WAITING_RECORD_S)
        return 0;
    at = whereabouts_read(w->log_dir, WHEREABOUTS_WAITING, w->size);
    if (at)
        rc = waiting_disagreement(w, at, err);
    free(at);
    return rc;
}

void waiting_hook(void *arg, double waited_s)
{
    struct waiting *w = arg;
    struct whereabouts *at;
    char text[256];

    if (!w->recorded && waited_s >= WAITING_RECORD_S) {
        place_record(w);
        w->recorded = true;
    }
    if (waited_s < w->next_note)
        return;
    w->next_note += WAITING_NOTE_S;
    /* Most ranks need not read what all have written. */
    if (w->place &&
        !whereabouts_is_lowest(w->place, WHEREABOUTS_WAITING, w->call, w->calls))
        return;
    at = whereabouts_read(w->log_dir, WHEREABOUTS_WAITING, w->size);
    if (at && waiting_sentence(w, at, waited_s, text, sizeof text))
        note_add(w->log_dir, NOTE_WARNING, "%s", text);
    free(at);
}
