/*
 * columns.h - which columns of a dataset are features of the trees, and which are
 * label, weight, query and margin.
 */
#ifndef RAYTRAIN_GBDT_COLUMNS_H
#define RAYTRAIN_GBDT_COLUMNS_H

#include "config/gbdt_config.h"
#include "data/dataset.h"
#include "frame/frame.h"
#include "gbdt/gbdt_rows.h"

/* If there are more features than this, they have no names. */
#define GBDT_NAMES_MAX 65536

/* A column that has the features first .. first + width - 1. */
struct gbdt_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    uint64_t first, width;
};

struct gbdt_columns {
    struct gbdt_column *list;
    size_t n;
    uint64_t features;
    bool sparse; /* a column is sparse, so the rows are */
    bool wide;   /* float32 cannot hold the numbers of a column */
    /* Columns with another use; NULL: there is none. Borrowed. */
    const char *label, *weight, *qid, *margin;
    /* They come from LIBSVM text, not from the configuration: a dataset may lack
     * them. */
    bool weight_optional, qid_optional;
    char *const *exclude;
    size_t n_exclude;
    bool libsvm; /* its columns of weights and queries are not features in any case */
};

/* A dataset, for messages. Without `ds`, NULL, they do not say where values are. */
struct gbdt_dataset {
    const char *name;
    const raytrain_dataset *ds;
    const struct dataset_config *config;
};

/* What the training set is used for. */
struct gbdt_columns_use {
    struct gbdt_dataset dataset;
    const char *label;
    const struct gbdt_config *config;
    /* The rows are LIBSVM text, whose weights are used without a name in the
     * configuration; its queries too if the objective `ranks`. */
    bool libsvm, ranks;
};

/*
 * For the training set: all columns of `schema` without another use are features, in
 * their order. RAYTRAIN_ENOTFOUND if a column of the configuration does not exist,
 * RAYTRAIN_ETYPE if it does not have numbers.
 */
int gbdt_columns_find(const struct frame *schema, const struct gbdt_columns_use *use,
                      struct gbdt_columns *out, struct error *err);
/* Checks that another dataset has these columns. Its sparse vectors may be longer: only
 * their rows show whether the elements are features. */
int gbdt_columns_check(const struct gbdt_columns *columns, const struct frame *schema,
                       const struct gbdt_dataset *dataset, struct error *err);
/* The column of the weights, or of the queries, of a dataset; NULL: its rows have
 * none. */
const char *gbdt_columns_weight(const struct gbdt_columns *columns,
                                const struct frame *schema);
const char *gbdt_columns_qid(const struct gbdt_columns *columns,
                             const struct frame *schema);
/* True if LIBSVM text of this dataset has queries that the objective does not use. */
bool gbdt_columns_spares_queries(const struct gbdt_columns *columns,
                                 const struct frame *schema);
/* The columns of a dataset that are not used, "x, y", without such queries and those
 * that the configuration excludes; an empty text if there is none. */
int gbdt_columns_unused(const struct gbdt_columns *columns, const struct frame *schema,
                        char *text, size_t size, struct error *err);
/* The names of the features, and which are categories. RAYTRAIN_EINVAL: two have the
 * same name. */
int gbdt_columns_features(const struct gbdt_columns *columns,
                          const struct gbdt_config *cfg, struct gbdt_features *out,
                          struct error *err);
void gbdt_columns_clear(struct gbdt_columns *columns);

/* The number of elements of a row, or the length of a sparse vector. */
uint64_t gbdt_column_width(const struct frame_column *c);

#endif
