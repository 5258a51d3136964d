/*
 * foreign.c - a plain HDF5 file that another program wrote, read like a checkpoint.
 *
 * Rank 0 lists the datasets with HDF5, and the others get the list from it. Numbers
 * that are contiguous in the file, as in memory, are read at their offset, like those
 * of a checkpoint. HDF5 reads everything else (chunked, compressed, compact, the other
 * byte order, strings) in the caller's thread; a rank opens the file with HDF5 when it
 * first needs that. No other file is ever opened: external links are not followed, and
 * datasets with elements in other files are left out.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checksum.h"
#include "checkpoint/foreign_list.h"
#include "hdf5/h5.h"
#include "util/fs.h"
#include "util/quote.h"

struct left_out {
    char *name;
    enum foreign_reason reason;
};

struct foreign_file {
    struct foreign foreign;
    hid_t id; /* -1: not opened with HDF5 yet */
    struct left_out *left_out;
    size_t n_left_out, room;
};

static struct foreign_file *file_of(const raytrain_checkpoint *ck)
{
    return (struct foreign_file *)ck->foreign;
}

static int hdf5_ready(const raytrain_checkpoint *ck, struct error *err)
{
    struct foreign_file *f = file_of(ck);

    if (f->id < 0)
        f->id = h5_open_fd(ck->fd, err);
    return f->id < 0 ? error_prefix(err, "%s", ck->path) : 0;
}

/* ---- Rank 0: the list ---- */

static int list_make(const raytrain_checkpoint *ck, char **list, size_t *n,
                     struct error *err)
{
    FILE *out = open_memstream(list, n);
    struct h5_quiet quiet;
    int rc;

    if (!out)
        return error_no_memory(err);
    h5_quiet_begin(&quiet);
    rc = hdf5_ready(ck, err);
    if (rc == 0 && foreign_list_write(file_of(ck)->id, out, err) < 0)
        rc = error_prefix(err, "%s", ck->path);
    H5Eclear2(H5E_DEFAULT);
    h5_quiet_end(&quiet);
    if (fclose(out) != 0 && rc == 0)
        rc = error_no_memory(err);
    return rc;
}

/* ---- All ranks: the list becomes entries ---- */

static int left_out_add(struct foreign_file *f, const char *name,
                        enum foreign_reason reason, struct error *err)
{
    size_t room = f->room ? 2 * f->room : 16;
    struct left_out *grown = f->left_out;
    char *copy = strdup(name);

    if (copy && f->n_left_out == f->room) {
        grown = realloc(f->left_out, room * sizeof *grown);
        if (grown) {
            f->left_out = grown;
            f->room = room;
        }
    }
    if (!copy || !grown) {
        free(copy);
        return error_no_memory(err);
    }
    f->left_out[f->n_left_out++] = (struct left_out){copy, reason};
    return 0;
}

static int foreign_tensor_add(raytrain_checkpoint *ck, const struct foreign_record *r,
                              const char *name, struct error *err)
{
    struct tensor_entry *e = entry_add(ck, strdup(name), err);

    if (!e) {
        if (err && err->code == RAYTRAIN_EINVAL) /* in a damaged file */
            err->code = RAYTRAIN_ECORRUPT;
        return -1;
    }
    e->dtype = r->dtype;
    e->ndim = (int)r->ndim;
    memcpy(e->shape, r->shape, sizeof e->shape);
    e->element_bytes = entry_dtype_size(r->dtype);
    e->offset = r->offset;
    if (slab_tensor_bytes(e->ndim, e->shape, e->element_bytes, &e->bytes) < 0)
        return error_set(err, RAYTRAIN_ECORRUPT, "'%s': its size does not fit 63 bits",
                         e->name);
    if (e->offset > 0 &&
        (e->offset > ck->head.file_bytes || e->bytes > ck->head.file_bytes - e->offset))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "'%s' exceeds the file: the file is truncated or damaged",
                         e->name);
    return 0;
}

static int list_parse(raytrain_checkpoint *ck, const char *list, size_t n,
                      struct error *err)
{
    struct foreign_record r = {0};

    for (size_t at = 0; at < n; at += sizeof r + r.name_bytes) {
        const char *name = list + at + sizeof r;
        int rc;

        if (n - at >= sizeof r)
            memcpy(&r, list + at, sizeof r);
        if (n - at < sizeof r || r.name_bytes == 0 ||
            r.name_bytes > n - at - sizeof r || name[r.name_bytes - 1] != '\0' ||
            r.ndim > RAYTRAIN_MAX_DIMS || r.reason >= N_REASONS)
            return error_set(err, RAYTRAIN_ECOMM,
                             "%s: rank 0 sent an invalid list of its datasets",
                             ck->path);
        rc = r.reason ? left_out_add(file_of(ck), name, r.reason, err)
                      : foreign_tensor_add(ck, &r, name, err);
        if (rc < 0)
            return error_prefix(err, "%s", ck->path);
    }
    return public_names_make(ck, err);
}

/* ---- Reading with HDF5 ---- */

static hid_t memory_space(const struct tensor_entry *e, const raytrain_slab *slab)
{
    hsize_t count[RAYTRAIN_MAX_DIMS];

    for (int d = 0; d < e->ndim; d++)
        count[d] = slab->count[d];
    return e->ndim == 0 ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(e->ndim, count, NULL);
}

static int slab_select(hid_t space, const struct tensor_entry *e,
                       const raytrain_slab *slab)
{
    hsize_t start[RAYTRAIN_MAX_DIMS], count[RAYTRAIN_MAX_DIMS];

    if (H5Sget_simple_extent_ndims(space) != e->ndim)
        return -1;
    for (int d = 0; d < e->ndim; d++) {
        start[d] = slab->start[d];
        count[d] = slab->count[d];
    }
    return e->ndim == 0
               ? 0
               : H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
}

/* HDF5 converts the byte order, and nothing else. */
static int slab_get(hid_t set, const struct tensor_entry *e, const raytrain_slab *slab,
                    void *data, struct error *err)
{
    hid_t type = e->dtype == RAYTRAIN_BYTES ? H5Dget_type(set)
                                            : h5_dtype((raytrain_dtype)e->dtype);
    hid_t memory = memory_space(e, slab), file = H5Dget_space(set);
    int rc = 0;

    if (type < 0 || memory < 0 || file < 0 || H5Tget_size(type) != e->element_bytes ||
        slab_select(file, e, slab) < 0)
        rc = error_set(err, RAYTRAIN_ECORRUPT, "it has changed since it was opened");
    else if (H5Dread(set, type, memory, file, H5P_DEFAULT, data) < 0)
        rc = h5_read_error(set, "read it", err);
    if (file >= 0)
        H5Sclose(file);
    if (memory >= 0)
        H5Sclose(memory);
    if (type >= 0)
        H5Tclose(type);
    return rc;
}

/* *text is malloc'ed. */
static int string_variable(hid_t set, hid_t type, hid_t space, char **text,
                           struct error *err)
{
    char *read = NULL;

    if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &read) < 0)
        return h5_read_error(set, "read it", err);
    *text = strdup(read ? read : "");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, &read);
    return *text ? 0 : error_no_memory(err);
}

static int string_fixed(hid_t set, hid_t type, uint64_t most, char **text,
                        struct error *err)
{
    size_t n = H5Tget_size(type);
    int rc = 0;

    if (n > most)
        return error_set(err, RAYTRAIN_ECORRUPT, "it exceeds the file");
    *text = calloc(n + 1, 1);
    if (!*text)
        return error_no_memory(err);
    if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *text) < 0)
        rc = h5_read_error(set, "read it", err);
    if (rc < 0)
        free(*text);
    else if (H5Tget_strpad(type) == H5T_STR_SPACEPAD)
        while (n > 0 && (*text)[n - 1] == ' ')
            (*text)[--n] = '\0';
    return rc;
}

static int string_get(hid_t set, uint64_t most, char **value, struct error *err)
{
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    char *text = NULL;
    int rc;

    if (type < 0 || space < 0 || H5Tget_class(type) != H5T_STRING ||
        H5Sget_simple_extent_npoints(space) != 1)
        rc = error_set(err, RAYTRAIN_ECORRUPT, "it has changed since it was opened");
    else if (H5Tis_variable_str(type) > 0)
        rc = string_variable(set, type, space, &text, err);
    else
        rc = string_fixed(set, type, most, &text, err);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (rc == 0)
        *value = text;
    return rc;
}

/* Read from one dataset: a slab, or if `value` is not NULL a string. */
static int dataset_get(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                       const raytrain_slab *slab, void *data, char **value,
                       struct error *err)
{
    struct h5_quiet quiet;
    hid_t set = -1;
    int rc;

    h5_quiet_begin(&quiet);
    rc = hdf5_ready(ck, err);
    if (rc == 0) {
        set = H5Dopen2(file_of(ck)->id, e->name, H5P_DEFAULT);
        if (set < 0)
            rc = h5_error(err, "open it");
        else
            rc = value ? string_get(set, ck->head.file_bytes, value, err)
                       : slab_get(set, e, slab, data, err);
        if (rc < 0)
            error_prefix(err, "%s: '%s'", ck->path, e->name);
    }
    if (set >= 0)
        H5Dclose(set);
    H5Eclear2(H5E_DEFAULT);
    h5_quiet_end(&quiet);
    return rc;
}

static int foreign_get(raytrain_checkpoint *ck, const struct tensor_entry *e,
                       const raytrain_slab *slab, void *data, struct error *err)
{
    return dataset_get(ck, e, slab, data, NULL, err);
}

static int foreign_get_string(raytrain_checkpoint *ck, const struct tensor_entry *e,
                              char **value, struct error *err)
{
    return dataset_get(ck, e, NULL, NULL, value, err);
}

static void foreign_absent(const raytrain_checkpoint *ck, const char *name,
                           struct error *err)
{
    const struct foreign_file *f = file_of(ck);
    char quoted[QUOTE_TEXT_MAX];

    for (size_t i = 0; i < f->n_left_out; i++)
        if (strcmp(f->left_out[i].name, name) == 0)
            error_set(err,
                      f->left_out[i].reason == OUT_DAMAGED ? RAYTRAIN_ECORRUPT
                                                           : RAYTRAIN_ENOTSUP,
                      "%s: the dataset %s %s", ck->path, quote(name, quoted),
                      foreign_reason_text(f->left_out[i].reason));
}

static void foreign_destroy(struct foreign *foreign)
{
    struct foreign_file *f = (struct foreign_file *)foreign;
    struct h5_quiet quiet;

    if (f->id >= 0) {
        h5_quiet_begin(&quiet);
        H5Fclose(f->id);
        h5_quiet_end(&quiet);
    }
    for (size_t i = 0; i < f->n_left_out; i++)
        free(f->left_out[i].name);
    free(f->left_out);
    free(f);
}

/* ---- Opening ---- */

static raytrain_checkpoint *foreign_create(const char *path, struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_for_reading(path, err);
    struct foreign_file *f = ck ? calloc(1, sizeof *f) : NULL;

    if (ck && !f) {
        error_no_memory(err);
        checkpoint_destroy(ck);
        return NULL;
    }
    if (ck) {
        f->foreign = (struct foreign){.get = foreign_get,
                                      .get_string = foreign_get_string,
                                      .absent = foreign_absent,
                                      .destroy = foreign_destroy};
        f->id = -1;
        ck->foreign = &f->foreign;
        ck->meta.run_name = ck->run_name;
    }
    return ck;
}

/* Values by which the ranks check that they see the same file. */
struct face {
    uint64_t file_bytes, hash; /* of its first bytes */
};

static int face_read(const raytrain_checkpoint *ck, struct face *face,
                     struct error *err)
{
    char first[HEAD_BYTES] = {0};
    struct stat st;
    size_t n;

    if (fstat(ck->fd, &st) < 0)
        return fs_error(err, "read", ck->path);
    n = st.st_size < (off_t)sizeof first ? (size_t)st.st_size : sizeof first;
    if (fs_pread_full(ck->fd, first, n, 0) < 0)
        return checkpoint_read_error(ck, err);
    *face = (struct face){(uint64_t)st.st_size, XXH3_64bits(first, sizeof first)};
    return 0;
}

/* COLLECTIVE: each rank opens the file, which must be rank 0's. */
static int same_file_open(raytrain_checkpoint *ck, struct comm *comm, struct error *err)
{
    struct face mine = {0}, first;
    int rc = checkpoint_file_open(ck, err);

    if (rc == 0)
        rc = face_read(ck, &mine, err);
    first = mine;
    if (comm_agree(comm, rc, err) < 0 ||
        comm->ops->bcast(comm, &first, sizeof first, 0, err) < 0)
        return -1;
    ck->head.file_bytes = mine.file_bytes;
    if (mine.file_bytes != first.file_bytes || mine.hash != first.hash)
        rc = error_set(err, RAYTRAIN_ECORRUPT,
                       "%s: this rank sees another file here than rank 0", ck->path);
    return comm_agree(comm, rc, err);
}

/* COLLECTIVE */
static int list_get(raytrain_checkpoint *ck, struct comm *comm, struct error *err)
{
    char *list = NULL;
    size_t made = 0;
    uint64_t n;
    int rc = comm->rank == 0 ? list_make(ck, &list, &made, err) : 0;

    rc = comm_agree(comm, rc, err);
    n = made;
    if (rc == 0)
        rc = comm->ops->bcast(comm, &n, sizeof n, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&list, n, 0, err);
    if (rc == 0)
        rc = comm_agree(comm, list_parse(ck, list, n, err), err);
    free(list);
    return rc;
}

static int foreign_open(struct comm *comm, const char *path, raytrain_checkpoint **out,
                        struct error *err)
{
    raytrain_checkpoint *ck = foreign_create(path, err);
    int rc = comm_agree(comm, ck ? 0 : -1, err);

    if (rc == 0)
        rc = same_file_open(ck, comm, err);
    if (rc == 0)
        rc = list_get(ck, comm, err);
    if (rc < 0)
        checkpoint_destroy(ck);
    else
        *out = ck;
    return rc;
}

int checkpoint_open_any(struct comm *comm, const char *path, raytrain_checkpoint **out,
                        struct error *err)
{
    uint32_t plain = comm->rank == 0 && checkpoint_is_plain_hdf5(path);

    if (comm->ops->bcast(comm, &plain, sizeof plain, 0, err) < 0)
        return -1;
    return plain ? foreign_open(comm, path, out, err)
                 : checkpoint_open(comm, path, out, err);
}
