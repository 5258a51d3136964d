/*
 * frame_parse.h - rows that a command's process sends: numbers and words, as a frame.
 */
#ifndef RAYTRAIN_COMMAND_FRAME_PARSE_H
#define RAYTRAIN_COMMAND_FRAME_PARSE_H

#include <jansson.h>

#include "frame/frame.h"

/* A frame with the words that it owns. Zeroed: empty. */
struct parsed_frame {
    struct frame frame;
    struct dictionary **words;
    size_t n_words;
};

/*
 * columns: as frame_columns_json() makes them, but "words" is the list of the words; kinds
 * "numbers" and "words" alone. places: [[DATA], ...], where the elements of each begin in
 * the block of n bytes. RAYTRAIN_EINVAL if they do not fit there, a code is none of a
 * word, a word is there twice, or rows have no elements. Release it with parsed_frame_clear(), also after a failure.
 */
int frame_parse(const json_t *columns, const json_t *places, uint64_t rows,
                const unsigned char *block, size_t n, struct parsed_frame *out,
                struct error *err);
void parsed_frame_clear(struct parsed_frame *f);

#endif
