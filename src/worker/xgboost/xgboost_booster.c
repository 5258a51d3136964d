/*
 * xgboost_booster.c - makes a booster of XGBoost, passes the library's log on, and
 * reports calls that fail.
 */
#include "config.h"

#include "xgboost/xgboost_booster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xgboost/xgboost_text.h"

/* ---- What the library prints ---- */

/* The booster that gets the log of this thread: the library's callback has no argument.
 * NULL: the log is not passed on, as when members join, since it has their secret. */
static _Thread_local struct booster *speaker;

void xgboost_speaker_set(struct booster *b)
{
    speaker = b;
}

void xgboost_speaker_leave(const struct booster *b)
{
    if (speaker == b)
        speaker = NULL;
}

static void log_pass(const char *text)
{
    char line[1024];

    if (!speaker || (speaker->env.comm && speaker->env.comm->rank != 0) ||
        !speaker->env.say)
        return;
    xgboost_text_clean(text, line, sizeof line);
    if (line[0])
        speaker->env.say(speaker->env.arg,
                         xgboost_text_is_warning(text) ? GBDT_WARNING : GBDT_INFO,
                         line);
}

static int log_start(struct booster *b, struct error *err)
{
    const struct xgboost_impl *impl = b->impl;
    const json_t *verbosity =
        b->env.config ? json_object_get(b->env.config->params, "verbosity") : NULL;
    char text[32] = "{\"verbosity\":1}";

    if (json_is_integer(verbosity) && json_integer_value(verbosity) >= 0 &&
        json_integer_value(verbosity) <= 3)
        snprintf(text, sizeof text, "{\"verbosity\":%d}",
                 (int)json_integer_value(verbosity));
    if (impl->x->XGBRegisterLogCallback(log_pass) != 0 ||
        impl->x->XGBSetGlobalConfig(text) != 0)
        return xgboost_fail(impl->x, RAYTRAIN_EINVAL, "params.verbosity", err);
    return 0;
}

/* ---- A booster ---- */

int xgboost_impl_make(struct booster *b, struct error *err)
{
    const struct xgboost_library *x = xgboost_library(err);
    struct xgboost_impl *impl = x ? calloc(1, sizeof *impl) : NULL;

    if (!x)
        return -1;
    if (!impl)
        return error_no_memory(err);
    b->impl = impl;
    impl->x = x;
    return xgboost_matrix_options(b->env.config ? b->env.config->dmatrix_params : NULL,
                                  b->env.threads, &impl->options, err) < 0
               ? -1
               : log_start(b, err);
}

/* True if the error comes from the collectives: another member has failed, and reports
 * why. Only the message depends on it. */
static bool is_of_others(const char *text)
{
    static const char *const words[] = {"llreduce", "llgather", "roadcast", "socket",
                                        "Socket",   "rabit",    "onnect",   "poll"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

/* The first recorded failure becomes that of the attempt. The member that causes it
 * leaves the others before it records it, and they notice at once: they wait this
 * long. */
static const struct timespec others_first = {.tv_sec = 1};

int xgboost_impl_fail(struct booster *b, const char *what, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    struct error ours = {.code = RAYTRAIN_OK};

    /* The library refuses labels and parameters before the end of the first round.
     * Later failures may not occur again. */
    xgboost_fail(impl->x, impl->updated ? RAYTRAIN_EFAILED : RAYTRAIN_EINVAL, what,
                 &ours);
    if (impl->group && is_of_others(ours.text))
        error_set(&ours, RAYTRAIN_ECOMM,
                  "a collective operation of XGBoost has failed, probably because "
                  "another worker has: %s",
                  ours.text);
    xgboost_group_break(impl->group);
    if (ours.code == RAYTRAIN_ECOMM)
        (void)nanosleep(&others_first, NULL);
    return error_set(err, ours.code, "%s", ours.text);
}
