/*
 * image_tier.h - a tier of checkpoints on the nodes that train, before they are on
 * shared storage: in memory, with a copy on another node, or staged on local disks.
 *
 * Each node has an image with some chunks of a checkpoint (node_image.h); together the
 * nodes have all of them. Everything here is COLLECTIVE, and all ranks return the same;
 * nothing calls HDF5.
 *
 *   write     every rank writes its chunks into its node's image and, if there are
 *             copies, into that of the next node; the images are complete together
 *   survey    find out which node has which chunks, and verify them on request
 *   publish   copy a complete set of chunks to storage, in the steps of checkpoint/save.c
 *   flush     survey and publish
 *   assemble  give every node the chunks that it lacks, so that each has the whole file
 */
#ifndef RAYTRAIN_REPLICA_IMAGE_TIER_H
#define RAYTRAIN_REPLICA_IMAGE_TIER_H

#include "replica/image_survey.h"

/*
 * Write a save that has begun (checkpoint.h) into images instead of a file, in any
 * thread. On failure nothing of the images is left. RAYTRAIN_EFIT, with the numbers of
 * one node, if a node has no room: nothing was written then, and the call may be
 * repeated. A node without an image must have room for two, since the older one is
 * removed last.
 */
int image_write(struct checkpoint_save *save, struct comm *comm,
                const struct image_tier *tier, int64_t iteration, struct error *err);

/* Both need a survey with nothing missing. assemble: RAYTRAIN_EFIT if a node has no
 * room for the whole file. */
int image_publish(struct comm *comm, const struct image_tier *tier,
                  const struct survey *survey, const char *path, struct error *err);
int image_assemble(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                   const struct survey *survey, struct error *err);

/*
 * Copy what the images of an iteration hold to storage; a damaged chunk is taken from
 * its copy. The images stay. RAYTRAIN_ENOTFOUND as survey_make(), RAYTRAIN_ECORRUPT if
 * chunks are missing; any other failure is that of the storage, not of the images.
 */
int image_flush(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                const char *path, struct error *err);

#endif
