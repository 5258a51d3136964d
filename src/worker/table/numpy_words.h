/*
 * numpy_words.h - columns of words in an .npz archive, as raytrain's Python module
 * writes arrays of str: NAME.npy has the int32 code of each row, -1 if the word is
 * missing, and the member raytrain-words has the words. Words need no quotes: they may
 * be empty, blank, or have any bytes.
 *
 * raytrain-words has for each such column, in the byte order of the machine: the length
 * of its name (uint32_t), the name, the length of its words (uint64_t), and the words
 * as dictionary_pack() makes them.
 */
#ifndef RAYTRAIN_TABLE_NUMPY_WORDS_H
#define RAYTRAIN_TABLE_NUMPY_WORDS_H

#include "table/words_union.h"
#include "table/zip_members.h"

/* The member of that name. */
#define NUMPY_WORDS "raytrain-words"

struct numpy_words {
    unsigned char *bytes; /* of the member; NULL: the archive has none */
    size_t n;
    struct words_union *into;
};

/* The words of one column, as dictionary_pack() makes them. */
struct packed_words {
    const unsigned char *bytes;
    size_t n;
};

/* Reads the words of an archive. RAYTRAIN_ECORRUPT. */
int numpy_words_read(const struct source *s, const struct zip_members *members,
                     struct words_union *into, struct numpy_words *out,
                     struct error *err);
void numpy_words_clear(struct numpy_words *w);

/* True if this column has words. */
bool numpy_words_find(const struct numpy_words *w, const char *column,
                      struct packed_words *out);

/*
 * Adds a column of words: `rows` codes, which begin at `at` in the source. `what` is
 * its name for messages. RAYTRAIN_EINVAL if a code does not belong to a word.
 */
int numpy_words_add(const struct numpy_words *w, const struct packed_words *packed,
                    const char *column, const char *what, struct table *t,
                    const struct extent *codes, struct error *err);

#endif
