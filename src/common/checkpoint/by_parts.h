/* by_parts.h - tensors whose parts lie one after the other in the file. */
#ifndef RAYTRAIN_CHECKPOINT_BY_PARTS_H
#define RAYTRAIN_CHECKPOINT_BY_PARTS_H

#include "checkpoint/checkpoint_impl.h"

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

#endif
