/*
 * layout.c - rank 0 lays out the file of a checkpoint: the HDF5 metadata in an image in
 * memory, a place for every tensor, the tables.
 *
 * The tables are HDF5 datasets of compound types that mirror the structs of
 * file_format.h; their bytes go straight into the image once the places are known.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/layout.h"
#include "hdf5/h5.h"
#include "hdf5/h5_image.h"
#include "util/clock.h"

/* Tensors of at least this size in bytes are aligned to a page of memory. */
#define ALIGN_THRESHOLD 65536
#define ALIGNMENT       4096

/* HDF5 allocates its metadata in blocks; the rest of the last one is wasted. */
#define META_PER_TENSOR 128 /* about */
#define META_BLOCK_MAX  65536

/* ---- The tables' types ---- */

/* One field of a compound type. */
struct field {
    const char *name;
    size_t offset;
    hid_t type; /* if `own`, compound_type() closes it */
    bool own;
};

static hid_t compound_type(size_t bytes, const struct field *fields, size_t n)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
    bool failed = type < 0;

    for (size_t i = 0; i < n; i++) {
        if (failed || fields[i].type < 0 ||
            H5Tinsert(type, fields[i].name, fields[i].offset, fields[i].type) < 0)
            failed = true;
        if (fields[i].own && fields[i].type >= 0)
            H5Tclose(fields[i].type);
    }
    if (failed && type >= 0)
        H5Tclose(type);
    return failed ? -1 : type;
}

static hid_t dtype_enum(void)
{
    hid_t type = H5Tenum_create(H5T_STD_U16LE);

    for (uint16_t t = RAYTRAIN_FLOAT32; type >= 0 && t <= RAYTRAIN_BYTES; t++)
        H5Tenum_insert(type, raytrain_dtype_name((raytrain_dtype)t), &t);
    if (type >= 0)
        H5Tenum_insert(type, "string", &(uint16_t){DTYPE_STRING});
    return type;
}

static hid_t report_type(void)
{
#define AT(field) offsetof(struct report_record, field)
    const struct field fields[] = {
        {"training_iteration", AT(training_iteration), H5T_STD_I64LE, false},
        {"timestamp", AT(timestamp), H5T_STD_I64LE, false},
        {"time_total_s", AT(time_total_s), H5T_IEEE_F64LE, false},
        {"world_size", AT(world_size), H5T_STD_I32LE, false},
        {"attempt", AT(attempt), H5T_STD_I32LE, false},
        {"run_name", AT(run_name), h5_string_type(256), true},
    };
#undef AT
    return compound_type(sizeof(struct report_record), fields,
                         sizeof fields / sizeof *fields);
}

static hid_t metric_type(void)
{
    const struct field fields[] = {
        {"name", 0, h5_string_type(METRIC_NAME_BYTES), true},
        {"value", offsetof(struct metric_record, value), H5T_IEEE_F64LE, false},
    };

    return compound_type(sizeof(struct metric_record), fields,
                         sizeof fields / sizeof *fields);
}

static hid_t tensor_type(size_t name_bytes)
{
#define AT(field) name_bytes + offsetof(struct tensor_record, field)
    const struct field fields[] = {
        {"name", 0, h5_string_type(name_bytes), true},
        {"dtype", AT(dtype), dtype_enum(), true},
        {"ndim", AT(ndim), H5T_STD_U8LE, false},
        {"by_parts", AT(by_parts), H5T_STD_U8LE, false},
        {"n_parts", AT(n_parts), H5T_STD_U32LE, false},
        {"offset", AT(offset), H5T_STD_U64LE, false},
    };
#undef AT
    return compound_type(name_bytes + sizeof(struct tensor_record), fields,
                         sizeof fields / sizeof *fields);
}

/* Give a table its place. Closes the type. */
static int table_place(hid_t file, const char *name, hid_t type, int ndim,
                       uint64_t rows, uint64_t *offset)
{
    hsize_t shape = rows;
    int rc;

    if (type < 0)
        return -1;
    rc = h5_dataset(file, name, type, ndim, &shape, NULL, offset);
    H5Tclose(type);
    return rc;
}

/* The group of the tables, without the time of its creation. */
static int tables_group(hid_t file)
{
    hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE), group = -1;

    if (gcpl >= 0 && H5Pset_obj_track_times(gcpl, 0) >= 0)
        group =
            H5Gcreate2(file, "/" CHECKPOINT_RESERVED, H5P_DEFAULT, gcpl, H5P_DEFAULT);
    if (gcpl >= 0)
        H5Pclose(gcpl);
    return group >= 0 && H5Gclose(group) >= 0 ? 0 : -1;
}

static int tables_place(hid_t file, struct file_head *head)
{
    if (tables_group(file) < 0)
        return -1;
    if (table_place(file, TABLE_REPORT, report_type(), 0, 1, &head->report_at) < 0 ||
        table_place(file, TABLE_METRICS, metric_type(), 1, head->n_metrics,
                    &head->metrics_at) < 0 ||
        table_place(file, TABLE_TENSORS, tensor_type(head->name_bytes), 1,
                    head->n_tensors, &head->tensors_at) < 0 ||
        table_place(file, TABLE_SHAPES, H5Tcopy(H5T_STD_U64LE), 1, head->n_shapes,
                    &head->shapes_at) < 0 ||
        table_place(file, TABLE_HASHES, H5Tcopy(H5T_STD_U64LE), 1, head->n_hashes,
                    &head->hashes_at) < 0)
        return -1;
    return 0;
}

/* ---- The tables' bytes ---- */

static int report_record_write(struct h5_image *image, const struct file_head *head,
                               const struct checkpoint_meta *meta)
{
    struct report_record r = {.training_iteration = meta->training_iteration,
                              .timestamp = meta->timestamp,
                              .time_total_s = meta->time_total_s,
                              .world_size = meta->world_size,
                              .attempt = meta->attempt};

    snprintf(r.run_name, sizeof r.run_name, "%s", meta->run_name ? meta->run_name : "");
    return h5_image_write(image, head->report_at, &r, sizeof r);
}

static int metric_records_write(struct h5_image *image, const struct file_head *head,
                                const struct checkpoint_meta *meta)
{
    for (size_t i = 0; i < meta->n_metrics; i++) {
        struct metric_record r = {.value = meta->metrics[i].value};

        snprintf(r.name, sizeof r.name, "%s", meta->metrics[i].name);
        if (h5_image_write(image, head->metrics_at + i * sizeof r, &r, sizeof r) < 0)
            return -1;
    }
    return 0;
}

static int tensors_write(struct h5_image *image, const struct file_head *head,
                         const raytrain_checkpoint *ck)
{
    uint64_t at = head->tensors_at;

    for (size_t i = 0; i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];
        struct tensor_record r = {.dtype = (uint16_t)e->dtype,
                                  .ndim = (uint8_t)e->ndim,
                                  .by_parts = e->by_parts,
                                  .n_parts = e->sharded ? (uint32_t)e->n_parts : 0,
                                  .offset = e->offset};
        char name[TENSOR_NAME_WIDTH] = "";

        strcpy(name, e->name);
        if (h5_image_write(image, at, name, head->name_bytes) < 0 ||
            h5_image_write(image, at + head->name_bytes, &r, sizeof r) < 0)
            return -1;
        at += head->name_bytes + sizeof r;
    }
    return 0;
}

/* Write `ndim` numbers at *at, and advance it. */
static int dims_write(struct h5_image *image, uint64_t *at, const uint64_t *extents,
                      int ndim)
{
    size_t n = (size_t)ndim * sizeof *extents;
    int rc = h5_image_write(image, *at, extents, n);

    *at += n;
    return rc;
}

static int shapes_write(struct h5_image *image, const struct file_head *head,
                        const raytrain_checkpoint *ck, const struct plan *plan)
{
    uint64_t at = head->shapes_at;

    for (size_t i = 0; i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];

        if (dims_write(image, &at, e->shape, e->ndim) < 0)
            return -1;
        for (uint64_t k = 0; e->sharded && k < e->n_parts; k++) {
            const raytrain_slab *slab = &plan->parts[e->first_part + k].slab;

            if (dims_write(image, &at, slab->start, e->ndim) < 0 ||
                dims_write(image, &at, slab->count, e->ndim) < 0)
                return -1;
        }
    }
    return 0;
}

static int tables_write(struct h5_image *image, const struct file_head *head,
                        const raytrain_checkpoint *ck, const struct plan *plan,
                        const struct checkpoint_meta *meta)
{
    if (report_record_write(image, head, meta) < 0 ||
        metric_records_write(image, head, meta) < 0 ||
        tensors_write(image, head, ck) < 0 || shapes_write(image, head, ck, plan) < 0)
        return -1;
    return 0;
}

/* ---- Groups ---- */

/*
 * The names of tensors imply groups. Each gets room for exactly its links: unless it is
 * configured so, HDF5 keeps no more than eight links in the object header of a group,
 * and more of them in a heap and a B-tree, which take twice the space.
 */

/* Links in a header are searched one by one: more than these go into a B-tree. */
#define LINKS_IN_HEADER 1024

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many of the sorted names[0..n) have the same component after `prefix` bytes as
 * the first one; *length is the length of the component. */
static size_t names_alike(const char **names, size_t n, size_t prefix, size_t *length)
{
    size_t same = 1;

    *length = strcspn(names[0] + prefix, "/");
    while (same < n && strncmp(names[same], names[0], prefix + *length + 1) == 0)
        same++;
    return same;
}

/* name_bytes: of each name; marking it as UTF-8 takes one more. */
static hid_t group_properties(size_t n_links, size_t name_bytes)
{
    hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE);

    if (gcpl < 0 || H5Pset_obj_track_times(gcpl, 0) < 0 || n_links > LINKS_IN_HEADER)
        return gcpl;
    if (H5Pset_link_phase_change(gcpl, (unsigned)n_links, 0) < 0 ||
        H5Pset_est_link_info(gcpl, (unsigned)n_links, (unsigned)name_bytes + 1) < 0) {
        H5Pclose(gcpl);
        return -1;
    }
    return gcpl;
}

static int group_create(hid_t file, const char *name, size_t length, size_t n_links,
                        size_t name_bytes)
{
    hid_t gcpl = group_properties(n_links, name_bytes);
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), group = -1;
    char *path = strndup(name, length);
    int rc = -1;

    if (path && gcpl >= 0 && lcpl >= 0 &&
        H5Pset_char_encoding(lcpl, H5T_CSET_UTF8) >= 0)
        group = H5Gcreate2(file, path, lcpl, gcpl, H5P_DEFAULT);
    if (group >= 0 && H5Gclose(group) >= 0)
        rc = 0;
    if (gcpl >= 0)
        H5Pclose(gcpl);
    if (lcpl >= 0)
        H5Pclose(lcpl);
    free(path);
    return rc;
}

/* Make the group whose path, with its '/', is the first `prefix` bytes of all these
 * names, and the groups in it. The root (prefix 0) exists. */
static int group_make(hid_t file, const char **names, size_t n, size_t prefix)
{
    size_t n_links = 0, bytes = 0, length;

    for (size_t i = 0; i < n; n_links++) {
        i += names_alike(names + i, n - i, prefix, &length);
        bytes += length;
    }
    if (prefix > 0 && group_create(file, names[0], prefix - 1, n_links,
                                   (bytes + n_links - 1) / n_links) < 0)
        return -1;
    for (size_t i = 0; i < n;) {
        size_t same = names_alike(names + i, n - i, prefix, &length);

        if (names[i][prefix + length] == '/' &&
            group_make(file, names + i, same, prefix + length + 1) < 0)
            return -1;
        i += same;
    }
    return 0;
}

/* Make the groups of all tensors, except the library's own. */
static int groups_make(hid_t file, const raytrain_checkpoint *ck)
{
    const char **names = calloc(ck->n_tensors + 1, sizeof *names);
    size_t n = 0;
    int rc;

    if (!names)
        return -1;
    for (size_t i = 0; i < ck->n_tensors; i++)
        if (strncmp(ck->tensors[i].name, CHECKPOINT_RESERVED "/",
                    strlen(CHECKPOINT_RESERVED "/")) != 0)
            names[n++] = ck->tensors[i].name;
    if (n > 1)
        qsort(names, n, sizeof *names, name_compare);
    rc = group_make(file, names, n, 0);
    free(names);
    return rc;
}

/* ---- Tensors and attributes ---- */

/* Enter for each part which elements of the tensor it has. */
static int view_fill(struct h5_view *view, const struct tensor_entry *e,
                     const struct part *parts)
{
    for (uint64_t k = 0; k < e->n_parts; k++) {
        hsize_t start[RAYTRAIN_MAX_DIMS], count[RAYTRAIN_MAX_DIMS];

        for (int d = 0; d < e->ndim; d++) {
            start[d] = parts[k].slab.start[d];
            count[d] = parts[k].slab.count[d];
        }
        if (h5_view_add(view, start, count, parts[k].at / e->element_bytes) < 0)
            return -1;
    }
    return 0;
}

/* The bytes as a line of elements, and the tensor as a view of it. */
static int by_parts_place(const struct h5_creation *how, hid_t file, hid_t type,
                          const hsize_t *shape, struct tensor_entry *e,
                          const struct part *parts)
{
    hsize_t length = e->bytes / e->element_bytes;
    struct h5_view view;
    char *line;
    int rc;

    if (asprintf(&line, "/" PARTS_GROUP "/%s", e->name) < 0)
        return -1;
    rc = h5_dataset_create(how, file, line, type, 1, &length, NULL, &e->offset);
    if (rc == 0)
        rc = h5_view_open(&view, e->ndim, shape, line, length);
    if (rc == 0) {
        rc = view_fill(&view, e, parts);
        if (rc == 0)
            rc = h5_view_create(&view, how, file, e->name, type);
        h5_view_close(&view);
    }
    free(line);
    return rc;
}

static int tensor_place_in_file(const struct h5_creation *how, hid_t file,
                                struct tensor_entry *e, const struct plan *plan)
{
    hid_t type = e->dtype == DTYPE_STRING ? h5_string_type(e->bytes)
                                          : h5_dtype((raytrain_dtype)e->dtype);
    hsize_t shape[RAYTRAIN_MAX_DIMS];
    int rc = -1;

    if (type < 0)
        return -1;
    for (int d = 0; d < RAYTRAIN_MAX_DIMS; d++)
        shape[d] = e->shape[d];
    if (e->by_parts)
        rc = by_parts_place(how, file, type, shape, e, plan->parts + e->first_part);
    else
        rc = h5_dataset_create(how, file, e->name, type,
                               e->dtype == DTYPE_STRING ? 0 : e->ndim, shape, NULL,
                               &e->offset);
    H5Tclose(type);
    return rc;
}

static int attributes_write(hid_t file, const struct checkpoint_meta *meta)
{
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    char date[32];
    int rc = -1;

    if (root < 0)
        return -1;
    clock_iso8601(meta->timestamp, date);
    if (h5_attr_string(root, "format", FORMAT_NAME) == 0 &&
        h5_attr_int(root, "format_version", FORMAT_VERSION) == 0 &&
        h5_attr_string(root, "run_name", meta->run_name ? meta->run_name : "") == 0 &&
        h5_attr_int(root, "training_iteration", meta->training_iteration) == 0 &&
        h5_attr_int(root, "world_size", meta->world_size) == 0 &&
        h5_attr_int(root, "attempt", meta->attempt) == 0 &&
        h5_attr_double(root, "time_total_s", meta->time_total_s) == 0 &&
        h5_attr_int(root, "timestamp", meta->timestamp) == 0 &&
        h5_attr_string(root, "date", date) == 0)
        rc = 0;
    H5Gclose(root);
    return rc;
}

/* ---- The whole file ---- */

static void head_init(struct file_head *head, const raytrain_checkpoint *ck,
                      const struct plan *plan, const struct checkpoint_meta *meta)
{
    size_t longest = 0;
    uint64_t n_shapes = 0;

    memset(head, 0, sizeof *head);
    memcpy(head->magic, HEAD_MAGIC, sizeof head->magic);
    head->version = FORMAT_VERSION;
    head->head_bytes = HEAD_BYTES;
    head->chunk_bytes = CHUNK_BYTES;
    for (size_t i = 0; i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];
        size_t length = strlen(e->name);

        longest = length > longest ? length : longest;
        n_shapes += (uint64_t)e->ndim * (1 + (e->sharded ? 2 * e->n_parts : 0));
    }
    head->name_bytes = longest + 1;
    head->n_metrics = meta->n_metrics;
    head->n_tensors = ck->n_tensors;
    head->n_shapes = n_shapes;
    head->n_hashes = plan->n_hashes;
    snprintf(head->text, sizeof head->text,
             "\n\nThis is a checkpoint of raytrain and an HDF5 file.\n"
             "Look at it with raytrain-inspect, h5dump, h5ls or h5py.\n");
}

/* Small for small checkpoints; the metadata of thousands of tensors lie together. */
static hsize_t meta_block(size_t n_tensors)
{
    hsize_t bytes = 2048;

    while (bytes < n_tensors * META_PER_TENSOR && bytes < META_BLOCK_MAX)
        bytes *= 2;
    return bytes;
}

static int image_fill(struct h5_image *image, raytrain_checkpoint *ck,
                      const struct plan *plan, const struct checkpoint_meta *meta,
                      struct file_head *head)
{
    hid_t file = h5_image_file(image);
    struct h5_creation how;
    int rc = 0;

    if (attributes_write(file, meta) < 0 || tables_place(file, head) < 0 ||
        groups_make(file, ck) < 0 || h5_creation_open(&how) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < ck->n_tensors; i++)
        rc = tensor_place_in_file(&how, file, &ck->tensors[i], plan);
    h5_creation_close(&how);
    return rc;
}

int layout_make(raytrain_checkpoint *ck, const struct plan *plan,
                const struct checkpoint_meta *meta, struct file_head *head,
                struct h5_image **image, struct error *err)
{
    const struct h5_image_options opt = {.user_block = HEAD_BYTES,
                                         .align_threshold = ALIGN_THRESHOLD,
                                         .alignment = ALIGNMENT,
                                         .timeless = true, /* for layout_renew() */
                                         .meta_block = meta_block(ck->n_tensors)};
    struct h5_image *im = h5_image_create(&opt, err);
    struct h5_quiet quiet;
    int rc;

    if (!im)
        return -1;
    head_init(head, ck, plan, meta);
    h5_quiet_begin(&quiet);
    rc = image_fill(im, ck, plan, meta, head);
    if (rc < 0)
        h5_error(err, "lay out the checkpoint");
    else if (ck->write_metadata)
        rc = ck->write_metadata(ck->write_metadata_arg, im, err);
    h5_quiet_end(&quiet);
    if (rc == 0)
        rc = h5_image_close(im, err);
    if (rc == 0 && tables_write(im, head, ck, plan, meta) < 0)
        rc = error_no_memory(err);
    if (rc < 0) {
        h5_image_destroy(im);
        return -1;
    }
    head->file_bytes = h5_image_length(im);
    *image = im;
    return 0;
}

static int attributes_renew(struct h5_image *image, const struct checkpoint_meta *meta,
                            struct error *err)
{
    struct h5_quiet quiet;
    int rc;

    if (h5_image_reopen(image, err) < 0)
        return -1;
    h5_quiet_begin(&quiet);
    rc = attributes_write(h5_image_file(image), meta);
    if (rc < 0)
        h5_error(err, "change the attributes of the checkpoint");
    h5_quiet_end(&quiet);
    return rc < 0 ? -1 : h5_image_close(image, err);
}

int layout_renew(struct h5_image *image, const struct file_head *head,
                 const struct checkpoint_meta *meta, struct error *err)
{
    if (attributes_renew(image, meta, err) < 0)
        return -1;
    if (h5_image_length(image) != head->file_bytes)
        return error_set(err, RAYTRAIN_EFAILED,
                         "HDF5 has moved parts of the checkpoint's layout: report this "
                         "with the version of HDF5, and resume the run");
    if (report_record_write(image, head, meta) < 0 ||
        metric_records_write(image, head, meta) < 0)
        return error_no_memory(err);
    return 0;
}
