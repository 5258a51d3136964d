/*
 * image_tier.h - checkpoints on the nodes that train, before they are on storage: in
 * memory, with a copy on another node, or staged on local disks.
 *
 * One node has a part of a checkpoint (node_image.h); all nodes together have it all.
 * Everything here is COLLECTIVE, and all ranks return the same; nothing calls HDF5.
 *
 *   save      every rank writes its data into its node's image, and, where there are
 *             copies, into that of the next node; complete once every node's image is
 *   survey    which chunks are where, each verified where that is asked for
 *   publish   copy a complete set to storage: by the protocol of checkpoint/save.c
 *   move      survey and publish
 *   assemble  give every node the chunks that it lacks: then each has the whole file
 */
#ifndef RAYTRAIN_REPLICA_IMAGE_TIER_H
#define RAYTRAIN_REPLICA_IMAGE_TIER_H

#include "checkpoint/checkpoint.h"
#include "comm/node_map.h"
#include "replica/node_image.h"

struct image_tier {
    struct image_dir dir; /* this node's */
    const struct node_map *nodes;
    bool copies; /* on the next node, too */
    /* Memory that the node can spare; NULL: what the file system has free counts. */
    uint64_t (*available)(void);
};

/* Once, before all else: RAYTRAIN_EINVAL where two nodes see one directory. */
int image_dirs_check(struct comm *comm, const struct image_tier *tier,
                     struct error *err);

/*
 * RUN of a save that has begun (checkpoint.h), into images instead of a file: in any
 * thread. On failure nothing of the image is left. RAYTRAIN_EFIT, with the numbers of
 * one, where a node has no room: nothing was written then, and another try may be made.
 * Room for two is asked for where a node has none yet: the older one goes last.
 */
int image_save(struct checkpoint_save *save, struct comm *comm,
               const struct image_tier *tier, int64_t iteration, struct error *err);

/* -- survey -- */
struct survey {
    raytrain_checkpoint *index; /* of this node's image: what is where in the file */
    struct file_head head;
    uint64_t n_chunks;
    size_t row;          /* bytes of a row */
    unsigned char *bits; /* a row a node */
    uint64_t missing;    /* chunks that no node has */
};
/*
 * Which of the tier's nodes have what of this iteration. A node without an image gets
 * one that has no chunks. With `verify` only chunks count that match their checksum.
 * RAYTRAIN_ENOTFOUND where no node has a complete image: each has looked.
 */
int survey_make(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                bool verify, struct survey *survey, struct error *err);
/* RAYTRAIN_ECORRUPT where chunks are missing. */
int survey_complete(const struct survey *survey, struct error *err);
void survey_clear(struct survey *survey);

/* -- what a survey is for; survey->missing is 0 -- */
/* assemble: RAYTRAIN_EFIT where some node has no room for the whole. */
int image_publish(struct comm *comm, const struct image_tier *tier,
                  const struct survey *survey, const char *path, struct error *err);
int image_assemble(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                   const struct survey *survey, struct error *err);

/*
 * What the images of an iteration hold, to storage; where a chunk turns out damaged,
 * from its copy. The images stay. RAYTRAIN_ENOTFOUND as survey_make(), RAYTRAIN_ECORRUPT
 * where it is not complete; any other failure is storage's, and says nothing of them.
 */
int image_move(struct comm *comm, const struct image_tier *tier, int64_t iteration,
               const char *path, struct error *err);

/* The iterations of which some node has an image, newest first; *n of them, malloc'ed.
 */
int image_inventory(struct comm *comm, const struct image_tier *tier,
                    int64_t **iterations, size_t *n, struct error *err);

#endif
