/*
 * setting_notes.c - settings that have no effect, perhaps because they are misspelt, or
 * have another effect than before: rank 0 warns of them after the first report of an
 * attempt.
 */
#include "session/setting_notes.h"

#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "session/session.h"
#include "util/quote.h"
#include "util/suggest.h"

#define KEY_MAX 256 /* bytes of a dotted key; longer ones are not checked */

void setting_asked(raytrain_context *ctx, const char *key)
{
    if (ctx->iterations_since_restore > 0 || ctx->comm->rank != 0)
        return;
    if (!ctx->keys_asked)
        ctx->keys_asked = json_object();
    json_object_set_new(ctx->keys_asked, key, json_true());
}

void setting_all_asked(raytrain_context *ctx)
{
    ctx->all_keys_asked = true;
}

void setting_some_asked(raytrain_context *ctx, const json_t *keys)
{
    json_t *key;
    size_t i;

    ctx->all_keys_asked = false;
    json_array_foreach((json_t *)keys, i, key)
    {
        if (json_is_string(key))
            setting_asked(ctx, json_string_value(key));
    }
}

bool setting_none_asked(const raytrain_context *ctx)
{
    return !ctx->all_keys_asked && !ctx->keys_asked && ctx->iteration == 0 &&
           json_object_size(ctx->env.config->train_loop_config) > 0;
}

/* ---- Metrics ---- */

static bool is_reported(const char *name, const struct checkpoint_metric *metrics,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return true;
    return false;
}

static const char *nearest_metric(const char *name,
                                  const struct checkpoint_metric *metrics, size_t n)
{
    const char **names = calloc(n + 1, sizeof *names), *near;

    for (size_t i = 0; names && i < n; i++)
        names[i] = metrics[i].name;
    near = names ? suggest_nearest(name, names, n) : NULL;
    free(names);
    return near;
}

static void metric_note(const raytrain_context *ctx, const char *setting,
                        const char *name, const struct checkpoint_metric *metrics,
                        size_t n)
{
    const char *near = nearest_metric(name, metrics, n);
    char quoted[QUOTE_TEXT_MAX];

    event_add(ctx->env.log_dir, EVENT_WARNING,
              "run_config.%s names %s, but the first report has no metric of that "
              "name%s%s%s",
              setting, quote(name, quoted), near ? "; did you mean \"" : "",
              near ? near : "", near ? "\"?" : "");
}

/* With one worker, the mean is its value. */
static void kind_note(const raytrain_context *ctx, const char *score, bool of_rank0)
{
    static const char mean[] = "the mean over the workers",
                      rank0[] = "the value of rank 0";

    if (ctx->restored_workers == 0 || of_rank0 == ctx->restored_of_rank0 ||
        ctx->restored_workers == 1 || ctx->comm->size == 1)
        return;
    event_add(ctx->env.log_dir, EVENT_WARNING,
              "checkpoint_score_attribute: %s is %s from iteration %lld on, and was %s "
              "before: checkpoints are ranked by both as they are; to rank them alike, "
              "begin another run with --resume=CHECKPOINT",
              score, of_rank0 ? rank0 : mean, (long long)ctx->iteration,
              of_rank0 ? mean : rank0);
}

/* ---- train_loop_config ---- */

static const char *nearest_asked(const raytrain_context *ctx, const char *key)
{
    const char **names = calloc(json_object_size(ctx->keys_asked) + 1, sizeof *names);
    const char *asked, *near;
    json_t *value;
    size_t n = 0;

    json_object_foreach(ctx->keys_asked, asked, value)
    {
        if (names)
            names[n++] = asked;
    }
    near = names ? suggest_nearest(key, names, n) : NULL;
    free(names);
    return near;
}

static void key_note(const raytrain_context *ctx, const char *key)
{
    const char *near = nearest_asked(ctx, key);
    char quoted[QUOTE_TEXT_MAX];

    event_add(
        ctx->env.log_dir, EVENT_WARNING,
        "the training function has not asked for %s of train_loop_config in its first "
        "iteration%s%s%s",
        quote(key, quoted), near ? "; did you mean \"" : "", near ? near : "",
        near ? "\"?" : "");
}

/* The values of a group, and of the groups in it; `prefix` ends in '.' or is "". */
static void group_note(const raytrain_context *ctx, json_t *group, const char *prefix)
{
    char key[KEY_MAX], below[KEY_MAX + 1];
    const char *name;
    json_t *value;

    json_object_foreach(group, name, value)
    {
        if (strlen(prefix) + strlen(name) >= sizeof key)
            continue;
        strcat(strcpy(key, prefix), name);
        if (json_is_object(value)) {
            strcat(strcpy(below, key), ".");
            group_note(ctx, value, below);
        } else if (!json_object_get(ctx->keys_asked, key)) {
            key_note(ctx, key);
        }
    }
}

/* ---- Together ---- */

void setting_notes(raytrain_context *ctx, const struct checkpoint_metric *metrics,
                   size_t n, bool of_rank0)
{
    const struct run_config *run = &ctx->env.config->run_config;
    const char *score = run->checkpoint_config.checkpoint_score_attribute;

    if (ctx->comm->rank != 0)
        return;
    if (score && !is_reported(score, metrics, n))
        metric_note(ctx, "checkpoint_config.checkpoint_score_attribute", score, metrics,
                    n);
    else if (score)
        kind_note(ctx, score, of_rank0);
    if (!ctx->all_keys_asked)
        group_note(ctx, ctx->env.config->train_loop_config, "");
    json_decref(ctx->keys_asked);
    ctx->keys_asked = NULL;
}
