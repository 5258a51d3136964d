/*
 * left_out.h - what cannot be read in the files of a dataset: columns, and files of a
 * directory. A dataset is opened without them, and a warning names them and the
 * reasons.
 */
#ifndef RAYTRAIN_TABLE_LEFT_OUT_H
#define RAYTRAIN_TABLE_LEFT_OUT_H

#include <stdbool.h>

#include "frame/dictionary.h"
#include "util/error.h"

struct left_out {
    struct left_out_item {
        char *name; /* any bytes but NUL */
        char *why;  /* "holds compounds" */
        bool file;  /* else a column */
    } * items;
    size_t n;
    struct dictionary *names; /* of the columns: many files have the same */
};

/* A column that is there already is not added again. NULL: nothing is kept. */
int left_out_column(struct left_out *l, const char *name, const char *why,
                    struct error *err);
int left_out_file(struct left_out *l, const char *path, const char *why,
                  struct error *err);
/* Remove a column that the user does not want. False: it is not listed. */
bool left_out_forget(struct left_out *l, const char *column);
/* "\"a\" (holds compounds), \"b\" (is in a group) and 3 others", of columns or of
 * files. */
void left_out_describe(const struct left_out *l, bool files, char *text, size_t size);
/* The number of columns or files. */
size_t left_out_count(const struct left_out *l, bool files);
void left_out_clear(struct left_out *l);

#endif
