/*
 * part_index.h - the directory of converted rows: parts, and index.json, which says what
 * they were made from. One rank alone changes it, and only while this run is locked.
 */
#ifndef RAYTRAIN_DATA_PART_INDEX_H
#define RAYTRAIN_DATA_PART_INDEX_H

#include <jansson.h>
#include <limits.h>
#include <stdint.h>

#include "util/error.h"

/* A part of a conversion: its complete path, and the hidden one until then. */
void part_path(char out[PATH_MAX], const char *directory, uint64_t conversion,
               unsigned part);
void part_path_hidden(char out[PATH_MAX], const char *directory, uint64_t conversion,
                      unsigned part);

/* The parts, an array of {"name", "bytes"}, that were made with this key, if they are
 * all there; NULL: there are none. */
json_t *part_index_find(const char *directory, const json_t *key);

/* Before a conversion: make the directory, and remove what a killed one has left.
 * *conversion is a number that no part of it has. */
int part_index_begin(const char *directory, uint64_t *conversion, struct error *err);
/* All parts are durable: from now on these are the rows. Others are removed. */
int part_index_write(const char *directory, const json_t *key, const json_t *parts,
                     uint64_t rows, struct error *err);

#endif
