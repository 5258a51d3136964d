/*
 * tokens.c - splits texts at spaces, and learns vocabularies. vectorizer.c decides
 * which tokens are kept.
 */
#include "preprocess/tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- Tokens ---- */

int tokens_check(const char *what, const struct frame_column *c, struct error *err)
{
    if (c->kind == FRAME_TEXT || c->kind == FRAME_WORDS)
        return 0;
    return error_set(err, RAYTRAIN_ETYPE,
                     "%s: column \"%s\" consists neither of texts nor of words", what,
                     c->name);
}

struct tokens tokens_of(const struct frame_column *c, uint64_t row)
{
    struct tokens t = {NULL, 0};
    int32_t code;

    if (c->kind == FRAME_TEXT) {
        t.at = (const char *)c->data + c->offsets[row];
        t.n = (size_t)(c->offsets[row + 1] - c->offsets[row]);
        return t;
    }
    code = ((const int32_t *)(const void *)c->data)[row];
    if (code >= 0)
        t.at = dictionary_word(c->words, (size_t)code, &t.n);
    return t;
}

bool tokens_next(struct tokens *t, const char **token, size_t *n)
{
    const char *space;

    if (!t->at)
        return false;
    space = t->n > 0 ? memchr(t->at, ' ', t->n) : NULL;
    *token = t->at;
    *n = space ? (size_t)(space - t->at) : t->n;
    t->n -= space ? *n + 1 : t->n;
    t->at = space ? space + 1 : NULL;
    return true;
}

uint64_t tokens_count(const struct frame_column *c, uint64_t rows)
{
    uint64_t count = 0;

    for (uint64_t row = 0; row < rows; row++) {
        struct tokens t = tokens_of(c, row);
        const char *token;
        size_t n;

        while (tokens_next(&t, &token, &n))
            count++;
    }
    return count;
}

/* ---- Learning ---- */

int vocabulary_begin(const struct preprocessor *p, void *fit,
                     const struct frame_column *c, struct error *err)
{
    struct vocabulary *v = fit;
    struct frame_column like = {.kind = FRAME_WORDS};

    if (tokens_check(p->ops->name, c, err) < 0)
        return -1;
    v->seen = dictionary_create();
    if (!v->seen)
        return error_no_memory(err);
    like.words = v->seen;
    return tally_create(&v->tally, p->ops->name, &like, err);
}

static int token_count(struct vocabulary *v, const char *token, size_t n,
                       struct error *err)
{
    struct tally *t = &v->tally;
    int32_t code;

    if (dictionary_add(v->seen, token, n, &code, err) < 0)
        return -1;
    if ((size_t)code + 1 >= t->room) {
        size_t room = 2 * t->room + 64;
        int64_t *grown = reallocarray(t->counts, room, sizeof *grown);

        if (!grown)
            return error_no_memory(err);
        memset(grown + t->room, 0, (room - t->room) * sizeof *grown);
        t->counts = grown;
        t->room = room;
    }
    t->counts[code]++;
    return 0;
}

int vocabulary_rows(const struct preprocessor *p, void *fit,
                    const struct frame_column *c, uint64_t rows, struct error *err)
{
    const char *token;
    size_t n;

    (void)p;
    for (uint64_t row = 0; row < rows; row++) {
        struct tokens t = tokens_of(c, row);

        while (tokens_next(&t, &token, &n))
            if (token_count(fit, token, n, err) < 0)
                return -1;
    }
    return 0;
}

void vocabulary_free(void *fit)
{
    struct vocabulary *v = fit;

    tally_free(&v->tally);
    dictionary_destroy(v->seen);
    v->seen = NULL;
}
