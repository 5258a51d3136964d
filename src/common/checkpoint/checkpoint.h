/*
 * checkpoint.h - one checkpoint: a plain HDF5 file, written by all ranks, published
 * atomically, restored by any number of ranks.
 *
 * Rank 0 lays the file out with serial HDF5 (contiguous datasets, early allocation, no
 * fill; by_parts.c has the exception for columns), so every dataset has a fixed file
 * offset; all ranks pwrite their bytes at those offsets (if two nodes have bytes of a
 * page, one rank writes all of it); checksums and the completeness mark have known
 * offsets, too, and are pwritten last. So only one rank calls HDF5, in the caller's
 * thread, and h5dump, h5ls and h5py can read the file. The schema: raytrain-format(5).
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKPOINT_H
#define RAYTRAIN_CHECKPOINT_CHECKPOINT_H

#include <stdint.h>

#include "comm/comm.h"

#define CHECKPOINT_RESERVED "raytrain" /* the group of the library's own names */
#define CHECKPOINT_ATTACHED "files"    /* the group of what ranks attach */

struct checkpoint_metric {
    char name[RAYTRAIN_NAME_MAX + 1];
    double value;
};

/* What the file contains besides the tensors. */
struct checkpoint_meta {
    const char *run_name;
    int64_t training_iteration;
    int world_size;
    int attempt;
    double time_total_s;
    int64_t timestamp;                       /* Unix time, seconds */
    const struct checkpoint_metric *metrics; /* of the report */
    size_t n_metrics;
};

/* -- write: create, put ..., save (collective), destroy -- */
raytrain_checkpoint *checkpoint_create(struct error *err);
/* slab NULL: replicated. Keeps a pointer to the data, not a copy. They may be on a
 * device; then only a snapshot can be written. The name must be valid; it may be below
 * CHECKPOINT_RESERVED, unlike in checkpoint_check_name(). */
int checkpoint_put(raytrain_checkpoint *ck, const char *name,
                   const raytrain_tensor *tensor, const raytrain_slab *slab,
                   struct error *err);
/* The same, and the checkpoint owns the data from now on, unless this fails:
 * checkpoint_destroy() calls release(data, arg). */
int checkpoint_give(raytrain_checkpoint *ck, const char *name,
                    const raytrain_tensor *tensor, const raytrain_slab *slab,
                    raytrain_release release, void *arg, struct error *err);
/* A tensor that only rank `writer` has. All ranks put it, in the same order as other
 * tensors, but `tensor->data` is used only on that rank (where `mine` is true), and
 * handed over there as by checkpoint_give(). */
int checkpoint_give_one(raytrain_checkpoint *ck, const char *name,
                        const raytrain_tensor *tensor, int writer, bool mine,
                        raytrain_release release, void *arg, struct error *err);
int checkpoint_put_string(raytrain_checkpoint *ck, const char *name, const char *value,
                          struct error *err);
/* Attach bytes of this rank alone, under CHECKPOINT_ATTACHED/name. Other ranks need not
 * attach anything; no two may use the same name. The data are borrowed, or handed over
 * as by checkpoint_give() if release is not NULL. */
int checkpoint_attach(raytrain_checkpoint *ck, const char *name, const void *data,
                      uint64_t bytes, raytrain_release release, void *arg,
                      struct error *err);
/*
 * Set the function that adds the library's own groups to the HDF5 file, below
 * CHECKPOINT_RESERVED: small datasets, which belong to the file's metadata.
 * checkpoint_save_begin() calls write(arg, file) on rank 0, the only rank that needs to
 * set it; `arg` must be valid until then. There is at most one. If a layout is kept,
 * the same function and `arg` must add the same groups.
 */
struct h5_image;
void checkpoint_add_metadata(raytrain_checkpoint *ck,
                             int (*write)(const void *arg, struct h5_image *file,
                                          struct error *err),
                             const void *arg);
/* A name that a user may use. RAYTRAIN_EINVAL with the reason. */
int checkpoint_check_name(const char *name, struct error *err);
/* Can this tensor be put, with this slab (NULL: all of it)? *bytes is the size of its
 * data on this rank, which are not touched. */
int checkpoint_check_tensor(const raytrain_tensor *tensor, const raytrain_slab *slab,
                            uint64_t *bytes, struct error *err);
/*
 * A save has two stages (save.c lists their steps); ck must stay until its end.
 *
 * BEGIN does what needs the caller's own thread, where HDF5 may be called: the ranks
 * agree on what there is to save, and rank 0 lays the file out in memory. Nothing is on
 * storage yet.
 */
struct checkpoint_save;
/* Where the tensors of a save lie, kept for the next one (save_layout.h). One save at a
 * time uses it, on all ranks or on none, from its beginning until it is destroyed. */
struct save_layout;
struct save_layout *save_layout_create(struct error *err);
void save_layout_destroy(struct save_layout *l); /* NULL is fine */
/* COLLECTIVE over comm; all ranks return the same. kept NULL: nothing is kept. */
int checkpoint_save_begin(raytrain_checkpoint *ck, struct comm *comm,
                          const struct checkpoint_meta *meta, const char *path,
                          struct save_layout *kept, struct checkpoint_save **out,
                          struct error *err);
/* The length of the file. */
uint64_t checkpoint_save_file_bytes(const struct checkpoint_save *s);
/* Which of the data that this rank writes a snapshot copies: all except host memory
 * that was handed over, so that the data may change afterwards; or only data on
 * devices. */
enum checkpoint_snapshot { SNAPSHOT_ALL, SNAPSHOT_DEVICES };
/* Data on devices do not change until they are copied (see checkpoint_fetch), even if
 * they were not handed over. */
void checkpoint_stays(raytrain_checkpoint *ck);
/* Copy n bytes of a device's memory to `to`, in host memory. If `stays`, they do not
 * change until PUBLISH begins; others, which come first, do not change until the
 * snapshot is taken. The copies must be complete by then. */
struct checkpoint_fetch {
    int (*start)(void *arg, int device, int device_id, const void *from, void *to,
                 size_t n, bool stays, struct error *err);
    void *arg;
};
/* The size of the snapshot. Data on devices come first in it. */
size_t checkpoint_save_snapshot_bytes(const struct checkpoint_save *s,
                                      enum checkpoint_snapshot which);
/* Before a save: announce that a tensor of the checkpoint, or a slab of it, will be in
 * a snapshot. Each of `size` ranks is likely to copy its share of it; all slabs of a
 * tensor together count as one share at most. checkpoint_expected() returns the sum
 * over all tensors that were announced. */
void checkpoint_expect(raytrain_checkpoint *ck, const char *name,
                       const raytrain_tensor *tensor, const raytrain_slab *slab,
                       int size);
uint64_t checkpoint_expected(const raytrain_checkpoint *ck,
                             enum checkpoint_snapshot which);
/* Take the snapshot: copy it to `to`, which must stay until the end of the save. The data
 * that were copied are not read again. Data on devices must be copied before PUBLISH;
 * fetch may be NULL if there are none. If this fails, the save can only be destroyed,
 * once the copies that were started are complete. */
int checkpoint_save_snapshot(struct checkpoint_save *s, enum checkpoint_snapshot which,
                             unsigned char *to, const struct checkpoint_fetch *fetch,
                             struct error *err);
/* Release memory of devices that was handed over and has been copied, even during
 * PUBLISH. In the same thread as checkpoint_destroy(). */
void checkpoint_release_devices(raytrain_checkpoint *ck);
/*
 * PUBLISH writes the file and gives it its name, in any thread: HDF5 is not called.
 * COLLECTIVE over comm, which has the ranks that began, in the same order; all return
 * the same. `nodes` says which ranks share a node, so that no two nodes write to one
 * page of the file (shared_file.h); NULL: all do. On failure nothing under a final name
 * has changed and no temporary file is left (unless the process died); but if only the
 * sync of the directory failed, the new checkpoint is there, complete.
 */
struct node_map;
int checkpoint_save_publish(struct checkpoint_save *s, struct comm *comm,
                            const struct node_map *nodes, struct error *err);
/* At any time except during a stage, in the caller's thread; NULL is fine. */
void checkpoint_save_destroy(struct checkpoint_save *s);
/* COLLECTIVE: both stages, straight from the tensors' data in host memory, by ranks of one
 * node. */
int checkpoint_save(raytrain_checkpoint *ck, struct comm *comm,
                    const struct checkpoint_meta *meta, const char *path,
                    struct error *err);
void checkpoint_destroy(raytrain_checkpoint *ck); /* either kind; NULL is fine */

/* -- read -- */
/*
 * COLLECTIVE. Rank 0 reads the index; each rank gets the tensors, and verifies a share of
 * the checksums, which are not kept. RAYTRAIN_ECORRUPT (incomplete, truncated, which
 * dataset is damaged), RAYTRAIN_ENOTFOUND, RAYTRAIN_ESTORAGE. All ranks return the same.
 */
int checkpoint_open(struct comm *comm, const char *path, raytrain_checkpoint **out,
                    struct error *err);
int checkpoint_info(raytrain_checkpoint *ck, const char *name, raytrain_tensor *info,
                    struct error *err);
int checkpoint_get(raytrain_checkpoint *ck, const char *name,
                   const raytrain_tensor *tensor, const raytrain_slab *slab,
                   struct error *err);
int checkpoint_get_string(raytrain_checkpoint *ck, const char *name, char **value,
                          struct error *err);
/*
 * COLLECTIVE: the same, and also a plain HDF5 file that another program wrote
 * (foreign.c): its datasets of numbers and its strings. Nothing verifies them, and
 * checkpoint_meta() is all zeros. RAYTRAIN_ENOTSUP for a dataset that exists, but is
 * not a tensor. Such a checkpoint is read in the thread that opened it, which calls
 * HDF5.
 */
int checkpoint_open_any(struct comm *comm, const char *path, raytrain_checkpoint **out,
                        struct error *err);
/* Can it be read? The other kind is being written. */
bool checkpoint_is_restored(const raytrain_checkpoint *ck);
/* Do checksums cover all of it? */
bool checkpoint_is_verified(const raytrain_checkpoint *ck);
/* The i-th name in a checkpoint that can be read, except the library's own names, in
 * the order in which they were put (in a plain HDF5 file, sorted in each group); NULL
 * after the last. */
const char *checkpoint_name(const raytrain_checkpoint *ck, size_t i);
const char *checkpoint_path(const raytrain_checkpoint *ck);
const struct checkpoint_meta *checkpoint_meta(const raytrain_checkpoint *ck);

/* -- inspect -- */
/* Serial: verifies everything except the tensors' bytes, which are not read. */
int checkpoint_open_index(const char *path, raytrain_checkpoint **out,
                          struct error *err);
/* The same, in memory that does not grow with the number of ranks that wrote the file.
 * The chunks can be visited (chunks.h), but nothing can be read by its name or number. */
int checkpoint_open_layout(const char *path, raytrain_checkpoint **out,
                           struct error *err);
/* Verify the tensors' bytes (checkpoint_open() has done so) in this process alone, with
 * a thread for each core that it may use. RAYTRAIN_ECORRUPT names the first damaged
 * dataset. */
int checkpoint_verify(const raytrain_checkpoint *ck, struct error *err);
/* Verify share number `share` of `of` even shares of these bytes; in any thread. */
int checkpoint_verify_share(const raytrain_checkpoint *ck, int share, int of,
                            struct error *err);

struct checkpoint_item {
    const char *name, *type; /* type: "float32" ... or "string"; the checkpoint's */
    bool is_string;          /* one dimension of `bytes` bytes, the last one a NUL */
    bool is_internal;        /* the library's own, below CHECKPOINT_RESERVED */
    bool is_attachment;      /* a rank attached it: a line of bytes below "files" */
    raytrain_dtype dtype;    /* RAYTRAIN_BYTES for a string */
    int ndim;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    uint64_t bytes;
};
/* The i-th item, in the order in which they were put; false after the last. */
bool checkpoint_item(const raytrain_checkpoint *ck, size_t i,
                     struct checkpoint_item *item);
/* The number of the tensor or string of this name; false if there is none. */
bool checkpoint_item_find(const raytrain_checkpoint *ck, const char *name, size_t *i);
/* Read n bytes of the i-th item, row-major, from byte `from` on; all of them must be
 * within it. Not verified. */
int checkpoint_item_read(const raytrain_checkpoint *ck, size_t i, uint64_t from,
                         void *buf, size_t n, struct error *err);
uint64_t checkpoint_file_bytes(const raytrain_checkpoint *ck);
/* Does the file begin like a checkpoint, whatever else is wrong with it? */
bool checkpoint_is_one(const char *path);
/* Is it an HDF5 file, but not a checkpoint? */
bool checkpoint_is_plain_hdf5(const char *path);

#endif
