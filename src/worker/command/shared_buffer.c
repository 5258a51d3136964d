/* shared_buffer.c - sealed memory for checkpoints, and which of it is used again. */
#include "config.h"
#include "command/shared_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/size.h"

/* Sizes are rounded up: a checkpoint that grows a little fits the same buffer. */
#define GRANULE ((uint64_t)2 << 20)

/* ---- Memory ---- */

static int room_check(uint64_t bytes, int n_sharing, struct error *err)
{
    char wanted[SIZE_TEXT_MAX], there[SIZE_TEXT_MAX];
    uint64_t available = memory_available();

    if (bytes <= available / (uint64_t)(n_sharing > 0 ? n_sharing : 1))
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM,
                     "no memory to share a checkpoint with its worker: %s for each of "
                     "%d on this node, and %s is free",
                     size_format(bytes, wanted), n_sharing > 0 ? n_sharing : 1,
                     size_format(available, there));
}

static int shared_memory_reserve(int fd, uint64_t bytes)
{
    if (ftruncate(fd, (off_t)bytes) < 0)
        return -1;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return -1;
    while (fallocate(fd, 0, 0, (off_t)bytes) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

int shared_memory_create(const char *name, uint64_t bytes, int n_sharing, int *fd,
                         struct error *err)
{
    char size[SIZE_TEXT_MAX];
    int memory;

    if (room_check(bytes, n_sharing, err) < 0)
        return -1;
    memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory >= 0 && shared_memory_reserve(memory, bytes) == 0) {
        *fd = memory;
        return 0;
    }
    error_set(err, RAYTRAIN_ENOMEM,
              "no memory to share a checkpoint with its worker, %s: %s",
              size_format(bytes, size), strerror(errno));
    if (memory >= 0)
        close(memory);
    return -1;
}

/* ---- A buffer ---- */

static int buffer_map(struct shared_buffer *b, int n_sharing, struct error *err)
{
    void *data;

    if (shared_memory_create("raytrain-checkpoint", b->size, n_sharing, &b->fd, err) <
        0)
        return -1;
    data = mmap(NULL, b->size, PROT_READ, MAP_SHARED, b->fd, 0);
    if (data != MAP_FAILED) {
        b->data = data;
        return 0;
    }
    error_set(err, RAYTRAIN_ENOMEM, "cannot map shared memory: %s", strerror(errno));
    close(b->fd);
    return -1;
}

static struct shared_buffer *buffer_create(uint64_t bytes, int n_sharing,
                                           struct error *err)
{
    struct shared_buffer *b = calloc(1, sizeof *b);

    if (!b) {
        error_no_memory(err);
        return NULL;
    }
    b->references = 1;
    b->size = (bytes + bytes / 16) / GRANULE * GRANULE + GRANULE;
    if (buffer_map(b, n_sharing, err) < 0) {
        free(b);
        return NULL;
    }
    return b;
}

void shared_buffer_hold(struct shared_buffer *b)
{
    b->references++;
}

void shared_buffer_release(struct shared_buffer *b)
{
    if (!b || --b->references > 0)
        return;
    munmap(b->data, b->size);
    close(b->fd);
    free(b);
}

/* ---- Buffers that are kept; all->kept has a reference to each ---- */

static bool buffer_is_free(const struct shared_buffer *b)
{
    return b && b->references == 1;
}

/* Best is an unused buffer that is large enough, then one that is too small, then a
 * place without a buffer, last a buffer that is still in use. */
static int place_fitness(const struct shared_buffer *b, uint64_t bytes)
{
    if (buffer_is_free(b))
        return b->size >= bytes ? 3 : 2;
    return b ? 0 : 1;
}

static int place_choose(const struct shared_buffers *all, uint64_t bytes)
{
    int best = 0;

    for (int i = 1; i < SHARED_BUFFERS; i++)
        if (place_fitness(all->kept[i], bytes) > place_fitness(all->kept[best], bytes))
            best = i;
    return best;
}

int shared_buffers_take(struct shared_buffers *all, uint64_t bytes, int n_sharing,
                        struct shared_buffer **out, struct error *err)
{
    int place = place_choose(all, bytes);
    struct shared_buffer *b = all->kept[place];

    if (!buffer_is_free(b) || b->size < bytes) {
        shared_buffer_release(b); /* first, so that there is memory for its successor */
        all->kept[place] = b = buffer_create(bytes, n_sharing, err);
        if (!b)
            return -1;
        b->id = ++all->ids;
    }
    shared_buffer_hold(b);
    *out = b;
    return 0;
}

void shared_buffers_clear(struct shared_buffers *all)
{
    for (int i = 0; i < SHARED_BUFFERS; i++) {
        shared_buffer_release(all->kept[i]);
        all->kept[i] = NULL;
    }
}
