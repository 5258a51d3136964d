/*
 * first_index.h - do LIBSVM files number their features from 0 or from 1 on? They do
 * not say it, and files that are used together must not differ: this is decided for all
 * of them at once.
 */
#ifndef RAYTRAIN_CONVERT_FIRST_INDEX_H
#define RAYTRAIN_CONVERT_FIRST_INDEX_H

#include <jansson.h>

#include "comm/comm.h"
#include "config/data_config.h"
#include "text/source.h"

/* COLLECTIVE: *is, if the files of the dataset are LIBSVM text. */
int first_index_applies(struct comm *all, const struct dataset_config *cfg, bool *is,
                        struct error *err);

/*
 * COLLECTIVE: FIRST_INDEX_ZERO if a row of a dataset that is LIBSVM text has an index
 * 0, else FIRST_INDEX_ONE. All text is read, with `watch` as in dataset_env; files that
 * are compressed are decompressed into `directory`, which is made (NULL: this process
 * is alone).
 */
int first_index_find(struct comm *all, const struct dataset_config cfgs[], size_t n,
                     const char *directory, const struct text_watch *watch,
                     enum first_index *found, struct error *err);

#endif
