/*
 * checkpoint_impl.h - a checkpoint inside the store: what its writer and its reader
 * have in common, and the steps that they are made of.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKPOINT_IMPL_H
#define RAYTRAIN_CHECKPOINT_CHECKPOINT_IMPL_H

#include <stdbool.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/file_format.h"
#include "checkpoint/name_map.h"
#include "checkpoint/new_file.h"
#include "checkpoint/slab.h"

struct tensor_entry {
    char *name;
    uint32_t dtype; /* raytrain_dtype or DTYPE_STRING */
    int ndim;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    uint64_t element_bytes, bytes;
    uint64_t offset; /* in the file */
    uint64_t first_part, n_parts;
    /* Being written: */
    const void *data; /* this rank's */
    bool sharded;
    raytrain_slab slab; /* this rank's; the whole where not sharded */
    char *owned;        /* a string's copy */
};

/* What was hashed as one stream: a slab that one rank wrote, or a whole tensor. */
struct part {
    uint64_t tensor; /* its number */
    raytrain_slab slab;
    uint64_t first_hash, n_hashes;
};

struct raytrain_checkpoint {
    struct tensor_entry *tensors;
    size_t n_tensors, room;
    struct name_map names;
    /* Restored: */
    bool restored;
    char *path;
    int fd; /* -1: none */
    struct file_head head;
    char run_name[256];
    struct checkpoint_meta meta;
    struct part *parts;
    size_t n_parts;
    uint64_t *hashes;
};

/* Bytes of an element; 0 for an unknown type. */
uint64_t entry_dtype_size(uint32_t dtype);
const char *entry_dtype_name(uint32_t dtype);
/* Is it `group`, or in it? */
bool name_is_below(const char *name, const char *group);
/* Is it a name that the store can keep? RAYTRAIN_EINVAL with the reason. */
int entry_check_name(const char *name, struct error *err);
/* Append a tensor under a name that is checked here; takes the copy `name` in any case.
 * The new entry, NULL on failure. */
struct tensor_entry *entry_add(raytrain_checkpoint *ck, char *name, struct error *err);
/* The tensor of this name, or NULL with RAYTRAIN_ENOTFOUND and a near one. */
struct tensor_entry *entry_find(raytrain_checkpoint *ck, const char *name,
                                struct error *err);
/* Chunks of a stream of so many bytes. */
uint64_t chunks_of(uint64_t bytes, uint64_t chunk_bytes);
/* Which of `size` ranks does the piece of work that begins after `done` of `total`? */
int share_of(uint64_t done, uint64_t total, int size);

/* -- agree.c -- */
/* What rank 0 knows of all ranks: every part, in the order of the table. */
struct plan {
    struct part *parts;
    int *ranks; /* whose part it is; -1: replicated */
    size_t n_parts;
    uint64_t n_hashes;
};
/* COLLECTIVE. Agree that all ranks put the same tensors, and cover each exactly once;
 * *plan is filled on rank 0. */
int plan_make(raytrain_checkpoint *ck, struct comm *comm, struct plan *plan,
              struct error *err);
/* COLLECTIVE: every rank gets rank 0's. */
int plan_share(struct plan *plan, struct comm *comm, struct error *err);
void plan_clear(struct plan *plan);
/* COLLECTIVE: n bytes of rank `root`, malloc'ed on the others. */
int bytes_share(struct comm *comm, void **data, size_t n, int root, struct error *err);

/* -- pieces.c -- */
/* Who writes which chunk: of a sharded tensor, the owner of the slab all of its chunks;
 * of replicated ones, each rank an even share of all their bytes, in order. Here a rank
 * finds its own; chunk_walk.h knows those of all. */

/* What one rank writes of one tensor: bytes [from, to) of its slab's stream, from the
 * beginning of a chunk on. A rank's pieces are in the order of the tensors. */
struct piece {
    const struct tensor_entry *tensor;
    uint64_t from, to;
    const unsigned char *data; /* of byte `from`, in the tensor or in a snapshot */
};
struct pieces {
    struct piece *list;
    size_t n;
    size_t n_chunks;
};
int pieces_make(const raytrain_checkpoint *ck, int rank, int size,
                struct pieces *pieces, struct error *err);
size_t pieces_snapshot_bytes(const struct pieces *pieces);
/* Copy them to `to`, and let them lie there. */
void pieces_snapshot(struct pieces *pieces, unsigned char *to);
void pieces_clear(struct pieces *pieces);
/* Where the chunk ends that begins at `from` of so many bytes. */
uint64_t chunk_end(uint64_t from, uint64_t bytes);

/* -- layout.c -- */
struct h5_image;
/* Rank 0: build the HDF5 file without its data; fills the tensors' offsets and the head
 * (but for its hashes and the mark). */
int layout_make(raytrain_checkpoint *ck, const struct plan *plan,
                const struct checkpoint_meta *meta, struct file_head *head,
                struct h5_image **image, struct error *err);

/* -- save.c -- */
struct shared_file;
/* A save between its stages. */
struct checkpoint_save {
    raytrain_checkpoint *ck;
    struct comm *comm; /* of the stage */
    char *path;
    struct new_file file;       /* its temporary name is the same on every rank */
    struct shared_file *shared; /* while RUN writes it */
    struct pieces pieces;
    uint64_t *hashes; /* of what this rank wrote, in the order that it did */
    size_t n_hashes;
    struct plan plan; /* rank 0's; every rank's once it was shared */
    /* Rank 0: */
    struct file_head head;
    struct h5_image *image;
};

/* -- groups.c -- */
/* Make the groups that tensors will be in, in an HDF5 file (its hid_t) that has none of
 * them; the library's own is left alone. -1: HDF5 failed, or there is no memory. */
int groups_make(int64_t file, const raytrain_checkpoint *ck);

/* -- extents.c -- */
/* The parts of a file that are not its head and not tensors' bytes, in order. */
struct extent {
    uint64_t start, end;
};
/* RAYTRAIN_ECORRUPT where tensors overlap or leave the file. *gaps is malloc'ed. */
int extents_gaps(const raytrain_checkpoint *ck, uint64_t file_bytes,
                 struct extent **gaps, size_t *n, struct error *err);

/* -- index.c -- */
/* Bytes of all tables after the head; -1 if the head's numbers make no sense. */
int index_bytes(const struct file_head *head, uint64_t *bytes);
/* Fill ck from its head and the tables as they lie in memory one after the other
 * (report, metrics, tensors, shapes, hashes). Believes nothing. */
int index_parse(raytrain_checkpoint *ck, const void *tables, uint64_t n,
                struct error *err);

/* -- open.c -- */
#define CHUNK_BYTES_MIN 4096u /* what a head may say */
#define CHUNK_BYTES_MAX (64u << 20)
/* errno of a read of the file, as a sentence. Returns -1. */
int checkpoint_read_error(const raytrain_checkpoint *ck, struct error *err);

/* -- verify.c -- */
/* Verify share number `who` of `of` even shares of all tensors' bytes. */
int verify_share(const raytrain_checkpoint *ck, int who, int of, struct error *err);

/* -- slab_io.c -- */
/* Bytes [from, to) of a slab's stream, of a tensor that begins at `base` of the file.
 */
int slab_read(int fd, uint64_t base, const struct slab_runs *runs, uint64_t from,
              uint64_t to, void *data);
/* A writer gathers what is adjacent in the file into one system call. */
#define WRITER_PIECES 256
struct slab_writer;
struct slab_writer *slab_writer_create(int fd);
int slab_writer_add(struct slab_writer *w, const void *data, size_t n, uint64_t offset);
int slab_writer_flush(struct slab_writer *w);
void slab_writer_destroy(struct slab_writer *w);

#endif
