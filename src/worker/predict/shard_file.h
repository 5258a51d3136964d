/*
 * shard_file.h - the predictions of a shard that is complete: a file in the run
 * directory, which has its name only once all of it is there.
 *
 *     SHARDS/shard-000012     a head, the lengths of the streams, the streams
 *
 * It is synced before it gets its name. Still, what an earlier attempt has made is
 * believed only if the head, the length of the file and the checksum of the streams
 * agree: a shard that is not is made again.
 */
#ifndef RAYTRAIN_PREDICT_SHARD_FILE_H
#define RAYTRAIN_PREDICT_SHARD_FILE_H

#include "predict/predicted.h"

int shard_file_write(const char *dir, uint64_t index, uint64_t rows,
                     const struct predicted_stream *streams, size_t n,
                     struct error *err);

/* Is the shard there, with so many rows and streams? 1: bytes[0..n) are the lengths of
 * its streams; 0: no, or it is damaged; -1: it cannot be read. */
int shard_file_look(const char *dir, uint64_t index, uint64_t rows, size_t n,
                    uint64_t bytes[], struct error *err);

/* Open it for reading: the descriptor, or -1. */
int shard_file_open(const char *dir, uint64_t index, struct error *err);
/* Where the first stream is, if there are n. */
uint64_t shard_file_data(size_t n);

#endif
