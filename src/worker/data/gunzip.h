/* gunzip.h - inflate a gzip file, of one member or several, into memory of known size.
 */
#ifndef RAYTRAIN_DATA_GUNZIP_H
#define RAYTRAIN_DATA_GUNZIP_H

#include <stdbool.h>

#include "data/table.h"

/* By the magic number; a name says nothing. */
bool gunzip_probe(const unsigned char *head, size_t n);

/*
 * The first bytes of the content, from the first bytes of the file. How many came out
 * (at most `size`).
 */
size_t gunzip_head(const unsigned char *head, size_t n, unsigned char *out,
                   size_t size);

/*
 * All of it, which must be exactly `size` bytes. RAYTRAIN_ECORRUPT where it is more or
 * less, where the stream is damaged or cut off, or where other bytes follow it.
 */
int gunzip_file(const struct source *s, unsigned char *out, uint64_t size,
                struct error *err);

/* No gzip file of n bytes holds more than this: what a claim is checked against. */
uint64_t gunzip_bound(uint64_t n);

#endif
