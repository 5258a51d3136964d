/*
 * tokens.h - splits texts and words into tokens at spaces, as Python's s.split(" ")
 * does: between two adjacent spaces there is an empty token. A missing word has no
 * tokens.
 */
#ifndef RAYTRAIN_PREPROCESS_TOKENS_H
#define RAYTRAIN_PREPROCESS_TOKENS_H

#include "preprocess/preprocessor.h"
#include "preprocess/tally.h"

struct tokens {
    const char *at; /* the remaining text; NULL: there is none */
    size_t n;
};

/* RAYTRAIN_ETYPE, with a message that begins with "WHAT: ", unless the column consists
 * of texts or words. */
int tokens_check(const char *what, const struct frame_column *c, struct error *err);
/* The tokens of a row. */
struct tokens tokens_of(const struct frame_column *c, uint64_t row);
/* The next token; false: there is none. */
bool tokens_next(struct tokens *t, const char **token, size_t *n);
/* The number of tokens in all rows. */
uint64_t tokens_count(const struct frame_column *c, uint64_t rows);

/* ---- Slots for preprocessors that learn which tokens there are ---- */

struct vocabulary {
    struct dictionary *seen;
    struct tally tally;
};

int vocabulary_begin(const struct preprocessor *p, void *fit,
                     const struct frame_column *c, struct error *err);
int vocabulary_rows(const struct preprocessor *p, void *fit,
                    const struct frame_column *c, uint64_t rows, struct error *err);
void vocabulary_free(void *fit);

#endif
