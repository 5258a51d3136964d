/*
 * checkpoint_save.c - publish a checkpoint: the protocol of DESIGN §7.
 *
 *   1. the ranks agree on what it holds                         (checkpoint_plan.c)
 *   2. rank 0 lays the file out in memory, creates the temporary and reserves its space
 *   3. every rank writes its bytes, hashes them, and syncs
 *   4. rank 0 gathers the hashes, writes metadata and tables, then the head with the
 *      completeness mark, syncs, renames, syncs the directory
 *
 * After each step all return codes are combined; whoever fails, all ranks return the
 * same, and rank 0 removes the temporary. HDF5 is called in step 2 alone.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/checkpoint_impl.h"
#include "store/checksum.h"
#include "store/h5_image.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

struct save {
    raytrain_checkpoint *ck;
    struct comm *comm;
    const char *path;
    char *temp; /* its name; the same on every rank */
    int fd;
    uint64_t *hashes; /* of what this rank wrote, in the order that it did */
    size_t n_hashes;
    /* Rank 0: */
    struct plan plan;
    struct file_head head;
    struct h5_image *image;
};

/* A place between two steps. */
static int save_point(const struct save *s, const char *name, struct error *err)
{
    if (fault_point(name, s->comm->rank) < 0)
        return fs_error(err, "write", s->path);
    return 0;
}

/* ---- Step 2: the layout -----------------------------------------------------------
 */

/* A full disk is better found before the first byte than after the last. File systems
 * that cannot reserve say so, and are believed. */
static int space_reserve(struct save *s, struct error *err)
{
    char size[SIZE_TEXT_MAX];

    if (fault_point("layout.reserve", 0) < 0)
        goto failed;
    if (fallocate(s->fd, 0, 0, (off_t)s->head.file_bytes) == 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR || errno == EINVAL) {
        if (ftruncate(s->fd, (off_t)s->head.file_bytes) == 0)
            return 0;
    }
failed:
    fs_error(err, "write", s->path);
    return error_prefix(err, "a checkpoint of %s",
                        size_format(s->head.file_bytes, size));
}

static int file_start(struct save *s, const struct checkpoint_meta *meta,
                      struct error *err)
{
    if (layout_make(s->ck, &s->plan, meta, &s->head, &s->image, err) < 0)
        return -1;
    s->temp = fs_temp_name(s->path);
    if (!s->temp)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (fault_point("layout.create", 0) == 0)
        s->fd = open(s->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (s->fd < 0) {
        fs_error(err, "create", s->temp);
        free(s->temp); /* not ours to remove */
        s->temp = NULL;
        return -1;
    }
    if (space_reserve(s, err) < 0)
        return -1;
    /* Without its mark: so that a copy of an unfinished file says what it is. */
    if (fault_point("layout.head", 0) < 0 ||
        fs_pwrite_full(s->fd, &s->head, sizeof s->head, 0) < 0)
        return fs_error(err, "write", s->path);
    return 0;
}

/* COLLECTIVE: the temporary's name and the tensors' offsets, from rank 0. */
static int layout_share(struct save *s, struct error *err)
{
    size_t n_tensors = s->ck->n_tensors;
    uint64_t name_bytes = s->temp ? strlen(s->temp) + 1 : 0;
    uint64_t *offsets = NULL;
    int rc = s->comm->ops->bcast(s->comm, &name_bytes, sizeof name_bytes, 0, err);

    if (rc < 0)
        return -1;
    offsets = calloc(n_tensors + 1, sizeof *offsets);
    if (!s->temp)
        s->temp = calloc(1, name_bytes);
    if (!offsets || !s->temp)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n_tensors; i++)
        offsets[i] = s->ck->tensors[i].offset;
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = s->comm->ops->bcast(s->comm, s->temp, name_bytes, 0, err);
    if (rc == 0)
        rc = s->comm->ops->bcast(s->comm, offsets, n_tensors * sizeof *offsets, 0, err);
    for (size_t i = 0; rc == 0 && i < n_tensors; i++)
        s->ck->tensors[i].offset = offsets[i];
    free(offsets);
    return rc;
}

/* ---- Step 3: the bytes ------------------------------------------------------------
 */

/* Who writes which chunk: of a sharded tensor, the owner of the slab all of its chunks;
 * of replicated ones, each rank an even share of all their bytes. */
struct share {
    int size;
    uint64_t done, total; /* replicated bytes */
};

static struct share share_start(const raytrain_checkpoint *ck, int size)
{
    struct share sh = {.size = size};

    for (size_t i = 0; i < ck->n_tensors; i++)
        if (!ck->tensors[i].sharded)
            sh.total += ck->tensors[i].bytes;
    return sh;
}

/* Call once for each chunk of each replicated tensor, in order: whose is it? */
static int share_next(struct share *sh, uint64_t bytes)
{
    int rank = share_of(sh->done, sh->total, sh->size);

    sh->done += bytes;
    return rank;
}

static uint64_t chunk_end(uint64_t from, uint64_t bytes)
{
    return bytes - from < CHUNK_BYTES ? bytes : from + CHUNK_BYTES;
}

static int hash_keep(struct save *s, size_t *room, uint64_t hash)
{
    if (s->n_hashes == *room) {
        size_t want = *room ? 2 * *room : 256;
        uint64_t *hashes = realloc(s->hashes, want * sizeof *hashes);

        if (!hashes)
            return -1;
        s->hashes = hashes;
        *room = want;
    }
    s->hashes[s->n_hashes++] = hash;
    return 0;
}

/* Hash bytes [from, to) of this rank's stream and hand them to the writer. */
static int chunk_write(struct save *s, struct slab_writer *w,
                       const struct tensor_entry *e, const struct slab_runs *runs,
                       uint64_t from, uint64_t to, size_t *room)
{
    const unsigned char *data = e->data;

    if (hash_keep(s, room, XXH3_64bits(data + from, to - from)) < 0)
        return -1;
    while (from < to) {
        uint64_t left, offset = slab_runs_at(runs, from, &left);
        uint64_t n = left < to - from ? left : to - from;

        if (slab_writer_add(w, data + from, n, e->offset + offset) < 0)
            return -1;
        from += n;
    }
    return 0;
}

static int tensor_write(struct save *s, struct slab_writer *w,
                        const struct tensor_entry *e, struct share *share, size_t *room)
{
    struct slab_runs runs;

    slab_runs_init(&runs, e->ndim, e->shape, e->element_bytes, &e->slab);
    for (uint64_t from = 0; from < runs.bytes; from += CHUNK_BYTES) {
        uint64_t to = chunk_end(from, runs.bytes);

        if (!e->sharded && share_next(share, to - from) != s->comm->rank)
            continue;
        if (chunk_write(s, w, e, &runs, from, to, room) < 0)
            return -1;
    }
    return 0;
}

static int data_write(struct save *s)
{
    struct share share = share_start(s->ck, s->comm->size);
    struct slab_writer *w = slab_writer_create(s->fd);
    size_t room = 0;
    int rc = w ? fault_point("save.data", s->comm->rank) : -1;

    for (size_t i = 0; rc == 0 && i < s->ck->n_tensors; i++)
        rc = tensor_write(s, w, &s->ck->tensors[i], &share, &room);
    if (rc == 0)
        rc = slab_writer_flush(w);
    if (rc == 0)
        rc = fault_point("save.sync", s->comm->rank);
    if (rc == 0)
        rc = fsync(s->fd);
    int saved = errno;
    slab_writer_destroy(w);
    errno = saved;
    return rc;
}

static int rank_write(struct save *s, struct error *err)
{
    if (s->fd < 0)
        s->fd = open(s->temp, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (s->fd < 0)
        return fs_error(err, "open", s->temp);
    if (data_write(s) < 0)
        return fs_error(err, "write", s->path);
    return save_point(s, "save.synced", err);
}

/* ---- Step 4: the hashes, the head, the name ---------------------------------------
 */

/* Rank 0: lay what the ranks sent into the table. A rank's hashes come in the order in
 * which data_write() met its chunks: that of the parts. at[r] is where rank r's begin,
 * at[r + 1] where they end. */
static int hashes_place(const struct save *s, const uint64_t *sent, size_t *at,
                        const size_t *end, uint64_t *table)
{
    struct share share = share_start(s->ck, s->comm->size);

    for (size_t p = 0; p < s->plan.n_parts; p++) {
        const struct part *part = &s->plan.parts[p];
        uint64_t bytes = s->ck->tensors[part->tensor].bytes;
        int rank = s->plan.ranks[p];

        for (uint64_t k = 0; k < part->n_hashes; k++) {
            uint64_t from = k * CHUNK_BYTES;

            if (s->plan.ranks[p] < 0)
                rank = share_next(&share, chunk_end(from, bytes) - from);
            if (at[rank] == end[rank])
                return rank;
            table[part->first_hash + k] = sent[at[rank]++];
        }
    }
    for (int r = 0; r < s->comm->size; r++)
        if (at[r] != end[r])
            return r;
    return -1;
}

static int hashes_sort(const struct save *s, const uint64_t *sent, const size_t *sizes,
                       uint64_t *table, struct error *err)
{
    size_t n = (size_t)s->comm->size, sum = 0;
    size_t *at = calloc(2 * n, sizeof *at), *end = at + n;
    int odd;

    if (!at)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t r = 0; r < n; r++) {
        at[r] = sum;
        sum += sizes[r] / sizeof *sent;
        end[r] = sum;
    }
    odd = hashes_place(s, sent, at, end, table);
    free(at);
    if (odd >= 0)
        return error_set(err, RAYTRAIN_ECOMM,
                         "rank %d sent another number of checksums than it should",
                         odd);
    return 0;
}

/* COLLECTIVE: all ranks' hashes into the image. */
static int hashes_gather(struct save *s, struct error *err)
{
    struct comm *comm = s->comm;
    size_t n_table = s->plan.n_hashes * sizeof(uint64_t);
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    uint64_t *table = calloc(1, n_table + 1);
    void *sent = NULL;
    int rc = 0;

    if (!sizes || !table)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, s->hashes, s->n_hashes * sizeof *s->hashes, &sent,
                                sizes, 0, err);
    if (rc == 0 && comm->rank == 0)
        rc = hashes_sort(s, sent, sizes, table, err);
    if (rc == 0 && comm->rank == 0 &&
        h5_image_write(s->image, s->head.hashes_at, table, n_table) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    free(sent);
    free(table);
    free(sizes);
    return rc;
}

/* Write what is not tensors' bytes, and hash it. */
static int metadata_write(struct save *s, const struct extent *gaps, size_t n)
{
    XXH3_state_t *hash = XXH3_createState();
    size_t room = 65536;
    char *buf = malloc(room);
    int rc = hash && buf ? 0 : -1;

    if (rc == 0)
        XXH3_64bits_reset(hash);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        for (uint64_t at = gaps[i].start; rc == 0 && at < gaps[i].end;) {
            uint64_t left = gaps[i].end - at;
            size_t k = left < room ? (size_t)left : room;

            h5_image_read(s->image, at, buf, k);
            XXH3_64bits_update(hash, buf, k);
            rc = fs_pwrite_full(s->fd, buf, k, at);
            at += k;
        }
    }
    if (rc == 0)
        s->head.metadata_hash = XXH3_64bits_digest(hash);
    int saved = errno;
    free(buf);
    XXH3_freeState(hash);
    errno = saved;
    return rc;
}

static int file_publish(struct save *s, struct error *err)
{
    struct extent *gaps = NULL;
    size_t n = 0;
    int rc;

    if (extents_gaps(s->ck, s->head.file_bytes, &gaps, &n, err) < 0)
        return -1;
    rc = fault_point("publish.metadata", 0);
    if (rc == 0)
        rc = metadata_write(s, gaps, n);
    free(gaps);
    if (rc == 0) {
        memcpy(s->head.mark, HEAD_COMPLETE, sizeof s->head.mark);
        s->head.head_hash =
            XXH3_64bits(&s->head, offsetof(struct file_head, head_hash));
        rc = fault_point("publish.mark", 0);
    }
    if (rc < 0 || fs_pwrite_full(s->fd, &s->head, sizeof s->head, 0) < 0 ||
        fault_point("publish.sync", 0) < 0 || fsync(s->fd) < 0)
        return fs_error(err, "write", s->path);
    rc = close(s->fd);
    s->fd = -1;
    if (rc < 0 || fault_point("publish.rename", 0) < 0 || rename(s->temp, s->path) < 0)
        return fs_error(err, "publish", s->path);
    free(s->temp);
    s->temp = NULL;
    if (fault_point("publish.directory", 0) < 0)
        return fs_error(err, "sync the directory of", s->path);
    return fs_sync_parent(s->path, err);
}

/* ---- All of it --------------------------------------------------------------------
 */

static int save_steps(struct save *s, const struct checkpoint_meta *meta,
                      struct error *err)
{
    bool first = s->comm->rank == 0;
    int rc = 0;

    if (plan_make(s->ck, s->comm, &s->plan, err) < 0)
        return -1;
    rc = save_point(s, "save.begin", err);
    if (first && rc == 0)
        rc = file_start(s, meta, err);
    if (comm_agree(s->comm, rc, err) < 0 || layout_share(s, err) < 0)
        return -1;
    rc = rank_write(s, err);
    if (comm_agree(s->comm, rc, err) < 0)
        return -1;
    rc = hashes_gather(s, err);
    if (rc == 0)
        rc = save_point(s, "save.hashed", err);
    if (first && rc == 0)
        rc = file_publish(s, err);
    rc = comm_agree(s->comm, rc, err);
    fault_point("save.end", s->comm->rank); /* for death alone: it is decided */
    return rc;
}

static int save_check(const raytrain_checkpoint *ck, const struct comm *comm,
                      const struct checkpoint_meta *meta, const char *path,
                      struct error *err)
{
    if (!ck || !comm || !meta || !path)
        return error_set(err, RAYTRAIN_EINVAL,
                         "checkpoint, communicator, meta or path is NULL");
    if (ck->restored)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a restored checkpoint cannot be saved; create a new one");
    return 0;
}

int checkpoint_save(raytrain_checkpoint *ck, struct comm *comm,
                    const struct checkpoint_meta *meta, const char *path,
                    struct error *err)
{
    struct save s = {.ck = ck, .comm = comm, .path = path, .fd = -1};
    int rc;

    if (!comm || comm_agree(comm, save_check(ck, comm, meta, path, err), err) < 0)
        return -1;
    rc = save_steps(&s, meta, err);
    if (s.fd >= 0)
        close(s.fd);
    if (rc < 0 && comm->rank == 0 && s.temp)
        unlink(s.temp);
    h5_image_destroy(s.image);
    plan_clear(&s.plan);
    free(s.temp);
    free(s.hashes);
    return rc;
}
