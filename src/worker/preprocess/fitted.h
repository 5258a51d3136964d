/*
 * fitted.h - what a preprocessor has learned from the training set: named arrays of
 * numbers, lists of words, and bytes, by column. Checkpoints have them as datasets,
 * such as /preprocessor/0/standard_scaler/age/mean (chain_file.h).
 */
#ifndef RAYTRAIN_PREPROCESS_FITTED_H
#define RAYTRAIN_PREPROCESS_FITTED_H

#include <stdint.h>

#include "frame/dictionary.h"
#include "util/error.h"

#define FITTED_NAME_MAX 31

enum fitted_type { FITTED_REALS, FITTED_INTEGERS, FITTED_WORDS, FITTED_BYTES };

struct fitted_item {
    char column[RAYTRAIN_NAME_MAX + 1];
    char name[FITTED_NAME_MAX + 1]; /* "mean" */
    enum fitted_type type;
    int ndim; /* 0: one number; words have 1 */
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    size_t n; /* number of elements */
    double *reals;
    int64_t *integers;
    unsigned char *bytes;
    struct dictionary *words;
};

struct fitted {
    struct fitted_item *items;
    size_t n;
};

/* Adds an item with zeros, or without words; n is the product of `shape`. The pointer
 * is valid until the next item is added. */
struct fitted_item *fitted_add(struct fitted *f, const char *column, const char *name,
                               enum fitted_type type, int ndim, const uint64_t *shape,
                               struct error *err);
/* NULL if there is no such item. */
const struct fitted_item *fitted_find(const struct fitted *f, const char *column,
                                      const char *name);
/* The numbers of an item. RAYTRAIN_ECORRUPT if it does not exist, or does not have n
 * numbers. */
int fitted_reals(const struct fitted *f, const char *column, const char *name, size_t n,
                 const double **values, struct error *err);
void fitted_clear(struct fitted *f);

#endif
