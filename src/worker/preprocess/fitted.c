/*
 * fitted.c - stores and finds the items that preprocessors learn. chain_file.c writes
 * them to files.
 */
#include "preprocess/fitted.h"

#include <stdlib.h>
#include <string.h>

static int item_alloc(struct fitted_item *item, struct error *err)
{
    item->n = 1;
    for (int i = 0; i < item->ndim; i++)
        item->n *= (size_t)item->shape[i];
    if (item->type == FITTED_WORDS)
        item->words = dictionary_create();
    else if (item->type == FITTED_REALS)
        item->reals = calloc(item->n + 1, sizeof *item->reals);
    else if (item->type == FITTED_BYTES)
        item->bytes = calloc(item->n + 1, 1);
    else
        item->integers = calloc(item->n + 1, sizeof *item->integers);
    if (item->words || item->reals || item->integers || item->bytes)
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory for %s of column \"%s\"",
                     item->name, item->column);
}

struct fitted_item *fitted_add(struct fitted *f, const char *column, const char *name,
                               enum fitted_type type, int ndim, const uint64_t *shape,
                               struct error *err)
{
    struct fitted_item *grown = reallocarray(f->items, f->n + 1, sizeof *grown);

    if (!grown) {
        error_no_memory(err);
        return NULL;
    }
    f->items = grown;
    grown += f->n;
    *grown = (struct fitted_item){.type = type, .ndim = ndim};
    strncpy(grown->column, column, RAYTRAIN_NAME_MAX);
    strncpy(grown->name, name, FITTED_NAME_MAX);
    if (ndim > 0)
        memcpy(grown->shape, shape, (size_t)ndim * sizeof *shape);
    if (item_alloc(grown, err) < 0)
        return NULL;
    f->n++;
    return grown;
}

const struct fitted_item *fitted_find(const struct fitted *f, const char *column,
                                      const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->items[i].column, column) && !strcmp(f->items[i].name, name))
            return &f->items[i];
    return NULL;
}

int fitted_reals(const struct fitted *f, const char *column, const char *name, size_t n,
                 const double **values, struct error *err)
{
    const struct fitted_item *item = fitted_find(f, column, name);

    if (!item || item->type != FITTED_REALS)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "column \"%s\" has no %s among what was learned", column,
                         name);
    if (item->n != n)
        return error_set(err, RAYTRAIN_ETYPE,
                         "column \"%s\" has rows of %zu numbers, but was fitted with "
                         "rows of %zu",
                         column, n, item->n);
    *values = item->reals;
    return 0;
}

void fitted_clear(struct fitted *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->items[i].reals);
        free(f->items[i].integers);
        free(f->items[i].bytes);
        dictionary_destroy(f->items[i].words);
    }
    free(f->items);
    f->items = NULL;
    f->n = 0;
}
