/*
 * follower.h - a thread that looks which checkpoint is to be served: storage that hangs
 * holds up nothing else.
 */
#ifndef RAYTRAIN_LIFE_FOLLOWER_H
#define RAYTRAIN_LIFE_FOLLOWER_H

#include "util/error.h"

struct follower;

/* `fd`, an eventfd, is written when there is another checkpoint than `now`. */
int follower_start(const char *now,
                   int (*choose)(void *arg, char **checkpoint, struct error *err),
                   void *arg, int fd, struct follower **out, struct error *err);
/* The latest one, malloc'ed; NULL: none since the last call. */
char *follower_take(struct follower *f);
/* If storage hangs, the thread is left behind. NULL is fine. */
void follower_stop(struct follower *f);

#endif
