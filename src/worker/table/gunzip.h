/* gunzip.h - inflate a gzip file, of one member or several, into memory of known size.
 */
#ifndef RAYTRAIN_TABLE_GUNZIP_H
#define RAYTRAIN_TABLE_GUNZIP_H

#include <stdbool.h>

#include "table/table.h"

/* By the magic number; the name does not matter. */
bool gunzip_probe(const unsigned char *head, size_t n);

/*
 * The first bytes of the content, from the first bytes of the file. Returns how many
 * there are (at most `size`).
 */
size_t gunzip_head(const unsigned char *head, size_t n, unsigned char *out,
                   size_t size);

/*
 * All of the content, which must be exactly `size` bytes. RAYTRAIN_ECORRUPT if it is
 * more or less, if the stream is damaged or truncated, or if bytes other than zeros
 * follow it.
 */
int gunzip_file(const struct source *s, unsigned char *out, uint64_t size,
                struct error *err);

/* No gzip file of n bytes contains more than this: a claimed size is checked against
 * it. */
uint64_t gunzip_bound(uint64_t n);

#endif
