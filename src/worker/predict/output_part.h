/*
 * output_part.h - the predictions of a complete part: a file in the run directory,
 * which gets its name when it is complete.
 *
 *     SHARDS/shard-000012     a head, the lengths of the streams, the streams
 *
 * It is not synced, because its rank would wait for that. A part, of an earlier attempt
 * or of another rank, is used only if its head, the length of the file and the checksum
 * of the streams agree. A part that is damaged when a node crashes is made again. When
 * a file is closed, other nodes see all of it under its new name (NFS, FUSE).
 */
#ifndef RAYTRAIN_PREDICT_OUTPUT_PART_H
#define RAYTRAIN_PREDICT_OUTPUT_PART_H

#include "predict/predicted.h"

int output_part_write(const char *dir, uint64_t index, uint64_t rows,
                      const struct predicted_stream *streams, size_t n,
                      struct error *err);

/* Checks that the part exists, with this number of rows and streams. 1: bytes[0..n) are
 * the lengths of its streams; 0: it does not, or is damaged; -1: it cannot be read. */
int output_part_look(const char *dir, uint64_t index, uint64_t rows, size_t n,
                     uint64_t bytes[], struct error *err);

/* Opens a part for reading. Returns the descriptor, or -1. */
int output_part_open(const char *dir, uint64_t index, struct error *err);
/* The offset of the first stream of n. */
uint64_t output_part_data(size_t n);

#endif
