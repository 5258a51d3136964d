/*
 * columns.h - which columns of a dataset are features of the trees, and which are label,
 * weight, query and margin.
 */
#ifndef RAYTRAIN_GBDT_COLUMNS_H
#define RAYTRAIN_GBDT_COLUMNS_H

#include "config/gbdt_config.h"
#include "frame/frame.h"
#include "gbdt/shard.h"

/* Of more features than that none has a name. */
#define GBDT_NAMES_MAX 65536

/* The features first .. first + width - 1. */
struct gbdt_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    uint64_t first, width;
};

struct gbdt_columns {
    struct gbdt_column *list;
    size_t n;
    uint64_t features;
    bool sparse; /* one of them is sparse: rows are */
    bool wide;   /* float32 does not hold the numbers of one of them */
    /* The others; NULL: there is none. Borrowed. */
    const char *label, *weight, *qid, *margin;
};

/*
 * Of the training set: all columns of `schema` that have no other use are features, in
 * their order. RAYTRAIN_ENOTFOUND for a column of the configuration that is not there,
 * RAYTRAIN_ETYPE for one that has no numbers. `dataset` is its name, for messages.
 */
int gbdt_columns_find(const struct frame *schema, const char *dataset,
                      const char *label, const struct gbdt_config *cfg,
                      struct gbdt_columns *out, struct error *err);
/* Another dataset has them, too. */
int gbdt_columns_check(const struct gbdt_columns *columns, const struct frame *schema,
                       const char *dataset, struct error *err);
/* Their names, and which are categories. */
int gbdt_columns_features(const struct gbdt_columns *columns,
                          const struct gbdt_config *cfg, struct gbdt_features *out,
                          struct error *err);
void gbdt_columns_clear(struct gbdt_columns *columns);

/* The elements of a row of numbers, or the length of a sparse vector. */
uint64_t gbdt_column_width(const struct frame_column *c);

#endif
