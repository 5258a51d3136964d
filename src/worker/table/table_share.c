/*
 * table_share.c - sends a table from one rank of a node to the others, which open its
 * sources, and compares the tables of nodes.
 */
#include "table/table_share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "table/band_store.h"
#include "table/expansion.h"
#include "table/reader.h"
#include "util/descriptors.h"
#include "util/memory.h"

/* What rank 0 sends first: the size of what follows, and the process that owns the
 * descriptors. */
struct share_header {
    uint64_t rows;
    uint64_t n_columns, n_extents, n_sources, n_packings, n_chunks;
    uint64_t selection;
    struct row_pick picks[ROWS_STEPS_MAX];
    uint64_t n_picks;
    pid_t owner;
};

static int table_allocate(struct table *t, const struct share_header *h,
                          struct error *err)
{
    t->columns = calloc(h->n_columns, sizeof *t->columns);
    t->extents = calloc(h->n_extents, sizeof *t->extents);
    t->sources = calloc(h->n_sources, sizeof *t->sources);
    t->packings = calloc(h->n_packings + 1, sizeof *t->packings);
    t->chunks = calloc(h->n_chunks + 1, sizeof *t->chunks);
    if (!t->columns || !t->extents || !t->sources || !t->packings || !t->chunks)
        return error_no_memory(err);
    return 0;
}

static int array_broadcast(void *array, uint64_t n, size_t size, struct comm *node,
                           struct error *err)
{
    return n ? node->ops->bcast(node, array, n * size, 0, err) : 0;
}

/* Broadcast rank 0's words of a column. */
static int words_broadcast(struct column *c, struct comm *node, struct error *err)
{
    unsigned char *bytes = NULL;
    void *received = NULL;
    size_t n = 0;
    int rc = 0;

    if (node->rank == 0)
        rc = dictionary_pack(c->words, &bytes, &n, err);
    else if (!(c->words = dictionary_create()))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");
    received = bytes;
    if (comm_agree(node, rc, err) < 0 ||
        node->ops->bcast(node, &n, sizeof n, 0, err) < 0)
        rc = -1;
    if (rc == 0)
        rc = comm_bcast_alloc(node, &received, n, 0, err);
    if (rc == 0) {
        if (node->rank != 0)
            rc = dictionary_unpack(c->words, received, n, NULL, err);
        rc = comm_agree(node, rc, err);
    }
    free(received);
    return rc;
}

static int all_words_broadcast(struct table *t, uint64_t n_columns, struct comm *node,
                               struct error *err)
{
    for (uint64_t i = 0; node->rank != 0 && i < n_columns; i++)
        t->columns[i].words = NULL; /* it was rank 0's */
    t->n_columns = n_columns;
    for (uint64_t i = 0; i < n_columns; i++)
        if (t->columns[i].kind == FRAME_WORDS &&
            words_broadcast(&t->columns[i], node, err) < 0)
            return -1;
    return 0;
}

/* Every rank gets the arrays of the table, the sources with rank 0's descriptors. */
static int table_broadcast(struct table *t, struct comm *node,
                           const struct share_header *h, struct error *err)
{
    if (array_broadcast(t->columns, h->n_columns, sizeof *t->columns, node, err) < 0 ||
        array_broadcast(t->extents, h->n_extents, sizeof *t->extents, node, err) < 0 ||
        array_broadcast(t->packings, h->n_packings, sizeof *t->packings, node, err) <
            0 ||
        array_broadcast(t->chunks, h->n_chunks, sizeof *t->chunks, node, err) < 0 ||
        all_words_broadcast(t, h->n_columns, node, err) < 0)
        return -1;
    return array_broadcast(t->sources, h->n_sources, sizeof *t->sources, node, err);
}

static int source_open_memory(const struct source *s, pid_t owner, struct error *err)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)owner, s->fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(
            err, RAYTRAIN_ESTORAGE,
            "%s: cannot open %s, the expanded rows in the memory of another "
            "worker of this node: %s; workers of a node must see each other "
            "in /proc (a container for each of them hides them)",
            s->path, path, strerror(errno));
    return fd;
}

/* Replace rank 0's descriptor by one of our own, of the same file. */
static int source_reopen(struct source *s, pid_t owner, struct error *err)
{
    int fd = s->anonymous ? source_open_memory(s, owner, err)
                          : reader_open_file(s->path, err);
    struct stat st;

    s->fd = -1;
    s->map = NULL;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || st.st_dev != s->dev || st.st_ino != s->ino ||
        (uint64_t)st.st_size != s->size ||
        (s->anonymous && !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))) {
        close(fd);
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "%s: replaced or changed while it was being opened", s->path);
    }
    s->fd = descriptor_raise(fd);
    return 0;
}

static int sources_reopen(struct table *t, pid_t owner, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < t->n_sources; i++)
        if (rc < 0)
            t->sources[i] = (struct source){.fd = -1};
        else
            rc = source_reopen(&t->sources[i], owner, err);
    return rc;
}

static int table_distribute(struct table *t, struct comm *node, struct error *err)
{
    struct share_header h = {.rows = t->rows,
                             .n_columns = t->n_columns,
                             .n_extents = t->n_extents,
                             .n_sources = t->n_sources,
                             .n_packings = t->n_packings,
                             .n_chunks = t->n_chunks,
                             .selection = t->selection,
                             .n_picks = t->n_picks,
                             .owner = getpid()};
    int rc = 0;

    memcpy(h.picks, t->picks, sizeof h.picks);
    if (node->ops->bcast(node, &h, sizeof h, 0, err) < 0)
        return -1;
    if (node->rank != 0)
        rc = table_allocate(t, &h, err);
    if (comm_agree(node, rc, err) < 0 || table_broadcast(t, node, &h, err) < 0)
        return -1;
    if (node->rank != 0) {
        t->rows = h.rows;
        t->n_extents = h.n_extents;
        t->n_sources = h.n_sources;
        t->n_packings = h.n_packings;
        t->n_chunks = h.n_chunks;
        t->selection = h.selection;
        memcpy(t->picks, h.picks, sizeof h.picks);
        t->n_picks = h.n_picks;
        rc = sources_reopen(t, h.owner, err);
    }
    /* Rank 0 may close its own only after all have opened theirs. */
    return comm_agree(node, rc, err);
}

/* ---- Unpacked bands ---- */

/* What each rank would have without a store (table.c). */
#define STORE_BYTES_PER_RANK (UINT64_C(64) << 20)

static struct band_store *store_create(const struct table *t, int ranks, int *fd)
{
    uint64_t bytes[BAND_COLUMNS_MAX] = {0}, bands[BAND_COLUMNS_MAX] = {0};
    uint64_t limit = STORE_BYTES_PER_RANK * (uint64_t)ranks;
    uint64_t most = memory_available() / 4;

    if (t->n_columns > BAND_COLUMNS_MAX)
        return NULL;
    for (size_t i = 0; i < t->n_columns; i++)
        for (size_t k = 0; k < t->columns[i].n_extents; k++) {
            const struct extent *e = &t->extents[t->columns[i].extent + k];
            const struct packing *p = &t->packings[e->packing ? e->packing - 1 : 0];

            if (!e->packing)
                continue;
            bands[i] += (p->shape[0] - 1) / p->chunk[0] + 1;
            if (packing_band_bytes(p) > bytes[i])
                bytes[i] = packing_band_bytes(p);
        }
    return band_store_create(ranks, (unsigned)t->n_columns, bytes, bands,
                             limit < most ? limit : most, fd);
}

/* Share a store of unpacked bands on the node. A rank that cannot map it works
 * without. */
static int store_share(struct table *t, struct comm *node, struct error *err)
{
    struct {
        pid_t owner;
        int fd;
    } file = {.owner = getpid(), .fd = -1};
    char path[64];
    int fd = -1, rc;

    if (node->rank == 0)
        t->store = store_create(t, node->size, &file.fd);
    if (node->ops->bcast(node, &file, sizeof file, 0, err) < 0)
        return -1;
    if (file.fd >= 0 && node->rank != 0) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)file.owner, file.fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
        t->store = fd >= 0 ? band_store_attach(fd) : NULL;
    }
    rc = comm_agree(node, 0, err); /* all have opened it */
    if (file.fd >= 0 && node->rank == 0)
        close(file.fd);
    return rc;
}

int table_share(struct table *t, int rc, struct comm *node, struct error *err)
{
    bool alone = !node || node->size == 1;

    if (!alone)
        rc = comm_agree(node, rc, err);
    if (rc == 0 && !alone)
        rc = table_distribute(t, node, err);
    if (rc == 0 && !alone && t->n_packings)
        rc = store_share(t, node, err);
    if (rc == 0) {
        rc = table_ready(t, err);
        if (!alone)
            rc = comm_agree(node, rc, err);
    }
    if (rc < 0)
        table_clear(t);
    return rc;
}

/* ---- Between nodes ---- */

static uint64_t hash_add(uint64_t hash, const void *data, size_t n)
{
    return XXH3_64bits_withSeed(data, n, hash);
}

static uint64_t words_hash(uint64_t hash, const struct dictionary *words)
{
    for (size_t i = 0, n; words && i < dictionary_count(words); i++) {
        const char *word = dictionary_word(words, i, &n);

        hash = hash_add(hash_add(hash, &n, sizeof n), word, n);
    }
    return hash;
}

/* A hash of what must be the same on all nodes. Whether rows are unpacked may
 * differ. */
static uint64_t table_fingerprint(const struct table *t)
{
    uint64_t hash = hash_add(0, &t->rows, sizeof t->rows);

    if (t->selected && t->n_picks == 0)
        hash = hash_add(hash, t->selected, t->rows * sizeof *t->selected);
    for (size_t i = 0; i < t->n_picks; i++) {
        const uint64_t pick[] = {t->picks[i].first, t->picks[i].order.n,
                                 t->picks[i].order.keys[0]};

        hash = hash_add(hash, pick, sizeof pick);
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct column *c = &t->columns[i];
        int64_t type[] = {c->kind, c->row.dtype, c->row.ndim};

        hash = hash_add(hash, c->name, strlen(c->name) + 1);
        hash = hash_add(hash, type, sizeof type);
        hash = words_hash(hash, c->words);
        hash = hash_add(hash, c->row.shape, (size_t)c->row.ndim * sizeof *c->row.shape);
        for (size_t k = c->extent; k < c->extent + c->n_extents; k++) {
            const struct extent *e = &t->extents[k];
            const char *path = t->sources[e->source].path;

            hash = hash_add(hash, &e->rows, sizeof e->rows);
            hash = hash_add(hash, path, strlen(path) + 1);
        }
    }
    return hash;
}

int table_compare(const struct table *t, struct comm *all, struct error *err)
{
    int64_t hash = (int64_t)table_fingerprint(t), least = hash, least_inverted = ~hash;

    if (all->ops->allreduce(all, &least, 1, COMM_INT64, COMM_MIN, err) < 0 ||
        all->ops->allreduce(all, &least_inverted, 1, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    if (least == ~least_inverted) /* the greatest */
        return 0;
    return error_set(err, RAYTRAIN_ESTORAGE,
                     "the nodes see different files, or different rows in them: the "
                     "path must have the same files on all nodes; if they are new, "
                     "start again when all nodes see them");
}
