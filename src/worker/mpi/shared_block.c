/*
 * shared_block.c - see shared_block.h.
 */
#include "config.h"

#include "mpi/shared_block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What rank 0 tells the others: which file it is, and of which kernel. */
struct invitation {
    char boot[64];
    int64_t pid, fd;
    uint64_t dev, ino;
};

static int fail(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ENOMEM, "memory shared by the workers: %s: %s", what,
                     strerror(errno));
}

/* Process numbers and files are those of one kernel; this is its name. */
static int boot_read(char boot[64], struct error *err)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    memset(boot, 0, 64);
    if (fd >= 0) {
        n = read(fd, boot, 63);
        close(fd);
    }
    return n > 0 ? 0 : fail(err, "/proc/sys/kernel/random/boot_id");
}

static int file_make(size_t n_bytes, struct invitation *out, struct error *err)
{
    int fd = memfd_create("raytrain-gradients", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stat st;

    if (fd < 0)
        return fail(err, "memfd_create");
    if (ftruncate(fd, (off_t)n_bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        fstat(fd, &st) < 0) {
        fail(err, "making it");
        close(fd);
        return -1;
    }
    out->pid = getpid();
    out->fd = fd;
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    return fd;
}

/* A process of that number that is not the one meant has no such file. */
static int file_open(const struct invitation *from, size_t n_bytes, struct error *err)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", (long)from->pid, (long)from->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fail(err, path);
    if (fstat(fd, &st) < 0 || st.st_dev != from->dev || st.st_ino != from->ino ||
        (uint64_t)st.st_size != n_bytes || !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK)) {
        close(fd);
        return error_set(err, RAYTRAIN_ENOMEM,
                         "memory shared by the workers: %s is another file", path);
    }
    return fd;
}

/* Each rank its own part: so it lies near the core that asks for it. */
static int part_grant(int fd, const struct shared_block *b)
{
    while (fallocate(fd, 0, (off_t)(b->stride * (size_t)b->rank), (off_t)b->stride) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

/* The same file on every rank, this rank's part of it granted; -1 on all ranks alike.
 */
static int file_share(const struct shared_block *b, struct comm *c, struct error *err)
{
    size_t total = b->stride * (size_t)b->size;
    struct invitation in = {.pid = -1}, own = {.pid = -1};
    int fd = -1, rc = boot_read(own.boot, err);

    if (rc == 0 && c->rank == 0)
        rc = fd = file_make(total, &own, err);
    in = own;
    if (comm_agree(c, rc < 0 ? -1 : 0, err) < 0 ||
        c->ops->bcast(c, &in, sizeof in, 0, err) < 0)
        goto out;
    if (memcmp(in.boot, own.boot, sizeof in.boot) != 0)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "the workers are not on one node");
    else if (c->rank != 0)
        rc = fd = file_open(&in, total, err);
    if (rc >= 0 && part_grant(fd, b) < 0)
        rc = fail(err, "fallocate");
    /* Not before all have it open may rank 0 close its own. */
    if (comm_agree(c, rc < 0 ? -1 : 0, err) == 0)
        return fd;
out:
    if (fd >= 0)
        close(fd);
    return -1;
}

int shared_block_create(struct shared_block *b, struct comm *c, size_t n_bytes,
                        struct error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), most = SIZE_MAX / 4;
    int fd, rc = 0;

    *b = (struct shared_block){.n_bytes = n_bytes, .rank = c->rank, .size = c->size};
    if (n_bytes > most / (size_t)c->size) /* so on every rank */
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", n_bytes);
    b->stride = (n_bytes + page - 1) / page * page;
    fd = file_share(b, c, err);
    if (fd < 0)
        return -1;
    b->base = mmap(NULL, b->stride * (size_t)b->size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, fd, 0);
    if (b->base == MAP_FAILED) {
        b->base = NULL;
        rc = fail(err, "mmap");
    }
    close(fd);
    if (comm_agree(c, rc, err) == 0)
        return 0;
    shared_block_release(b);
    return -1;
}

void shared_block_release(struct shared_block *b)
{
    if (b->base)
        munmap(b->base, b->stride * (size_t)b->size);
    b->base = NULL;
}
