/*
 * frame_parse.h - makes a frame of the rows that a command's process sends: numbers and
 * words.
 */
#ifndef RAYTRAIN_COMMAND_FRAME_PARSE_H
#define RAYTRAIN_COMMAND_FRAME_PARSE_H

#include <jansson.h>

#include "frame/frame.h"

/* A frame that owns its words. All zeros: empty. */
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
 * columns: as frame_columns_json() makes them, with the words in the block; only the
 * kinds "numbers" and "words". places: [[DATA], ...], where the elements of each column
 * begin in the block. RAYTRAIN_EINVAL if they are not within the block, a code has no
 * word, a word occurs twice, or rows have no elements. RAYTRAIN_ECORRUPT if the words
 * are truncated. Release *out with parsed_frame_clear(), also after a failure.
 */
int frame_parse(const json_t *columns, const json_t *places, uint64_t rows,
                const struct wire_block *block, struct parsed_frame *out,
                struct error *err);
void parsed_frame_clear(struct parsed_frame *f);

#endif
