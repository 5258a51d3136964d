/*
 * follower.h - a thread that looks for the checkpoint to serve, so that storage that
 * hangs does not block anything else.
 */
#ifndef RAYTRAIN_LIFE_FOLLOWER_H
#define RAYTRAIN_LIFE_FOLLOWER_H

#include "util/error.h"

struct follower;

/* `fd`, an eventfd, is written when there is a checkpoint other than `now`. */
int follower_start(const char *now,
                   int (*choose)(void *arg, char **checkpoint, struct error *err),
                   void *arg, int fd, struct follower **out, struct error *err);
/* The latest checkpoint, malloc'ed; NULL: none since the last call. */
char *follower_take(struct follower *f);
/* If storage hangs, the thread is abandoned. NULL is fine. */
void follower_stop(struct follower *f);

#endif
