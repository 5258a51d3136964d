/*
 * dataset_watch.h - what a session does while the text of a dataset is converted, which
 * may take long: a request to stop ends the conversion, and the launcher gets its
 * progress.
 */
#ifndef RAYTRAIN_SESSION_DATASET_WATCH_H
#define RAYTRAIN_SESSION_DATASET_WATCH_H

#include "data/dataset.h"
#include "session/session.h"

struct dataset_watch {
    raytrain_context *ctx;
    const char *dataset;
    double began, next; /* when it began, and when progress is reported next */
    struct text_watch watch;
};

/* Returns the watch for struct dataset_env; the caller owns both pointers. */
const struct text_watch *dataset_watch_begin(struct dataset_watch *w,
                                             raytrain_context *ctx,
                                             const char *dataset);
/* The env's `warn`: an event of the attempt. */
void dataset_watch_warn(void *watch, const char *text);

#endif
