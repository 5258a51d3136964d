/*
 * shared_allreduce.c - the memory that the ranks share, and the reductions in it.
 *
 * Ranks communicate by two counters per rank: how many reductions it has made ready,
 * and for how many it has combined its part. A rank writes its numbers before it
 * increments a counter (release); others read them after they have seen the increment
 * (acquire).
 */
#include "config.h"

#include "mpi/shared_allreduce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/memory_file.h"

/* ---- Memory that all ranks share ----
 *
 * One block for each rank, all of the same size, in an anonymous file (memfd) that rank
 * 0 makes and the others open through /proc/PID/fd. It has no name, so nothing is left
 * behind however the ranks end. It is sealed, so that no process can shrink what others
 * have mapped. All of it is allocated at the start, so that using it cannot fail.
 */

struct shared_block {
    char *base;    /* rank 0's block, at the start of a page */
    size_t stride; /* from a rank's block to the next one's */
    size_t n_bytes;
    int rank, size;
    int fd;
};

static inline char *shared_block_of(const struct shared_block *b, int rank)
{
    return b->base + (size_t)rank * b->stride;
}

/* What rank 0 sends to the others: the file, and the kernel that it belongs to. */
struct invitation {
    char boot[64];
    int64_t pid, fd;
    uint64_t dev, ino;
};

static int memory_fail(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ENOMEM, "memory shared by the workers: %s: %s", what,
                     strerror(errno));
}

/* Identifies the kernel: process ids and file descriptors are valid in one only. */
static int boot_read(char boot[64], struct error *err)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    memset(boot, 0, 64);
    if (fd >= 0) {
        n = read(fd, boot, 63);
        close(fd);
    }
    return n > 0 ? 0 : memory_fail(err, "/proc/sys/kernel/random/boot_id");
}

static int block_file_make(size_t n_bytes, struct invitation *out, struct error *err)
{
    int fd = memory_file_create("raytrain-gradients", n_bytes);
    struct stat st;

    if (fd < 0)
        return memory_fail(err, "memfd_create");
    if (fstat(fd, &st) < 0) {
        memory_fail(err, "fstat");
        close(fd);
        return -1;
    }
    out->pid = getpid();
    out->fd = fd;
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    return fd;
}

/* The file's identity is checked, since another process may have the same id. */
static int block_file_open(const struct invitation *from, size_t n_bytes,
                           struct error *err)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", (long)from->pid, (long)from->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return memory_fail(err, path);
    if (fstat(fd, &st) < 0 || st.st_dev != from->dev || st.st_ino != from->ino ||
        (uint64_t)st.st_size != n_bytes || !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK)) {
        close(fd);
        return error_set(err, RAYTRAIN_ENOMEM,
                         "memory shared by the workers: %s is another file", path);
    }
    return fd;
}

/* Open the same file on every rank, and allocate this rank's part. A failure on one
 * rank is -1 on all. */
static int file_share(const struct shared_block *b, struct comm *c, struct error *err)
{
    size_t total = b->stride * (size_t)b->size;
    struct invitation in = {.pid = -1}, own = {.pid = -1};
    int fd = -1, rc = boot_read(own.boot, err);

    if (rc == 0 && c->rank == 0)
        rc = fd = block_file_make(total, &own, err);
    in = own;
    if (comm_agree(c, rc < 0 ? -1 : 0, err) < 0 ||
        c->ops->bcast(c, &in, sizeof in, 0, err) < 0)
        goto out;
    if (memcmp(in.boot, own.boot, sizeof in.boot) != 0)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "the workers are not on one node");
    else if (c->rank != 0)
        rc = fd = block_file_open(&in, total, err);
    /* Each rank allocates its own part, so that the memory is near its core. */
    if (rc >= 0 && memory_file_grant(fd, b->stride * (size_t)b->rank, b->stride) < 0)
        rc = memory_fail(err, "fallocate");
    /* Rank 0 may close its own only after all have opened it. */
    if (comm_agree(c, rc < 0 ? -1 : 0, err) == 0)
        return fd;
out:
    if (fd >= 0)
        close(fd);
    return -1;
}

/* On this rank only: what others still read stays mapped there. */
static void shared_block_release(struct shared_block *b)
{
    if (b->base)
        munmap(b->base, b->stride * (size_t)b->size);
    b->base = NULL;
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

/* COLLECTIVE. At least n_bytes of zeros for each rank; n_bytes is the same on all
 * ranks. If one rank fails, all return -1 with the first reason. */
static int shared_block_create(struct shared_block *b, struct comm *c, size_t n_bytes,
                               struct error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), most = SIZE_MAX / 4;
    int rc = 0;

    *b = (struct shared_block){
        .n_bytes = n_bytes, .rank = c->rank, .size = c->size, .fd = -1};
    if (n_bytes > most / (size_t)c->size) /* the same on every rank */
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", n_bytes);
    b->stride = (n_bytes + page - 1) / page * page;
    b->fd = file_share(b, c, err);
    if (b->fd < 0)
        return -1;
    b->base = mmap(NULL, b->stride * (size_t)b->size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, b->fd, 0);
    if (b->base == MAP_FAILED) {
        b->base = NULL;
        rc = memory_fail(err, "mmap");
    }
    if (comm_agree(c, rc, err) == 0)
        return 0;
    shared_block_release(b);
    return -1;
}

/* ---- The reducer ---- */

#define LINE 64 /* bytes of a cache line */

/* How much is combined at a time: it stays in the first-level cache for all ranks'
 * parts. */
#define PIECE_BYTES ((size_t)8 * 1024)

/* The counters at the head of a rank's block; no other rank writes them. */
enum word { READY, COMBINED, WORDS };
struct counter {
    _Alignas(LINE) _Atomic uint64_t reductions;
};
#define HEAD_BYTES (WORDS * sizeof(struct counter))

struct shared_reduction {
    struct comm_request request; /* first */
    struct shared_reducer *reducer;
    struct shared_reduction *next;
    uint64_t number; /* from 1 on */
    size_t offset;   /* of the elements, in each rank's block */
    size_t n;
    struct reduction_kind kind;
    const size_t *cuts; /* in elements: results stay in their parts; NULL: for all */
    const struct comm_parts *parts; /* n of them are gathered; NULL: a reduction */
};

struct shared_reducer {
    struct shared_block block;
    uint64_t started;
    uint64_t known[WORDS]; /* the counters of all ranks are at least this */
    struct shared_reduction *waiting, **last; /* this rank's part is not combined yet */
    struct shared_reduction *idle;            /* a list */
};

static struct counter *counters_of(const struct shared_reducer *r, int rank)
{
    return (struct counter *)(void *)shared_block_of(&r->block, rank);
}

int shared_reducer_create(struct comm *c, size_t n_bytes, struct shared_reducer **out,
                          struct error *err)
{
    struct shared_reducer *r = calloc(1, sizeof *r);
    int rc = 0;

    *out = NULL;
    if (!r || n_bytes > SIZE_MAX - HEAD_BYTES)
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", n_bytes);
    if (comm_agree(c, rc, err) < 0 ||
        shared_block_create(&r->block, c, HEAD_BYTES + n_bytes, err) < 0) {
        free(r);
        return -1;
    }
    r->last = &r->waiting;
    *out = r;
    return 0;
}

void shared_reducer_destroy(struct shared_reducer *r)
{
    if (!r)
        return;
    while (r->idle) {
        struct shared_reduction *m = r->idle;

        r->idle = m->next;
        free(m);
    }
    shared_block_release(&r->block);
    free(r);
}

void *shared_reducer_data(const struct shared_reducer *r)
{
    return shared_block_of(&r->block, r->block.rank) + HEAD_BYTES;
}

void shared_reducer_file(const struct shared_reducer *r, const void *data,
                         struct comm_file *file)
{
    *file = (struct comm_file){.fd = r->block.fd,
                               .offset = (size_t)((const char *)data - r->block.base),
                               .stride = r->block.stride};
}

/* ---- One reduction ---- */

/* The first element of a rank's part: parts begin at a cache line if elements do not
 * straddle lines, so that no two ranks write to one line. */
static size_t shared_part_begin(const struct shared_reduction *m, int rank, int size)
{
    size_t width = m->kind.width, whole = m->n / (size_t)size;
    size_t i = whole * (size_t)rank + m->n % (size_t)size * (size_t)rank / (size_t)size;

    if (m->cuts)
        return m->cuts[rank];
    if (rank == 0 || rank == size)
        return rank == 0 ? 0 : m->n;
    if (LINE % width == 0)
        i += (LINE - (m->offset + i * width) % LINE) % LINE / width;
    return i < m->n ? i : m->n;
}

/* The block of the i-th rank after this one. */
static char *block_after(const struct shared_block *b, int i)
{
    return shared_block_of(b, (b->rank + i) % b->size);
}

/* Combine n elements at this offset of all ranks' blocks, in this rank's block only. */
static void piece_combine_own(const struct shared_reducer *r, size_t offset, size_t n,
                              const struct reduction_kind *kind)
{
    const struct shared_block *b = &r->block;
    char *own = shared_block_of(b, b->rank) + offset;

    for (int i = 1; i < b->size; i++)
        kind->combine(own, block_after(b, i) + offset, n);
    if (kind->finish)
        kind->finish(own, n, b->size);
}

/* The same for all ranks' blocks, in the order of the ranks: the result does not
 * depend on the rank that combines the piece, and thus not on the piece's place. If
 * the kind has a close function, the last combination writes the results of two ranks
 * at once. */
static void piece_combine(const struct shared_reducer *r, size_t offset, size_t n,
                          const struct reduction_kind *kind)
{
    const struct shared_block *b = &r->block;
    char *first = shared_block_of(b, 0) + offset;
    int apart = kind->close && b->size > 1 ? b->size - 1 : b->size;

    for (int i = 1; i < apart; i++)
        kind->combine(first, shared_block_of(b, i) + offset, n);
    if (apart < b->size)
        kind->close(first, shared_block_of(b, apart) + offset, n, b->size);
    else if (kind->finish)
        kind->finish(first, n, b->size);
    for (int i = 1; i < apart; i++)
        memcpy(shared_block_of(b, i) + offset, first, n * kind->width);
}

static void part_combine(const struct shared_reducer *r,
                         const struct shared_reduction *m)
{
    const struct reduction_kind *kind = &m->kind;
    size_t end = shared_part_begin(m, r->block.rank + 1, r->block.size);
    size_t most = PIECE_BYTES / kind->width;

    for (size_t i = shared_part_begin(m, r->block.rank, r->block.size); i < end;
         i += most) {
        size_t offset = m->offset + i * kind->width,
               n = end - i < most ? end - i : most;

        if (m->cuts)
            piece_combine_own(r, offset, n, kind);
        else
            piece_combine(r, offset, n, kind);
    }
}

/* How far ahead other ranks' bytes, which come from their caches, are prefetched. */
#define AHEAD 1024

static void bytes_copy(char *restrict to, const char *restrict from, size_t n)
{
    size_t i = 0;

    for (; i + LINE <= n; i += LINE) {
        __builtin_prefetch(from + i + AHEAD); /* past the end it is harmless */
        __builtin_prefetch(to + i + AHEAD, 1);
        memcpy(to + i, from + i, LINE);
    }
    if (i < n)
        memcpy(to + i, from + i, n - i);
}

/* Copy the parts of the i-th rank after this one. */
static void parts_copy(const struct shared_reducer *r, const struct shared_reduction *m,
                       int i)
{
    const struct shared_block *b = &r->block;
    int rank = (b->rank + i) % b->size;
    const char *base = shared_block_of(b, b->rank);

    for (size_t k = 0; k < m->n; k++) {
        const struct comm_parts *p = &m->parts[k];
        char *to = (char *)p->data + p->cuts[rank];
        size_t n = p->cuts[rank + 1] - p->cuts[rank];

        bytes_copy(to, shared_block_of(b, rank) + (to - base), n);
    }
}

/* Do this rank's share of the work, once all ranks are ready. */
static void share_do(const struct shared_reducer *r, const struct shared_reduction *m)
{
    if (!m->parts)
        part_combine(r, m);
    for (int i = 1; m->parts && i < r->block.size; i++)
        parts_copy(r, m, i);
}

/* ---- All of them, in the order in which they were started ---- */

/* Has every rank's counter reached reduction `number`? */
static bool all_said(struct shared_reducer *r, enum word word, uint64_t number)
{
    uint64_t least = r->started;

    if (r->known[word] >= number)
        return true;
    for (int k = 0; k < r->block.size; k++) {
        uint64_t there = atomic_load_explicit(&counters_of(r, k)[word].reductions,
                                              memory_order_acquire);

        if (there < number)
            return false;
        least = there < least ? there : least;
    }
    r->known[word] = least;
    return true;
}

static void counter_write(struct shared_reducer *r, enum word word, uint64_t number)
{
    atomic_store_explicit(&counters_of(r, r->block.rank)[word].reductions, number,
                          memory_order_release);
}

/* Combine this rank's part of all reductions that are ready on all ranks. */
static void waiting_combine(struct shared_reducer *r)
{
    while (r->waiting && all_said(r, READY, r->waiting->number)) {
        struct shared_reduction *m = r->waiting;

        share_do(r, m);
        counter_write(r, COMBINED, m->number);
        r->waiting = m->next;
        if (!r->waiting)
            r->last = &r->waiting;
    }
}

static int shared_reduction_advance(struct comm_request *request, bool *done,
                                    struct error *err)
{
    struct shared_reduction *m = (struct shared_reduction *)(void *)request;
    struct shared_reducer *r = m->reducer;

    (void)err;
    waiting_combine(r);
    *done = all_said(r, COMBINED, m->number);
    if (*done) {
        m->next = r->idle;
        r->idle = m;
    }
    return 0;
}

static struct shared_reduction *shared_reduction_take(struct shared_reducer *r)
{
    struct shared_reduction *m = r->idle;

    if (m)
        r->idle = m->next;
    else
        m = calloc(1, sizeof *m);
    return m;
}

static int reduction_begin(struct shared_reducer *r, struct shared_reduction of,
                           struct comm_request **out, struct error *err)
{
    struct shared_reduction *m = shared_reduction_take(r);

    *out = NULL;
    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to start an allreduce");
    *m = of;
    m->request.advance = shared_reduction_advance;
    m->reducer = r;
    m->number = ++r->started;
    *r->last = m;
    r->last = &m->next;
    counter_write(r, READY, m->number);
    *out = &m->request;
    return 0;
}

static size_t offset_of(const struct shared_reducer *r, const void *data)
{
    return (size_t)((const char *)data - shared_block_of(&r->block, r->block.rank));
}

int shared_reduction_start(struct shared_reducer *r, void *data, size_t n,
                           const struct reduction_kind *kind, struct comm_request **out,
                           struct error *err)
{
    const struct shared_reduction m = {
        .offset = offset_of(r, data), .n = n, .kind = *kind};

    return reduction_begin(r, m, out, err);
}

int shared_reduction_start_parts(struct shared_reducer *r, void *data,
                                 const size_t *cuts, const struct reduction_kind *kind,
                                 struct comm_request **out, struct error *err)
{
    const struct shared_reduction m = {.offset = offset_of(r, data),
                                       .n = cuts[r->block.size],
                                       .kind = *kind,
                                       .cuts = cuts};

    return reduction_begin(r, m, out, err);
}

int shared_gather_start(struct shared_reducer *r, const struct comm_parts parts[],
                        size_t n, struct comm_request **out, struct error *err)
{
    const struct shared_reduction m = {.n = n, .parts = parts};

    return reduction_begin(r, m, out, err);
}
