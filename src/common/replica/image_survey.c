/*
 * image_survey.c - check the nodes' directories; survey which chunks each node has;
 * list the iterations.
 *
 * Each node's image is opened like any checkpoint file: head, tables and metadata are
 * verified. The images of one checkpoint have the same head; if nodes differ (they
 * should not), that of the lowest rank counts. So all ranks know the chunks. The list
 * of a node says which of them it has; to verify a chunk, it is read.
 */
#include "config.h"

#include "replica/image_survey.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "run/run_dir.h"
#include "util/fs.h"

#define TURN 16 /* consecutive chunks that one rank reads */

/* ---- Check that each node has a directory of its own ---- */

/* If two nodes shared one, each would overwrite the image of the other. */

/* Rank 0 chooses a name that no file has; malloc'ed, without the directory. */
static int mark_name(const struct image_dir *dir, char **name, struct error *err)
{
    char *path, *temp = NULL;

    *name = NULL;
    if (asprintf(&path, "%s/node", dir->path) >= 0) {
        temp = fs_temp_name(path);
        free(path);
    }
    if (temp)
        *name = strdup(strrchr(temp, '/') + 1);
    free(temp);
    return *name ? 0 : error_no_memory(err);
}

/* COLLECTIVE: all ranks get that name. */
static int mark_bcast(struct comm *comm, const struct image_tier *tier, char **name,
                      struct error *err)
{
    int rc = comm->rank == 0 ? mark_name(&tier->dir, name, err) : 0;
    uint64_t n;

    if (comm_agree(comm, rc, err) < 0)
        return -1;
    n = comm->rank == 0 ? strlen(*name) + 1 : 0;
    if (comm->ops->bcast(comm, &n, sizeof n, 0, err) < 0)
        return -1;
    return comm_bcast_alloc(comm, (void **)name, (size_t)n, 0, err);
}

/* The path of a node's mark in the directory of this node. */
static char *mark_of(const struct image_tier *tier, const char *name, int node)
{
    char *path;

    return asprintf(&path, "%s/%s-%d", tier->dir.path, name, node) < 0 ? NULL : path;
}

static int mark_make(const char *path, struct error *err)
{
    int fd = open(path, FS_CREATE | O_EXCL, 0600);

    if (fd < 0)
        return fs_error(err, "create", path);
    close(fd); /* nothing was written */
    return 0;
}

/* Only this node's own mark may be there. */
static int marks_look(const struct image_tier *tier, const char *name,
                      struct error *err)
{
    char host[256] = "this node";
    bool met = false;

    for (int k = 0; !met && k < tier->nodes->n_nodes; k++) {
        char *path = k == tier_place(tier)->node ? NULL : mark_of(tier, name, k);

        met = path && access(path, F_OK) == 0;
        free(path);
    }
    if (!met)
        return 0;
    gethostname(host, sizeof host - 1);
    return error_set(
        err, RAYTRAIN_EINVAL, "nodes share the directory %s (seen from node %s): %s",
        tier->dir.path, host,
        tier->dir.durable ? "sync_config.staging_path must be storage of each node's "
                            "own; leave it out, or choose a local disk"
                          : "copies in memory need nodes that have their own; set "
                            "checkpoint_config.replicas to 0");
}

int image_dirs_check(struct comm *comm, const struct image_tier *tier,
                     struct error *err)
{
    char *name = NULL, *mine = NULL;
    int rc;

    if (tier->nodes->n_nodes == 1)
        return 0;
    rc = mark_bcast(comm, tier, &name, err);
    if (rc == 0 && tier_leader(tier)) {
        mine = mark_of(tier, name, tier_place(tier)->node);
        rc = mine ? mark_make(mine, err) : error_no_memory(err);
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && mine)
        rc = marks_look(tier, name, err);
    rc = comm_agree(comm, rc, err);
    if (mine)
        unlink(mine);
    free(mine);
    free(name);
    return rc;
}

/* ---- Metadata ---- */

bool metadata_next(struct metadata_walk *walk)
{
    struct extent *block = &walk->block;

    while (walk->n > 0 && block->end >= walk->extents->end) {
        walk->extents++;
        walk->n--;
    }
    if (walk->n == 0)
        return false;
    block->start =
        block->end > walk->extents->start ? block->end : walk->extents->start;
    block->end = walk->extents->end;
    if (block->end - block->start > METADATA_BLOCK)
        block->end = block->start + METADATA_BLOCK;
    return true;
}

/* ---- An image on every node ---- */

/* Open this node's image, and read its list. */
static int image_look(const struct image_tier *tier, int64_t iteration,
                      raytrain_checkpoint **index, struct held *held, struct error *err)
{
    char *path = image_path(&tier->dir, iteration);
    int rc = path ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = checkpoint_open_layout(path, index, err);
    if (rc == 0 && held)
        rc = held_read(&tier->dir, iteration, &(*index)->head, held, err);
    free(path);
    return rc;
}

/* COLLECTIVE: *root is the rank whose image counts, the lowest that has one; -1: none has.
 * *mine: this rank has that image; *others: some rank lacks it. Of the other ranks each
 * learns the root and its hash, however many there are. */
static int candidates_compare(struct comm *comm, const raytrain_checkpoint *index,
                              bool *mine, int *root, bool *others, struct error *err)
{
    int64_t lowest = index ? comm->rank : comm->size, lacking;
    uint64_t hash = index ? index->head.head_hash : 0;

    if (comm->ops->allreduce(comm, &lowest, 1, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    *root = lowest < comm->size ? (int)lowest : -1;
    *mine = *others = false;
    if (*root < 0)
        return 0;
    if (comm->ops->bcast(comm, &hash, sizeof hash, *root, err) < 0)
        return -1;
    *mine = index && index->head.head_hash == hash;
    lacking = !*mine;
    if (comm->ops->allreduce(comm, &lacking, 1, COMM_INT64, COMM_MAX, err) < 0)
        return -1;
    *others = lacking > 0;
    return 0;
}

/* What a node needs to make an image without chunks: the metadata come in blocks. */
struct skeleton {
    struct file_head head;
    uint64_t n_extents;
    struct extent *extents;
};

/* COLLECTIVE: all ranks get that of the root. */
static int skeleton_bcast(struct comm *comm, const raytrain_checkpoint *index, int root,
                          struct skeleton *sk, struct error *err)
{
    size_t n = 0;
    int rc = 0;

    if (comm->rank == root) {
        sk->head = index->head;
        rc = metadata_extents(index, sk->head.file_bytes, &sk->extents, &n, err);
        sk->n_extents = n;
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &sk->head, sizeof sk->head, root, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &sk->n_extents, sizeof sk->n_extents, root, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&sk->extents,
                              sk->n_extents * sizeof *sk->extents, root, err);
    return rc;
}

/* COLLECTIVE: the metadata of the root's image into the file `fd`, or nowhere if it is -1.
 * If a rank fails, all stay in step; the codes are combined by the caller. */
static int skeleton_fill(struct comm *comm, const struct skeleton *sk,
                         const raytrain_checkpoint *index, int root, char *data, int fd,
                         const char *dir, struct error *err)
{
    struct metadata_walk walk = {.extents = sk->extents, .n = sk->n_extents};
    struct error lost;
    int rc = 0;

    while (metadata_next(&walk)) {
        size_t n = walk.block.end - walk.block.start;

        if (rc == 0 && comm->rank == root &&
            fs_pread_full(index->fd, data, n, walk.block.start) < 0)
            rc = checkpoint_read_error(index, err);
        if (comm->ops->bcast(comm, data, n, root, &lost) < 0)
            return error_set(err, lost.code, "%s", lost.text);
        if (rc == 0 && fd >= 0 && fs_pwrite_full(fd, data, n, walk.block.start) < 0)
            rc = fs_error(err, "write", dir);
    }
    if (rc == 0 && fd >= 0 && fs_pwrite_full(fd, &sk->head, sizeof sk->head, 0) < 0)
        rc = fs_error(err, "write", dir);
    return rc;
}

/* COLLECTIVE: nodes that lack the image get that of the root, without its chunks. */
static int skeleton_spread(struct comm *comm, const struct image_tier *tier,
                           int64_t iteration, const raytrain_checkpoint *index,
                           int root, bool lacking, struct error *err)
{
    struct skeleton sk = {.extents = NULL};
    char *data = calloc(1, METADATA_BLOCK);
    int fd = -1, rc = data ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = skeleton_bcast(comm, index, root, &sk, err);
    if (rc == 0 && lacking && tier_leader(tier)) {
        fd = image_create(&tier->dir, iteration, sk.head.file_bytes, err);
        rc = fd < 0 ? -1 : 0;
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = skeleton_fill(comm, &sk, index, root, data, fd, tier->dir.path, err);
    if (fd >= 0)
        close(fd);
    free(sk.extents);
    free(data);
    return comm_agree(comm, rc, err);
}

/* COLLECTIVE: every rank opens an image; held->bits NULL: one without chunks. */
static int images_agree(struct comm *comm, const struct image_tier *tier,
                        int64_t iteration, raytrain_checkpoint **index,
                        struct held *held, struct error *err)
{
    bool mine, others;
    int root, rc = candidates_compare(comm, *index, &mine, &root, &others, err);

    if (rc < 0)
        return -1;
    if (root < 0)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "no node has a complete image of iteration %" PRId64,
                         iteration);
    if (!others)
        return 0;
    if (skeleton_spread(comm, tier, iteration, *index, root, !mine, err) < 0)
        return -1;
    if (!mine) {
        checkpoint_destroy(*index);
        *index = NULL;
        free(held->bits);
        held->bits = NULL;
        rc = image_look(tier, iteration, index, NULL, err);
    }
    return comm_agree(comm, rc, err);
}

/* ---- Which node has which chunks ---- */

bool survey_is_here(const struct survey *survey, uint64_t chunk)
{
    return held_get(survey->here, chunk);
}

bool survey_is_everywhere(const struct survey *survey, uint64_t chunk)
{
    return held_get(survey->everywhere, chunk);
}

int survey_source(const struct survey *survey, uint64_t chunk)
{
    return survey->sources[chunk];
}

int survey_read(const struct survey *survey, const struct chunk *chunk, void *data,
                struct error *err)
{
    const raytrain_checkpoint *index = survey->index;

    if (chunk_read(index->fd, chunk, data) < 0)
        return checkpoint_read_error(index, err);
    if (XXH3_64bits(data, chunk->to - chunk->from) == chunk->hash)
        return 0;
    return error_set(err, RAYTRAIN_ECORRUPT, "%s: dataset '%s' is damaged (checksum)",
                     index->path, chunk->tensor->name);
}

/* The chunks that this rank answers for: on its node, when it is its turn. */
static int row_fill(const struct survey *survey, const struct image_tier *tier,
                    const struct held *held, bool verify, unsigned char *row,
                    struct error *err)
{
    int ranks = tier->nodes->ranks[tier_place(tier)->node];
    char *data = malloc(survey->head.chunk_bytes);
    struct chunk_walk walk;
    struct chunk c;

    if (!data)
        return error_no_memory(err);
    chunk_walk_restored(&walk, survey->index);
    while (held->bits && chunk_walk_next(&walk, &c)) {
        int turn = (int)(c.index / TURN % (unsigned)ranks);

        if (turn == tier_place(tier)->local && held_get(held->bits, c.index) &&
            (!verify || survey_read(survey, &c, data, NULL) == 0))
            held_set(row, c.index);
    }
    free(data);
    return held->bits ? chunk_walk_end(&walk, err) : 0;
}

/* The leader of a node merges the rows of its ranks. */
static int row_merge(struct comm *comm, const struct node_map *nodes,
                     struct survey *survey, const unsigned char *mine,
                     struct error *err)
{
    const struct node_place *place = &nodes->of[nodes->rank];
    int leader = node_map_rank(nodes, place->node, 0), rc = 0;
    unsigned char *row = survey->received;

    memcpy(survey->here, mine, survey->row);
    if (place->local > 0)
        return comm->ops->sendrecv(comm, mine, survey->row, leader, NULL, 0, -1, err);
    for (int k = 1; rc == 0 && k < nodes->ranks[place->node]; k++) {
        rc = comm->ops->sendrecv(comm, NULL, 0, -1, row, survey->row,
                                 node_map_rank(nodes, place->node, k), err);
        for (size_t i = 0; rc == 0 && i < survey->row; i++)
            survey->here[i] |= row[i];
    }
    return rc;
}

/* Numbers below 2^53 are exact as doubles. */
#define NODE_BITS 31
#define LOT_BITS  22

/* Of the nodes that have a chunk, the one with the lowest ticket reads it: one number
 * per chunk, for any number of nodes. New tickets are drawn every TURN chunks. */
static double ticket(int node, uint64_t chunk)
{
    uint64_t key[] = {(uint64_t)node, chunk / TURN};
    uint64_t lot = XXH3_64bits(key, sizeof key) >> (64 - LOT_BITS);

    return (double)(lot << NODE_BITS | (uint64_t)node);
}

static int source_of(const struct node_map *nodes, double lowest, uint64_t chunk)
{
    int node = (int)((uint64_t)lowest & ((UINT64_C(1) << NODE_BITS) - 1));

    return node_map_rank(nodes, node,
                         (int)(chunk / TURN % (unsigned)nodes->ranks[node]));
}

#define BLOCK 4096 /* chunks about which the ranks agree at once */

/* COLLECTIVE: a node's chunk is in the row of one of its ranks, so that the sum is the
 * number of nodes. */
static int block_agree(struct comm *comm, const struct node_map *nodes,
                       struct survey *survey, const unsigned char *mine, uint64_t from,
                       struct comm_stat *stats, struct error *err)
{
    uint64_t left = survey->n_chunks - from;
    size_t n = left < BLOCK ? (size_t)left : BLOCK;
    int node = nodes->of[nodes->rank].node;

    for (size_t i = 0; i < n; i++) {
        bool has = held_get(mine, from + i);

        stats[i] = (struct comm_stat){has, has ? ticket(node, from + i) : INFINITY, 0};
    }
    if (comm->ops->allreduce(comm, stats, n, COMM_STAT, COMM_SUM, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        bool held = stats[i].sum > 0;

        survey->sources[from + i] =
            held ? source_of(nodes, stats[i].min, from + i) : -1;
        survey->missing += !held;
        if (stats[i].sum == nodes->n_nodes)
            held_set(survey->everywhere, from + i);
    }
    return 0;
}

static int rows_agree(struct comm *comm, const struct node_map *nodes,
                      struct survey *survey, const unsigned char *mine,
                      struct error *err)
{
    struct comm_stat *stats = malloc(BLOCK * sizeof *stats);
    int rc = stats ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    for (uint64_t c = 0; rc == 0 && c < survey->n_chunks; c += BLOCK)
        rc = block_agree(comm, nodes, survey, mine, c, stats, err);
    free(stats);
    return rc;
}

/* COLLECTIVE */
static int rows_gather(struct comm *comm, const struct image_tier *tier,
                       struct survey *survey, const struct held *held, bool verify,
                       struct error *err)
{
    unsigned char *mine = calloc(1, survey->row + 1);
    int rc = 0;

    survey->here = calloc(1, survey->row + 1);
    survey->received = malloc(survey->row + 1);
    survey->everywhere = calloc(1, survey->row + 1);
    survey->sources = calloc(survey->n_chunks + 1, sizeof *survey->sources);
    if (!mine || !survey->here || !survey->received || !survey->everywhere ||
        !survey->sources)
        rc = error_no_memory(err);
    if (rc == 0)
        rc = row_fill(survey, tier, held, verify, mine, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && survey->row > 0)
        rc = row_merge(comm, tier->nodes, survey, mine, err);
    if (rc == 0)
        rc = rows_agree(comm, tier->nodes, survey, mine, err);
    free(mine);
    return rc;
}

int survey_make(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                bool verify, struct survey *survey, struct error *err)
{
    struct held held = {0};
    int rc;

    *survey = (struct survey){0};
    rc = image_look(tier, iteration, &survey->index, &held, err);
    if (rc < 0) {
        checkpoint_destroy(survey->index);
        survey->index = NULL;
        /* Not having an image is not an error; being unable to look for one is. */
        if (err->code == RAYTRAIN_ENOTFOUND || err->code == RAYTRAIN_ECORRUPT)
            rc = 0;
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = images_agree(comm, tier, iteration, &survey->index, &held, err);
    if (rc == 0) {
        survey->head = survey->index->head;
        survey->n_chunks = survey->head.n_hashes;
        survey->row = held_bytes(survey->n_chunks);
        rc = rows_gather(comm, tier, survey, &held, verify, err);
    }
    free(held.bits);
    if (rc < 0)
        survey_clear(survey);
    return rc;
}

int survey_complete(const struct survey *survey, struct error *err)
{
    if (survey->missing == 0)
        return 0;
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%" PRIu64 " of its %" PRIu64 " chunks are missing or damaged on "
                     "these nodes",
                     survey->missing, survey->n_chunks);
}

void survey_clear(struct survey *survey)
{
    checkpoint_destroy(survey->index);
    free(survey->here);
    free(survey->received);
    free(survey->everywhere);
    free(survey->sources);
    *survey = (struct survey){0};
}

/* ---- Iterations ---- */

#define LISTED 64 /* of a node, which has far fewer */

/* The newest iteration before `before` that this node lists; -1: none. */
static int64_t newest_before(const int64_t *listed, int64_t before)
{
    int64_t newest = -1;

    for (size_t i = 0; i < LISTED; i++)
        if (listed[i] < before && listed[i] > newest)
            newest = listed[i];
    return newest;
}

int image_inventory(struct comm *comm, const struct image_tier *tier,
                    int64_t **iterations, size_t *n, struct error *err)
{
    int64_t mine[LISTED], next = INT64_MAX;
    int64_t *all = calloc(LISTED, sizeof *all);
    int rc = all ? 0 : error_no_memory(err);

    *n = 0;
    memset(mine, -1, sizeof mine);
    if (tier_leader(tier))
        image_list(&tier->dir, mine, LISTED);
    rc = comm_agree(comm, rc, err);
    while (rc == 0 && *n < LISTED) {
        next = newest_before(mine, next);
        rc = comm->ops->allreduce(comm, &next, 1, COMM_INT64, COMM_MAX, err);
        if (rc == 0 && next < 0)
            break;
        all[(*n)++] = next;
    }
    if (rc < 0) {
        free(all);
        *n = 0;
        return -1;
    }
    *iterations = all;
    return 0;
}
