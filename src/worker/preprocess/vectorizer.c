/*
 * vectorizer.c - tokenizer, count_vectorizer and hashing_vectorizer: texts become lists
 * of tokens, or sparse vectors with the count of each token.
 *
 * tokenizer and count_vectorizer learn the tokens of the training set. Other tokens
 * become missing words of a list, and have no element in a vector. The elements of
 * count_vectorizer are in the order of falling frequency, as in Ray.
 */
#include "preprocess/vectorizer.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "preprocess/tokens.h"

uint32_t token_hash(const char *token, size_t n, uint32_t num_features)
{
    return (uint32_t)(XXH64(token, n, 0) % num_features);
}

static const struct fitted_item *vocabulary_of(const struct column_plan *plan,
                                               struct error *err)
{
    const char *column = plan->p->config->columns[plan->source];
    const struct fitted_item *item =
        fitted_find(&plan->p->fitted, column, "categories");

    if (!item || item->type != FITTED_WORDS) {
        error_set(err, RAYTRAIN_ECORRUPT, "%s: nothing was learned about column \"%s\"",
                  plan->p->ops->name, column);
        return NULL;
    }
    return item;
}

/* COLLECTIVE: end the pass; the most frequent tokens come first if max > 0. */
static int vocabulary_end(struct preprocessor *p, struct vocabulary *v,
                          const struct frame_column *c, size_t max, struct comm *comm,
                          bool *again, struct error *err)
{
    *again = false;
    if (tally_reduce(&v->tally, comm, err) < 0)
        return -1;
    return tally_save(&v->tally, max, c->name, &p->fitted, err);
}

/* ---- tokenizer ---- */

static int tokenizer_end(struct preprocessor *p, void *fit,
                         const struct frame_column *c, struct comm *comm, bool *again,
                         struct error *err)
{
    return vocabulary_end(p, fit, c, 0, comm, again, err);
}

static int tokenizer_plan(struct column_plan *plan, const struct frame_column *in,
                          struct error *err)
{
    const struct fitted_item *item = vocabulary_of(plan, err);

    if (!item || tokens_check("tokenizer", in, err) < 0)
        return -1;
    plan->like.kind = FRAME_WORD_LISTS;
    plan->like.words = item->words;
    return 0;
}

static int tokenizer_map(const struct column_plan *plan, const struct frame_column *in,
                         uint64_t rows, struct frame_column *out, struct error *err)
{
    const char *token;
    int32_t *codes;
    uint64_t at = 0;
    size_t n;

    if (frame_reserve(out, rows, tokens_count(in, rows), err) < 0)
        return -1;
    codes = (int32_t *)(void *)out->data;
    out->offsets[0] = 0;
    for (uint64_t row = 0; row < rows; row++) {
        struct tokens t = tokens_of(in, row);

        while (tokens_next(&t, &token, &n))
            codes[at++] = dictionary_find(plan->like.words, token, n);
        out->offsets[row + 1] = at;
    }
    out->n_data = at;
    return 0;
}

const struct preprocessor_ops preprocessor_tokenizer = {
    .name = "tokenizer",
    .fit_size = sizeof(struct vocabulary),
    .fit_begin = vocabulary_begin,
    .fit_rows = vocabulary_rows,
    .fit_end = tokenizer_end,
    .fit_free = vocabulary_free,
    .plan = tokenizer_plan,
    .map = tokenizer_map,
};

/* ---- Vectors ---- */

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Sort the n indices of a row, and count those that occur more than once. Returns the
 * number of different ones. */
static size_t indices_count(uint32_t *indices, float *counts, size_t n)
{
    size_t used = 0;

    if (n > 1)
        qsort(indices, n, sizeof *indices, by_index);
    for (size_t i = 0; i < n; i++) {
        if (used > 0 && indices[used - 1] == indices[i]) {
            counts[used - 1]++;
            continue;
        }
        indices[used] = indices[i];
        counts[used++] = 1;
    }
    return used;
}

/* The element of a token; -1: it has none. */
typedef int64_t index_of(const struct column_plan *plan, const char *token, size_t n);

static int vectors_make(const struct column_plan *plan, index_of *find,
                        const struct frame_column *in, uint64_t rows,
                        struct frame_column *out, struct error *err)
{
    float *counts;
    const char *token;
    uint64_t at = 0;
    size_t n;

    if (frame_reserve(out, rows, tokens_count(in, rows), err) < 0)
        return -1;
    counts = (float *)(void *)out->data;
    out->offsets[0] = 0;
    for (uint64_t row = 0; row < rows; row++) {
        struct tokens t = tokens_of(in, row);
        size_t found = 0;

        while (tokens_next(&t, &token, &n)) {
            int64_t index = find(plan, token, n);

            if (index >= 0)
                out->indices[at + found++] = (uint32_t)index;
        }
        at += indices_count(out->indices + at, counts + at, found);
        out->offsets[row + 1] = at;
    }
    out->n_data = at;
    return 0;
}

static void vectors_like(struct column_plan *plan, uint64_t length)
{
    plan->like.kind = FRAME_SPARSE;
    plan->like.words = NULL;
    plan->like.row =
        (raytrain_tensor){.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {length}};
}

/* ---- count_vectorizer ---- */

struct count_state {
    const struct dictionary *tokens; /* the code of a token is its element */
};

static int count_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                     struct comm *comm, bool *again, struct error *err)
{
    int max = p->config->max_features;

    return vocabulary_end(p, fit, c, max > 0 ? (size_t)max : SIZE_MAX, comm, again,
                          err);
}

static int count_plan(struct column_plan *plan, const struct frame_column *in,
                      struct error *err)
{
    const struct fitted_item *item = vocabulary_of(plan, err);
    struct count_state *state;

    if (!item || tokens_check("count_vectorizer", in, err) < 0)
        return -1;
    state = malloc(sizeof *state);
    if (!state)
        return error_no_memory(err);
    *state = (struct count_state){item->words};
    plan->state = state;
    vectors_like(plan, dictionary_count(item->words));
    return 0;
}

static int64_t count_index(const struct column_plan *plan, const char *token, size_t n)
{
    const struct count_state *state = plan->state;

    return dictionary_find(state->tokens, token, n);
}

static int count_map(const struct column_plan *plan, const struct frame_column *in,
                     uint64_t rows, struct frame_column *out, struct error *err)
{
    return vectors_make(plan, count_index, in, rows, out, err);
}

const struct preprocessor_ops preprocessor_count_vectorizer = {
    .name = "count_vectorizer",
    .fit_size = sizeof(struct vocabulary),
    .fit_begin = vocabulary_begin,
    .fit_rows = vocabulary_rows,
    .fit_end = count_end,
    .fit_free = vocabulary_free,
    .plan = count_plan,
    .map = count_map,
};

/* ---- hashing_vectorizer ---- */

static int hashing_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    if (tokens_check("hashing_vectorizer", in, err) < 0)
        return -1;
    vectors_like(plan, (uint64_t)plan->p->config->num_features);
    return 0;
}

static int64_t hashing_index(const struct column_plan *plan, const char *token,
                             size_t n)
{
    return token_hash(token, n, (uint32_t)plan->p->config->num_features);
}

static int hashing_map(const struct column_plan *plan, const struct frame_column *in,
                       uint64_t rows, struct frame_column *out, struct error *err)
{
    return vectors_make(plan, hashing_index, in, rows, out, err);
}

const struct preprocessor_ops preprocessor_hashing_vectorizer = {
    .name = "hashing_vectorizer",
    .plan = hashing_plan,
    .map = hashing_map,
};
