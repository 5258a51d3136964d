/*
 * checkpoint_impl.h - inside a checkpoint: its tensors, parts and plan, which its writer
 * and its reader share, and functions on them.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKPOINT_IMPL_H
#define RAYTRAIN_CHECKPOINT_CHECKPOINT_IMPL_H

#include <stdbool.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/file_format.h"
#include "checkpoint/name_map.h"
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

/* What rank 0 knows about all ranks: every part, in the order of the table. */
struct plan {
    struct part *parts;
    int *ranks; /* the owner of each part; -1: replicated */
    size_t n_parts;
    uint64_t n_hashes;
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

/* -- open.c -- */
#define CHUNK_BYTES_MIN 4096u /* in a valid head */
#define CHUNK_BYTES_MAX (64u << 20)
/* A checkpoint without contents that will be read from this file. NULL on failure. */
raytrain_checkpoint *checkpoint_for_reading(const char *path, struct error *err);
int checkpoint_file_open(raytrain_checkpoint *ck, struct error *err);

#endif
