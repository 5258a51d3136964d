/* predicted_hdf5.c - predictions as an HDF5 file: a contiguous dataset for each column,
 * below the root. */
#include "predict/predicted.h"

#include "hdf5/h5.h"
#include "hdf5/h5_image.h"

/* Datasets of at least so many bytes begin at a page of memory. */
#define ALIGN_THRESHOLD 65536
#define ALIGNMENT       4096

static int hdf5_check(const struct predicted *p, struct error *err)
{
    (void)p;
    (void)err;
    return 0;
}

static int hdf5_append(const struct predicted *p, struct predicted_stream *streams,
                       const unsigned char *const *data, uint64_t rows,
                       struct error *err)
{
    for (size_t i = 0; i < p->n; i++)
        if (predicted_stream_add(&streams[i], data[i], rows * p->columns[i].row_bytes,
                                 err) < 0)
            return -1;
    return 0;
}

static int dataset_place(hid_t file, const struct predicted_column *c, uint64_t rows,
                         uint64_t *place)
{
    hsize_t shape[RAYTRAIN_MAX_DIMS] = {rows};
    hid_t type = h5_dtype(c->row.dtype);
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

/* The last page may extend beyond the file. */
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
