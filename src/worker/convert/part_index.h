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

/* The path of a part, and the hidden path that it has until it is complete. */
void part_path(char out[PATH_MAX], const char *directory, uint64_t conversion,
               unsigned part);
void part_path_hidden(char out[PATH_MAX], const char *directory, uint64_t conversion,
                      unsigned part);

/* The content of index.json, if all parts that it lists exist. */
struct part_index {
    json_t *parts; /* an array of {"name", "bytes", "sums"}; NULL: there are none */
    json_t *key;   /* what they were made from: conversion_key.h */
};

struct part_index part_index_read(const char *directory);
void part_index_clear(struct part_index *index);

/* Before a conversion: makes the directory, and removes the leftovers of a killed
 * conversion. *conversion is a number that no part in the directory has. */
int part_index_begin(const char *directory, uint64_t *conversion, struct error *err);
/* True if the parts were verified since raytrain-run was started. `invocation` is the
 * token of that start; without one, NULL, they count as not verified. */
bool part_index_is_verified(const char *directory, const char *invocation);
void part_index_set_verified(const char *directory, const char *invocation);
/* Removes the parts of a conversion that is discarded. */
void part_index_discard(const char *directory, const json_t *parts);
/* When all parts are durable: makes them the rows of the dataset, and removes all
 * others. */
int part_index_write(const char *directory, const json_t *key, const json_t *parts,
                     uint64_t rows, struct error *err);

#endif
