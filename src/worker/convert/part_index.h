/*
 * part_index.h - the directory of converted rows: parts, and index.json, which says
 * what they were made from. One rank alone changes it, and only while this run is
 * locked.
 */
#ifndef RAYTRAIN_CONVERT_PART_INDEX_H
#define RAYTRAIN_CONVERT_PART_INDEX_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* A part of a conversion: its complete path, and the hidden one until then. */
void part_path(char out[PATH_MAX], const char *directory, uint64_t conversion,
               unsigned part);
void part_path_hidden(char out[PATH_MAX], const char *directory, uint64_t conversion,
                      unsigned part);

/* What index.json lists, if all of that is there. */
struct part_index {
    json_t *parts; /* an array of {"name", "bytes", "sums"}; NULL: there are none */
    json_t *key;   /* with which they were made */
};

struct part_index part_index_read(const char *directory);
void part_index_clear(struct part_index *index);

/* Before a conversion: make the directory, and remove what a killed one has left.
 * *conversion is a number that no part of it has. */
int part_index_begin(const char *directory, uint64_t *conversion, struct error *err);
/* Were the parts verified since raytrain-run was started? `invocation` is a token of
 * that start; NULL: there is none, and they never were. */
bool part_index_is_verified(const char *directory, const char *invocation);
void part_index_set_verified(const char *directory, const char *invocation);
/* Remove the parts of a conversion that is discarded. */
void part_index_discard(const char *directory, const json_t *parts);
/* All parts are durable: from now on these are the rows. Others are removed. */
int part_index_write(const char *directory, const json_t *key, const json_t *parts,
                     uint64_t rows, struct error *err);

#endif
