/*
 * save.c - publish a checkpoint: the protocol of DESIGN §7.
 *
 * BEGIN, in the caller's thread
 *   1. the ranks agree on what it holds                                   (agree.c)
 *   2. rank 0 lays the file out in memory, and tells where the tensors lie
 *   (a snapshot, where training is to go on)                              (pieces.c)
 * RUN, in any thread
 *   3. rank 0 creates the temporary and reserves its space
 *   4. every rank hashes its bytes, writes them, and syncs: those of pages that two
 *      nodes have bytes of, one rank writes for all (shared_file.c)
 *   5. rank 0 gathers the hashes, writes metadata and tables, then the head with the
 *      completeness mark, syncs, renames, syncs the directory
 *
 * After each step all return codes are combined; whichever rank fails, all return the
 * same, and rank 0 removes the temporary. HDF5 is called in step 2 alone.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checksum.h"
#include "checkpoint/shared_file.h"
#include "hdf5/h5_image.h"
#include "util/fault.h"
#include "util/fs.h"

/* A place between two steps. */
static int save_point(const struct checkpoint_save *s, const char *name,
                      struct error *err)
{
    if (fault_point(name, s->comm->rank) < 0)
        return fs_error(err, "write", s->path);
    return 0;
}

/* ---- Step 2: the layout -----------------------------------------------------------
 */

static int file_lay_out(struct checkpoint_save *s, const struct checkpoint_meta *meta,
                        struct error *err)
{
    if (layout_make(s->ck, &s->plan, meta, &s->head, &s->image, err) < 0)
        return -1;
    return new_file_name(&s->file, err);
}

/* COLLECTIVE: the temporary's name and the tensors' offsets, from rank 0. */
static int layout_share(struct checkpoint_save *s, struct error *err)
{
    size_t n_tensors = s->ck->n_tensors;
    uint64_t name_bytes = s->file.temp ? strlen(s->file.temp) + 1 : 0;
    uint64_t *offsets = NULL;
    int rc = s->comm->ops->bcast(s->comm, &name_bytes, sizeof name_bytes, 0, err);

    if (rc < 0)
        return -1;
    offsets = calloc(n_tensors + 1, sizeof *offsets);
    if (!s->file.temp)
        s->file.temp = calloc(1, name_bytes);
    if (!offsets || !s->file.temp)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n_tensors; i++)
        offsets[i] = s->ck->tensors[i].offset;
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = s->comm->ops->bcast(s->comm, s->file.temp, name_bytes, 0, err);
    if (rc == 0)
        rc = s->comm->ops->bcast(s->comm, offsets, n_tensors * sizeof *offsets, 0, err);
    for (size_t i = 0; rc == 0 && i < n_tensors; i++)
        s->ck->tensors[i].offset = offsets[i];
    free(offsets);
    return rc;
}

/* ---- Step 3: the temporary --------------------------------------------------------
 */

static int file_create(struct checkpoint_save *s, struct error *err)
{
    if (new_file_create(&s->file, s->head.file_bytes, err) < 0)
        return -1;
    /* Without its mark: so that a copy of an unfinished file says what it is. */
    if (fault_point("layout.head", 0) < 0 ||
        fs_pwrite_full(s->file.fd, &s->head, sizeof s->head, 0) < 0)
        return fs_error(err, "write", s->path);
    return 0;
}

/* ---- Step 4: the bytes ------------------------------------------------------------
 */

/* COLLECTIVE: which rank writes what? On one node each writes its own. */
static int writers_find(struct checkpoint_save *s, struct error *err)
{
    struct shared_file *f = s->shared;
    struct stat st = {0};

    if (!f->nodes || f->nodes->n_nodes == 1)
        return 0;
    if (plan_share(&s->plan, s->comm, err) < 0)
        return -1;
    if (s->comm->rank == 0 && fstat(s->file.fd, &st) < 0)
        st.st_blksize = 0;
    chunk_walk_plan(&f->chunks, s->ck, &s->plan, s->comm->size);
    return shared_file_begin(f, s->head.file_bytes, (uint64_t)st.st_blksize, err);
}

/* A shared file's questions. */
static int owner_planned(void *arg, const struct chunk *chunk)
{
    (void)arg;
    return chunk->owner;
}

/* Pieces are in the order of the tensors, of which each has one at most. */
static int piece_read(void *arg, const struct chunk *some, void *to, struct error *err)
{
    const struct checkpoint_save *s = arg;
    size_t low = 0, high = s->pieces.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->pieces.list[mid].tensor < some->tensor)
            low = mid + 1;
        else
            high = mid;
    }
    const struct piece *piece = &s->pieces.list[low];
    if (low == s->pieces.n || piece->tensor != some->tensor ||
        some->from < piece->from || some->to > piece->to)
        return error_set(err, RAYTRAIN_ECOMM,
                         "another rank's plan of the checkpoint is not this one's");
    memcpy(to, piece->data + (some->from - piece->from), some->to - some->from);
    return 0;
}

/* Hash a piece's chunks and hand them to the writer. */
static int piece_write(struct checkpoint_save *s, const struct piece *piece)
{
    const struct tensor_entry *e = piece->tensor;
    struct chunk c = {.tensor = e};

    slab_runs_init(&c.runs, e->ndim, e->shape, e->element_bytes, &e->slab);
    for (c.from = piece->from; c.from < piece->to; c.from = c.to) {
        const unsigned char *data = piece->data + (c.from - piece->from);

        c.to = chunk_end(c.from, piece->to);
        s->hashes[s->n_hashes++] = XXH3_64bits(data, c.to - c.from);
        if (shared_file_write(s->shared, &c, data) < 0)
            return -1;
    }
    return 0;
}

static int own_write(struct checkpoint_save *s)
{
    int rc = shared_file_open(s->shared, s->file.fd);

    if (rc == 0)
        rc = fault_point("save.data", s->comm->rank);
    for (size_t i = 0; rc == 0 && i < s->pieces.n; i++)
        rc = piece_write(s, &s->pieces.list[i]);
    return rc == 0 ? shared_file_flush(s->shared) : rc;
}

static int rank_join(struct checkpoint_save *s, struct error *err)
{
    if (s->comm->rank != 0 && new_file_join(&s->file, err) < 0)
        return -1;
    return own_write(s) < 0 ? fs_error(err, "write", s->path) : 0;
}

static int rank_sync(struct checkpoint_save *s, struct error *err)
{
    if (fault_point("save.sync", s->comm->rank) < 0 || fsync(s->file.fd) < 0)
        return fs_error(err, "write", s->path);
    return save_point(s, "save.synced", err);
}

/* COLLECTIVE */
static int data_write(struct checkpoint_save *s, struct error *err)
{
    int rc;

    if (writers_find(s, err) < 0 || comm_agree(s->comm, rank_join(s, err), err) < 0)
        return -1;
    rc = shared_file_finish(s->shared, err);
    if (rc == 0)
        rc = rank_sync(s, err);
    return comm_agree(s->comm, rc, err);
}

/* ---- Step 5: the hashes, the head, the name ---------------------------------------
 */

/* Rank 0: lay what the ranks sent into the table. A rank's hashes come in the order in
 * which data_write() met its chunks: that of the parts. at[r] is where rank r's begin,
 * end[r] where they end. The rank that sent another number; -1: none. */
static int hashes_place(const struct checkpoint_save *s, const uint64_t *sent,
                        size_t *at, const size_t *end, uint64_t *table)
{
    struct chunk_walk walk;
    struct chunk c;

    chunk_walk_plan(&walk, s->ck, &s->plan, s->comm->size);
    while (chunk_walk_next(&walk, &c)) {
        if (at[c.owner] == end[c.owner])
            return c.owner;
        table[c.index] = sent[at[c.owner]++];
    }
    for (int r = 0; r < s->comm->size; r++)
        if (at[r] != end[r])
            return r;
    return -1;
}

static int hashes_sort(const struct checkpoint_save *s, const uint64_t *sent,
                       const size_t *sizes, uint64_t *table, struct error *err)
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
static int hashes_gather(struct checkpoint_save *s, struct error *err)
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
static int metadata_write(struct checkpoint_save *s, const struct extent *gaps,
                          size_t n)
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
            rc = fs_pwrite_full(s->file.fd, buf, k, at);
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

static int file_publish(struct checkpoint_save *s, struct error *err)
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
    if (rc < 0 || fs_pwrite_full(s->file.fd, &s->head, sizeof s->head, 0) < 0)
        return fs_error(err, "write", s->path);
    return new_file_publish(&s->file, err);
}

/* ---- All of it --------------------------------------------------------------------
 */

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

static struct checkpoint_save *save_alloc(raytrain_checkpoint *ck, const char *path,
                                          struct error *err)
{
    struct checkpoint_save *s = calloc(1, sizeof *s);

    if (s)
        s->path = strdup(path);
    if (!s || !s->path) {
        free(s);
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        return NULL;
    }
    s->ck = ck;
    s->file = (struct new_file)NEW_FILE(s->path);
    return s;
}

static int pieces_prepare(struct checkpoint_save *s, struct error *err)
{
    if (pieces_make(s->ck, s->comm->rank, s->comm->size, &s->pieces, err) < 0)
        return -1;
    s->hashes = calloc(s->pieces.n_chunks + 1, sizeof *s->hashes);
    return s->hashes ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

static int begin_steps(struct checkpoint_save *s, struct comm *comm,
                       const struct checkpoint_meta *meta, struct error *err)
{
    int rc;

    s->comm = comm;
    if (plan_make(s->ck, comm, &s->plan, err) < 0)
        return -1;
    rc = save_point(s, "save.begin", err);
    if (rc == 0)
        rc = pieces_prepare(s, err);
    if (rc == 0 && comm->rank == 0)
        rc = file_lay_out(s, meta, err);
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    return layout_share(s, err);
}

int checkpoint_save_begin(raytrain_checkpoint *ck, struct comm *comm,
                          const struct checkpoint_meta *meta, const char *path,
                          struct checkpoint_save **out, struct error *err)
{
    struct checkpoint_save *s = NULL;
    int rc = save_check(ck, comm, meta, path, err);

    *out = NULL;
    if (!comm)
        return -1;
    if (rc == 0 && !(s = save_alloc(ck, path, err)))
        rc = -1;
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = begin_steps(s, comm, meta, err);
    if (rc < 0) {
        checkpoint_save_destroy(s);
        return -1;
    }
    *out = s;
    return 0;
}

uint64_t checkpoint_save_file_bytes(const struct checkpoint_save *s)
{
    return s->head.file_bytes;
}

size_t checkpoint_save_snapshot_bytes(const struct checkpoint_save *s)
{
    return pieces_snapshot_bytes(&s->pieces);
}

void checkpoint_save_snapshot(struct checkpoint_save *s, unsigned char *to)
{
    pieces_snapshot(&s->pieces, to);
    fault_point("save.snapshot", s->comm->rank); /* for death alone */
}

static int run_steps(struct checkpoint_save *s, struct error *err)
{
    bool first = s->comm->rank == 0;
    int rc = 0;

    if (first)
        rc = file_create(s, err);
    if (comm_agree(s->comm, rc, err) < 0)
        return -1;
    if (data_write(s, err) < 0)
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

int checkpoint_save_run(struct checkpoint_save *s, struct comm *comm,
                        const struct node_map *nodes, struct error *err)
{
    struct shared_file shared = {.comm = comm,
                                 .nodes = nodes,
                                 .ck = s->ck,
                                 .path = s->path,
                                 .owner = owner_planned,
                                 .read = piece_read,
                                 .arg = s};
    int rc;

    s->comm = comm;
    s->shared = &shared;
    rc = run_steps(s, err);
    s->shared = NULL;
    shared_file_clear(&shared);
    new_file_clear(&s->file);
    return rc;
}

void checkpoint_save_destroy(struct checkpoint_save *s)
{
    if (!s)
        return;
    h5_image_destroy(s->image);
    plan_clear(&s->plan);
    pieces_clear(&s->pieces);
    new_file_clear(&s->file);
    free(s->path);
    free(s->hashes);
    free(s);
}

int checkpoint_save(raytrain_checkpoint *ck, struct comm *comm,
                    const struct checkpoint_meta *meta, const char *path,
                    struct error *err)
{
    struct checkpoint_save *s;
    int rc;

    if (checkpoint_save_begin(ck, comm, meta, path, &s, err) < 0)
        return -1;
    rc = checkpoint_save_run(s, comm, NULL, err);
    checkpoint_save_destroy(s);
    return rc;
}
