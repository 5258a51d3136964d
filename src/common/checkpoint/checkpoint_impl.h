/*
 * checkpoint_impl.h - inside a checkpoint: what its writer and its reader share, and
 * the steps that they are made of.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKPOINT_IMPL_H
#define RAYTRAIN_CHECKPOINT_CHECKPOINT_IMPL_H

#include <stdbool.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/file_format.h"
#include "checkpoint/name_map.h"
#include "checkpoint/new_file.h"
#include "checkpoint/slab.h"

/* Memory that was handed over: release(data, arg) gives it back. NULL: borrowed. */
struct memory {
    raytrain_release release;
    void *data, *arg;
};

struct tensor_entry {
    char *name;
    uint32_t dtype; /* raytrain_dtype or DTYPE_STRING */
    int ndim;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    uint64_t element_bytes, bytes;
    uint64_t offset;              /* in the file */
    uint64_t first_part, n_parts; /* restored: first_part only by parts */
    bool by_parts;                /* its parts lie one after the other: by_parts.c */
    uint64_t expected;            /* of this rank: checkpoint_expect() */
    /* While it is written: */
    const void *data;      /* of this rank */
    int device, device_id; /* where that is, as in a raytrain_tensor */
    bool sharded;
    raytrain_slab slab;   /* of this rank; the whole tensor if it is not sharded */
    uint64_t slab_at;     /* by parts: where this slab begins in the tensor's bytes */
    bool elsewhere;       /* another rank writes this slab */
    int writer;           /* the rank that alone has it, as an attachment; -1: none */
    struct memory memory; /* of the data, if it is the checkpoint's */
};

/* Bytes that this rank attaches (attachments.h). */
struct attachment {
    char *name; /* with CHECKPOINT_ATTACHED */
    const void *data;
    uint64_t bytes;
    struct memory memory;
};

/* A part of a tensor is hashed as one stream: the slab that one rank wrote, or the
 * whole tensor if it is replicated. */
struct part {
    uint64_t tensor; /* its number */
    raytrain_slab slab;
    uint64_t at; /* bytes of the tensor's parts before it */
    uint64_t first_hash, n_hashes;
};

/*
 * What is special about a file that another program wrote (foreign.c). These are
 * functions so that a program that reads only raytrain's own files needs no HDF5. All
 * are called in the caller's thread, on this rank alone.
 */
struct foreign {
    /* Read a slab, which is not empty, of a tensor without an offset: its elements are
     * not contiguous in the file, or not as they are in memory. */
    int (*get)(raytrain_checkpoint *ck, const struct tensor_entry *e,
               const raytrain_slab *slab, void *data, struct error *err);
    int (*get_string)(raytrain_checkpoint *ck, const struct tensor_entry *e,
                      char **value, struct error *err);
    /* No entry has this name. If the file has a dataset of this name that cannot be an
     * entry, *err becomes the reason; else it stays. */
    void (*absent)(const raytrain_checkpoint *ck, const char *name, struct error *err);
    void (*destroy)(struct foreign *f);
};

struct raytrain_checkpoint {
    struct tensor_entry *tensors;
    size_t n_tensors, room;
    struct name_map names;
    struct attachment *attached; /* by this rank */
    size_t n_attached;
    struct name_map attached_names;
    /* checkpoint_add_metadata() */
    int (*write_metadata)(const void *arg, struct h5_image *file, struct error *err);
    const void *write_metadata_arg;
    bool stays; /* checkpoint_stays() */
    uint64_t expected, expected_devices; /* sums, likewise */
    /* Restored: */
    bool restored;
    char *path;
    int fd; /* -1: none */
    struct file_head head;
    char run_name[256];
    struct checkpoint_meta meta;
    struct part *parts; /* of tensors by parts; all others are only in the file */
    size_t n_parts;
    bool without_parts;        /* `parts` has none: they are only in the file, too */
    uint64_t *shape_sums;      /* to read parts there; none after checkpoint_open() */
    const char **public_names; /* all except the library's own, and a NULL */
    size_t n_public_names;
    struct foreign *foreign; /* NULL: a checkpoint of raytrain */
};

/* -- entries.c -- */
/* Give memory back that was handed over. */
void memory_release(const struct memory *m);
/* Bytes of an element; 0 for an unknown type. */
uint64_t entry_dtype_size(uint32_t dtype);
const char *entry_dtype_name(uint32_t dtype);
/* Does each rank put a slab of its own of this tensor? */
bool entry_has_slab(const struct tensor_entry *e);
/* Is it `group`, or in it? */
bool name_is_below(const char *name, const char *group);
/* Is it a valid name in a file? RAYTRAIN_EINVAL with the reason. */
int entry_check_name(const char *name, struct error *err);
/* Append a tensor; checks the name, and takes ownership of it in any case. The new
 * entry, NULL on failure. */
struct tensor_entry *entry_add(raytrain_checkpoint *ck, char *name, struct error *err);
/* The tensor of this name, or NULL with RAYTRAIN_ENOTFOUND and a similar name. */
struct tensor_entry *entry_find(raytrain_checkpoint *ck, const char *name,
                                struct error *err);
/* The number of chunks of a stream of this size. */
uint64_t chunks_of(uint64_t bytes, uint64_t chunk_bytes);
/* Which of `size` ranks gets the piece of work that begins after `done` of `total`? */
int share_of(uint64_t done, uint64_t total, int size);

/* -- attachments.c: see attachments.h -- */
void attachments_clear(raytrain_checkpoint *ck);

/* -- file_faults.c: each returns -1 -- */
/* RAYTRAIN_ECORRUPT, with the path. */
int checkpoint_damage(const raytrain_checkpoint *ck, struct error *err,
                      const char *what);
/* The same, with the name of the tensor. */
int tensor_fault(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                 const char *what, struct error *err);
/* A failed read of the file: errno as a sentence. */
int checkpoint_read_error(const raytrain_checkpoint *ck, struct error *err);

/* -- get.c -- */
/* Fill public_names, once all entries are there. */
int public_names_make(raytrain_checkpoint *ck, struct error *err);

/* -- by_parts.c -- */
/* Should a tensor with these parts be stored by parts? */
bool by_parts_choose(const struct tensor_entry *e, const struct part *parts, size_t n);
/* Where the bytes of a part lie among those of its tensor in the file. `at`: part.at */
void part_stream_init(const struct tensor_entry *e, const raytrain_slab *slab,
                      uint64_t at, struct slab_stream *stream);
/* Read a slab, which is not empty, of a tensor that is stored by parts; -1 and errno. */
int by_parts_get(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                 const raytrain_slab *slab, void *data);
/* Read bytes [from, from + n) of its elements in row-major order; -1 and errno. */
int by_parts_read(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                  uint64_t from, void *data, size_t n);

/* -- plan.c -- */
/* What rank 0 knows about all ranks: every part, in the order of the table. */
struct plan {
    struct part *parts;
    int *ranks; /* the owner of each part; -1: replicated */
    size_t n_parts;
    uint64_t n_hashes;
};
/* COLLECTIVE. Agree that all ranks put the same tensors, and that their slabs cover each
 * of these; of equal slabs one is kept. Fills *plan on rank 0. */
int plan_make(raytrain_checkpoint *ck, struct comm *comm, struct plan *plan,
              struct error *err);
/* COLLECTIVE: gather the hashes of all ranks on rank 0, in the order of the table:
 * *table is malloc'ed there. Each rank sends those of its chunks, in the order of the
 * parts. */
int plan_gather_hashes(const struct plan *plan, const raytrain_checkpoint *ck,
                       struct comm *comm, const uint64_t *hashes, size_t n_hashes,
                       uint64_t **table, struct error *err);
void plan_clear(struct plan *plan);

/* -- plan_share.c -- */
/* Ranks that need a part of another rank, in the order of the parts. */
struct part_need {
    uint64_t part;
    int rank;
};
struct part_needs {
    struct part_need *list;
    size_t n, room;
};
/* -1 without memory. */
int part_needs_add(struct part_needs *needs, uint64_t part, int rank);
void part_needs_clear(struct part_needs *needs);
/* COLLECTIVE: get the parts of rank 0's plan that this rank needs, in their order: its
 * own, all replicated ones, and those in rank 0's `needs`. *mine counts all hashes, as
 * the plan does; plan_clear() frees it. */
int plan_share(const struct plan *all, const struct part_needs *needs,
               struct comm *comm, struct plan *mine, struct error *err);

/* -- chunks.c -- */
/* Which rank writes which chunk? The owner of a part writes all of its chunks. Of the
 * bytes of all replicated tensors, each rank writes an even share, in order. These
 * functions find the chunks of one rank; a chunk_walk (chunks.h) visits those of
 * all. */

/* What one rank writes of one tensor: bytes [from, to) of its slab's stream, starting
 * with a chunk. A rank's shares are in the order of the tensors. */
struct share {
    const struct tensor_entry *tensor;
    uint64_t from, to;
    const unsigned char *data; /* of byte `from`, in the tensor or in a snapshot */
};
struct shares {
    struct share *list;
    size_t n;
    size_t n_chunks;
};
int shares_make(const raytrain_checkpoint *ck, int rank, int size,
                struct shares *shares, struct error *err);
size_t shares_snapshot_bytes(const struct shares *shares,
                             enum checkpoint_snapshot which);
/* Copy these shares to `to`; from now on they are written from there. all_stay: as
 * with checkpoint_stays(). */
int shares_snapshot(struct shares *shares, enum checkpoint_snapshot which,
                    unsigned char *to, bool all_stay,
                    const struct checkpoint_fetch *fetch, struct error *err);
/* The share that has these bytes of the tensor; NULL: none. */
const struct share *shares_find(const struct shares *shares,
                                const struct tensor_entry *tensor, uint64_t from,
                                uint64_t to);
void shares_clear(struct shares *shares);
/* The end of the chunk that begins at `from`, in a stream of this size. */
uint64_t chunk_end(uint64_t from, uint64_t bytes);

/* -- layout.c -- */
/* Rank 0: build the HDF5 file without the tensors' bytes. Fills the tensors' offsets
 * and the head (except its hashes and the completeness mark). */
int layout_make(raytrain_checkpoint *ck, const struct plan *plan,
                const struct checkpoint_meta *meta, struct file_head *head,
                struct h5_image **image, struct error *err);
/* Write the values of `meta`, which has as many metrics and a run name of the same
 * length, into an image that was laid out for other values. */
int layout_renew(struct h5_image *image, const struct file_head *head,
                 const struct checkpoint_meta *meta, struct error *err);

/* -- save.c -- */
struct shared_file;
struct save_layout;
/* A save between its stages. */
struct checkpoint_save {
    raytrain_checkpoint *ck;
    struct comm *comm; /* of the stage */
    char *path;
    struct new_file file;            /* its temporary name is the same on every rank */
    struct shared_file *shared_file; /* while it is written */
    struct shares shares;
    uint64_t *hashes; /* of the chunks that this rank has written, in that order */
    size_t n_hashes;
    struct save_layout *layout;     /* with the plan and the image */
    struct save_layout *own_layout; /* NULL: the caller keeps it */
    struct plan mine;               /* of several nodes: what this rank needs of it */
    struct file_head head;          /* on rank 0 */
};

/* -- part_reader.c -- */
#define TABLE_BLOCK 512u

/* A table of numbers in the file, one block of which is in memory. */
struct table {
    uint64_t at, n;      /* where it is in the file; how many numbers */
    uint64_t first, end; /* those in memory */
    uint64_t numbers[TABLE_BLOCK];
};
/* The table of hashes. */
void hashes_start(struct table *hashes, const raytrain_checkpoint *ck);
/* Number i < n. */
int table_get(const raytrain_checkpoint *ck, struct table *t, uint64_t i, uint64_t *to,
              struct error *err);
/* The most blocks of a table with this number of entries. */
uint64_t table_blocks(uint64_t n);

/* Reads the parts in the order of the file. It owns no memory. */
struct part_reader {
    const raytrain_checkpoint *ck;
    struct table shapes;
    bool opening;          /* shape_sums are filled, not compared */
    uint64_t next;         /* number of the table of shapes */
    uint64_t at, hash;     /* of the next part */
    uint64_t tensor, part; /* of part_reader_next() */
};
void part_reader_start(struct part_reader *r, const raytrain_checkpoint *ck);
/* 1: *part is the next one; 0: there are no more; -1. RAYTRAIN_ECORRUPT if the table has
 * changed since the file was opened. */
int part_reader_next(struct part_reader *r, struct part *part, struct error *err);
/* The steps of this, for index.c: the shape of a tensor, of which ndim is known, and then
 * each of its parts. They trust no number in the file. */
int part_reader_shape(struct part_reader *r, const struct tensor_entry *e,
                      uint64_t shape[RAYTRAIN_MAX_DIMS], struct error *err);
int part_reader_part(struct part_reader *r, const struct tensor_entry *e,
                     struct part *part, struct error *err);

/* -- index.c -- */
/* Bytes of those tables that are read as a whole: report, metrics, tensors. -1 if the
 * head's numbers make no sense. */
int index_bytes(const struct file_head *head, uint64_t *bytes);
/* Fill ck from its head, these tables, which lie in memory one after the other, and the
 * table of shapes in its file. Trusts no number in them. */
int index_parse(raytrain_checkpoint *ck, const void *tables, uint64_t n,
                struct error *err);

/* A range of bytes of a file. */
struct extent {
    uint64_t start, end;
};
/* The metadata: the extents of a file that are neither its head nor tensors' bytes, in
 * order. *extents is malloc'ed. RAYTRAIN_ECORRUPT if tensors overlap or leave the file.
 */
int metadata_extents(const raytrain_checkpoint *ck, uint64_t file_bytes,
                     struct extent **extents, size_t *n, struct error *err);

/* -- open.c -- */
#define CHUNK_BYTES_MIN 4096u /* in a valid head */
#define CHUNK_BYTES_MAX (64u << 20)
/* A checkpoint without contents that will be read from this file. NULL on failure. */
raytrain_checkpoint *checkpoint_for_reading(const char *path, struct error *err);
int checkpoint_file_open(raytrain_checkpoint *ck, struct error *err);

/* -- verify.c -- */
/* Chunks [first, first + n) of a part, to be verified. */
struct verify_piece {
    struct part part;
    uint64_t first, n;
};
/* One share of the work. */
struct verify_work {
    struct verify_piece *pieces;
    uint64_t *hashes; /* of their chunks, one piece after the other */
    size_t n, n_hashes;
    size_t room, hashes_room;
};
/* Where the work of a checkpoint is being cut into shares. It owns no memory. */
struct verify_cut {
    const raytrain_checkpoint *ck;
    int of;               /* shares */
    uint64_t done, total; /* bytes, and a constant for each chunk */
    struct part_reader parts;
    struct table hashes;
    struct part part; /* the last one that was read */
    uint64_t chunk;   /* of it: the next one */
};
void verify_cut_start(struct verify_cut *cut, const raytrain_checkpoint *ck, int of);
/* The next share: call it for 0, 1, 2 ... in turn. *work has room for it; without memory
 * (pieces is NULL) it is only counted. */
int verify_cut_next(struct verify_cut *cut, int share, struct verify_work *work,
                    struct error *err);
int verify_work_room(struct verify_work *work, size_t n, size_t n_hashes,
                     struct error *err);
/* RAYTRAIN_ECORRUPT names the first damaged dataset. Only the tensors of ck are needed. */
int verify_work_do(const raytrain_checkpoint *ck, const struct verify_work *work,
                   struct error *err);
void verify_work_clear(struct verify_work *work);

/* -- index_share.c -- */
/* COLLECTIVE: rank 0 cuts the work; each rank gets its share, to be cleared in any case.
 */
int verify_work_scatter(const raytrain_checkpoint *ck, struct comm *comm,
                        struct verify_work *work, struct error *err);
/* COLLECTIVE: the other ranks get head, report, tensors and parts of rank 0's. */
int index_bcast(raytrain_checkpoint *ck, struct comm *comm, struct error *err);

/* -- slab_io.c -- */
/* Read bytes [from, to) of a slab's stream; the tensor begins at `base` of the file. */
int slab_read(int fd, uint64_t base, const struct slab_stream *stream, uint64_t from,
              uint64_t to, void *data);
/* Read all of it: if it is large, with a few threads. */
int slab_read_all(int fd, uint64_t base, const struct slab_stream *stream, void *data);
/* A writer gathers what is adjacent in the file into one system call. */
#define WRITER_VECTORS 256
struct slab_writer;
struct slab_writer *slab_writer_create(int fd);
int slab_writer_add(struct slab_writer *w, const void *data, size_t n, uint64_t offset);
int slab_writer_flush(struct slab_writer *w);
void slab_writer_destroy(struct slab_writer *w);

#endif
