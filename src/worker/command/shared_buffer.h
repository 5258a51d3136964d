/*
 * shared_buffer.h - memory that a client and its worker share: buffers into which the
 * client copies its checkpoints, and from which they are saved later; and memory for
 * one reply.
 *
 * A buffer is in use while there are references to it: from a request, and from each
 * tensor of a checkpoint that is still being written. Two buffers are kept, so that one
 * can be filled while the other one is written. For one thread.
 */
#ifndef RAYTRAIN_COMMAND_SHARED_BUFFER_H
#define RAYTRAIN_COMMAND_SHARED_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* Make anonymous memory, with all its pages, which cannot be resized. The caller owns
 * *fd. RAYTRAIN_ENOMEM if there is not enough for each of n_sharing processes. */
int shared_memory_create(const char *name, uint64_t bytes, int n_sharing, int *fd,
                         struct error *err);

struct shared_buffer {
    int64_t id; /* by which the client knows it */
    int fd;
    uint64_t size;
    unsigned char *data; /* read only */
    bool known;          /* the client has the descriptor */
    int references;
};

#define SHARED_BUFFERS 2

/* All zeros: no buffers yet. */
struct shared_buffers {
    struct shared_buffer *kept[SHARED_BUFFERS];
    int64_t ids;
};

/* Get an unused buffer of at least this size, with a reference for the caller. Ids are
 * not used again. */
int shared_buffers_take(struct shared_buffers *all, uint64_t bytes, int n_sharing,
                        struct shared_buffer **out, struct error *err);
/* The client is gone: free the buffers, those in use when they are released. */
void shared_buffers_clear(struct shared_buffers *all);

void shared_buffer_hold(struct shared_buffer *b);
void shared_buffer_release(struct shared_buffer *b); /* NULL is fine */

#endif
