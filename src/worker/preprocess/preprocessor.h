/*
 * preprocessor.h - the interface to preprocessors. One is a row of the configuration
 * with what it has learned from the training set.
 *
 * Most look at each of their columns alone: they learn about it in one pass over the
 * training set or several, and make a new column of it. The others make columns of
 * several ones, and have nothing to learn.
 *
 * What a preprocessor makes depends on its configuration, on what it has learned and on
 * the types of its input alone, so that the types of its output are known without data.
 *
 * To add one: write a file that defines a `struct preprocessor_ops`. What it learns are
 * named numbers and words (fitted.h), under whose names they are in files. Add a row to
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
    bool is_fitted; /* or there is nothing to learn */
};

/* How a column becomes another one. */
struct column_plan {
    const struct preprocessor *p;
    size_t source;            /* its index in the columns of the configuration */
    struct frame_column like; /* the result, without memory */
    /* The result has the same type, and is written over the input: map() gets the same
     * column twice. */
    bool in_place;
    bool is_absent;           /* there is no such column */
    void *state;              /* for map(), freed by plan_free() */
    struct dictionary *owned; /* a dictionary that was made for like.words; or NULL */
};

/* What a preprocessor of several columns keeps between batches. */
struct frame_plan {
    const struct preprocessor *p;
    void *state;
};

struct preprocessor_ops {
    const char *name; /* as in the configuration */

    /* ---- Learning, a column at a time. fit_size is 0 if there is nothing to learn. */

    /* With this configuration there is nothing to learn; NULL: there always is. */
    bool (*is_given)(const struct preprocessor_config *config);
    size_t fit_size; /* of the state below, which is zeroed first */
    /* Before the first pass. `c` has the type of the column, without rows; its
     * dictionary stays as it is. RAYTRAIN_ETYPE if this is not for it. */
    int (*fit_begin)(const struct preprocessor *p, void *fit,
                     const struct frame_column *c, struct error *err);
    int (*fit_rows)(const struct preprocessor *p, void *fit,
                    const struct frame_column *c, uint64_t rows, struct error *err);
    /* COLLECTIVE: the end of a pass over all rows. *again: another one is needed. Else
     * p->fitted gets what was learned, the same on every rank. */
    int (*fit_end)(struct preprocessor *p, void *fit, const struct frame_column *c,
                   struct comm *comm, bool *again, struct error *err);
    void (*fit_free)(void *fit); /* zeroed is fine; may be NULL */

    /* ---- Making a column of each column; NULL in preprocessors of several. */

    /* plan->like is the input; make it the output, except for its name. */
    int (*plan)(struct column_plan *plan, const struct frame_column *in,
                struct error *err);
    /* `out` is reserved as `like` says, for columns with offsets by map() itself. */
    int (*map)(const struct column_plan *plan, const struct frame_column *in,
               uint64_t rows, struct frame_column *out, struct error *err);
    void (*plan_free)(struct column_plan *plan); /* NULL: free(state) */
    /* The same for a column that is not there; NULL: that is an error. plan->like has
     * only its name, and map() gets `out` as `in`. */
    int (*plan_absent)(struct column_plan *plan, struct error *err);
    int (*map_absent)(const struct column_plan *plan, const struct frame_column *in,
                      uint64_t rows, struct frame_column *out, struct error *err);
    /* The way back; NULL: there is none. plan_inverse() finds the output of map(). */
    int (*plan_inverse)(struct column_plan *plan, const struct frame_column *in,
                        struct error *err);
    int (*map_inverse)(const struct column_plan *plan, const struct frame_column *in,
                       uint64_t rows, struct frame_column *out, struct error *err);

    /* ---- Making columns of several ones; NULL in the others. */

    /* Change the columns of `schema`, which have no rows, as apply() will. */
    int (*bind)(struct frame_plan *plan, struct frame *schema, struct error *err);
    int (*apply)(const struct frame_plan *plan, struct frame *f, struct error *err);
    void (*unbind)(struct frame_plan *plan); /* NULL: free(state) */
    /* Does it read all columns that are there, if the configuration names none? */
    bool reads_all;

    /* ---- What it is for. */

    /* The labels: it is left out where its column is missing, as in predictions. */
    bool of_labels;
    /* Categories: what it reads as text is one word each, whose code it looks up. */
    bool reads_words;
};

#define PREPROCESSOR_DECLARE(id, ...)                                                  \
    extern const struct preprocessor_ops preprocessor_##id;
PREPROCESSORS(PREPROCESSOR_DECLARE)

/* The name of the result of the column of this index. */
const char *preprocessor_output(const struct preprocessor_config *config, size_t index);
/* Is it used for rows with these columns? All are, except those of missing labels. */
bool preprocessor_is_for(const struct preprocessor *p, const struct frame *columns);
/* Must the preprocessor still be fitted? */
bool preprocessor_needs_fit(const struct preprocessor *p);

#endif
