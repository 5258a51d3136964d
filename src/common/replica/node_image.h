/*
 * node_image.h - a node image: what one node has of a checkpoint, in storage of its
 * own, which is the memory of the node (replicas) or a local disk (staging).
 *
 * It is a sparse file with the layout of the checkpoint's file: head, tables and HDF5
 * metadata are complete, and it has those chunks of the tensors that the node holds.
 * Beside it lies the list of these chunks, `held`; it is written last, so an image with
 * a list is complete. An image with all chunks equals the checkpoint's file.
 *
 *   BASE/raytrain-UID-RUNID/       mode 0700
 *       checkpoint_000012.h5       the image
 *       checkpoint_000012.held     struct held_head, then one bit for each chunk
 *
 * The random id of a run (run_dir_id()) keeps their images apart, even those of two
 * runs with the same name.
 */
#ifndef RAYTRAIN_REPLICA_NODE_IMAGE_H
#define RAYTRAIN_REPLICA_NODE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "checkpoint/file_format.h"
#include "run/run_dir.h"
#include "util/error.h"

struct image_dir {
    char *path;
    char id[RUN_ID_LENGTH + 1];
    bool durable; /* on a disk: it must survive a power failure */
};

#define IMAGE_MEMORY "/dev/shm" /* BASE of images in memory */

/* Make BASE/raytrain-UID-RUNID. If it exists, it must be a directory that belongs to
 * this user and is closed to all others: RAYTRAIN_ESTORAGE. */
int image_dir_enter(const char *base, const char *id, bool durable,
                    struct image_dir *dir, struct error *err);
void image_dir_leave(struct image_dir *dir);
/* Its path; malloc'ed, NULL without memory. */
char *image_dir_path(const char *base, const char *id);
/* Remove the directory and all that is in it; it is not an error if there is none. */
int image_dir_remove(const char *base, const char *id, struct error *err);

/* The path of an image; malloc'ed, NULL without memory. */
char *image_path(const struct image_dir *dir, int64_t iteration);
/* Create an empty image of `bytes` bytes, in place of an older one of this name.
 * Returns a descriptor, or -1. */
int image_create(const struct image_dir *dir, int64_t iteration, uint64_t bytes,
                 struct error *err);
/* Open it for reading and writing. */
int image_open(const struct image_dir *dir, int64_t iteration, struct error *err);
void image_remove(const struct image_dir *dir, int64_t iteration);

/* The chunks that an image has. */
struct held {
    uint64_t n_chunks;
    unsigned char *bits;
};

uint64_t held_bytes(uint64_t n_chunks);
bool held_get(const unsigned char *bits, uint64_t chunk);
void held_set(unsigned char *bits, uint64_t chunk);

/* Write the list: from now on the image is complete, with these chunks and this
 * head. */
int held_write(const struct image_dir *dir, int64_t iteration,
               const struct file_head *head, const struct held *held,
               struct error *err);
/* RAYTRAIN_ENOTFOUND; RAYTRAIN_ECORRUPT if it is not what held_write() wrote for this
 * run, iteration and head. held->bits is malloc'ed. */
int held_read(const struct image_dir *dir, int64_t iteration,
              const struct file_head *head, struct held *held, struct error *err);

/* The iterations of images, complete or not, newest first: at most `max` of them.
 * Returns how many. */
int image_list(const struct image_dir *dir, int64_t *iterations, int max);
/* Remove everything except images of iterations after `upto` and their lists, including
 * the temporary files of a process that was killed. */
void image_tidy(const struct image_dir *dir, int64_t upto);

#endif
