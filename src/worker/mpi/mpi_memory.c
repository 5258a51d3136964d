/* mpi_memory.c - the list of memory that a communicator has given; memory of one rank.
 * What the ranks of a node share is made by shared_allreduce.c. */
#include "config.h"

#include "mpi/mpi_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/memory_file.h"

struct mpi_memory {
    struct mpi_memory *next;
    char *data;
    size_t n_bytes;
    struct shared_reducer *shared; /* owns the memory; NULL: it is this rank's alone */
    int fd;                        /* for this rank's own memory; -1 if it is shared */
};

/* ---- Find ---- */

/* The memory of alloc that contains all of buf; NULL: none does. */
static const struct mpi_memory *memory_find(const struct mpi_memory *list,
                                            const void *buf, size_t n_bytes)
{
    const char *begin = buf;

    for (const struct mpi_memory *a = list; a; a = a->next)
        if (begin >= a->data && begin <= a->data + a->n_bytes &&
            n_bytes <= (size_t)(a->data + a->n_bytes - begin))
            return a;
    return NULL;
}

struct shared_reducer *mpi_memory_shared(const struct mpi_memory *list, const void *buf,
                                         size_t n_bytes)
{
    const struct mpi_memory *a = memory_find(list, buf, n_bytes);

    return a ? a->shared : NULL;
}

int mpi_memory_file(const struct mpi_memory *list, const void *data,
                    struct comm_file *file, struct error *err)
{
    const struct mpi_memory *a = memory_find(list, data, 1);

    if (!a)
        return error_set(err, RAYTRAIN_EINVAL,
                         "this memory does not come from the communicator");
    if (a->shared)
        shared_reducer_file(a->shared, data, file);
    else
        *file = (struct comm_file){.fd = a->fd,
                                   .offset = (size_t)((const char *)data - a->data)};
    return 0;
}

/* ---- Add ---- */

/* Do all ranks ask for the same size? */
static int sizes_check(struct comm *c, size_t n_bytes, struct error *err)
{
    int64_t most = n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes, least = most;

    if (c->ops->allreduce(c, &most, 1, COMM_INT64, COMM_MAX, err) < 0 ||
        c->ops->allreduce(c, &least, 1, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    if (most != least)
        return error_set(err, RAYTRAIN_EINVAL,
                         "the workers ask for %lld to %lld bytes: all must ask for the "
                         "same size",
                         (long long)least, (long long)most);
    return 0;
}

static size_t own_room(const struct mpi_memory *a)
{
    return a->n_bytes > 0 ? a->n_bytes : 1;
}

/* Free what own_alloc() or shared_reducer_create() has made, also if it is
 * incomplete. */
static void memory_release(struct mpi_memory *a)
{
    if (a->shared)
        shared_reducer_destroy(a->shared);
    else if (a->data)
        munmap(a->data, own_room(a));
    if (a->fd >= 0)
        close(a->fd);
    free(a);
}

/* Memory for this rank alone, but in a file, which processes other than ranks may
 * map. */
static int own_alloc(struct mpi_memory *a, struct error *err)
{
    size_t room = own_room(a);
    void *data = MAP_FAILED;

    if (room <= SIZE_MAX / 4)
        a->fd = memory_file_create("raytrain-memory", room);
    else
        errno = ENOMEM;
    if (a->fd >= 0 && memory_file_grant(a->fd, 0, room) == 0)
        data = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                    a->fd, 0);
    if (data == MAP_FAILED)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes: %s",
                         a->n_bytes, strerror(errno));
    a->data = data;
    return 0;
}

int mpi_memory_add(struct mpi_memory **list, struct comm *c, enum comm_place place,
                   size_t n_bytes, void **data, struct error *err)
{
    struct mpi_memory *a = calloc(1, sizeof *a);
    struct error none;
    int rc = 0;

    *data = NULL;
    if (!a)
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", n_bytes);
    else
        *a = (struct mpi_memory){.n_bytes = n_bytes, .fd = -1};
    if (a)
        rc = comm_check_place(c, place, err);
    if (comm_agree(c, rc, err) < 0 || sizes_check(c, n_bytes, err) < 0)
        goto fail;
    if (c->size > 1 && n_bytes > 0 &&
        shared_reducer_create(c, n_bytes, &a->shared, &none) == 0)
        a->data = shared_reducer_data(a->shared);
    else if (comm_agree(c, own_alloc(a, err), err) < 0)
        goto fail;
    a->next = *list;
    *list = a;
    *data = a->data;
    return 0;
fail:
    if (a)
        memory_release(a);
    return -1;
}

void mpi_memory_free(struct mpi_memory *list)
{
    while (list) {
        struct mpi_memory *a = list;

        list = a->next;
        memory_release(a);
    }
}
