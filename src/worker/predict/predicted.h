/*
 * predicted.h - the output of a prediction: its columns, and the interface to its
 * formats, each of which has a file.
 *
 * A format turns rows into streams of bytes, one for all columns or one for each. A
 * part has a piece of each stream. When all parts are known, so are the places of the
 * streams in the file; then any rank can write any range of it.
 *
 * To add a format: write a file that defines a `struct predicted_format`, declare that
 * below, and add its endings to the table in config/predict_config.c.
 */
#ifndef RAYTRAIN_PREDICT_PREDICTED_H
#define RAYTRAIN_PREDICT_PREDICTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/predict_config.h"
#include "util/error.h"

struct predicted_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    /* Numbers: dtype and shape of one row, data NULL. Strings: RAYTRAIN_BYTES. */
    raytrain_tensor row;
    size_t row_bytes; /* for strings, those of the longest one and a NUL */
    bool is_string;   /* each row is a string of any length */
    bool kept;        /* it comes from the input; otherwise the predictor puts it */
};

/* Rows of a column: row_bytes each; or, for strings, row i is
 * data[offsets[i]..offsets[i + 1]), and a missing string is empty. */
struct predicted_rows {
    const unsigned char *data;
    const uint64_t *offsets; /* strings */
};

struct predicted {
    const struct predicted_format *format;
    struct predicted_column *columns; /* in the order of the file */
    size_t n;
};

/* Bytes that grow at their end. */
struct predicted_stream {
    unsigned char *data; /* malloc'ed */
    size_t n, room;
};

/* Bytes of the file that do not belong to a stream. */
struct predicted_piece {
    uint64_t offset;
    size_t n;
    unsigned char *data; /* malloc'ed */
};

struct predicted_layout {
    uint64_t length;                /* of the file */
    uint64_t *places;               /* the offset of each stream; malloc'ed */
    struct predicted_piece *pieces; /* malloc'ed; streams overwrite them */
    size_t n_pieces;
};

struct predicted_format {
    bool is_joined; /* one stream of all columns; otherwise one for each */
    /* Checks that the format can have these columns. RAYTRAIN_EINVAL,
     * RAYTRAIN_ETYPE. */
    int (*check)(const struct predicted *p, struct error *err);
    /* Appends n rows to the streams: rows[i] are those of column i. */
    int (*append)(const struct predicted *p, struct predicted_stream *streams,
                  const struct predicted_rows *rows, uint64_t n, struct error *err);
    /* Makes the layout of the file, equal on every rank; bytes[] are the lengths of the
     * streams. `places` has memory already. Calls HDF5. */
    int (*layout)(const struct predicted *p, uint64_t rows, const uint64_t *bytes,
                  struct predicted_layout *layout, struct error *err);
};

extern const struct predicted_format predicted_hdf5, predicted_csv, predicted_npy;

void predicted_init(struct predicted *p, enum predict_format format);
void predicted_clear(struct predicted *p);
/* RAYTRAIN_EINVAL if the name is not valid for a column or exists already, or the shape
 * is not valid. */
int predicted_add(struct predicted *p, const char *name, const raytrain_tensor *row,
                  bool kept, struct error *err);
/* The same for strings of at most `longest` bytes, which are kept columns. */
int predicted_add_strings(struct predicted *p, const char *name, uint64_t longest,
                          struct error *err);
/* NULL if there is no such column. */
struct predicted_column *predicted_find(const struct predicted *p, const char *name);
/* The number of elements in a row of a column of numbers. */
uint64_t predicted_elements(const struct predicted_column *c);

/* The number of streams. */
size_t predicted_streams(const struct predicted *p);
int predicted_stream_add(struct predicted_stream *s, const void *data, size_t n,
                         struct error *err);

int predicted_layout_make(const struct predicted *p, uint64_t rows,
                          const uint64_t *bytes, struct predicted_layout *layout,
                          struct error *err);
/* Adds a copy of these bytes. */
int predicted_layout_add(struct predicted_layout *layout, uint64_t offset,
                         const void *data, size_t n, struct error *err);
void predicted_layout_clear(struct predicted_layout *layout);

#endif
