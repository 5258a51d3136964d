/* gunzip.h - inflates a gzip file, of one or more members, into memory of known
 * size. */
#ifndef RAYTRAIN_TABLE_GUNZIP_H
#define RAYTRAIN_TABLE_GUNZIP_H

#include <stdbool.h>

#include "table/table.h"

/* True for a gzip file, by its magic number; the name does not matter. */
bool gunzip_probe(const unsigned char *head, size_t n);

/*
 * Inflates the first bytes of the content from the first bytes of the file. Returns
 * their number, at most `size`.
 */
size_t gunzip_head(const unsigned char *head, size_t n, unsigned char *out,
                   size_t size);

/*
 * Inflates all of the content, which must have exactly `size` bytes. RAYTRAIN_ECORRUPT
 * if it has more or fewer, if the stream is damaged or truncated, or if bytes other
 * than zeros follow it.
 */
int gunzip_file(const struct source *s, unsigned char *out, uint64_t size,
                struct error *err);

/* The most content that a gzip file of n bytes can have, to check a claimed size. */
uint64_t gunzip_bound(uint64_t n);

#endif
