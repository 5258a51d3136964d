/* expansion.c - creates, seals and maps memfds. Readers fill them. */
#include "table/expansion.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "table/reader_file.h"
#include "util/memory.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static int size_refuse(uint64_t size, uint64_t available, const char *path,
                       struct error *err)
{
    return error_set(err, RAYTRAIN_EFIT,
                     "%s: expanded, it takes %.1f MiB of memory, and %.1f MiB are "
                     "available: store it uncompressed and row by row (an array of "
                     "NumPy by numpy.ascontiguousarray), so that it is read in place, "
                     "or ask for more memory",
                     path, (double)size / 1048576, (double)available / 1048576);
}

/* Allocate all pages: with a sparse file, touching a page could fail later, by a
 * signal. */
static int pages_allocate(int fd, uint64_t size)
{
    if (ftruncate(fd, (off_t)size) < 0)
        return -1;
    while (fallocate(fd, 0, 0, (off_t)size) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

static int expansion_map(struct expansion *e, struct error *err)
{
    void *p = mmap(NULL, e->size, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);

    if (p == MAP_FAILED)
        return error_set(err, RAYTRAIN_ENOMEM, "%s: cannot map %.1f MiB of memory: %s",
                         e->path, (double)e->size / 1048576, strerror(errno));
    e->bytes = p;
    return 0;
}

int expansion_begin(struct expansion *e, uint64_t size, const char *path,
                    struct error *err)
{
    uint64_t available = memory_available();

    *e = (struct expansion){.fd = -1, .size = size, .path = path};
    if (size == 0)
        return error_set(err, RAYTRAIN_EINVAL, "%s: no rows", path);
    if (size > available || size > SIZE_MAX / 2)
        return size_refuse(size, available, path, err);
    e->fd = memfd_create("raytrain-dataset", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (e->fd < 0 && errno == EMFILE)
        return reader_too_many_files(path, err);
    if (e->fd < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "%s: cannot make a file in memory: %s",
                         path, strerror(errno));
    if (pages_allocate(e->fd, size) < 0) {
        expansion_abandon(e);
        return size_refuse(size, available, path, err);
    }
    if (expansion_map(e, err) == 0)
        return 0;
    expansion_abandon(e);
    return -1;
}

int expansion_set_aside(struct expansion *e, struct table *t, size_t *index,
                        struct error *err)
{
    int fd = e->fd;

    munmap(e->bytes, e->size);
    e->bytes = NULL;
    e->fd = -1;
    return table_add_source(t, fd, true, e->path, index, err);
}

int expansion_take_up(struct expansion *e, const struct source *s, struct error *err)
{
    *e = (struct expansion){.fd = s->fd, .size = s->size, .path = s->path};
    return expansion_map(e, err);
}

int expansion_seal(struct expansion *e, struct error *err)
{
    int fd = e->fd;

    munmap(e->bytes, e->size); /* sealing needs that no writer is left */
    e->bytes = NULL;
    e->fd = -1;
    if (fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM, "%s: cannot seal the expanded rows: %s",
                     e->path, strerror(errno));
}

int expansion_end(struct expansion *e, struct table *t, size_t *index,
                  struct error *err)
{
    int fd = e->fd;

    if (expansion_seal(e, err) == 0)
        return table_add_source(t, fd, true, e->path, index, err);
    close(fd);
    return -1;
}

void expansion_abandon(struct expansion *e)
{
    int saved = errno;

    if (e->bytes)
        munmap(e->bytes, e->size);
    if (e->fd >= 0)
        close(e->fd);
    e->bytes = NULL;
    e->fd = -1;
    errno = saved;
}
