/*
 * words_union.c - the dictionaries that all files share while they are opened, and new
 * codes when all words are known.
 */
#include "table/words_union.h"

#include <stdlib.h>
#include <string.h>

#include "table/expansion.h"

static struct dictionary *union_no_memory(struct error *err)
{
    error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");
    return NULL;
}

static struct named_words *named_words_find(const struct words_union *u,
                                            const char *column)
{
    int32_t code = u->names ? dictionary_find(u->names, column, strlen(column)) : -1;

    return code < 0 ? NULL : &u->columns[code];
}

struct dictionary *words_union_get(struct words_union *u, const char *column,
                                   struct error *err)
{
    struct named_words *found = named_words_find(u, column);
    int32_t code;

    if (found)
        return found->words;
    if (!u->names)
        u->names = dictionary_create();
    if (!u->names)
        return union_no_memory(err);
    found = reallocarray(u->columns, u->n + 1, sizeof *found);
    if (!found)
        return union_no_memory(err);
    u->columns = found;
    found += u->n;
    strcpy(found->name, column);
    found->words = dictionary_create();
    if (!found->words)
        return union_no_memory(err);
    if (dictionary_add(u->names, column, strlen(column), &code, err) < 0) {
        dictionary_destroy(found->words);
        return NULL;
    }
    u->n++;
    return found->words;
}

static int source_codes_change(const struct source *s, uint64_t rows,
                               const int32_t *change, struct error *err)
{
    struct expansion e;
    int32_t *codes;

    if (expansion_take_up(&e, s, err) < 0)
        return -1;
    codes = (int32_t *)(void *)e.bytes;
    for (uint64_t i = 0; i < rows; i++)
        if (codes[i] >= 0)
            codes[i] = change[codes[i]];
    return expansion_seal(&e, err);
}

static int column_finish(struct table *t, struct column *c, struct dictionary *words,
                         struct error *err)
{
    int32_t *change = malloc((dictionary_count(words) + 1) * sizeof *change);
    int rc = 0;

    if (!change) {
        union_no_memory(err);
        return -1;
    }
    rc = dictionary_sort(words, change, err);
    for (size_t i = 0; rc == 0 && i < c->n_extents; i++) {
        const struct extent *e = &t->extents[c->extent + i];

        rc = source_codes_change(&t->sources[e->source], e->rows, change, err);
    }
    free(change);
    return rc;
}

int words_union_finish(struct words_union *u, struct table *t, struct error *err)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        struct column *c = &t->columns[i];
        struct named_words *found = named_words_find(u, c->name);

        if (c->kind != FRAME_WORDS || !found)
            continue;
        if (column_finish(t, c, found->words, err) < 0)
            return -1;
        c->words = found->words;
        found->words = NULL;
    }
    return 0;
}

void words_union_clear(struct words_union *u)
{
    for (size_t i = 0; i < u->n; i++)
        dictionary_destroy(u->columns[i].words);
    free(u->columns);
    dictionary_destroy(u->names);
    *u = (struct words_union){0};
}
