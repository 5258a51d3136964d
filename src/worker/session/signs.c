/* signs.c - writes a sign of progress when the last one is old enough. */
#include "session/signs.h"

#include "rank/event.h"
#include "util/clock.h"

/* Signs in hang_timeout_s while there is work: several, so that a late one is not a
 * hang. */
#define SIGNS 4

void sign_of_progress(raytrain_context *ctx)
{
    int limit = ctx->env.config->run_config.failure_config.hang_timeout_s;
    double now;

    if (limit == 0)
        return;
    now = clock_now();
    if (now < ctx->next_sign)
        return;
    ctx->next_sign = now + (double)limit / SIGNS;
    event_add_sign(ctx->env.log_dir);
}
