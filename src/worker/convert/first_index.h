/*
 * first_index.h - whether LIBSVM files number their features from 0 or from 1. The
 * files do not say it, and files that are used together must not differ, so this is
 * decided for all of them at once.
 */
#ifndef RAYTRAIN_CONVERT_FIRST_INDEX_H
#define RAYTRAIN_CONVERT_FIRST_INDEX_H

#include <jansson.h>

#include "comm/comm.h"
#include "config/data_config.h"
#include "text/source.h"

/* COLLECTIVE: *is becomes true if the files of the dataset are LIBSVM text. */
int first_index_applies(struct comm *all, const struct dataset_config *cfg, bool *is,
                        struct error *err);

/*
 * COLLECTIVE: FIRST_INDEX_ZERO if a dataset of LIBSVM text has an index 0 in any row,
 * else FIRST_INDEX_ONE. Reads all text, with `watch` as in dataset_env. Compressed
 * files are decompressed into `directory`, which is created if it does not exist
 * (NULL: this process is alone).
 */
int first_index_find(struct comm *all, const struct dataset_config cfgs[], size_t n,
                     const char *directory, const struct text_watch *watch,
                     enum first_index *found, struct error *err);

#endif
