/*
 * new_file.c - create, open, publish and remove a file under a temporary name.
 * stripes.c creates it on Lustre.
 */
#include "config.h"

#include "checkpoint/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint/stripes.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

/* How long another node may take to see a new file of rank 0. */
#define JOIN_PATIENCE_S 3.0

int new_file_name(struct new_file *f, struct error *err)
{
    f->temp = fs_temp_name(f->path);
    return f->temp ? 0 : error_no_memory(err);
}

/* If the file system cannot reserve space, only set the length. */
static int room_reserve(int fd, uint64_t bytes)
{
    if (fault_point("file.reserve", 0) < 0)
        return -1;
    if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR || errno == EINVAL)
        return ftruncate(fd, (off_t)bytes);
    return -1;
}

/* Some FUSE file systems with write-back refuse to write part of a page through a
 * descriptor that created the file write-only, since they must read the page first. So
 * the file is opened once more, as on all other ranks. */
static int temp_create(struct new_file *f, uint64_t bytes, struct error *err)
{
    const int how = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    int fd = -1;

    if (fault_point("file.create", 0) == 0) {
        f->created = stripes_create(f->temp, bytes);
        fd = open(f->temp, f->created ? how : how | O_CREAT | O_EXCL, 0666);
    }
    if (fd < 0)
        return fs_error(err, "create", f->temp);
    close(fd); /* nothing was written */
    f->created = true;
    return new_file_join(f, err);
}

int new_file_create(struct new_file *f, uint64_t bytes, struct error *err)
{
    char size[SIZE_TEXT_MAX];

    if (temp_create(f, bytes, err) < 0)
        return -1;
    if (room_reserve(f->fd, bytes) == 0)
        return 0;
    fs_error(err, "write", f->path);
    return error_prefix(err, "a checkpoint of %s", size_format(bytes, size));
}

int new_file_join(struct new_file *f, struct error *err)
{
    double until = clock_now() + JOIN_PATIENCE_S;

    for (;;) {
        if (fault_point("file.join", 0) == 0)
            f->fd = open(f->temp, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (f->fd >= 0)
            return 0;
        if (errno != ENOENT || clock_now() > until)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    fs_error(err, "open", f->temp);
    if (err->code != RAYTRAIN_ENOTFOUND)
        return -1;
    err->code = RAYTRAIN_ESTORAGE;
    return error_prefix(err, "this node does not see the file that rank 0 has created");
}

int new_file_publish(struct new_file *f, struct error *err)
{
    int rc;

    if (fault_point("file.sync", 0) < 0 || fsync(f->fd) < 0)
        return fs_error(err, "write", f->path);
    rc = close(f->fd);
    f->fd = -1;
    if (rc < 0)
        return fs_error(err, "write", f->path);
    if (fault_point("file.rename", 0) < 0 || rename(f->temp, f->path) < 0)
        return fs_error(err, "publish", f->path);
    f->created = false; /* it is not a temporary file any more */
    if (fault_point("file.directory", 0) < 0)
        return fs_error(err, "sync the directory of", f->path);
    return fs_sync_parent(f->path, err);
}

void new_file_clear(struct new_file *f)
{
    int saved = errno;

    if (f->fd >= 0)
        close(f->fd);
    if (f->created)
        unlink(f->temp);
    free(f->temp);
    f->fd = -1;
    f->created = false;
    f->temp = NULL;
    errno = saved;
}
