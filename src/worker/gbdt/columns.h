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

/* With more features than this, they have no names. */
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
    /* LIBSVM text has them, and not the configuration: a dataset may lack them. */
    bool weight_optional, qid_optional;
    char *const *exclude;
    size_t n_exclude;
    bool libsvm; /* its columns of weights and queries are not features in any case */
};

/* A dataset, for messages. `ds` NULL: they do not say where values are. */
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
    /* The rows are LIBSVM text, which says what the weight of a row is, and its query:
     * these are used without being named; the queries, if the objective `ranks`. */
    bool libsvm, ranks;
};

/*
 * The training set: all columns of `schema` without another use are features, in their
 * order. RAYTRAIN_ENOTFOUND for a column of the configuration that is not there,
 * RAYTRAIN_ETYPE for one that has no numbers.
 */
int gbdt_columns_find(const struct frame *schema, const struct gbdt_columns_use *use,
                      struct gbdt_columns *out, struct error *err);
/* Another dataset has them, too. Its sparse vectors may be longer: what is in them
 * shows in their rows. */
int gbdt_columns_check(const struct gbdt_columns *columns, const struct frame *schema,
                       const struct gbdt_dataset *dataset, struct error *err);
/* The column of the weights, or of the queries, of a dataset; NULL: its rows have
 * none. */
const char *gbdt_columns_weight(const struct gbdt_columns *columns,
                                const struct frame *schema);
const char *gbdt_columns_qid(const struct gbdt_columns *columns,
                             const struct frame *schema);
/* Has the dataset queries, as LIBSVM text says, that the objective has no use for? */
bool gbdt_columns_spares_queries(const struct gbdt_columns *columns,
                                 const struct frame *schema);
/* The columns of a dataset that are not used, "x, y", but for such queries and those
 * that the configuration excludes; empty: there is none. */
int gbdt_columns_unused(const struct gbdt_columns *columns, const struct frame *schema,
                        char *text, size_t size, struct error *err);
/* Their names, and which are categories. RAYTRAIN_EINVAL: two have the same name. */
int gbdt_columns_features(const struct gbdt_columns *columns,
                          const struct gbdt_config *cfg, struct gbdt_features *out,
                          struct error *err);
void gbdt_columns_clear(struct gbdt_columns *columns);

/* The elements of a row of numbers, or the length of a sparse vector. */
uint64_t gbdt_column_width(const struct frame_column *c);

#endif
