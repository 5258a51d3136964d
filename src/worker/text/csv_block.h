/*
 * csv_block.h - records of CSV text become rows of typed columns, a block at a time.
 * The grammar of records is in csv_scan.h, the types in csv_value.h.
 *
 * The types of columns follow from the values of all blocks so far. If a block has a
 * value that does not fit, the block is parsed again with wider types; blocks before it
 * had narrower ones.
 *
 * libcsv hands over each field as text. With strtod() that is 120 MB/s of numbers with
 * six decimals on one core, where this parser has 700, and pandas 115.
 */
#ifndef RAYTRAIN_TEXT_CSV_BLOCK_H
#define RAYTRAIN_TEXT_CSV_BLOCK_H

#include "frame/frame.h"
#include "text/csv_value.h"
#include "util/csv_field.h"

/* Words that get their codes together, dictionary_add_some(). */
struct csv_pending {
    size_t n;
    struct dictionary_text texts[DICTIONARY_AHEAD]; /* in the text that is parsed */
    uint64_t rows[DICTIONARY_AHEAD];
};

struct csv_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    enum csv_type declared; /* CSV_UNKNOWN: by the values */
    bool skipped;           /* fields are not looked at; it has bytes of no meaning */
    enum csv_type type;
    unsigned seen;            /* CSV_SEEN_...; not complete once the type is settled */
    struct dictionary *words; /* of all blocks so far */
    struct csv_pending *pending; /* NULL: there was none yet */
};

struct csv_block {
    char delimiter;
    struct missing_texts missing;
    bool missing_numbers; /* one of them is the text of a number */
    struct csv_column *columns;
    size_t n_columns;
    struct frame rows; /* of the last block; columns like those above */
    bool widened;      /* the last block changed types */
    size_t fault;      /* if a block is wrong: where the record with the error begins */
    struct csv_cursor cursor;
};

/* Columns without values; names, declared types and `skipped` are those of like[]. The
 * texts in `missing` stay the caller's. csv_block_clear() is due in any case. */
int csv_block_init(struct csv_block *b, char delimiter,
                   const struct missing_texts *missing, const struct csv_column *like,
                   size_t n, struct error *err);
void csv_block_clear(struct csv_block *b);

/* The types that follow if these values, CSV_SEEN_... of each column, are there too. */
int csv_block_types(struct csv_block *b, const unsigned seen[], struct error *err);
/* Forget all words, to begin anew with the present types. */
int csv_block_restart(struct csv_block *b, struct error *err);

/* What is given to be parsed. It begins where a record may begin. */
struct csv_text {
    const char *bytes;
    size_t n;
    size_t limit; /* records that begin here or later are left out */
    bool last;    /* the bytes end a file */
};

/*
 * Parse all whole records into b->rows. *used bytes need not be seen again: up to
 * `limit`, or to the first byte of a record that is cut off at the end.
 * RAYTRAIN_EINVAL, and b->fault: a record has another number of fields than there are
 * columns, a value is not of the declared type, or a byte is NUL.
 */
int csv_block_parse(struct csv_block *b, const struct csv_text *text, size_t *used,
                    struct error *err);

#endif
