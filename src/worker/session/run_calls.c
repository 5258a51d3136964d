/* run_calls.c - what a training function can ask about its run and about the
 * library. */
#include "config.h"
#include "session/session.h"

#include <inttypes.h>
#include <stdlib.h>

#include "rank/event.h"
#include "run/run_dir.h"
#include "util/fs.h"

const char *raytrain_version(void)
{
    return PACKAGE_VERSION;
}

const char *raytrain_run_name(const raytrain_context *ctx)
{
    return ctx ? ctx->env.config->run_config.name : NULL;
}

const char *raytrain_run_dir(const raytrain_context *ctx)
{
    return ctx ? ctx->env.run_dir : NULL;
}

int raytrain_set_total(raytrain_context *ctx, int64_t iterations)
{
    if (!ctx)
        return session_null(ctx, __func__, "context");
    if (iterations < 0)
        return session_status(
            ctx, error_set(&ctx->error, RAYTRAIN_EINVAL,
                           "%s: %" PRId64
                           " is not a number of iterations; pass 0 if it is not known",
                           __func__, iterations));
    if (raytrain_rank(ctx) == 0 && iterations != ctx->total)
        event_add_total(ctx->env.log_dir, iterations);
    ctx->total = iterations;
    return RAYTRAIN_OK;
}

/* Any rank may be the first, or the only one: each creates it. */
static int artifacts_make(raytrain_context *ctx, struct error *err)
{
    if (ctx->artifacts)
        return 0;
    ctx->artifacts = run_dir_file(ctx->env.run_dir, RUN_DIR_ARTIFACTS);
    if (!ctx->artifacts)
        return error_no_memory(err);
    if (fs_mkdirs_durable(ctx->artifacts, 0777, err) == 0)
        return 0;
    free(ctx->artifacts);
    ctx->artifacts = NULL;
    return -1;
}

const char *raytrain_artifacts_dir(raytrain_context *ctx)
{
    if (!ctx) {
        session_null(ctx, __func__, "context");
        return NULL;
    }
    return artifacts_make(ctx, &ctx->error) == 0 ? ctx->artifacts : NULL;
}
