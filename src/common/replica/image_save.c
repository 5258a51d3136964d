/*
 * image_save.c - a checkpoint into the images of the nodes.
 *
 *   1. all ranks learn who has which part                       (rank 0 has planned it)
 *   2. every rank writes its chunks into its node's image, and hashes them
 *   3. every rank sends its chunks to its keeper, which writes them, too
 *   4. with everybody's hashes rank 0 completes the metadata and the head; every node
 *      gets both
 *   5. once that is so on all nodes, each makes its list of chunks: it is complete
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "hdf5/h5_image.h"
#include "replica/image_impl.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

struct image_save {
    struct checkpoint_save *save; /* plan and image: rank 0's */
    struct comm *comm;
    const struct image_tier *tier;
    int64_t iteration;
    struct plan plan; /* on every rank */
    struct file_head head;
    uint64_t *hashes; /* of all chunks; 0 where the chunk is another rank's */
    int fd;
    bool started; /* there is something to remove */
};

static int image_point(const struct image_save *s, const char *name, struct error *err)
{
    if (fault_point(name, s->comm->rank) < 0)
        return fs_error(err, "write", s->tier->dir.path);
    return 0;
}

/* ---- Step 1: who has what ---------------------------------------------------------
 */

/* Rank 0's plan is borrowed from the save, the others' is their own. */
static void plan_borrow(struct image_save *s)
{
    if (s->comm->rank != 0)
        return;
    s->plan = s->save->plan;
    s->head = s->save->head;
}

static void image_save_clear(struct image_save *s)
{
    if (s->fd >= 0)
        close(s->fd);
    if (s->comm->rank != 0)
        plan_clear(&s->plan);
    free(s->hashes);
}

/* COLLECTIVE: the head and the parts, from rank 0. */
static int layout_take(struct image_save *s, struct error *err)
{
    struct comm *comm = s->comm;
    int rc;

    plan_borrow(s);
    if (comm->ops->bcast(comm, &s->head, sizeof s->head, 0, err) < 0 ||
        plan_share(&s->plan, comm, err) < 0)
        return -1;
    s->hashes = calloc(s->plan.n_hashes + 1, sizeof *s->hashes);
    rc = s->hashes ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return comm_agree(comm, rc, err);
}

/* Where this rank's data of a chunk are. Its chunks come in the order of its pieces,
 * which *piece follows. */
static const unsigned char *chunk_data(const struct image_save *s,
                                       const struct chunk *c, size_t *piece)
{
    const struct pieces *all = &s->save->pieces;

    while (all->list[*piece].tensor != c->tensor)
        ++*piece;
    return all->list[*piece].data + (c->from - all->list[*piece].from);
}

/* ---- Room -------------------------------------------------------------------------
 */

/* Bytes of this node's image. */
static uint64_t image_need(const struct image_save *s)
{
    const struct node_map *nodes = s->tier->nodes;
    uint64_t tensors = 0, need = 0;
    struct chunk_walk walk;
    struct chunk c;

    chunk_walk_plan(&walk, s->save->ck, &s->plan, s->comm->size);
    while (chunk_walk_next(&walk, &c)) {
        tensors += c.to - c.from;
        if (node_map_has(nodes, tier_place(s->tier)->node, c.owner, s->tier->copies))
            need += c.to - c.from;
    }
    return need + (s->head.file_bytes - tensors); /* what is no tensor is everywhere */
}

uint64_t tier_room(const struct image_tier *tier)
{
    struct statvfs fs;
    uint64_t room = UINT64_MAX, memory = tier->available ? tier->available() : room;

    if (statvfs(tier->dir.path, &fs) == 0)
        room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return room < memory ? room : memory;
}

static int room_check(const struct image_save *s, struct error *err)
{
    char need_text[SIZE_TEXT_MAX], room_text[SIZE_TEXT_MAX], host[256] = "this node";
    uint64_t need = image_need(s), room = tier_room(s->tier);
    int64_t older;
    int copies = image_list(&s->tier->dir, &older, 1) > 0 ? 1 : 2;

    if (fault_point("image.room", s->comm->rank) == 0 &&
        need <= room / (unsigned)copies)
        return 0;
    gethostname(host, sizeof host - 1);
    return error_set(
        err, RAYTRAIN_EFIT,
        "node %s: its part of a checkpoint is %s%s, and %s has %s left%s", host,
        size_format(need, need_text), copies == 2 ? ", and must fit in twice" : "",
        s->tier->dir.path, size_format(room, room_text),
        s->tier->dir.durable
            ? ": free space there, or choose another sync_config.staging_path"
            : ": train on more nodes, ask for more memory, or set "
              "checkpoint_config.replicas to 0");
}

/* ---- Step 2: this rank's chunks ---------------------------------------------------
 */

static int image_write_error(const struct image_save *s, struct error *err)
{
    return fs_error(err, "write", s->tier->dir.path);
}

/* COLLECTIVE: the image of each node is there, and open on every rank. */
static int image_start(struct image_save *s, struct error *err)
{
    const struct image_dir *dir = &s->tier->dir;
    int rc = tier_leader(s->tier) ? room_check(s, err) : 0;

    if (rc == 0)
        rc = image_point(s, "image.begin", err);
    if (comm_agree(s->comm, rc, err) < 0)
        return -1;
    s->started = true;
    if (tier_leader(s->tier)) {
        s->fd = image_create(dir, s->iteration, s->head.file_bytes, err);
        rc = s->fd < 0 ? -1 : 0;
    }
    if (comm_agree(s->comm, rc, err) < 0)
        return -1;
    if (s->fd < 0)
        s->fd = image_open(dir, s->iteration, err);
    return comm_agree(s->comm, s->fd < 0 ? -1 : 0, err);
}

static int own_write(struct image_save *s)
{
    struct slab_writer *w = slab_writer_create(s->fd);
    int rc = w ? fault_point("image.data", s->comm->rank) : -1;
    struct chunk_walk walk;
    struct chunk c;
    size_t piece = 0;

    chunk_walk_plan(&walk, s->save->ck, &s->plan, s->comm->size);
    while (rc == 0 && chunk_walk_next(&walk, &c)) {
        const unsigned char *data;

        if (c.owner != s->comm->rank)
            continue;
        data = chunk_data(s, &c, &piece);
        s->hashes[c.index] = XXH3_64bits(data, c.to - c.from);
        rc = chunk_place(w, &c, data);
    }
    if (rc == 0)
        rc = slab_writer_flush(w);
    int saved = errno;
    slab_writer_destroy(w);
    errno = saved;
    return rc;
}

/* ---- Step 3: copies on the next node ----------------------------------------------
 */

static int key_owned_by(void *arg, const struct chunk *chunk)
{
    return chunk->owner == *(int *)arg ? 0 : -1;
}

/* One rank's chunks as messages. */
struct stream {
    int owner; /* -1: there is none */
    struct block_walk walk;
    struct block block;
    size_t piece; /* of this rank's own */
    char *data;
};

static int stream_open(struct stream *st, const struct image_save *s, int owner)
{
    st->owner = owner;
    st->walk = (struct block_walk){.key = key_owned_by, .arg = &st->owner};
    chunk_walk_plan(&st->walk.chunks, s->save->ck, &s->plan, s->comm->size);
    st->data = owner < 0 ? NULL : malloc(block_room(&st->walk));
    return owner < 0 || st->data ? 0 : -1;
}

static bool stream_next(struct stream *st)
{
    st->block.bytes = 0;
    return st->owner >= 0 && block_next(&st->walk, &st->block);
}

static void block_pack(const struct image_save *s, struct stream *st)
{
    char *to = st->data;

    for (size_t i = 0; i < st->block.n; i++) {
        const struct chunk *c = &st->block.chunks[i];

        memcpy(to, chunk_data(s, c, &st->piece), c->to - c->from);
        to += c->to - c->from;
    }
}

/* Both directions of one round; a write that fails is told when all has been moved: the
 * sender waits for nobody else. */
static int streams_move(struct image_save *s, struct stream *mine, int to,
                        struct stream *theirs, struct error *err)
{
    struct slab_writer *w = slab_writer_create(s->fd);
    int rc = w ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    bool sends = stream_next(mine), receives = stream_next(theirs);
    struct error lost;

    while (sends || receives) {
        if (sends)
            block_pack(s, mine);
        if (s->comm->ops->sendrecv(s->comm, mine->data, mine->block.bytes,
                                   sends ? to : -1, theirs->data, theirs->block.bytes,
                                   receives ? theirs->owner : -1, &lost) < 0) {
            rc = error_set(err, lost.code, "%s", lost.text);
            break;
        }
        if (rc == 0 && receives && block_place(w, &theirs->block, theirs->data) < 0)
            rc = image_write_error(s, err);
        sends = sends && stream_next(mine);
        receives = receives && stream_next(theirs);
    }
    slab_writer_destroy(w);
    return rc;
}

/* COLLECTIVE: a rank keeps copies for several where their node has more ranks than its
 * own: one in each round. */
static int copies_round(struct image_save *s, int to, int from, struct error *err)
{
    struct stream *st = calloc(2, sizeof *st);
    int rc = 0;

    if (!st || stream_open(&st[0], s, to < 0 ? -1 : s->comm->rank) < 0 ||
        stream_open(&st[1], s, from) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = streams_move(s, &st[0], to, &st[1], err);
    if (st) {
        free(st[0].data);
        free(st[1].data);
    }
    free(st);
    return rc;
}

/* In which round does each rank send? The number of rounds; -1 without memory. */
static int rounds_plan(const struct node_map *nodes, int *round)
{
    int *taken = calloc((size_t)nodes->size, sizeof *taken);
    int n = 0;

    for (int r = 0; taken && r < nodes->size; r++) {
        round[r] = taken[node_map_keeper(nodes, r)]++;
        if (round[r] >= n)
            n = round[r] + 1;
    }
    free(taken);
    return taken ? n : -1;
}

static int copies_exchange(struct image_save *s, struct error *err)
{
    const struct node_map *nodes = s->tier->nodes;
    int *round, n = 0, rank = s->comm->rank, rc = 0;

    if (!s->tier->copies || nodes->n_nodes == 1)
        return 0;
    round = calloc((size_t)nodes->size, sizeof *round);
    if (!round || (n = rounds_plan(nodes, round)) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (rc == 0)
        rc = image_point(s, "image.copies", err);
    rc = comm_agree(s->comm, rc, err);
    for (int k = 0; rc == 0 && k < n; k++) {
        int from = -1;

        for (int r = 0; r < nodes->size; r++)
            if (round[r] == k && node_map_keeper(nodes, r) == rank)
                from = r;
        rc = copies_round(s, round[rank] == k ? node_map_keeper(nodes, rank) : -1, from,
                          err);
        rc = comm_agree(s->comm, rc, err);
    }
    free(round);
    return rc;
}

/* ---- Step 4: the metadata ---------------------------------------------------------
 */

/* Rank 0: with the hashes all of the file but the tensors is known. */
static int metadata_make(struct image_save *s, const struct extent *gaps, size_t n,
                         char *metadata, struct error *err)
{
    char *to = metadata;

    if (h5_image_write(s->save->image, s->head.hashes_at, s->hashes,
                       s->plan.n_hashes * sizeof *s->hashes) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        h5_image_read(s->save->image, gaps[i].start, to, gaps[i].end - gaps[i].start);
        to += gaps[i].end - gaps[i].start;
    }
    s->head.metadata_hash = XXH3_64bits(metadata, (size_t)(to - metadata));
    memcpy(s->head.mark, HEAD_COMPLETE, sizeof s->head.mark);
    s->head.head_hash = XXH3_64bits(&s->head, offsetof(struct file_head, head_hash));
    return 0;
}

/* COLLECTIVE: `bytes` of metadata from rank 0 into every image. */
static int metadata_share(struct image_save *s, const struct extent *gaps, size_t n,
                          size_t bytes, struct error *err)
{
    struct comm *comm = s->comm;
    char *metadata = malloc(bytes + 1);
    int rc = metadata ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    if (rc == 0 && comm->rank == 0)
        rc = metadata_make(s, gaps, n, metadata, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &s->head, sizeof s->head, 0, err);
    if (rc == 0 && bytes > 0)
        rc = comm->ops->bcast(comm, metadata, bytes, 0, err);
    if (rc == 0)
        rc = image_point(s, "image.metadata", err);
    if (rc == 0 && tier_leader(s->tier) &&
        metadata_place(s->fd, gaps, n, metadata, &s->head) < 0)
        rc = image_write_error(s, err);
    free(metadata);
    return comm_agree(comm, rc, err);
}

/* COLLECTIVE: everybody's hashes; where one rank has the hash, all others have 0. */
static int metadata_finish(struct image_save *s, struct error *err)
{
    struct extent *gaps = NULL;
    size_t n = 0, bytes = 0;
    int rc = s->comm->ops->allreduce(s->comm, s->hashes, s->plan.n_hashes, COMM_INT64,
                                     COMM_SUM, err);

    if (rc == 0)
        rc = metadata_extents(s->save->ck, s->head.file_bytes, &gaps, &n, &bytes, err);
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = metadata_share(s, gaps, n, bytes, err);
    free(gaps);
    return rc;
}

/* ---- Step 5: complete -------------------------------------------------------------
 */

static int list_make(const struct image_save *s, struct error *err)
{
    const struct image_tier *tier = s->tier;
    struct held held = {.n_chunks = s->plan.n_hashes};
    struct chunk_walk walk;
    struct chunk c;
    int rc;

    held.bits = calloc(1, held_bytes(held.n_chunks) + 1);
    if (!held.bits)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    chunk_walk_plan(&walk, s->save->ck, &s->plan, s->comm->size);
    while (chunk_walk_next(&walk, &c))
        if (node_map_has(tier->nodes, tier_place(s->tier)->node, c.owner, tier->copies))
            held_set(held.bits, c.index);
    rc = held_write(&tier->dir, s->iteration, &s->head, &held, err);
    free(held.bits);
    return rc;
}

static int image_sync(const struct image_save *s, struct error *err)
{
    if (!s->tier->dir.durable || fsync(s->fd) == 0)
        return 0;
    return image_write_error(s, err);
}

static int save_steps(struct image_save *s, struct error *err)
{
    int rc = 0;

    if (layout_take(s, err) < 0 || image_start(s, err) < 0)
        return -1;
    if (own_write(s) < 0)
        rc = image_write_error(s, err);
    if (comm_agree(s->comm, rc, err) < 0 || copies_exchange(s, err) < 0 ||
        metadata_finish(s, err) < 0)
        return -1;
    rc = image_sync(s, err);
    if (rc == 0)
        rc = image_point(s, "image.synced", err);
    if (comm_agree(s->comm, rc, err) < 0)
        return -1;
    if (tier_leader(s->tier))
        rc = list_make(s, err);
    rc = comm_agree(s->comm, rc, err);
    fault_point("image.complete", s->comm->rank); /* for death alone: it is decided */
    return rc;
}

int image_save(struct checkpoint_save *save, struct comm *comm,
               const struct image_tier *tier, int64_t iteration, struct error *err)
{
    struct image_save s = {
        .save = save, .comm = comm, .tier = tier, .iteration = iteration, .fd = -1};
    int rc = save_steps(&s, err);

    if (rc < 0 && s.started && tier_leader(tier))
        image_remove(&tier->dir, iteration);
    image_save_clear(&s);
    return rc;
}
