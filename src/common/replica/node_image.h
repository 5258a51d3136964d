/*
 * node_image.h - what one node has of a checkpoint, in storage of its own: the memory
 * of the node (peer copies), or a local disk (staging).
 *
 * A node image is a sparse file with the layout of the checkpoint's file: its head, its
 * tables and HDF5 metadata are there as a whole, of the tensors those chunks that the
 * node has. Beside it lies the list of these, `held`; it is made last, so an image that
 * has one is complete. With all chunks there the image is the checkpoint's file.
 *
 *   BASE/raytrain-UID-RUNID/       0700, ours
 *       checkpoint_000012.h5       the image
 *       checkpoint_000012.held     struct held_head, then a bit a chunk
 *
 * The random id of a run (run_dir_id()) keeps runs apart, also two of one name.
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
    bool durable; /* on a disk, and must outlive a power failure */
};

#define IMAGE_MEMORY "/dev/shm" /* BASE of images in memory */

/* BASE/raytrain-UID-RUNID. Where it is there already it must be a directory of ours
 * that nobody else may enter: RAYTRAIN_ESTORAGE. */
int image_dir_enter(const char *base, const char *id, bool durable,
                    struct image_dir *dir, struct error *err);
void image_dir_leave(struct image_dir *dir);
/* Its path; malloc'ed, NULL without memory. */
char *image_dir_path(const char *base, const char *id);
/* The directory and all that is in it; no error where there is none. */
int image_dir_remove(const char *base, const char *id, struct error *err);

/* The path of an image; malloc'ed, NULL without memory. */
char *image_path(const struct image_dir *dir, int64_t iteration);
/* A new, empty image of so many bytes; what was there under this name goes first. A
 * descriptor, or -1. */
int image_create(const struct image_dir *dir, int64_t iteration, uint64_t bytes,
                 struct error *err);
/* For reading and writing. */
int image_open(const struct image_dir *dir, int64_t iteration, struct error *err);
void image_remove(const struct image_dir *dir, int64_t iteration);

/* The chunks of an image that are there. */
struct held {
    uint64_t n_chunks;
    unsigned char *bits;
};

uint64_t held_bytes(uint64_t n_chunks);
bool held_get(const unsigned char *bits, uint64_t chunk);
void held_set(unsigned char *bits, uint64_t chunk);

/* From now on the image is complete: it has these chunks, and this head. */
int held_write(const struct image_dir *dir, int64_t iteration,
               const struct file_head *head, const struct held *held,
               struct error *err);
/* RAYTRAIN_ENOTFOUND, RAYTRAIN_ECORRUPT where it is not what held_write() wrote for
 * this run, this iteration and this head. held->bits is malloc'ed. */
int held_read(const struct image_dir *dir, int64_t iteration,
              const struct file_head *head, struct held *held, struct error *err);

/* The iterations of images, complete or not, newest first; how many are filled in, of
 * which there is room for `max`: nobody keeps more than a few. */
int image_list(const struct image_dir *dir, int64_t *iterations, int max);
/* Remove all that is not an image of a later iteration than `upto` or its list: also
 * the temporaries of a process that was killed. */
void image_tidy(const struct image_dir *dir, int64_t upto);

#endif
