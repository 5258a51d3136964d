/*
 * image_survey.h - which images of checkpoints the nodes have, and which chunks each of
 * them holds; used by the files that write, publish and assemble them (image_tier.h).
 */
#ifndef RAYTRAIN_REPLICA_IMAGE_SURVEY_H
#define RAYTRAIN_REPLICA_IMAGE_SURVEY_H

#include "checkpoint/chunks.h"
#include "checkpoint/index.h"
#include "comm/node_map.h"
#include "replica/node_image.h"

struct image_tier {
    struct image_dir dir; /* this node's */
    const struct node_map *nodes;
    bool copies; /* each chunk is also on the next node */
    /* Memory that the node can spare; NULL: only the file system is asked. */
    uint64_t (*available)(void);
};

/* Once, before all else: RAYTRAIN_EINVAL if two nodes see the same directory. */
int image_dirs_check(struct comm *comm, const struct image_tier *tier,
                     struct error *err);

/* The iterations of which any node has an image, newest first; *n of them,
 * malloc'ed. */
int image_inventory(struct comm *comm, const struct image_tier *tier,
                    int64_t **iterations, size_t *n, struct error *err);

/* ---- A survey ---- */

struct survey {
    raytrain_checkpoint *index; /* this node's image, by checkpoint_open_layout() */
    struct file_head head;
    uint64_t n_chunks;
    int32_t *sources; /* of each chunk, the rank that reads it for all; -1: none */
    uint64_t missing; /* number of chunks that no node has */
    /* Rows: a bit for each chunk. */
    size_t row;                /* bytes of a row */
    unsigned char *everywhere; /* every node has it */
    unsigned char *here;       /* this node has it; on its leader only */
    unsigned char *received;   /* room for a row of another rank */
};
/*
 * Find out which chunks of this iteration the nodes have. A rank keeps four bytes and a few
 * bits for each chunk of the checkpoint. Parts and hashes stay in the image, except, while
 * it is opened, the slabs of one tensor at a time; in their place there are eight bytes for
 * 4 KiB of the table of shapes. A node without an image gets one without chunks. With
 * `verify`, only chunks that match their checksums count.
 * RAYTRAIN_ENOTFOUND if no node has a complete image; all have looked.
 */
int survey_make(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                bool verify, struct survey *survey, struct error *err);
/* RAYTRAIN_ECORRUPT if chunks are missing. */
int survey_complete(const struct survey *survey, struct error *err);
void survey_clear(struct survey *survey);

/* ---- For the other files of this room ---- */

static inline const struct node_place *tier_place(const struct image_tier *tier)
{
    return &tier->nodes->of[tier->nodes->rank];
}

static inline bool tier_leader(const struct image_tier *tier)
{
    return tier_place(tier)->local == 0;
}

/* Bytes that this node has left for images. */
uint64_t tier_room(const struct image_tier *tier);

/* Visit the metadata in blocks: they grow with the number of ranks that write them. */
#define METADATA_BLOCK (1u << 20)
struct metadata_walk {
    const struct extent *extents; /* of metadata_extents() */
    size_t n;
    struct extent block; /* the present one: METADATA_BLOCK bytes at most */
};
/* Advance to the next block; false after the last. */
bool metadata_next(struct metadata_walk *walk);

/* The rank that reads a chunk for all: the nodes that have it take turns, and so do the
 * ranks of a node, a few chunks at a time. -1: no node has it. */
int survey_source(const struct survey *survey, uint64_t chunk);
/* Does this node have it? For the leader of a node only. */
bool survey_is_here(const struct survey *survey, uint64_t chunk);
bool survey_is_everywhere(const struct survey *survey, uint64_t chunk);

/* Read a chunk from this node's image, and verify it. */
int survey_read(const struct survey *survey, const struct chunk *chunk, void *data,
                struct error *err);

#endif
