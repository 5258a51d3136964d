/*
 * shared_buffer.h - memory that a client and its worker share: the buffers that a
 * client copies its checkpoints into, and from which they are saved later; and memory
 * for one reply.
 *
 * A buffer is in use as long as it has references: of a request, and of each tensor of
 * a checkpoint that is still being written. Two of them are kept, so that one can be
 * filled while the other one is written. Everything happens in one thread.
 */
#ifndef RAYTRAIN_COMMAND_SHARED_BUFFER_H
#define RAYTRAIN_COMMAND_SHARED_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* Anonymous memory of this size, which cannot be resized, with all its pages: *fd is the
 * caller's. RAYTRAIN_ENOMEM if each of n_sharing processes of this node could not have
 * as much. */
int shared_memory_create(const char *name, uint64_t bytes, int n_sharing, int *fd,
                         struct error *err);

struct shared_buffer {
    int64_t id; /* by which the client knows it */
    int fd;
    uint64_t size;
    unsigned char *data; /* to be read */
    bool known;          /* the client has the descriptor */
    int references;
};

#define SHARED_BUFFERS 2

/* All zeros: none yet. */
struct shared_buffers {
    struct shared_buffer *kept[SHARED_BUFFERS];
    int64_t ids;
};

/* An unused buffer of at least this size, with a reference for the
 * caller. The ids of those that are kept no more are not used again. */
int shared_buffers_take(struct shared_buffers *all, uint64_t bytes, int n_sharing,
                        struct shared_buffer **out, struct error *err);
/* The client is gone: what is not in use is freed, the rest at its last release. */
void shared_buffers_clear(struct shared_buffers *all);

void shared_buffer_hold(struct shared_buffer *b);
void shared_buffer_release(struct shared_buffer *b); /* NULL is fine */

#endif
