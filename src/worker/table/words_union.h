/*
 * words_union.h - the words of columns while the files of a dataset are opened: all
 * files share one dictionary for each column, so that the same word has the same code
 * in all of them, and is in memory once.
 *
 * A reader gives words codes as they come. When all files are open, the words are
 * sorted by their bytes, and the codes follow: they are those of a CSV file with these
 * words, and the same on every node.
 */
#ifndef RAYTRAIN_TABLE_WORDS_UNION_H
#define RAYTRAIN_TABLE_WORDS_UNION_H

#include "table/table.h"

struct words_union {
    struct named_words {
        char name[RAYTRAIN_NAME_MAX + 1];
        struct dictionary *words;
    } * columns;
    size_t n;
    struct dictionary *names; /* whose codes are the indices of the columns */
};

/* The words of the column so far, owned by the union; NULL on failure. */
struct dictionary *words_union_get(struct words_union *u, const char *column,
                                   struct error *err);
/* Gives the columns of words, which have no words yet, the sorted words and their
 * codes. Each extent is the whole of an expansion that is not sealed. */
int words_union_finish(struct words_union *u, struct table *t, struct error *err);
void words_union_clear(struct words_union *u);

#endif
