/*
 * frame_wire.h - rows of a frame for a command's process: the columns as JSON, with
 * their words as bytes, and the arrays in one block of memory.
 */
#ifndef RAYTRAIN_COMMAND_FRAME_WIRE_H
#define RAYTRAIN_COMMAND_FRAME_WIRE_H

#include <jansson.h>

#include "frame/frame.h"

/* Malloc'ed bytes, to which more are appended. All zeros: none. */
struct wire_bytes {
    unsigned char *data;
    size_t n;
};

/*
 * The columns in their order: {"name": NAME, "kind": "numbers", "dtype": DTYPE,
 * "shape": [N, ...]}. The other kinds are "words", "text", "word_lists" and "sparse",
 * which has a dtype and a shape, too. The words of a column are appended to `words` as
 * dictionary_pack() makes them; "words": [FIRST, BYTES] is their place. A new
 * reference.
 */
int frame_columns_json(const struct frame *schema, json_t **columns,
                       struct wire_bytes *words, struct error *err);

/* Where the arrays of a column begin in the block; those that it lacks are 0. */
struct frame_place {
    size_t data, offsets, indices;
    uint64_t elements; /* of data */
};

/* The places of the first `rows` rows of the frame, aligned to 64 bytes, and the size
 * of the block. RAYTRAIN_ENOMEM if it is too large. */
int frame_places(const struct frame *f, uint64_t rows, struct frame_place *places,
                 size_t *bytes, struct error *err);
/* The size of a block for `rows` rows of these columns, without the elements of columns
 * whose rows have no fixed number of them. */
int frame_room(const struct frame *schema, uint64_t rows, size_t *bytes,
               struct error *err);
/* [[DATA, ELEMENTS, OFFSETS, INDICES], ...] A new reference; NULL without memory. */
json_t *frame_places_json(const struct frame_place *places, size_t n);
void frame_copy(const struct frame *f, uint64_t rows, const struct frame_place *places,
                unsigned char *block);

#endif
