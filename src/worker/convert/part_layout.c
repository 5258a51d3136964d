/* part_layout.c - creates a part without its rows: the words, and an image in memory of
 * the HDF5 file with its groups, attributes and empty arrays. See part.h. */
#include "convert/part.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/part_names.h"
#include "hdf5/h5.h"
#include "hdf5/h5_image.h"
#include "util/fs.h"

#define ALIGNMENT 4096
#define MODE      0666

/* ---- The image ---- */

struct laying {
    const struct part_shape *shape;
    struct h5_creation how;
    hid_t columns; /* the group that has all columns */
};

/* A '/' in the name of a column would make a group; the attribute has the true name. */
static void group_name(char out[PART_PATH_MAX], size_t i, const char *column)
{
    char *to = out + snprintf(out, PART_PATH_MAX, "%05zu_%s", i, column);

    for (char *c = out; c < to; c++)
        *c = *c == '/' ? '_' : *c;
}

static int array_add(const struct laying *l, hid_t group, const char *name,
                     raytrain_dtype dtype, int ndim, const hsize_t *shape,
                     uint64_t *offset)
{
    hid_t type = h5_dtype(dtype);
    int rc = -1;

    if (type >= 0) {
        rc = h5_dataset_create(&l->how, group, name, type, ndim, shape, NULL, offset);
        H5Tclose(type);
    }
    return rc;
}

static int part_words_add(const struct laying *l, hid_t group,
                          const struct dictionary *words, struct part_places *p)
{
    hsize_t n = dictionary_count(words) + 1, bytes = 0;
    size_t length;

    for (size_t i = 0; i + 1 < n; i++) {
        dictionary_word(words, i, &length);
        bytes += length;
    }
    if (array_add(l, group, PART_WORD_OFFSETS, RAYTRAIN_UINT64, 1, &n,
                  &p->word_offsets) < 0)
        return -1;
    return array_add(l, group, PART_WORD_BYTES, RAYTRAIN_UINT8, 1, &bytes,
                     &p->word_bytes);
}

static int arrays_add(const struct laying *l, hid_t group, size_t i,
                      struct part_places *p)
{
    const struct frame_column *c = &l->shape->columns->columns[i];
    hsize_t rows[RAYTRAIN_MAX_DIMS + 1] = {l->shape->rows, 2};
    hsize_t n = l->shape->elements[i];

    switch (c->kind) {
    case FRAME_NUMBERS:
        for (int d = 0; d < c->row.ndim; d++)
            rows[d + 1] = c->row.shape[d];
        return array_add(l, group, PART_ROWS, c->row.dtype, c->row.ndim + 1, rows,
                         &p->rows);
    case FRAME_WORDS:
        if (array_add(l, group, PART_CODES, RAYTRAIN_INT32, 1, rows, &p->rows) < 0)
            return -1;
        return part_words_add(l, group, c->words, p);
    case FRAME_TEXT:
        if (array_add(l, group, PART_PLACES, RAYTRAIN_UINT64, 2, rows, &p->rows) < 0)
            return -1;
        return array_add(l, group, PART_BYTES, RAYTRAIN_UINT8, 1, &n, &p->elements);
    case FRAME_SPARSE:
        if (array_add(l, group, PART_PLACES, RAYTRAIN_UINT64, 2, rows, &p->rows) < 0 ||
            array_add(l, group, PART_VALUES, c->row.dtype, 1, &n, &p->elements) < 0)
            return -1;
        return array_add(l, group, PART_INDICES, RAYTRAIN_UINT32, 1, &n, &p->indices);
    default:
        return -1;
    }
}

static int part_column_add(const struct laying *l, size_t i, struct part_places *p)
{
    const struct frame_column *c = &l->shape->columns->columns[i];
    char name[PART_PATH_MAX];
    hid_t group;
    int rc;

    group_name(name, i, c->name);
    *p = (struct part_places){0};
    group = H5Gcreate2(l->columns, name, l->how.link, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return -1;
    rc = arrays_add(l, group, i, p);
    if (rc == 0)
        rc = h5_attr_string(group, PART_NAME, c->name);
    if (rc == 0)
        rc = h5_attr_string(group, PART_KIND, part_kind_name(c->kind));
    if (rc == 0 && c->kind == FRAME_SPARSE)
        rc = h5_attr_int(group, PART_LENGTH, (int64_t)c->row.shape[0]);
    H5Gclose(group);
    return rc;
}

static int columns_add(const struct laying *l, struct part_places places[],
                       struct error *err)
{
    for (size_t i = 0; i < l->shape->columns->n_columns; i++)
        if (part_column_add(l, i, &places[i]) < 0) {
            h5_error(err, "lay out converted rows");
            return error_prefix(err, "column \"%s\"",
                                l->shape->columns->columns[i].name);
        }
    return 0;
}

static int file_lay_out(hid_t file, const struct part_shape *shape,
                        struct part_places places[], struct error *err)
{
    struct laying l = {.shape = shape, .columns = -1};
    int rc = -1;

    if (h5_creation_open(&l.how) < 0)
        return h5_error(err, "lay out converted rows");
    l.columns = H5Gcreate2(file, PART_COLUMNS, l.how.link, H5P_DEFAULT, H5P_DEFAULT);
    if (l.columns >= 0 && h5_attr_int(file, PART_VERSION, PART_VERSION_NUMBER) == 0 &&
        h5_attr_int(file, PART_N_ROWS, (int64_t)shape->rows) == 0)
        rc = columns_add(&l, places, err);
    else
        h5_error(err, "lay out converted rows");
    if (l.columns >= 0)
        H5Gclose(l.columns);
    h5_creation_close(&l.how);
    return rc;
}

int part_layout(const struct part_shape *shape, struct part_places places[],
                struct h5_image **image, struct error *err)
{
    static const struct h5_image_options options = {.align_threshold = ALIGNMENT,
                                                    .alignment = ALIGNMENT};
    struct h5_image *im;
    struct h5_quiet quiet;
    int rc;

    h5_quiet_begin(&quiet);
    im = h5_image_create(&options, err);
    rc = im ? file_lay_out(h5_image_file(im), shape, places, err) : -1;
    if (rc == 0)
        rc = h5_image_close(im, err);
    h5_quiet_end(&quiet);
    if (rc < 0)
        h5_image_destroy(im);
    else
        *image = im;
    return rc;
}

/* ---- The file ---- */

static int part_image_write(int fd, const struct h5_image *image)
{
    size_t cursor = 0, n;
    uint64_t offset;
    const void *data;

    while (h5_image_next_page(image, &cursor, &offset, &data, &n))
        if (fs_pwrite_full(fd, data, n, offset) < 0)
            return -1;
    return ftruncate(fd, (off_t)h5_image_length(image));
}

static int words_write(int fd, const struct dictionary *words,
                       const struct part_places *p, struct part_sums *sums)
{
    size_t n = dictionary_count(words), length;
    uint64_t *offsets = calloc(n + 1, sizeof *offsets);
    char *bytes = NULL;
    int rc = -1;

    for (size_t i = 0; offsets && i < n; i++) {
        dictionary_word(words, i, &length);
        offsets[i + 1] = offsets[i] + length;
    }
    if (offsets)
        bytes = malloc(offsets[n] + 1);
    for (size_t i = 0; bytes && i < n; i++) {
        const char *word = dictionary_word(words, i, &length);

        memcpy(bytes + offsets[i], word, length);
    }
    if (bytes)
        rc = fs_pwrite_full(fd, offsets, (n + 1) * sizeof *offsets, p->word_offsets);
    if (rc == 0)
        rc = fs_pwrite_full(fd, bytes, offsets[n], p->word_bytes);
    if (rc == 0)
        rc = part_sums_add(sums, 0, p->word_offsets, offsets, (n + 1) * sizeof *offsets,
                           NULL);
    if (rc == 0)
        rc = part_sums_add(sums, 0, p->word_bytes, bytes, offsets[n], NULL);
    free(bytes);
    free(offsets);
    return rc;
}

int part_create(const char *path, const struct part_shape *shape,
                const struct part_places places[], const struct h5_image *image,
                struct part_sums *sums, struct error *err)
{
    int fd = open(path, FS_CREATE | O_EXCL, MODE);
    int rc;

    if (fd < 0)
        return fs_error(err, "create", path);
    rc = part_image_write(fd, image);
    for (size_t i = 0; rc == 0 && i < shape->columns->n_columns; i++)
        if (shape->columns->columns[i].kind == FRAME_WORDS)
            rc = words_write(fd, shape->columns->columns[i].words, &places[i], sums);
    if (rc == 0)
        return fd;
    fs_error(err, "write", path);
    close(fd);
    return -1;
}

int part_sum_image(const char *path, const struct h5_image *image,
                   struct part_sums *sums, struct error *err)
{
    uint64_t offset, length = h5_image_length(image);
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    unsigned char *page = NULL;
    const void *data;
    size_t cursor = 0, n;

    if (fd < 0)
        return fs_error(err, "read", path);
    while (rc == 0 && h5_image_next_page(image, &cursor, &offset, &data, &n)) {
        n = length - offset < n ? (size_t)(length - offset) : n;
        if (!page && !(page = malloc(n)))
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for checksums");
        else if (fs_pread_full(fd, page, n, offset) < 0)
            rc = fs_error(err, "read", path);
        else
            rc = part_sums_add(sums, 0, offset, page, n, err);
    }
    free(page);
    close(fd);
    return rc;
}
