/*
 * own_words.h - what a worker prints about its own failure. The launcher prints it,
 * too, from the failure record; so if the worker's output is shown
 * (launcher/show/tee.h), this is written to the worker's log only.
 */
#ifndef RAYTRAIN_RANK_OWN_WORDS_H
#define RAYTRAIN_RANK_OWN_WORDS_H

#include "util/error.h"

/* Remove the descriptor of the log from the environment, which children inherit. */
void own_words_init(void);
/* Write a line; the text has no newline. Exported from the library for raytrain-worker;
 * not part of the public API. */
RAYTRAIN_API void raytrain_worker_say(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

#endif
