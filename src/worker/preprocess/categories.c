/*
 * categories.c - learns categories, and looks values up. Values are counted by tally.c.
 */
#include "preprocess/categories.h"

#include <stdlib.h>

#include "preprocess/reals.h"
#include "preprocess/tally.h"

/* ---- Learning ---- */

int categories_begin(const struct preprocessor *p, void *fit,
                     const struct frame_column *c, struct error *err)
{
    return tally_create(fit, p->ops->name, c, err);
}

int categories_rows(const struct preprocessor *p, void *fit,
                    const struct frame_column *c, uint64_t rows, struct error *err)
{
    (void)p;
    return tally_add(fit, c, rows, err);
}

static int missing_value(const struct preprocessor *p, const char *column,
                         struct error *err)
{
    return error_set(
        err, RAYTRAIN_EINVAL,
        "%s: column \"%s\" has missing values; put a simple_imputer before "
        "it",
        p->ops->name, column);
}

int categories_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                   struct comm *comm, bool *again, struct error *err)
{
    const struct column_numbers *max =
        column_numbers_find(&p->config->max_categories, c->name);
    struct tally *t = fit;

    *again = false;
    if (tally_reduce(t, comm, err) < 0)
        return -1;
    if (t->missing > 0 && c->kind != FRAME_WORD_LISTS &&
        p->config->kind != PREPROCESSOR_categorizer)
        return missing_value(p, c->name, err);
    return tally_save(t, max ? (size_t)max->values[0] : 0, c->name, &p->fitted, err);
}

void categories_free(void *fit)
{
    tally_free(fit);
}

/* ---- Categories of values ---- */

static int words_index(struct categories *s, const struct dictionary *words,
                       struct error *err)
{
    size_t n = dictionary_count(words), length;

    s->by_code = malloc((n + 1) * sizeof *s->by_code);
    if (!s->by_code)
        return error_no_memory(err);
    for (size_t code = 0; code < n; code++) {
        const char *word = dictionary_word(words, code, &length);

        s->by_code[code] = dictionary_find(s->of->words, word, length);
    }
    return 0;
}

/* Integers are compared with others as doubles. */
static int numbers_index(struct categories *s, const struct frame_column *in,
                         struct error *err)
{
    int32_t number;

    s->as_reals = s->of->type == FITTED_REALS || reals_is_float(in->row.dtype);
    for (size_t i = 0; i < s->of->n; i++) {
        uint64_t key = s->of->type == FITTED_REALS ? reals_key(s->of->reals[i])
                                                   : (uint64_t)s->of->integers[i];

        if (s->as_reals && s->of->type == FITTED_INTEGERS)
            key = reals_key((double)s->of->integers[i]);
        if (key_index_add(&s->keys, key, &number, err) < 0)
            return -1;
        if ((size_t)number != i)
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "the categories of column \"%s\" are not different",
                             in->name);
    }
    return 0;
}

int categories_plan(struct column_plan *plan, const struct frame_column *in,
                    struct error *err)
{
    const char *column = plan->p->config->columns[plan->source];
    bool words = in->kind == FRAME_WORDS || in->kind == FRAME_WORD_LISTS;
    struct categories *s = calloc(1, sizeof *s);

    if (!s)
        return error_no_memory(err);
    plan->state = s;
    s->of = fitted_find(&plan->p->fitted, column, "categories");
    if (!s->of)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: nothing was learned about column \"%s\"",
                         plan->p->ops->name, column);
    if (words != (s->of->type == FITTED_WORDS) ||
        (!words && (in->kind != FRAME_NUMBERS || reals_width(in) != 1)))
        return error_set(err, RAYTRAIN_ETYPE,
                         "%s: column \"%s\" is of another kind than the one that was "
                         "fitted",
                         plan->p->ops->name, column);
    return words ? words_index(s, in->words, err) : numbers_index(s, in, err);
}

void categories_plan_free(struct column_plan *plan)
{
    struct categories *s = plan->state;

    if (!s)
        return;
    free(s->by_code);
    key_index_clear(&s->keys);
    free(s);
}

int categories_find(const struct column_plan *plan, const struct frame_column *c,
                    size_t first, size_t n, bool missing_ok, int32_t *to,
                    struct error *err)
{
    const struct categories *s = plan->state;
    const int32_t *codes = (const int32_t *)(const void *)c->data + first;
    bool none[CATEGORIES_BLOCK], any = false;
    uint64_t keys[CATEGORIES_BLOCK];

    if (s->by_code) {
        for (size_t i = 0; i < n; i++) {
            any = any || codes[i] < 0;
            to[i] = codes[i] < 0 ? -1 : s->by_code[codes[i]];
        }
    } else {
        reals_keys(c, first, n, s->as_reals, keys, none);
        for (size_t i = 0; i < n; i++) {
            any = any || none[i];
            to[i] = none[i] ? -1 : key_index_find(&s->keys, keys[i]);
        }
    }
    return any && !missing_ok ? missing_value(plan->p, c->name, err) : 0;
}
