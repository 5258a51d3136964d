/* predicted_hdf5.c - predictions as an HDF5 file: a contiguous dataset for each column,
 * in the root group. Strings have a fixed length, that of the longest one, in UTF-8, so
 * that their places are known before all of them are. */
#include "predict/predicted.h"

#include <string.h>

#include "hdf5/h5.h"
#include "hdf5/h5_image.h"

/* Datasets of at least this size begin at a page of memory. */
#define ALIGN_THRESHOLD 65536
#define ALIGNMENT       4096

/* The most bytes of a string: each string of a column takes the space of the
 * longest. */
#define STRING_MAX 65535

static int hdf5_check(const struct predicted *p, struct error *err)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->columns[i].is_string && p->columns[i].row_bytes > STRING_MAX + 1)
            return error_set(err, RAYTRAIN_EFIT,
                             "column \"%s\": its longest string has %zu bytes, and in "
                             "an HDF5 file each would take as many (at most %d); write "
                             ".csv",
                             p->columns[i].name, p->columns[i].row_bytes - 1,
                             STRING_MAX);
    return 0;
}

/* Make room for n more rows of strings, filled with NULs. */
static unsigned char *strings_room(struct predicted_stream *to, size_t row_bytes,
                                   uint64_t n, struct error *err)
{
    static const unsigned char nuls[STRING_MAX + 1];
    size_t first = to->n;

    for (uint64_t i = 0; i < n; i++)
        if (predicted_stream_add(to, nuls, row_bytes, err) < 0)
            return NULL;
    return to->data + first;
}

/* Append strings, each with one or more NULs at its end. */
static int strings_append(const struct predicted_column *c,
                          const struct predicted_rows *rows, uint64_t n,
                          struct predicted_stream *to, struct error *err)
{
    unsigned char *at = strings_room(to, c->row_bytes, n, err);

    if (!at)
        return -1;
    for (uint64_t i = 0; i < n; i++, at += c->row_bytes) {
        const unsigned char *from = rows->data + rows->offsets[i];
        uint64_t bytes = rows->offsets[i + 1] - rows->offsets[i];

        if (bytes >= c->row_bytes)
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "column \"%s\": the input has got longer strings",
                             c->name);
        if (memchr(from, '\0', bytes))
            return error_set(
                err, RAYTRAIN_EINVAL,
                "column \"%s\": a string has a NUL, with which a string in "
                "an HDF5 file ends; write .csv",
                c->name);
        memcpy(at, from, bytes);
    }
    return 0;
}

static int hdf5_append(const struct predicted *p, struct predicted_stream *streams,
                       const struct predicted_rows *rows, uint64_t n, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < p->n && rc == 0; i++) {
        const struct predicted_column *c = &p->columns[i];

        rc = c->is_string ? strings_append(c, &rows[i], n, &streams[i], err)
                          : predicted_stream_add(&streams[i], rows[i].data,
                                                 n * c->row_bytes, err);
    }
    return rc;
}

static int dataset_place(hid_t file, const struct predicted_column *c, uint64_t rows,
                         uint64_t *place)
{
    hsize_t shape[RAYTRAIN_MAX_DIMS] = {rows};
    hid_t type = c->is_string ? h5_string_type(c->row_bytes) : h5_dtype(c->row.dtype);
    int rc;

    for (int i = 0; i < c->row.ndim; i++)
        shape[i + 1] = c->row.shape[i];
    if (type < 0)
        return -1;
    rc = h5_dataset(file, c->name, type, c->row.ndim + 1, shape, NULL, place);
    H5Tclose(type);
    return rc;
}

static int datasets_place(const struct predicted *p, struct h5_image *image,
                          uint64_t rows, struct predicted_layout *layout,
                          struct error *err)
{
    struct h5_quiet quiet;
    int rc = 0;

    h5_quiet_begin(&quiet);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = dataset_place(h5_image_file(image), &p->columns[i], rows,
                           &layout->places[i]);
    if (rc < 0)
        h5_error(err, "lay out the predictions");
    h5_quiet_end(&quiet);
    return rc;
}

/* Take the pages of the image; the last one may extend beyond the file. */
static int pages_take(const struct h5_image *image, struct predicted_layout *layout,
                      struct error *err)
{
    size_t cursor = 0, n;
    uint64_t offset;
    const void *data;

    layout->length = h5_image_length(image);
    while (h5_image_next_page(image, &cursor, &offset, &data, &n)) {
        if (offset >= layout->length)
            break;
        if (n > layout->length - offset)
            n = (size_t)(layout->length - offset);
        if (predicted_layout_add(layout, offset, data, n, err) < 0)
            return -1;
    }
    return 0;
}

static int hdf5_layout(const struct predicted *p, uint64_t rows, const uint64_t *bytes,
                       struct predicted_layout *layout, struct error *err)
{
    const struct h5_image_options options = {
        .align_threshold = ALIGN_THRESHOLD, .alignment = ALIGNMENT, .timeless = true};
    struct h5_image *image = h5_image_create(&options, err);
    int rc;

    (void)bytes;
    if (!image)
        return -1;
    rc = datasets_place(p, image, rows, layout, err);
    if (rc == 0)
        rc = h5_image_close(image, err);
    if (rc == 0)
        rc = pages_take(image, layout, err);
    h5_image_destroy(image);
    return rc;
}

const struct predicted_format predicted_hdf5 = {
    .check = hdf5_check,
    .append = hdf5_append,
    .layout = hdf5_layout,
};
