/*
 * image_impl.h - what the users of node images (image_tier.h) have in common.
 */
#ifndef RAYTRAIN_REPLICA_IMAGE_IMPL_H
#define RAYTRAIN_REPLICA_IMAGE_IMPL_H

#include "checkpoint/chunk_walk.h"
#include "replica/image_tier.h"

static inline const struct node_place *tier_place(const struct image_tier *tier)
{
    return &tier->nodes->of[tier->nodes->rank];
}

static inline bool tier_leader(const struct image_tier *tier)
{
    return tier_place(tier)->local == 0;
}

/* Bytes that this node's images may still take. */
uint64_t tier_room(const struct image_tier *tier);

/* The bytes that are no tensor's: where they are, and how many. *gaps is malloc'ed. */
int metadata_extents(const raytrain_checkpoint *ck, uint64_t file_bytes,
                     struct extent **gaps, size_t *n, size_t *bytes, struct error *err);

/* From a file to memory, and back, one extent after the other; then the head, last.
 * -1 and errno. */
int metadata_read(int fd, const struct extent *gaps, size_t n, char *metadata);
int metadata_place(int fd, const struct extent *gaps, size_t n, const char *metadata,
                   const struct file_head *head);

/* Which rank is to read a chunk for all: the nodes that have it take turns, and the
 * ranks of a node, each a few chunks at a time. */
int survey_source(const struct survey *survey, const struct node_map *nodes,
                  uint64_t chunk);
bool survey_has(const struct survey *survey, int node, uint64_t chunk);

/* Read a chunk from this node's image, and verify it. */
int survey_read(const struct survey *survey, const struct chunk *chunk, void *data,
                struct error *err);

#endif
