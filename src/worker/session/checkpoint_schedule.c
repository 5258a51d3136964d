/*
 * checkpoint_schedule.c - raytrain_should_checkpoint(): is a checkpoint due with the
 * next report? Either by run_config.checkpoint_config, or because a stop is coming.
 *
 * The decision uses only values that are the same on every rank: iterations, and
 * time_total_s as reports have combined it. It looks one iteration ahead, and assumes
 * that it takes as long as the previous one: a checkpoint that becomes due during that
 * iteration is due when it is reported.
 */
#include "session/session.h"

#include <string.h>

#include "rank/event.h"
#include "session/checkpoints.h"

/* Will the next report meet a criterion of run_config.stop that does not depend on
 * metrics? */
static bool stop_foreseen(const raytrain_context *ctx)
{
    const struct run_config *run = &ctx->env.config->run_config;
    const struct {
        const char *name;
        double value;
    } then[] = {
        {"training_iteration", (double)ctx->iteration + 1},
        {"iterations_since_restore", (double)ctx->iterations_since_restore + 1},
        {"time_total_s", ctx->schedule.total + ctx->schedule.took},
    };

    for (size_t i = 0; i < run->n_stop; i++)
        for (size_t k = 0; k < sizeof then / sizeof then[0]; k++)
            if (strcmp(run->stop[i].metric, then[k].name) == 0 &&
                then[k].value >= run->stop[i].value)
                return true;
    return false;
}

static bool is_due(const raytrain_context *ctx)
{
    const struct checkpoint_config *cfg =
        &ctx->env.config->run_config.checkpoint_config;
    const struct session_schedule *s = &ctx->schedule;
    int frequency = cfg->checkpoint_frequency, interval = cfg->checkpoint_interval_s;

    if (ctx->stop_reason != STOP_NO || stop_foreseen(ctx))
        return true;
    if (frequency == 0 && interval == 0)
        return true;
    if (frequency > 0 && (ctx->iteration + 1) % frequency == 0)
        return true;
    return interval > 0 && s->total + s->took - s->saved >= interval;
}

/* Warn of a setting that has no effect. */
static void unheard_note(raytrain_context *ctx)
{
    const struct checkpoint_config *cfg =
        &ctx->env.config->run_config.checkpoint_config;

    ctx->schedule.warned = true;
    if (ctx->comm->rank == 0 &&
        (cfg->checkpoint_frequency > 0 || cfg->checkpoint_interval_s > 0))
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "run_config.checkpoint_config.%s is set, but the training function "
                  "does not ask raytrain_should_checkpoint(): it decides by itself "
                  "when to save",
                  cfg->checkpoint_frequency > 0 ? "checkpoint_frequency"
                                                : "checkpoint_interval_s");
}

void session_schedule_start(raytrain_context *ctx)
{
    ctx->schedule.total = ctx->schedule.saved = ctx->time_before;
    ctx->schedule.due = is_due(ctx);
}

void session_schedule_report(raytrain_context *ctx, double time_total_s, bool saved,
                             bool asks)
{
    struct session_schedule *s = &ctx->schedule;

    s->took = time_total_s - s->total;
    s->total = time_total_s;
    if (saved)
        s->saved = time_total_s;
    s->due = is_due(ctx);
    if (!asks && !s->warned)
        unheard_note(ctx);
}

bool raytrain_should_checkpoint(raytrain_context *ctx)
{
    if (!ctx)
        return false;
    ctx->schedule.asks = true;
    return ctx->schedule.due;
}
