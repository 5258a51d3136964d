/*
 * dictionary.h - the distinct words of a column. Their codes are 0, 1, 2, ... in the
 * order in which they were added. A word may have any bytes, or none.
 *
 * Threads: several may look words up at the same time if none adds words.
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
/* Bytes of memory in use; while it grows, up to three times as many. */
size_t dictionary_memory(const struct dictionary *d);
/* The word of a code, code < count; *n is its length. The bytes end with a NUL, which
 * does not count, and are valid until the next word is added. */
const char *dictionary_word(const struct dictionary *d, size_t code, size_t *n);
/* The code of a word; -1: it is not in the dictionary. */
int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n);
/* Adds a word unless it is in the dictionary; *code is its code. RAYTRAIN_ENOMEM, or
 * RAYTRAIN_EFIT if there are too many words. */
int dictionary_add(struct dictionary *d, const char *word, size_t n, int32_t *code,
                   struct error *err);

/* The same for up to DICTIONARY_AHEAD words. In a large dictionary this is faster than
 * one by one, because it waits for memory only once. */
#define DICTIONARY_AHEAD 32

struct dictionary_text {
    const char *bytes;
    size_t n;
};

int dictionary_add_some(struct dictionary *d, const struct dictionary_text texts[],
                        size_t n, int32_t codes[], struct error *err);

/*
 * Gives the words new codes, in the order of their bytes (as memcmp(); a word that is
 * the beginning of another one comes first). codes[old] becomes the new code; codes may
 * be NULL.
 */
int dictionary_sort(struct dictionary *d, int32_t *codes, struct error *err);

/* Makes bytes of all words, to be sent to other ranks: for each a length (uint32_t, in
 * this machine's byte order) and its bytes. *bytes is malloc'ed. */
int dictionary_pack(const struct dictionary *d, unsigned char **bytes, size_t *n,
                    struct error *err);
/* Adds the words of a packed dictionary. codes[code there] becomes the code here; codes
 * has room for all words, or is NULL. RAYTRAIN_ECORRUPT if the bytes are not those of a
 * dictionary. */
int dictionary_unpack(struct dictionary *d, const unsigned char *bytes, size_t n,
                      int32_t *codes, struct error *err);

#endif
