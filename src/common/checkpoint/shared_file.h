/*
 * shared_file.h - the chunks of a checkpoint into one file, which the ranks of several
 * nodes write at once, without two nodes writing to one page of it (page_writers.h).
 *
 * Every rank has some chunks. It writes them but for the pages that another rank
 * writes; these bytes it sends there at the end. Ranks of one node share its cache:
 * there nothing moves.
 *
 *   shared_file_begin()    COLLECTIVE, once rank 0 has created the file
 *   shared_file_write()    for each of this rank's chunks
 *   shared_file_finish()   COLLECTIVE: what is to move, moves
 *
 * In any thread.
 */
#ifndef RAYTRAIN_CHECKPOINT_SHARED_FILE_H
#define RAYTRAIN_CHECKPOINT_SHARED_FILE_H

#include "checkpoint/page_writers.h"

struct shared_file {
    /* The caller's: */
    struct comm *comm;
    const struct node_map *nodes;  /* NULL: all ranks are on one node */
    const raytrain_checkpoint *ck; /* its tensors have their places */
    const char *path;              /* for messages */
    struct chunk_walk chunks;      /* of all ranks; at its beginning */
    int (*owner)(void *arg, const struct chunk *chunk); /* which rank has it */
    /* Some of a chunk that this rank has: the bytes of the stream that `piece` says. */
    int (*read)(void *arg, const struct chunk *piece, void *to, struct error *err);
    void *arg;
    /* Ours: */
    struct page_writers pages; /* without pages: one node */
    struct slab_writer *writer;
};

/* Rank 0 says how long the file is, and, if it can, the size of the file system's
 * blocks. What rank 0 itself puts between the tensors counts. */
int shared_file_begin(struct shared_file *f, uint64_t file_bytes, uint64_t block_bytes,
                      struct error *err);
/* `fd` is for writing. A chunk's bytes must stay until the next flush. -1 and errno. */
int shared_file_open(struct shared_file *f, int fd);
int shared_file_write(struct shared_file *f, const struct chunk *chunk,
                      const void *data);
int shared_file_flush(struct shared_file *f);
/* All ranks have written theirs. A failure is this rank's: to be agreed on. */
int shared_file_finish(struct shared_file *f, struct error *err);
void shared_file_clear(struct shared_file *f); /* keeps errno */

#endif
