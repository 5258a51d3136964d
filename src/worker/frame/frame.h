/*
 * frame.h - rows of named columns in memory: a batch of a dataset, and what
 * preprocessors make of it.
 *
 * A missing value is a NaN in numbers of floating point and -1 in codes; integers have
 * none.
 *
 * A frame that is filled again and again can keep the memory that its columns lose, for
 * those to come: fresh memory is slow, since each page of it is a fault.
 */
#ifndef RAYTRAIN_FRAME_FRAME_H
#define RAYTRAIN_FRAME_FRAME_H

#include "frame/dictionary.h"
#include "util/error.h"

enum frame_kind {
    /* Rows of equal shape: `row` has dtype and shape of one, data has all of them. */
    FRAME_NUMBERS,
    /* A word per row: data has the int32_t code of each in `words`. */
    FRAME_WORDS,
    /* Bytes per row, of any number: row i has data[offsets[i]..offsets[i + 1]). */
    FRAME_TEXT,
    /* Words per row, of any number: codes as in FRAME_WORDS, offsets as in
     * FRAME_TEXT. */
    FRAME_WORD_LISTS,
    /* A vector per row of which most elements are 0: row i has the elements indices[k]
     * = data[k], k in offsets[i]..offsets[i + 1), by rising index. row.shape[0] is the
     * length of the vector, and row.dtype that of data. */
    FRAME_SPARSE
};

struct frame_region;
/* Memory that no column uses now. */
struct frame_spare;

struct frame_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    enum frame_kind kind;
    raytrain_tensor row;      /* NUMBERS and SPARSE; its data is NULL */
    struct dictionary *words; /* WORDS and WORD_LISTS; not owned */

    /* Owned by the frame, aligned to 64 bytes. NULL: the kind has none. */
    unsigned char *data;
    uint64_t *offsets; /* rows + 1, from 0 on */
    uint32_t *indices;
    uint64_t n_data;                              /* elements in data */
    size_t data_room, offsets_room, indices_room; /* bytes */
    struct frame_region *region;                  /* of data; NULL: it has its own */
    /* Where its memory comes from and goes to: that of its frame; NULL: nothing is
     * kept. */
    struct frame_spare *spare;
};

struct frame {
    uint64_t rows;
    struct frame_column *columns;
    size_t n_columns;
    struct frame_spare *spare; /* NULL: it keeps nothing */
};

#define FRAME_INIT                                                                     \
    {                                                                                  \
        .rows = 0, .columns = NULL, .n_columns = 0, .spare = NULL                      \
    }

/* From now on memory that its columns lose is kept, until frame_clear(). Its columns
 * are used by one thread at a time. */
int frame_keep_memory(struct frame *f, struct error *err);
/* Make its columns those of `like`, without rows, in the same order, whatever has been
 * done to them. Columns that are still there keep their memory. */
int frame_restore(struct frame *f, const struct frame *like, struct error *err);

/* Add a column without memory: name, kind, row and words of `like`. RAYTRAIN_EINVAL if
 * there is one of this name. *index is its place. */
int frame_add(struct frame *f, const struct frame_column *like, size_t *index,
              struct error *err);
/* The same for a name that no column has, as the caller knows: with many columns, a
 * search takes long. */
int frame_append(struct frame *f, const struct frame_column *like, size_t *index,
                 struct error *err);
/* Remove it with its memory; those after it move up. */
void frame_remove(struct frame *f, size_t index);
/* Move a column with its memory into the frame: in the place of the one of its name,
 * which is freed, or after all others. `c` loses its memory, but not on failure. */
int frame_put(struct frame *f, struct frame_column *c, struct error *err);
/* NULL if there is none. */
struct frame_column *frame_find(const struct frame *f, const char *name);
/* The same for names that mostly follow each other as the columns do: the search begins
 * at *next, 0 at first, which becomes the place after the column. */
struct frame_column *frame_find_next(const struct frame *f, const char *name,
                                     size_t *next);
/* The names, "x, y", for messages, as far as they fit; text always ends with a NUL. */
void frame_names(const struct frame *f, char *text, size_t size);
/* The same for the columns i with shown[i]. */
void frame_names_of(const struct frame *f, const bool *shown, char *text, size_t size);

/*
 * Memory for `rows` rows with `elements` elements in all (of NUMBERS and WORDS each row
 * has a fixed number, and `elements` is not looked at). Contents are lost if it grows.
 * Does not set f->rows, nor n_data of columns with offsets.
 */
int frame_reserve(struct frame_column *c, uint64_t rows, uint64_t elements,
                  struct error *err);
/* frame_reserve() for the columns of n frames, which are NUMBERS or WORDS; together
 * they are faster to write in any order (region.h). */
int frame_reserve_together(struct frame frames[], size_t n, uint64_t rows,
                           struct error *err);
/* Bytes of a row of NUMBERS or WORDS. */
size_t frame_row_bytes(const struct frame_column *c);
/* Bytes of an element of data. */
size_t frame_element_bytes(const struct frame_column *c);

/* The memory of a column that is in no frame. */
void frame_column_free(struct frame_column *c);
/* Frees the columns, not the dictionaries. */
void frame_clear(struct frame *f);

#endif
