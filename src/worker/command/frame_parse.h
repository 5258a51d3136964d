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

/* The bytes that come with the columns. */
struct wire_block {
    const unsigned char *data;
    size_t n;
};

/*
 * columns: as frame_columns_json() makes them, with the words in the block; kinds
 * "numbers" and "words" alone. places: [[DATA], ...], where the elements of each begin
 * in the block. RAYTRAIN_EINVAL if they do not fit there, a code is none of a word, a
 * word is there twice, or rows have no elements. RAYTRAIN_ECORRUPT if the words are cut
 * off. Release it with parsed_frame_clear(), also after a failure.
 */
int frame_parse(const json_t *columns, const json_t *places, uint64_t rows,
                const struct wire_block *block, struct parsed_frame *out,
                struct error *err);
void parsed_frame_clear(struct parsed_frame *f);

#endif
