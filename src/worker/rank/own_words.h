/*
 * own_words.h - what a worker says about its own failure. The launcher says it, too,
 * from the failure record: so it goes into the log of the worker alone if the worker's
 * output is shown (launcher/show/tee.h).
 */
#ifndef RAYTRAIN_RANK_OWN_WORDS_H
#define RAYTRAIN_RANK_OWN_WORDS_H

#include "util/error.h"

/* Take the descriptor of the log out of the environment, which others inherit. */
void own_words_init(void);
/* A line, without its newline. Exported from the library for raytrain-worker; not part
 * of the public API. */
RAYTRAIN_API void raytrain_worker_say(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

#endif
