/*
 * preprocessor.h - the interface to preprocessors. A preprocessor is an entry of the
 * configuration, and what it has learned from the training set.
 *
 * Most preprocessors process each of their columns separately: they learn about it in
 * one or more passes over the training set, and make a new column from it. The others
 * make columns from several columns, and learn nothing.
 *
 * The output of a preprocessor depends only on its configuration, on what it has
 * learned and on the types of its input, so that the types of its output are known
 * without data.
 *
 * To add one: write a file that defines a `struct preprocessor_ops`. It learns named
 * numbers and words (fitted.h), which have these names in files too. Add a row to
 * PREPROCESSORS (config/preprocessor_row.h), its keys to config/preprocessor_keys.c, an
 * entry to raytrain.cfg(5), a class to share/python/raytrain/preprocessors.py, and the
 * result of another implementation to t/unit/test_preprocess.c.
 */
#ifndef RAYTRAIN_PREPROCESS_PREPROCESSOR_H
#define RAYTRAIN_PREPROCESS_PREPROCESSOR_H

#include "comm/comm.h"
#include "config/preprocessor_config.h"
#include "frame/frame.h"
#include "preprocess/fitted.h"

struct preprocessor {
    const struct preprocessor_ops *ops;
    const struct preprocessor_config *config; /* not owned */
    struct fitted fitted;
    bool is_fitted; /* or has nothing to learn */
};

/* How a column is made from another one. */
struct column_plan {
    const struct preprocessor *p;
    size_t source;            /* its index in the columns of the configuration */
    struct frame_column like; /* the result, without memory */
    /* The result has the same type, and overwrites the input: map() gets the same
     * column twice. */
    bool in_place;
    bool is_absent;           /* the dataset does not have the column */
    void *state;              /* for map(), freed by plan_free() */
    struct dictionary *owned; /* a dictionary that was made for like.words; or NULL */
};

/* The state between batches of a preprocessor that makes columns from several ones. */
struct frame_plan {
    const struct preprocessor *p;
    void *state;
};

struct preprocessor_ops {
    const char *name; /* as in the configuration */

    /* ---- Learning, a column at a time. fit_size is 0 if there is nothing to learn. */

    /* True if there is nothing to learn with this configuration; NULL: never. */
    bool (*is_given)(const struct preprocessor_config *config);
    size_t fit_size; /* of the state below, which is zeroed first */
    /* Before the first pass. `c` has the type of the column, without rows; its
     * dictionary does not change. RAYTRAIN_ETYPE if the preprocessor cannot use it. */
    int (*fit_begin)(const struct preprocessor *p, void *fit,
                     const struct frame_column *c, struct error *err);
    int (*fit_rows)(const struct preprocessor *p, void *fit,
                    const struct frame_column *c, uint64_t rows, struct error *err);
    /* COLLECTIVE: ends a pass over all rows. *again: another one is needed. Otherwise
     * p->fitted has what was learned, equal on every rank. */
    int (*fit_end)(struct preprocessor *p, void *fit, const struct frame_column *c,
                   struct comm *comm, bool *again, struct error *err);
    void (*fit_free)(void *fit); /* zeroed is fine; may be NULL */

    /* ---- Making a column from each column; otherwise NULL. */

    /* plan->like is the input; turns it into the output, except for its name. */
    int (*plan)(struct column_plan *plan, const struct frame_column *in,
                struct error *err);
    /* `out` has memory as `like` says; for columns with offsets map() reserves it. */
    int (*map)(const struct column_plan *plan, const struct frame_column *in,
               uint64_t rows, struct frame_column *out, struct error *err);
    void (*plan_free)(struct column_plan *plan); /* NULL: free(state) */
    /* The same for a column that does not exist; NULL: that is an error. plan->like has
     * only its name, and map() gets `out` as `in`. */
    int (*plan_absent)(struct column_plan *plan, struct error *err);
    int (*map_absent)(const struct column_plan *plan, const struct frame_column *in,
                      uint64_t rows, struct frame_column *out, struct error *err);
    /* The inverse; NULL: there is none. The input of plan_inverse() is the output of
     * map(). */
    int (*plan_inverse)(struct column_plan *plan, const struct frame_column *in,
                        struct error *err);
    int (*map_inverse)(const struct column_plan *plan, const struct frame_column *in,
                       uint64_t rows, struct frame_column *out, struct error *err);

    /* ---- Making columns from several columns; otherwise NULL. */

    /* Changes the columns of `schema`, which have no rows, as apply() will. */
    int (*bind)(struct frame_plan *plan, struct frame *schema, struct error *err);
    int (*apply)(const struct frame_plan *plan, struct frame *f, struct error *err);
    void (*unbind)(struct frame_plan *plan); /* NULL: free(state) */
    /* It reads all columns if the configuration names none. */
    bool reads_all;

    /* ---- Special purposes. */

    /* It is for labels: it is not applied without its column, as in predictions. */
    bool of_labels;
    /* It is for categories: it reads text as words, and looks up their codes. */
    bool reads_words;
};

#define PREPROCESSOR_DECLARE(id, ...)                                                  \
    extern const struct preprocessor_ops preprocessor_##id;
PREPROCESSORS(PREPROCESSOR_DECLARE)

/* The name of the result of column `index`. */
const char *preprocessor_output(const struct preprocessor_config *config, size_t index);
/* True if it is applied to rows with these columns: always, except for labels that they
 * do not have. */
bool preprocessor_is_for(const struct preprocessor *p, const struct frame *columns);
/* True if the preprocessor must still be fitted. */
bool preprocessor_needs_fit(const struct preprocessor *p);

#endif
