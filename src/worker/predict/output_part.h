/*
 * output_part.h - the predictions of a part that is complete: a file in the run
 * directory, which has its name only once all of it is there.
 *
 *     SHARDS/shard-000012     a head, the lengths of the streams, the streams
 *
 * It is not synced, for which its rank would wait: whether an earlier attempt made it,
 * or another rank before the file of all predictions is made, a part is believed only
 * if the head, the length of the file and the checksum of the streams agree. One that
 * does not survive the crash of a node is made again. Other nodes see all of a file
 * under a new name once it is closed (NFS, FUSE).
 */
#ifndef RAYTRAIN_PREDICT_OUTPUT_PART_H
#define RAYTRAIN_PREDICT_OUTPUT_PART_H

#include "predict/predicted.h"

int output_part_write(const char *dir, uint64_t index, uint64_t rows,
                      const struct predicted_stream *streams, size_t n,
                      struct error *err);

/* Is the part there, with this number of rows and streams? 1: bytes[0..n) are the
 * lengths of its streams; 0: no, or it is damaged; -1: it cannot be read. */
int output_part_look(const char *dir, uint64_t index, uint64_t rows, size_t n,
                     uint64_t bytes[], struct error *err);

/* Open it for reading: the descriptor, or -1. */
int output_part_open(const char *dir, uint64_t index, struct error *err);
/* Where the first stream is, if there are n. */
uint64_t output_part_data(size_t n);

#endif
