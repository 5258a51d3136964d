/*
 * image_survey.c - what the nodes have of a checkpoint.
 *
 * Each node's image is opened like any checkpoint file: head, tables and metadata are
 * verified. The images of one checkpoint have the same head; where nodes differ (they
 * should not), the lowest rank's counts. So all ranks know the chunks; which of them a
 * node has, its list says, and reading them proves.
 */
#include "config.h"

#include "replica/image_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/checkpoint_name.h"
#include "checkpoint/checksum.h"
#include "util/fs.h"

#define TURN 16 /* neighbouring chunks that one rank reads */

/* ---- Bytes ------------------------------------------------------------------------
 */

int metadata_extents(const raytrain_checkpoint *ck, uint64_t file_bytes,
                     struct extent **gaps, size_t *n, size_t *bytes, struct error *err)
{
    *bytes = 0;
    *gaps = NULL;
    *n = 0;
    if (extents_gaps(ck, file_bytes, gaps, n, err) < 0)
        return -1;
    for (size_t i = 0; i < *n; i++)
        *bytes += (*gaps)[i].end - (*gaps)[i].start;
    return 0;
}

int metadata_read(int fd, const struct extent *gaps, size_t n, char *metadata)
{
    for (size_t i = 0; i < n; i++) {
        size_t bytes = gaps[i].end - gaps[i].start;

        if (fs_pread_full(fd, metadata, bytes, gaps[i].start) < 0)
            return -1;
        metadata += bytes;
    }
    return 0;
}

int metadata_place(int fd, const struct extent *gaps, size_t n, const char *metadata,
                   const struct file_head *head)
{
    for (size_t i = 0; i < n; i++) {
        size_t bytes = gaps[i].end - gaps[i].start;

        if (fs_pwrite_full(fd, metadata, bytes, gaps[i].start) < 0)
            return -1;
        metadata += bytes;
    }
    return fs_pwrite_full(fd, head, sizeof *head, 0);
}

/* ---- The same image everywhere ----------------------------------------------------
 */

struct candidate {
    int64_t is_there;
    uint64_t head_hash;
};

/* This node's image and list. */
static int image_look(const struct image_tier *tier, int64_t iteration,
                      raytrain_checkpoint **index, struct held *held, struct error *err)
{
    char *path = image_path(&tier->dir, iteration);
    int rc = path ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    if (rc == 0)
        rc = checkpoint_open_index(path, index, err);
    if (rc == 0 && held)
        rc = held_read(&tier->dir, iteration, &(*index)->head, held, err);
    free(path);
    return rc;
}

/* COLLECTIVE: whose image counts? *others says whether some rank lacks it. */
static int candidates_compare(struct comm *comm, const raytrain_checkpoint *index,
                              struct candidate *mine, int *root, bool *others,
                              struct error *err)
{
    struct candidate *all = calloc((size_t)comm->size, sizeof *all);
    int rc = all ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    *mine = (struct candidate){index != NULL, index ? index->head.head_hash : 0};
    *root = -1;
    *others = false;
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, mine, sizeof *mine, all, err);
    for (int r = 0; rc == 0 && r < comm->size; r++)
        if (all[r].is_there && *root < 0)
            *root = r;
    for (int r = 0; rc == 0 && *root >= 0 && r < comm->size; r++)
        if (!all[r].is_there || all[r].head_hash != all[*root].head_hash)
            *others = true;
    if (rc == 0 && *root >= 0 && mine->is_there)
        mine->is_there = mine->head_hash == all[*root].head_hash;
    free(all);
    return rc;
}

/* What a node without an image needs to make one without chunks. */
struct skeleton {
    struct file_head head;
    uint64_t n_gaps, n_bytes;
    struct extent *gaps;
    char *metadata;
};

static int skeleton_read(struct skeleton *sk, const raytrain_checkpoint *index,
                         struct error *err)
{
    size_t n, bytes;

    if (metadata_extents(index, index->head.file_bytes, &sk->gaps, &n, &bytes, err) < 0)
        return -1;
    sk->metadata = malloc(bytes + 1);
    if (!sk->metadata)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    sk->head = index->head;
    sk->n_gaps = n;
    sk->n_bytes = bytes;
    if (metadata_read(index->fd, sk->gaps, n, sk->metadata) < 0)
        return fs_error(err, "read", index->path);
    return 0;
}

static int skeleton_write(const struct skeleton *sk, const struct image_tier *tier,
                          int64_t iteration, struct error *err)
{
    int fd = image_create(&tier->dir, iteration, sk->head.file_bytes, err), rc;

    if (fd < 0)
        return -1;
    rc = metadata_place(fd, sk->gaps, sk->n_gaps, sk->metadata, &sk->head);
    if (rc < 0)
        fs_error(err, "write", tier->dir.path);
    close(fd);
    return rc;
}

/* COLLECTIVE: the root's image without its chunks to those who lack it. */
static int skeleton_share(struct comm *comm, const struct image_tier *tier,
                          int64_t iteration, const raytrain_checkpoint *index, int root,
                          bool lacking, struct error *err)
{
    struct skeleton sk = {0};
    int rc = comm->rank == root ? skeleton_read(&sk, index, err) : 0;

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &sk.head, sizeof sk.head, root, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &sk.n_gaps, sizeof sk.n_gaps, root, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &sk.n_bytes, sizeof sk.n_bytes, root, err);
    if (rc == 0)
        rc = bytes_share(comm, (void **)&sk.gaps, sk.n_gaps * sizeof *sk.gaps, root,
                         err);
    if (rc == 0)
        rc = bytes_share(comm, (void **)&sk.metadata, sk.n_bytes, root, err);
    if (rc == 0 && lacking && tier_leader(tier))
        rc = skeleton_write(&sk, tier, iteration, err);
    free(sk.gaps);
    free(sk.metadata);
    return comm_agree(comm, rc, err);
}

/* COLLECTIVE: every rank has an image open; held->bits NULL: without chunks. */
static int images_agree(struct comm *comm, const struct image_tier *tier,
                        int64_t iteration, raytrain_checkpoint **index,
                        struct held *held, struct error *err)
{
    struct candidate mine;
    bool others;
    int root, rc = candidates_compare(comm, *index, &mine, &root, &others, err);

    if (rc < 0)
        return -1;
    if (root < 0)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "no node has a complete image of iteration %" PRId64,
                         iteration);
    if (!others)
        return 0;
    if (skeleton_share(comm, tier, iteration, *index, root, !mine.is_there, err) < 0)
        return -1;
    if (!mine.is_there) {
        checkpoint_destroy(*index);
        *index = NULL;
        free(held->bits);
        held->bits = NULL;
        rc = image_look(tier, iteration, index, NULL, err);
    }
    return comm_agree(comm, rc, err);
}

/* ---- Which chunks -----------------------------------------------------------------
 */

bool survey_has(const struct survey *survey, int node, uint64_t chunk)
{
    return held_get(survey->bits + (size_t)node * survey->row, chunk);
}

int survey_source(const struct survey *survey, const struct node_map *nodes,
                  uint64_t chunk)
{
    uint64_t turn = chunk / TURN;
    int n = 0, pick;

    for (int k = 0; k < nodes->n_nodes; k++)
        n += survey_has(survey, k, chunk);
    if (n == 0)
        return -1;
    pick = (int)(turn % (unsigned)n);
    turn /= (unsigned)n;
    for (int k = 0; k < nodes->n_nodes; k++)
        if (survey_has(survey, k, chunk) && pick-- == 0)
            return node_map_rank(nodes, k, (int)(turn % (unsigned)nodes->ranks[k]));
    return -1;
}

int survey_read(const struct survey *survey, const struct chunk *chunk, void *data,
                struct error *err)
{
    const raytrain_checkpoint *index = survey->index;

    if (chunk_read(index->fd, chunk, data) < 0)
        return checkpoint_read_error(index, err);
    if (XXH3_64bits(data, chunk->to - chunk->from) == index->hashes[chunk->index])
        return 0;
    return error_set(err, RAYTRAIN_ECORRUPT, "%s: dataset '%s' is damaged (checksum)",
                     index->path, chunk->tensor->name);
}

/* The chunks that this rank vouches for: of those on its node, its turns. */
static int row_fill(const struct survey *survey, const struct image_tier *tier,
                    const struct held *held, bool verify, unsigned char *row,
                    struct error *err)
{
    int ranks = tier->nodes->ranks[tier_place(tier)->node];
    char *data = malloc(survey->head.chunk_bytes);
    struct chunk_walk walk;
    struct chunk c;

    if (!data)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    chunk_walk_restored(&walk, survey->index);
    while (held->bits && chunk_walk_next(&walk, &c)) {
        int turn = (int)(c.index / TURN % (unsigned)ranks);

        if (turn == tier_place(tier)->local && held_get(held->bits, c.index) &&
            (!verify || survey_read(survey, &c, data, NULL) == 0))
            held_set(row, c.index);
    }
    free(data);
    return 0;
}

/* Rows of ranks to rows of nodes. */
static void rows_merge(struct survey *survey, const struct node_map *nodes,
                       const unsigned char *rows)
{
    for (int r = 0; r < nodes->size; r++) {
        unsigned char *to = survey->bits + (size_t)nodes->of[r].node * survey->row;

        for (size_t i = 0; i < survey->row; i++)
            to[i] |= rows[(size_t)r * survey->row + i];
    }
    for (uint64_t c = 0; c < survey->n_chunks; c++)
        survey->missing += survey_source(survey, nodes, c) < 0;
}

/* COLLECTIVE */
static int rows_gather(struct comm *comm, const struct image_tier *tier,
                       struct survey *survey, const struct held *held, bool verify,
                       struct error *err)
{
    size_t n = (size_t)comm->size;
    unsigned char *mine = calloc(1, survey->row + 1);
    unsigned char *rows = calloc(n, survey->row + 1);
    int rc = 0;

    survey->bits = calloc((size_t)tier->nodes->n_nodes, survey->row + 1);
    if (!mine || !rows || !survey->bits)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (rc == 0)
        rc = row_fill(survey, tier, held, verify, mine, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && survey->row > 0)
        rc = comm->ops->allgather(comm, mine, survey->row, rows, err);
    if (rc == 0)
        rows_merge(survey, tier->nodes, rows);
    free(rows);
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
        /* Not to have it is no error. Not to be able to look is: it may be there. */
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
                     "%" PRIu64 " of its %" PRIu64 " pieces are missing or damaged on "
                     "the nodes that are here",
                     survey->missing, survey->n_chunks);
}

void survey_clear(struct survey *survey)
{
    checkpoint_destroy(survey->index);
    free(survey->bits);
    *survey = (struct survey){0};
}

/* ---- Which iterations -------------------------------------------------------------
 */

#define LISTED 64 /* of a node; nobody keeps as many */

int image_inventory(struct comm *comm, const struct image_tier *tier,
                    int64_t **iterations, size_t *n, struct error *err)
{
    int64_t mine[LISTED];
    int64_t *all = calloc((size_t)comm->size, sizeof mine);
    int rc = all ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    *n = 0;
    memset(mine, -1, sizeof mine);
    if (tier_leader(tier))
        image_list(&tier->dir, mine, LISTED);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, mine, sizeof mine, all, err);
    if (rc < 0) {
        free(all);
        return -1;
    }
    qsort(all, (size_t)comm->size * LISTED, sizeof *all, iteration_descending);
    for (size_t i = 0; i < (size_t)comm->size * LISTED && all[i] >= 0; i++)
        if (*n == 0 || all[i] != all[*n - 1])
            all[(*n)++] = all[i];
    *iterations = all;
    return 0;
}
