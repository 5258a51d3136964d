/* signs.c - see signs.h. */
#include "session/signs.h"

#include "rank/event.h"
#include "util/clock.h"

/* In hang_timeout_s, if there is work all the time: one that comes late is no hang. */
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
