/* slab_io.h - reads and writes slabs of a file. */
#ifndef RAYTRAIN_CHECKPOINT_SLAB_IO_H
#define RAYTRAIN_CHECKPOINT_SLAB_IO_H

#include "checkpoint/checkpoint_impl.h"

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
