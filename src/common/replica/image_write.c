/*
 * image_write.c - write a checkpoint into the images of the nodes.
 *
 *   1. rank 0 sends each rank the part of the plan that it needs
 *   2. every rank hashes its chunks, and writes them into its node's image
 *   3. every rank sends its chunks to its keeper on the next node, which writes them, too
 *   4. with the hashes of all ranks, rank 0 completes the metadata and the head; they
 *      go to one rank of each node, which writes them into its image
 *   5. once all nodes have done so, each writes its list of chunks: the image is complete
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "checkpoint/chunks.h"
#include "checkpoint/index.h"
#include "checkpoint/plan.h"
#include "checkpoint/plan_share.h"
#include "checkpoint/save.h"
#include "checkpoint/save_layout.h"
#include "checkpoint/slab_io.h"
#include "hdf5/h5_image.h"
#include "replica/image_tier.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

struct image_write {
    struct checkpoint_save *save; /* its plan and image are on rank 0 */
    struct comm *comm;
    const struct image_tier *tier;
    int64_t iteration;
    struct plan plan; /* what this rank needs of it */
    struct file_head head;
    uint64_t *hashes; /* of the chunks that this rank has written, in that order */
    size_t n_hashes;
    int fd;
    bool started; /* there is something to remove */
};

static int image_point(const struct image_write *s, const char *name, struct error *err)
{
    if (fault_point(name, s->comm->rank) < 0)
        return fs_error(err, "write", s->tier->dir.path);
    return 0;
}

/* ---- Step 1: the plan ---- */

static void image_write_clear(struct image_write *s)
{
    if (s->fd >= 0)
        close(s->fd);
    plan_clear(&s->plan);
    free(s->hashes);
}

/* Rank 0: a part's bytes go to its owner's keeper, and the first rank of each node that
 * has them lists them. */
static int needs_find(const struct image_write *s, struct part_needs *needs)
{
    const struct node_map *nodes = s->tier->nodes;
    const struct plan *plan = &s->save->layout->plan;
    int rc = 0;

    for (uint64_t p = 0; rc == 0 && p < plan->n_parts; p++) {
        int owner = plan->ranks[p], keeper = -1;

        if (owner < 0)
            continue;
        rc = part_needs_add(needs, p, node_map_rank(nodes, nodes->of[owner].node, 0));
        if (s->tier->copies)
            keeper = node_map_keeper(nodes, owner);
        if (rc == 0 && keeper >= 0)
            rc = part_needs_add(needs, p, keeper);
        if (rc == 0 && keeper >= 0)
            rc = part_needs_add(needs, p,
                                node_map_rank(nodes, nodes->of[keeper].node, 0));
    }
    return rc;
}

/* COLLECTIVE: all ranks get the head, and of the plan what they need. */
static int layout_take(struct image_write *s, struct error *err)
{
    struct comm *comm = s->comm;
    struct part_needs needs = {0};
    int rc = 0;

    s->head = s->save->head;
    if (comm->rank == 0 && needs_find(s, &needs) < 0)
        rc = error_no_memory(err);
    s->hashes = calloc(s->save->shares.n_chunks + 1, sizeof *s->hashes);
    if (!s->hashes)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &s->head, sizeof s->head, 0, err);
    if (rc == 0)
        rc = plan_share(&s->save->layout->plan, &needs, comm, &s->plan, err);
    part_needs_clear(&needs);
    return rc;
}

/* This rank's data of a chunk. Call it in the order of the chunks: *share advances with
 * them. */
static const unsigned char *chunk_data(const struct image_write *s,
                                       const struct chunk *c, size_t *share)
{
    const struct shares *all = &s->save->shares;

    while (all->list[*share].tensor != c->tensor)
        ++*share;
    return all->list[*share].data + (c->from - all->list[*share].from);
}

/* ---- Room ---- */

/* Bytes of this node's image, on its first rank. */
static uint64_t image_need(const struct image_write *s)
{
    const struct node_map *nodes = s->tier->nodes;
    const raytrain_checkpoint *ck = s->save->ck;
    uint64_t tensors = 0, need = 0;
    struct chunk_walk walk;
    struct chunk c;

    for (size_t i = 0; i < ck->n_tensors; i++)
        tensors += ck->tensors[i].bytes;
    chunk_walk_plan(&walk, ck, &s->plan, s->comm->size);
    while (chunk_walk_next(&walk, &c))
        if (node_map_has(nodes, tier_place(s->tier)->node, c.owner, s->tier->copies))
            need += c.to - c.from;
    return need + (s->head.file_bytes - tensors); /* every image has the metadata */
}

uint64_t tier_room(const struct image_tier *tier)
{
    struct statvfs fs;
    uint64_t room = UINT64_MAX, memory = tier->available ? tier->available() : room;

    if (statvfs(tier->dir.path, &fs) == 0)
        room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return room < memory ? room : memory;
}

static int image_room_check(const struct image_write *s, struct error *err)
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

/* ---- Step 2: this rank's chunks ---- */

static int image_write_error(const struct image_write *s, struct error *err)
{
    return fs_error(err, "write", s->tier->dir.path);
}

/* COLLECTIVE: create the image of each node, and open it on every rank. */
static int image_start(struct image_write *s, struct error *err)
{
    const struct image_dir *dir = &s->tier->dir;
    int rc = tier_leader(s->tier) ? image_room_check(s, err) : 0;

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

static int own_write(struct image_write *s)
{
    struct slab_writer *w = slab_writer_create(s->fd);
    int rc = w ? fault_point("image.data", s->comm->rank) : -1;
    struct chunk_walk walk;
    struct chunk c;
    size_t share = 0;

    chunk_walk_plan(&walk, s->save->ck, &s->plan, s->comm->size);
    while (rc == 0 && chunk_walk_next(&walk, &c)) {
        const unsigned char *data;

        if (c.owner != s->comm->rank)
            continue;
        data = chunk_data(s, &c, &share);
        s->hashes[s->n_hashes++] = XXH3_64bits(data, c.to - c.from);
        rc = chunk_place(w, &c, data);
    }
    if (rc == 0)
        rc = slab_writer_flush(w);
    int saved = errno;
    slab_writer_destroy(w);
    errno = saved;
    return rc;
}

/* ---- Step 3: copies on the next node ---- */

static int key_owned_by(void *arg, const struct chunk *chunk)
{
    return chunk->owner == *(int *)arg ? 0 : -1;
}

/* One rank's chunks in batches, as they are sent. */
struct batches {
    int owner; /* -1: none */
    struct batch_walk walk;
    struct batch batch;
    size_t share; /* of this rank */
    char *data;
};

static int batches_open(struct batches *st, const struct image_write *s, int owner)
{
    st->owner = owner;
    st->walk = (struct batch_walk){.key = key_owned_by, .arg = &st->owner};
    chunk_walk_plan(&st->walk.chunks, s->save->ck, &s->plan, s->comm->size);
    st->data = owner < 0 ? NULL : malloc(batch_room(&st->walk));
    return owner < 0 || st->data ? 0 : -1;
}

static bool batches_next(struct batches *st)
{
    st->batch.bytes = 0;
    return st->owner >= 0 && batch_next(&st->walk, &st->batch);
}

static void batch_pack(const struct image_write *s, struct batches *st)
{
    char *to = st->data;

    for (size_t i = 0; i < st->batch.n; i++) {
        const struct chunk *c = &st->batch.chunks[i];

        memcpy(to, chunk_data(s, c, &st->share), c->to - c->from);
        to += c->to - c->from;
    }
}

/* Both directions of one round. After a failed write the exchange continues, since the
 * sender is waiting. */
static int batches_exchange(struct image_write *s, struct batches *mine, int to,
                            struct batches *theirs, struct error *err)
{
    struct slab_writer *w = slab_writer_create(s->fd);
    int rc = w ? 0 : error_no_memory(err);
    bool sends = batches_next(mine), receives = batches_next(theirs);
    struct error lost;

    while (sends || receives) {
        if (sends)
            batch_pack(s, mine);
        if (s->comm->ops->sendrecv(s->comm, mine->data, mine->batch.bytes,
                                   sends ? to : -1, theirs->data, theirs->batch.bytes,
                                   receives ? theirs->owner : -1, &lost) < 0) {
            rc = error_set(err, lost.code, "%s", lost.text);
            break;
        }
        if (rc == 0 && receives && batch_place(w, &theirs->batch, theirs->data) < 0)
            rc = image_write_error(s, err);
        sends = sends && batches_next(mine);
        receives = receives && batches_next(theirs);
    }
    slab_writer_destroy(w);
    return rc;
}

/* COLLECTIVE: a rank keeps copies for several others if their node has more ranks than
 * its own: for one in each round. */
static int copies_round(struct image_write *s, int to, int from, struct error *err)
{
    struct batches *st = calloc(2, sizeof *st);
    int rc = 0;

    if (!st || batches_open(&st[0], s, to < 0 ? -1 : s->comm->rank) < 0 ||
        batches_open(&st[1], s, from) < 0)
        rc = error_no_memory(err);
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = batches_exchange(s, &st[0], to, &st[1], err);
    if (st) {
        free(st[0].data);
        free(st[1].data);
    }
    free(st);
    return rc;
}

/* round[r]: the round in which rank r sends. Returns the number of rounds; -1 without
 * memory. */
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

static int copies_exchange(struct image_write *s, struct error *err)
{
    const struct node_map *nodes = s->tier->nodes;
    int *round, n = 0, rank = s->comm->rank, rc = 0;

    if (!s->tier->copies || nodes->n_nodes == 1)
        return 0;
    round = calloc((size_t)nodes->size, sizeof *round);
    if (!round || (n = rounds_plan(nodes, round)) < 0)
        rc = error_no_memory(err);
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

/* ---- Step 4: the metadata ---- */

/* Rank 0: the hashes complete the metadata, and the head with their checksum. `block` is
 * room for a block. */
static int metadata_make(struct image_write *s, const uint64_t *hashes,
                         struct metadata_walk walk, void *block, struct error *err)
{
    struct h5_image *image = s->save->layout->image;
    XXH3_state_t *hash = XXH3_createState();

    if (!hash || h5_image_write(image, s->head.hashes_at, hashes,
                                s->plan.n_hashes * sizeof *hashes) < 0) {
        XXH3_freeState(hash);
        return error_no_memory(err);
    }
    XXH3_64bits_reset(hash);
    while (metadata_next(&walk)) {
        size_t n = walk.block.end - walk.block.start;

        h5_image_read(image, walk.block.start, block, n);
        XXH3_64bits_update(hash, block, n);
    }
    s->head.metadata_hash = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    memcpy(s->head.mark, HEAD_COMPLETE, sizeof s->head.mark);
    s->head.head_hash = XXH3_64bits(&s->head, offsetof(struct file_head, head_hash));
    return 0;
}

/* COLLECTIVE: n bytes of rank 0 to the first rank of each node, along a tree of nodes
 * in which that of rank 0 is the root. */
static int leaders_bcast(const struct image_write *s, void *data, size_t n,
                         struct error *err)
{
    const struct node_map *nodes = s->tier->nodes;
    int n_nodes = nodes->n_nodes, root = nodes->of[0].node;
    int at = (tier_place(s->tier)->node - root + n_nodes) % n_nodes, span = 1, rc = 0;

    if (!tier_leader(s->tier))
        return 0;
    while (at == 0 ? span < n_nodes : (at & span) == 0)
        span *= 2;
    if (at > 0)
        rc = s->comm->ops->sendrecv(
            s->comm, NULL, 0, -1, data, n,
            node_map_rank(nodes, (at - span + root) % n_nodes, 0), err);
    for (span /= 2; rc == 0 && span > 0; span /= 2)
        if (at + span < n_nodes)
            rc = s->comm->ops->sendrecv(
                s->comm, data, n, node_map_rank(nodes, (at + span + root) % n_nodes, 0),
                NULL, 0, -1, err);
    return rc;
}

/* COLLECTIVE among the leaders of nodes: the metadata of rank 0 into every image, a block
 * after the other, and then the head. After a failed write the exchange continues. */
static int metadata_spread(const struct image_write *s, struct metadata_walk walk,
                           void *block, struct error *err)
{
    struct error lost;
    int rc = 0;

    while (metadata_next(&walk)) {
        size_t n = walk.block.end - walk.block.start;

        if (s->comm->rank == 0)
            h5_image_read(s->save->layout->image, walk.block.start, block, n);
        if (leaders_bcast(s, block, n, &lost) < 0)
            return error_set(err, lost.code, "%s", lost.text);
        if (rc == 0 && fs_pwrite_full(s->fd, block, n, walk.block.start) < 0)
            rc = image_write_error(s, err);
    }
    if (rc == 0 && fs_pwrite_full(s->fd, &s->head, sizeof s->head, 0) < 0)
        rc = image_write_error(s, err);
    return rc;
}

/* COLLECTIVE */
static int metadata_steps(struct image_write *s, const uint64_t *hashes,
                          const struct metadata_walk *walk, struct error *err)
{
    bool leads = tier_leader(s->tier);
    void *block = leads ? malloc(METADATA_BLOCK) : NULL;
    int rc = 0;

    if (leads && !block)
        rc = error_no_memory(err);
    if (rc == 0 && s->comm->rank == 0)
        rc = metadata_make(s, hashes, *walk, block, err);
    if (rc == 0)
        rc = image_point(s, "image.metadata", err);
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = s->comm->ops->bcast(s->comm, &s->head, sizeof s->head, 0, err);
    if (rc == 0 && leads)
        rc = metadata_spread(s, *walk, block, err);
    free(block);
    return comm_agree(s->comm, rc, err);
}

/* COLLECTIVE */
static int metadata_finish(struct image_write *s, struct error *err)
{
    struct extent *extents = NULL;
    struct metadata_walk walk = {0};
    uint64_t *hashes = NULL;
    int rc = plan_gather_hashes(&s->save->layout->plan, s->save->ck, s->comm, s->hashes,
                                s->n_hashes, &hashes, err);

    if (rc == 0)
        rc = metadata_extents(s->save->ck, s->head.file_bytes, &extents, &walk.n, err);
    walk.extents = extents;
    rc = comm_agree(s->comm, rc, err);
    if (rc == 0)
        rc = metadata_steps(s, hashes, &walk, err);
    free(extents);
    free(hashes);
    return rc;
}

/* ---- Step 5: the list of chunks ---- */

static int list_make(const struct image_write *s, struct error *err)
{
    const struct image_tier *tier = s->tier;
    struct held held = {.n_chunks = s->plan.n_hashes};
    struct chunk_walk walk;
    struct chunk c;
    int rc;

    held.bits = calloc(1, held_bytes(held.n_chunks) + 1);
    if (!held.bits)
        return error_no_memory(err);
    chunk_walk_plan(&walk, s->save->ck, &s->plan, s->comm->size);
    while (chunk_walk_next(&walk, &c))
        if (node_map_has(tier->nodes, tier_place(s->tier)->node, c.owner, tier->copies))
            held_set(held.bits, c.index);
    rc = held_write(&tier->dir, s->iteration, &s->head, &held, err);
    free(held.bits);
    return rc;
}

static int image_sync(const struct image_write *s, struct error *err)
{
    if (!s->tier->dir.durable || fsync(s->fd) == 0)
        return 0;
    return image_write_error(s, err);
}

static int save_steps(struct image_write *s, struct error *err)
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
    fault_point("image.complete",
                s->comm->rank); /* a test may crash it here, after the decision */
    return rc;
}

int image_write(struct checkpoint_save *save, struct comm *comm,
                const struct image_tier *tier, int64_t iteration, struct error *err)
{
    struct image_write s = {
        .save = save, .comm = comm, .tier = tier, .iteration = iteration, .fd = -1};
    int rc = save_steps(&s, err);

    if (rc < 0 && s.started && tier_leader(tier))
        image_remove(&tier->dir, iteration);
    image_write_clear(&s);
    return rc;
}
