/*
 * dictionary.h - the distinct words of a column, each with a code: the number of words
 * that were there before it. A word is any bytes, also none.
 *
 * Threads: several may look words up while none adds any.
 */
#ifndef RAYTRAIN_FRAME_DICTIONARY_H
#define RAYTRAIN_FRAME_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct dictionary;

/* The most words: codes are int32_t. */
#define DICTIONARY_MAX ((size_t)INT32_MAX)

/* NULL: out of memory. */
struct dictionary *dictionary_create(void);
void dictionary_destroy(struct dictionary *d); /* NULL is fine */

size_t dictionary_count(const struct dictionary *d);
/* Bytes of memory in use; up to three times as many while it grows. */
size_t dictionary_memory(const struct dictionary *d);
/* The word of a code, code < count; *n is its length. The bytes end with a NUL, which
 * does not count, and are valid until the next word is added. */
const char *dictionary_word(const struct dictionary *d, size_t code, size_t *n);
/* -1: it is not there. */
int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n);
/* Its code, which is new if it was not there. RAYTRAIN_ENOMEM, RAYTRAIN_EFIT if there
 * are too many. */
int dictionary_add(struct dictionary *d, const char *word, size_t n, int32_t *code,
                   struct error *err);

/* The same for a few words, at most DICTIONARY_AHEAD: in a large dictionary that is
 * faster than one by one, which would wait for memory each time. */
#define DICTIONARY_AHEAD 32

struct dictionary_text {
    const char *bytes;
    size_t n;
};

int dictionary_add_some(struct dictionary *d, const struct dictionary_text texts[],
                        size_t n, int32_t codes[], struct error *err);

/*
 * Give the words new codes, in the order of their bytes (as memcmp(), the shorter of
 * two that begin alike first). codes[old] becomes the new code; NULL: not wanted.
 */
int dictionary_sort(struct dictionary *d, int32_t *codes, struct error *err);

/* All words as bytes, to be sent to other ranks: a length (uint32_t, of this machine)
 * and the bytes of each. *bytes is malloc'ed. */
int dictionary_pack(const struct dictionary *d, unsigned char **bytes, size_t *n,
                    struct error *err);
/* Add the words of a packed one. codes[its code] becomes the code here; NULL: not
 * wanted, else with room for all of them. RAYTRAIN_ECORRUPT if the bytes are not those
 * of a dictionary. */
int dictionary_unpack(struct dictionary *d, const unsigned char *bytes, size_t n,
                      int32_t *codes, struct error *err);

#endif
