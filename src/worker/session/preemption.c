/*
 * preemption.c - the exchange of SIGTERMs and of the launcher's notice between the
 * ranks.
 *
 * Each call is one small allreduce. If its sums change, because workers were asked to
 * stop or rank 0 has read another notice, a new answer is made and sent to all.
 */
#include "session/preemption.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/preemption_notice.h"
#include "rank/stop.h"
#include "util/clock.h"

#define LOOK_S 1.0 /* between two reads of the launcher's files */

/* The node of a rank, and whether it has received SIGTERM. */
struct place {
    char host[sizeof((struct world *)NULL)->host];
    int64_t terminated;
};

static int no_memory(raytrain_context *ctx)
{
    error_set(&ctx->error, RAYTRAIN_ENOMEM, "no memory for a notice of preemption");
    return RAYTRAIN_ENOMEM;
}

/* Rank 0 looks for the notice once it was asked to stop, as all ranks are: the launcher
 * writes the notice before it sends the signal. */
static void notice_look(raytrain_context *ctx)
{
    struct session_preemption *p = &ctx->preemption;
    double now = clock_now();
    json_t *found;

    if (!stop_requested() || (p->looked > 0 && now - p->looked < LOOK_S))
        return;
    p->looked = now;
    found = preemption_notice_read(ctx->env.log_dir);
    if (!found || json_equal(found, p->notice)) {
        json_decref(found);
        return;
    }
    json_decref(p->notice);
    p->notice = found;
    p->number++;
}

/* The ranks that have received SIGTERM, as ranges of neighbours on one node. */
static char *places_text(const struct place *places, int size)
{
    json_t *nodes = json_array(), *notice;
    char *text;

    for (int r = 0, end; nodes && r < size; r = end) {
        for (end = r + 1; end < size &&
                          places[end].terminated == places[r].terminated &&
                          strcmp(places[end].host, places[r].host) == 0;)
            end++;
        if (places[r].terminated)
            preemption_notice_add(nodes, places[r].host, r, end - r);
    }
    notice = json_pack("{sn so}", "deadline_ms", "nodes", nodes);
    text = notice ? json_dumps(notice, JSON_COMPACT) : NULL;
    json_decref(notice);
    return text;
}

/* COLLECTIVE. All ranks make the same text, since all have all places. */
static int terminated_gather(raytrain_context *ctx, char **text)
{
    int size = raytrain_world_size(ctx), rc;
    struct place mine = {.terminated = stop_terminated()};
    struct place *all = calloc((size_t)size, sizeof *all);

    if (!all)
        return no_memory(ctx);
    memcpy(mine.host, ctx->env.world->host, sizeof mine.host);
    rc = raytrain_allgather(ctx, &mine, sizeof mine, all);
    *text = rc == RAYTRAIN_OK ? places_text(all, size) : NULL;
    free(all);
    return rc;
}

/* COLLECTIVE. Send rank 0's notice to all. */
static int notice_send(raytrain_context *ctx, char **text)
{
    struct session_preemption *p = &ctx->preemption;
    char *mine = p->notice ? json_dumps(p->notice, JSON_COMPACT) : NULL;
    int64_t n = mine ? (int64_t)strlen(mine) : 0;
    int rc = raytrain_broadcast(ctx, &n, sizeof n, 0);

    if (rc == RAYTRAIN_OK && !mine)
        mine = calloc((size_t)n + 1, 1);
    if (rc == RAYTRAIN_OK && n > 0 && mine)
        rc = raytrain_broadcast(ctx, mine, (size_t)n, 0);
    if (rc == RAYTRAIN_OK && !mine)
        rc = no_memory(ctx);
    if (rc != RAYTRAIN_OK || n == 0) {
        free(mine);
        mine = NULL;
    }
    *text = mine;
    return rc;
}

/* COLLECTIVE. Make a new answer, since something has changed. */
static int answer_make(raytrain_context *ctx, const int64_t counts[3], char **text)
{
    *text = NULL;
    if (counts[2] > 0)
        return notice_send(ctx, text);
    return counts[1] > 0 ? terminated_gather(ctx, text) : RAYTRAIN_OK;
}

int session_preemption(raytrain_context *ctx, const char **text, bool *changed)
{
    struct session_preemption *p = &ctx->preemption;
    int64_t counts[3] = {stop_requested(), stop_terminated(), 0};
    char *made;
    int rc;

    *changed = false;
    *text = NULL;
    if (raytrain_rank(ctx) == 0) {
        notice_look(ctx);
        counts[2] = p->number;
    }
    rc = raytrain_allreduce(ctx, counts, 3, RAYTRAIN_INT64, RAYTRAIN_SUM);
    if (rc == RAYTRAIN_OK)
        p->asked = true;
    if (rc == RAYTRAIN_OK && memcmp(counts, p->counts, sizeof counts) != 0) {
        rc = answer_make(ctx, counts, &made);
        if (rc == RAYTRAIN_OK && made) {
            *changed = !p->text || strcmp(made, p->text) != 0;
            free(p->text);
            p->text = made;
        }
        memcpy(p->counts, counts, sizeof counts);
    }
    p->otherwise = counts[0] > 0 && !p->text;
    *text = p->text;
    return rc;
}

bool preemption_goes_on(const raytrain_context *ctx)
{
    return ctx->preemption.asked && !ctx->preemption.otherwise;
}

void session_preemption_clear(raytrain_context *ctx)
{
    json_decref(ctx->preemption.notice);
    free(ctx->preemption.text);
}
