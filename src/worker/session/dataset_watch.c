/* dataset_watch.c - stops a conversion on request, and reports that it continues. */
#include "session/dataset_watch.h"

#include "rank/event.h"
#include "rank/stop.h"
#include "session/signs.h"
#include "util/clock.h"
#include "util/fault.h"

#define PROGRESS_FIRST_S 2.0
#define PROGRESS_S       10.0

/* The ranks agree on an error, so it is enough if one of them has received the
 * request. */
static int proceed(void *arg, struct error *err)
{
    struct dataset_watch *w = arg;
    double now = clock_now();

    (void)fault_point("dataset.convert", w->ctx->comm->rank);
    sign_of_progress(w->ctx);
    if (stop_requested())
        return error_set(
            err, RAYTRAIN_ESTOPPED,
            "stopped on request while its text was converted, which starts "
            "from the beginning next time");
    if (w->ctx->comm->rank == 0 && now > w->next) {
        event_add(w->ctx->env.log_dir, EVENT_PROGRESS,
                  "converting the text of dataset \"%s\": %.0f s so far", w->dataset,
                  now - w->began);
        w->next = now + PROGRESS_S;
    }
    return 0;
}

const struct text_watch *dataset_watch_begin(struct dataset_watch *w,
                                             raytrain_context *ctx, const char *dataset)
{
    double now = clock_now();

    *w = (struct dataset_watch){.ctx = ctx,
                                .dataset = dataset,
                                .began = now,
                                .next = now + PROGRESS_FIRST_S,
                                .watch = {.proceed = proceed, .arg = w}};
    return &w->watch;
}

void dataset_watch_warn(void *watch, const char *text)
{
    const struct dataset_watch *w = watch;

    event_add(w->ctx->env.log_dir, EVENT_WARNING, "%s", text);
}
