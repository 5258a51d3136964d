/*
 * csv_block.h - turns records of CSV text into rows of typed columns, block by block.
 * The grammar of records is in csv_scan.h, the types in csv_value.h.
 *
 * The types of columns follow from the values of all blocks so far. If a value of a
 * block does not fit, the block is parsed again with wider types; earlier blocks keep
 * the narrower ones.
 *
 * libcsv hands over each field as text. With strtod() that is 120 MB/s of numbers with
 * six decimals on one core, where this parser has 700, and pandas 115.
 */
#ifndef RAYTRAIN_TEXT_CSV_BLOCK_H
#define RAYTRAIN_TEXT_CSV_BLOCK_H

#include "frame/frame.h"
#include "text/csv_value.h"
#include "util/csv_field.h"

/* Words that get their codes together, by dictionary_add_some(). */
struct csv_pending {
    size_t n;
    struct dictionary_text texts[DICTIONARY_AHEAD]; /* in the text that is parsed */
    uint64_t rows[DICTIONARY_AHEAD];
};

struct csv_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    enum csv_type declared; /* CSV_UNKNOWN: by the values */
    bool skipped;           /* its fields are not parsed; its values are undefined */
    enum csv_type type;
    unsigned seen;            /* CSV_SEEN_...; incomplete when the type is settled */
    struct dictionary *words; /* of all blocks so far */
    struct csv_pending *pending; /* NULL: there was none yet */
};

struct csv_block {
    char delimiter;
    struct missing_texts missing;
    bool missing_numbers; /* a text that means missing is a number */
    struct csv_column *columns;
    size_t n_columns;
    struct frame rows; /* of the last block; columns like those above */
    bool widened;      /* the last block changed types */
    size_t fault;      /* after an error: where its record begins in the block */
    struct csv_cursor cursor;
};

/* Makes columns without values, with names, declared types and `skipped` from like[].
 * The caller keeps the texts in `missing`. Call csv_block_clear() in any case. */
int csv_block_init(struct csv_block *b, char delimiter,
                   const struct missing_texts *missing, const struct csv_column *like,
                   size_t n, struct error *err);
void csv_block_clear(struct csv_block *b);

/* Sets the types for the case that there are these values too: CSV_SEEN_... for each
 * column. */
int csv_block_types(struct csv_block *b, const unsigned seen[], struct error *err);
/* Removes all words, to parse all blocks again with the present types. */
int csv_block_restart(struct csv_block *b, struct error *err);

/* A text to parse. It begins where a record may begin. */
struct csv_text {
    const char *bytes;
    size_t n;
    size_t limit; /* records that begin here or later are not parsed */
    bool last;    /* the bytes end a file */
};

/*
 * Parses all whole records into b->rows. *used bytes are done: those before `limit`, or
 * before a record that is incomplete at the end. RAYTRAIN_EINVAL, with b->fault: the
 * number of fields of a record is not that of the columns, a value does not have the
 * declared type, or there is a NUL byte.
 */
int csv_block_parse(struct csv_block *b, const struct csv_text *text, size_t *used,
                    struct error *err);

#endif
