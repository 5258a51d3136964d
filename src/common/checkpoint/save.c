/*
 * save.c - save a checkpoint: from the tensors in memory to a complete file on storage.
 *
 * BEGIN, in the caller's thread (checkpoint_save_begin)
 *   1. the ranks agree on what it holds, and what each writes     rank_contents.c, plan.c
 *   2. rank 0 lays the file out in memory, with HDF5, and
 *      broadcasts where the tensors lie                           layout.c
 *   (reuse both if names and shapes are those of the last save    save_layout.c)
 *   (take a snapshot, if training continues during PUBLISH        chunks.c: shares)
 * PUBLISH, in any thread (checkpoint_save_publish)
 *   3. rank 0 creates the temporary file and reserves its space   new_file.c
 *   4. every rank hashes its chunks, writes them, and syncs; if
 *      two nodes have bytes of a page, one rank writes all of it  shared_file.c
 *   5. rank 0 gathers the hashes, writes metadata and tables,
 *      then the head with the completeness mark                   plan.c, index.c
 *   6. rank 0 syncs, renames, and syncs the directory             new_file.c
 *
 * Instead of PUBLISH, replica/image_write.c writes the same chunks and metadata into
 * the images of the nodes, and replica/image_copy.c publishes them later.
 *
 * After each step the ranks combine their return codes: if any rank fails, all return
 * the same error, and rank 0 removes the temporary file.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/by_parts.h"
#include "checkpoint/checksum.h"
#include "checkpoint/chunks.h"
#include "checkpoint/index.h"
#include "checkpoint/layout.h"
#include "checkpoint/plan.h"
#include "checkpoint/plan_share.h"
#include "checkpoint/save.h"
#include "checkpoint/save_layout.h"
#include "checkpoint/shared_file.h"
#include "hdf5/h5_image.h"
#include "util/fault.h"
#include "util/fs.h"

/* A fault point between two steps. */
static int save_point(const struct checkpoint_save *s, const char *name,
                      struct error *err)
{
    if (fault_point(name, s->comm->rank) < 0)
        return fs_error(err, "write", s->path);
    return 0;
}

/* ---- Step 2: the layout ---- */

/* COLLECTIVE: the tensors' offsets, from rank 0. */
static int offsets_bcast(struct checkpoint_save *s, struct error *err)
{
    size_t n_tensors = s->ck->n_tensors;
    uint64_t *offsets = calloc(n_tensors + 1, sizeof *offsets);
    int rc = offsets ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < n_tensors; i++)
        offsets[i] = s->ck->tensors[i].offset;
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = s->comm->ops->bcast(s->comm, offsets, n_tensors * sizeof *offsets, 0, err);
    for (size_t i = 0; rc == 0 && i < n_tensors; i++)
        s->ck->tensors[i].offset = offsets[i];
    free(offsets);
    return rc;
}

/* COLLECTIVE */
static int name_bcast(struct checkpoint_save *s, struct error *err)
{
    uint64_t n = s->file.temp ? strlen(s->file.temp) + 1 : 0;

    if (s->comm->ops->bcast(s->comm, &n, sizeof n, 0, err) < 0)
        return -1;
    return comm_bcast_alloc(s->comm, (void **)&s->file.temp, (size_t)n, 0, err);
}

/* ---- Step 3: the temporary file ---- */

static int save_file_create(struct checkpoint_save *s, struct error *err)
{
    if (new_file_create(&s->file, s->head.file_bytes, err) < 0)
        return -1;
    /* Without its mark, so that an unfinished file is recognised as such. */
    if (fault_point("layout.head", 0) < 0 ||
        fs_pwrite_full(s->file.fd, &s->head, sizeof s->head, 0) < 0)
        return fs_error(err, "write", s->path);
    return 0;
}

/* ---- Step 4: the chunks ---- */

/* COLLECTIVE: find the chunks of which this rank writes all or some bytes. */
static int chunks_share(struct checkpoint_save *s, struct error *err)
{
    struct shared_file *f = s->shared_file;
    struct part_needs needs = {0};
    int rc = 0;

    if (s->comm->rank == 0 && shared_file_needs(f, &needs) < 0)
        rc = error_no_memory(err);
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = plan_share(&s->layout->plan, &needs, s->comm, &s->mine, err);
    part_needs_clear(&needs);
    if (rc == 0)
        chunk_walk_plan(&f->chunks, s->ck, &s->mine, s->comm->size);
    return rc;
}

/* COLLECTIVE: decide which rank writes what. On one node each writes its own chunks. */
static int writers_find(struct checkpoint_save *s, struct error *err)
{
    struct shared_file *f = s->shared_file;
    struct stat st = {0};

    if (!f->nodes || f->nodes->n_nodes == 1)
        return 0;
    if (s->comm->rank == 0 && fstat(s->file.fd, &st) < 0)
        st.st_blksize = 0;
    if (s->comm->rank == 0)
        chunk_walk_plan(&f->chunks, s->ck, &s->layout->plan, s->comm->size);
    if (shared_file_begin(f, s->head.file_bytes, (uint64_t)st.st_blksize, err) < 0)
        return -1;
    return chunks_share(s, err);
}

/* struct shared_file calls these. */
static int owner_planned(void *arg, const struct chunk *chunk)
{
    (void)arg;
    return chunk->owner;
}

static int share_read(void *arg, const struct chunk *some, void *to, struct error *err)
{
    const struct checkpoint_save *s = arg;
    const struct share *share =
        shares_find(&s->shares, some->tensor, some->from, some->to);

    if (!share)
        return error_set(err, RAYTRAIN_ECOMM,
                         "this rank has another plan of the checkpoint than rank 0");
    memcpy(to, share->data + (some->from - share->from), some->to - some->from);
    return 0;
}

/* Hash a share's chunks and hand them to the writer. */
static int share_write(struct checkpoint_save *s, const struct share *share)
{
    const struct tensor_entry *e = share->tensor;
    struct chunk c = {.tensor = e};

    part_stream_init(e, &e->slab, e->slab_at, &c.stream);
    for (c.from = share->from; c.from < share->to; c.from = c.to) {
        const unsigned char *data = share->data + (c.from - share->from);

        c.to = chunk_end(c.from, share->to);
        s->hashes[s->n_hashes++] = XXH3_64bits(data, c.to - c.from);
        if (shared_file_write(s->shared_file, &c, data) < 0)
            return -1;
    }
    return 0;
}

static int own_write(struct checkpoint_save *s)
{
    int rc = shared_file_open(s->shared_file, s->file.fd);

    if (rc == 0)
        rc = fault_point("save.data", s->comm->rank);
    for (size_t i = 0; rc == 0 && i < s->shares.n; i++)
        rc = share_write(s, &s->shares.list[i]);
    return rc == 0 ? shared_file_flush(s->shared_file) : rc;
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
    rc = shared_file_finish(s->shared_file, err);
    if (rc == 0)
        rc = rank_sync(s, err);
    return comm_agree(s->comm, rc, err);
}

/* ---- Steps 5 and 6: hashes, metadata, head; the name ---- */

/* COLLECTIVE: put the hashes of all ranks into the table of rank 0's image. */
static int hashes_gather(struct checkpoint_save *s, struct error *err)
{
    const struct plan *plan = &s->layout->plan;
    size_t bytes = plan->n_hashes * sizeof(uint64_t);
    uint64_t *table = NULL;
    int rc =
        plan_gather_hashes(plan, s->ck, s->comm, s->hashes, s->n_hashes, &table, err);

    if (rc == 0 && s->comm->rank == 0 &&
        h5_image_write(s->layout->image, s->head.hashes_at, table, bytes) < 0)
        rc = error_no_memory(err);
    free(table);
    return rc;
}

/* Write the metadata, and hash it. */
static int metadata_write(struct checkpoint_save *s, const struct extent *extents,
                          size_t n)
{
    XXH3_state_t *hash = XXH3_createState();
    size_t room = 65536;
    char *buf = malloc(room);
    int rc = hash && buf ? 0 : -1;

    if (rc == 0)
        XXH3_64bits_reset(hash);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        for (uint64_t at = extents[i].start; rc == 0 && at < extents[i].end;) {
            uint64_t left = extents[i].end - at;
            size_t k = left < room ? (size_t)left : room;

            h5_image_read(s->layout->image, at, buf, k);
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
    struct extent *extents = NULL;
    size_t n = 0;
    int rc;

    if (metadata_extents(s->ck, s->head.file_bytes, &extents, &n, err) < 0)
        return -1;
    rc = fault_point("publish.metadata", 0);
    if (rc == 0)
        rc = metadata_write(s, extents, n);
    free(extents);
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

/* ---- BEGIN ---- */

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
                                          struct save_layout *kept, struct error *err)
{
    struct checkpoint_save *s = calloc(1, sizeof *s);

    if (s) {
        s->path = strdup(path);
        s->layout = kept ? kept : (s->own_layout = save_layout_create(NULL));
    }
    if (!s || !s->path || !s->layout) {
        checkpoint_save_destroy(s);
        error_no_memory(err);
        return NULL;
    }
    s->ck = ck;
    s->file = (struct new_file)NEW_FILE(s->path);
    return s;
}

static int shares_prepare(struct checkpoint_save *s, struct error *err)
{
    if (shares_make(s->ck, s->comm->rank, s->comm->size, &s->shares, err) < 0)
        return -1;
    s->hashes = calloc(s->shares.n_chunks + 1, sizeof *s->hashes);
    return s->hashes ? 0 : error_no_memory(err);
}

/* COLLECTIVE: steps 1 and 2, unless the layout fits. */
static int layout_begin(struct checkpoint_save *s, const struct checkpoint_meta *meta,
                        struct error *err)
{
    struct save_layout *l = s->layout;
    int rc = 0;

    save_layout_clear(l);
    if (plan_make(s->ck, s->comm, &l->plan, err) < 0)
        return -1;
    if (s->comm->rank == 0)
        rc = layout_make(s->ck, &l->plan, meta, &l->head, &l->image, err);
    if (comm_agree(s->comm, rc, err) < 0 || offsets_bcast(s, err) < 0)
        return -1;
    if (!s->own_layout)
        save_layout_keep(l, s->ck, meta, s->comm);
    return 0;
}

static int begin_steps(struct checkpoint_save *s, struct comm *comm,
                       const struct checkpoint_meta *meta, struct error *err)
{
    bool fits = false;
    int rc;

    s->comm = comm;
    if (!s->own_layout &&
        save_layout_agree(s->layout, s->ck, meta, comm, &fits, err) < 0)
        return -1;
    if (!fits && layout_begin(s, meta, err) < 0)
        return -1;
    rc = fits ? save_layout_use(s->layout, s->ck, meta, comm, err) : 0;
    if (rc == 0)
        rc = save_point(s, "save.begin", err);
    if (rc == 0)
        rc = shares_prepare(s, err);
    if (rc == 0 && comm->rank == 0)
        rc = new_file_name(&s->file, err);
    s->head = s->layout->head;
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    return name_bcast(s, err);
}

int checkpoint_save_begin(raytrain_checkpoint *ck, struct comm *comm,
                          const struct checkpoint_meta *meta, const char *path,
                          struct save_layout *kept, struct checkpoint_save **out,
                          struct error *err)
{
    struct checkpoint_save *s = NULL;
    int rc = save_check(ck, comm, meta, path, err);

    *out = NULL;
    if (!comm)
        return -1;
    if (rc == 0 && !(s = save_alloc(ck, path, kept, err)))
        rc = -1;
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = begin_steps(s, comm, meta, err);
    if (rc < 0) {
        if (kept)
            save_layout_clear(kept);
        checkpoint_save_destroy(s);
        return -1;
    }
    *out = s;
    return 0;
}

/* ---- Between the stages ---- */

uint64_t checkpoint_save_file_bytes(const struct checkpoint_save *s)
{
    return s->head.file_bytes;
}

size_t checkpoint_save_snapshot_bytes(const struct checkpoint_save *s,
                                      enum checkpoint_snapshot which)
{
    return shares_snapshot_bytes(&s->shares, which);
}

int checkpoint_save_snapshot(struct checkpoint_save *s, enum checkpoint_snapshot which,
                             unsigned char *to, const struct checkpoint_fetch *fetch,
                             struct error *err)
{
    int rc = shares_snapshot(&s->shares, which, to, s->ck->stays, fetch, err);

    if (which == SNAPSHOT_ALL)
        fault_point("save.snapshot", s->comm->rank); /* a test may crash it here */
    return rc;
}

/* ---- PUBLISH ---- */

static int publish_steps(struct checkpoint_save *s, struct error *err)
{
    bool first = s->comm->rank == 0;
    int rc = 0;

    if (first)
        rc = save_file_create(s, err);
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
    fault_point("save.end",
                s->comm->rank); /* a test may crash it here, after the decision */
    return rc;
}

int checkpoint_save_publish(struct checkpoint_save *s, struct comm *comm,
                            const struct node_map *nodes, struct error *err)
{
    struct shared_file shared = {.comm = comm,
                                 .nodes = nodes,
                                 .ck = s->ck,
                                 .path = s->path,
                                 .owner = owner_planned,
                                 .read = share_read,
                                 .arg = s};
    int rc;

    s->comm = comm;
    s->shared_file = &shared;
    rc = publish_steps(s, err);
    s->shared_file = NULL;
    shared_file_clear(&shared);
    new_file_clear(&s->file);
    return rc;
}

/* ---- Both stages, and the end ---- */

void checkpoint_save_destroy(struct checkpoint_save *s)
{
    if (!s)
        return;
    save_layout_destroy(s->own_layout);
    plan_clear(&s->mine);
    shares_clear(&s->shares);
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

    if (checkpoint_save_begin(ck, comm, meta, path, NULL, &s, err) < 0)
        return -1;
    rc = checkpoint_save_publish(s, comm, NULL, err);
    checkpoint_save_destroy(s);
    return rc;
}
