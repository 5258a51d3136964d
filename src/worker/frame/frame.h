/*
 * frame.h - rows of named columns in memory: a batch of a dataset, before or after
 * preprocessors.
 *
 * A missing value is NaN in floating-point numbers and -1 in codes; integers cannot be
 * missing.
 *
 * A frame that is filled repeatedly can keep the memory of removed columns for later
 * ones: new memory is slow, since each page of it is a page fault.
 */
#ifndef RAYTRAIN_FRAME_FRAME_H
#define RAYTRAIN_FRAME_FRAME_H

#include "frame/dictionary.h"
#include "util/error.h"

enum frame_kind {
    /* Rows of equal shape: `row` has dtype and shape of one, data has all of them. */
    FRAME_NUMBERS,
    /* A word per row: data has its int32_t code in `words`. */
    FRAME_WORDS,
    /* Any number of bytes per row: row i has data[offsets[i]..offsets[i + 1]). */
    FRAME_TEXT,
    /* Any number of words per row: codes as in FRAME_WORDS, offsets as in
     * FRAME_TEXT. */
    FRAME_WORD_LISTS,
    /* A vector per row, most elements of which are 0: in row i, element indices[k] is
     * data[k] for k in offsets[i]..offsets[i + 1), with rising indices. row.shape[0] is
     * the length of the vector, and row.dtype that of data. */
    FRAME_SPARSE
};

struct frame_region;
/* Memory that is not used by a column. */
struct frame_spare;

struct frame_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    enum frame_kind kind;
    raytrain_tensor row;      /* NUMBERS and SPARSE; its data is NULL */
    struct dictionary *words; /* WORDS and WORD_LISTS; not owned */

    /* Owned by the frame, aligned to 64 bytes. NULL: this kind does not have it. */
    unsigned char *data;
    uint64_t *offsets; /* rows + 1; the first one is 0 */
    uint32_t *indices;
    uint64_t n_data;                              /* elements in data */
    size_t data_room, offsets_room, indices_room; /* bytes */
    struct frame_region *region;                  /* that has data; NULL: malloc'ed */
    /* From which it takes memory and to which it gives it: that of its frame; NULL:
     * memory is not kept. */
    struct frame_spare *spare;
};

struct frame {
    uint64_t rows;
    struct frame_column *columns;
    size_t n_columns;
    struct frame_spare *spare; /* NULL: memory is not kept */
};

#define FRAME_INIT                                                                     \
    {                                                                                  \
        .rows = 0, .columns = NULL, .n_columns = 0, .spare = NULL                      \
    }

/* Makes the frame keep the memory of its removed columns, until frame_clear(). Only one
 * thread at a time may use its columns then. */
int frame_keep_memory(struct frame *f, struct error *err);
/* Makes its columns those of `like`, without rows, in the same order, after any
 * changes. Columns that still exist keep their memory. */
int frame_restore(struct frame *f, const struct frame *like, struct error *err);

/* Adds a column without memory, with name, kind, row and words of `like`.
 * RAYTRAIN_EINVAL if a column has this name already. *index is its place. */
int frame_add(struct frame *f, const struct frame_column *like, size_t *index,
              struct error *err);
/* The same without a search, which is slow with many columns: the caller knows that no
 * column has this name. */
int frame_append(struct frame *f, const struct frame_column *like, size_t *index,
                 struct error *err);
/* Removes a column with its memory; later columns move up. */
void frame_remove(struct frame *f, size_t index);
/* Moves a column with its memory into the frame. It replaces, and frees, the column of
 * the same name, or comes after all others. `c` loses its memory unless this fails. */
int frame_put(struct frame *f, struct frame_column *c, struct error *err);
/* NULL if no column has this name. */
struct frame_column *frame_find(const struct frame *f, const char *name);
/* The same for names that are mostly in the order of the columns: the search begins at
 * *next, which is 0 at first and becomes the place after the column. */
struct frame_column *frame_find_next(const struct frame *f, const char *name,
                                     size_t *next);
/* Writes the names, "x, y", for messages, as far as they fit; always with a NUL. */
void frame_names(const struct frame *f, char *text, size_t size);
/* The same for the columns i with shown[i]. */
void frame_names_of(const struct frame *f, const bool *shown, char *text, size_t size);

/*
 * Reserves memory for `rows` rows with `elements` elements together. For NUMBERS and
 * WORDS, whose rows have a fixed number, `elements` is ignored. Contents are lost if it
 * grows. Sets neither f->rows nor n_data of columns with offsets.
 */
int frame_reserve(struct frame_column *c, uint64_t rows, uint64_t elements,
                  struct error *err);
/* frame_reserve() for the columns of n frames, which are NUMBERS or WORDS. Memory that
 * is reserved together is faster to write in any order (region.h). */
int frame_reserve_together(struct frame frames[], size_t n, uint64_t rows,
                           struct error *err);
/* The bytes of a row of NUMBERS or WORDS. */
size_t frame_row_bytes(const struct frame_column *c);
/* The bytes of an element of data. */
size_t frame_element_bytes(const struct frame_column *c);

/* Frees the memory of a column that is not in a frame. */
void frame_column_free(struct frame_column *c);
/* Frees the columns, not the dictionaries. */
void frame_clear(struct frame *f);

#endif
