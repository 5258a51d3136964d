/* test_by_parts.c - tensors that are cut across their rows: stored by parts, read by any
 * number of ranks, by HDF5 alone, and not at all if they are damaged. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checksum.h"
#include "checkpoint/index.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

#define FILE_NAME "checkpoint_000001.h5"
#define MOST      40000 /* elements of the largest tensor */

static const struct checkpoint_meta META = {.run_name = "parts",
                                            .training_iteration = 1};

/* ---- Tensors, and how ranks cut them ---- */

struct cut {
    const char *name;
    int ndim;
    uint64_t shape[4];
    int axis, second; /* cut along these; second -1: along one */
    int most;         /* more ranks than these have nothing; 0: all have something */
    bool by_parts;    /* if two ranks or more have some of it */
};

static const struct cut CUTS[] = {
    {"columns", 2, {100, 333}, 1, -1, 0, true},
    {"columns_of_some", 2, {100, 334}, 1, -1, 2, true},
    {"middle", 3, {6, 50, 40}, 1, -1, 0, true},
    {"inner/and/middle", 4, {3, 20, 10, 30}, 1, 3, 0, true},
    {"rows", 2, {64, 100}, 0, -1, 0, false},
    {"line", 1, {5000}, 0, -1, 0, false},
    {"tiny", 2, {3, 30}, 1, -1, 0, false},
};
#define N_CUTS (sizeof CUTS / sizeof *CUTS)

static void part_of(uint64_t n, int rank, int size, raytrain_slab *slab, int axis)
{
    slab->start[axis] = n * (uint64_t)rank / (uint64_t)size;
    slab->count[axis] = n * (uint64_t)(rank + 1) / (uint64_t)size - slab->start[axis];
}

static void slab_of(const struct cut *c, int rank, int size, raytrain_slab *slab)
{
    int n = c->most && c->most < size ? c->most : size;
    int inner = c->second >= 0 && n % 2 == 0 ? 2 : 1;

    slab_whole(c->ndim, c->shape, slab);
    if (rank >= n) {
        slab->count[c->axis] = 0;
        return;
    }
    part_of(c->shape[c->axis], rank / inner, n / inner, slab, c->axis);
    if (c->second >= 0)
        part_of(c->shape[c->second], rank % inner, inner, slab, c->second);
}

static uint64_t elements(const struct cut *c)
{
    uint64_t n = 1;

    for (int d = 0; d < c->ndim; d++)
        n *= c->shape[d];
    return n;
}

static uint32_t value(uint64_t at)
{
    return (uint32_t)(at + 1) * 2654435761u;
}

/* The values of a slab, dense; returns how many. */
static uint64_t slab_values(const struct cut *c, const raytrain_slab *slab,
                            uint32_t *out)
{
    struct slab_stream stream;
    uint64_t left;

    slab_stream_init(&stream, c->ndim, c->shape, sizeof *out, slab);
    for (uint64_t at = 0; at < stream.bytes; at += sizeof *out)
        *out++ = value(slab_stream_at(&stream, at, &left) / sizeof *out);
    return stream.bytes / sizeof *out;
}

static raytrain_tensor tensor_of(const struct cut *c, void *data)
{
    raytrain_tensor t = {.data = data, .dtype = RAYTRAIN_UINT32, .ndim = c->ndim};

    memcpy(t.shape, c->shape, sizeof c->shape);
    return t;
}

/* ---- Save, read ---- */

static int save(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    uint32_t *data[N_CUTS];
    struct error err;
    int rc = 0;

    (void)arg;
    for (size_t i = 0; i < N_CUTS; i++) {
        raytrain_slab slab;
        raytrain_tensor t;

        data[i] = malloc(MOST * sizeof **data);
        slab_of(&CUTS[i], comm->rank, comm->size, &slab);
        slab_values(&CUTS[i], &slab, data[i]);
        t = tensor_of(&CUTS[i], data[i]);
        rc |= checkpoint_put(ck, CUTS[i].name, &t, &slab, &err);
    }
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    for (size_t i = 0; i < N_CUTS; i++)
        free(data[i]);
    checkpoint_destroy(ck);
    return rc;
}

/* This rank's slab if there are that many, and all of it. */
static int cut_get(raytrain_checkpoint *ck, const struct cut *c, int rank, int size,
                   uint32_t *got, uint32_t *want)
{
    raytrain_tensor t = tensor_of(c, got);
    raytrain_slab slab;
    struct error err;
    uint64_t n;
    int rc;

    slab_of(c, rank, size, &slab);
    n = slab_values(c, &slab, want);
    rc = checkpoint_get(ck, c->name, &t, &slab, &err);
    rc |= memcmp(got, want, n * sizeof *got) != 0;
    slab_whole(c->ndim, c->shape, &slab);
    n = slab_values(c, &slab, want);
    rc |= checkpoint_get(ck, c->name, &t, NULL, &err);
    return rc | (memcmp(got, want, n * sizeof *got) != 0);
}

static int restore(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = NULL;
    uint32_t *got = calloc(MOST, sizeof *got), *want = calloc(MOST, sizeof *want);
    struct error err;
    int rc = checkpoint_open(comm, FILE_NAME, &ck, &err);

    (void)arg;
    for (size_t i = 0; rc == 0 && i < N_CUTS; i++)
        rc = cut_get(ck, &CUTS[i], comm->rank, comm->size, got, want);
    free(got);
    free(want);
    checkpoint_destroy(ck);
    return rc;
}

static void all_run(int n, int (*body)(struct comm *comm, void *arg))
{
    int rc[THREAD_COMM_MAX];

    thread_comm_run(n, body, NULL, rc);
    for (int r = 0; r < n; r++)
        assert_int_equal(rc[r], 0);
}

static raytrain_checkpoint *open_alone(struct error *err)
{
    struct comm *self = comm_self_create(NULL);
    raytrain_checkpoint *ck = NULL;

    checkpoint_open(self, FILE_NAME, &ck, err);
    comm_free(self);
    return ck;
}

static const struct tensor_entry *entry(raytrain_checkpoint *ck, const char *name)
{
    return entry_find(ck, name, NULL);
}

static const int RANKS[] = {1, 2, 3, 5, 8};

static void n_ranks_write_and_m_read(void **state)
{
    (void)state;
    for (int n = 0; n < 5; n++) {
        raytrain_checkpoint *ck;

        all_run(RANKS[n], save);
        ck = open_alone(NULL);
        for (size_t i = 0; i < N_CUTS; i++)
            assert_int_equal(entry(ck, CUTS[i].name)->by_parts,
                             CUTS[i].by_parts && RANKS[n] > 1);
        checkpoint_destroy(ck);
        for (int m = 0; m < 5; m++)
            all_run(RANKS[m], restore);
    }
}

/* What stays in memory once a file is verified: nothing for each rank that wrote it, except
 * for the parts of tensors that are stored by parts. */
static void what_is_kept_does_not_grow_with_the_ranks(void **state)
{
    (void)state;
    for (int n = 1; n <= THREAD_COMM_MAX; n *= 2) {
        uint64_t parts = 0;
        raytrain_checkpoint *ck;
        struct error err;

        all_run(n, save);
        ck = open_alone(&err);
        assert_non_null(ck);
        assert_null(ck->shape_sums);
        for (size_t i = 0; i < ck->n_tensors; i++)
            if (ck->tensors[i].by_parts)
                parts += ck->tensors[i].n_parts;
        assert_int_equal(ck->n_parts, parts);
        checkpoint_destroy(ck);
    }
}

/* ---- Other readers ---- */

static void hdf5_alone_reads_them(void **state)
{
    uint32_t *got = calloc(MOST, sizeof *got);
    hid_t file;

    (void)state;
    all_run(3, save);
    file = H5Fopen(FILE_NAME, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    for (size_t i = 0; i < N_CUTS; i++) {
        hid_t set = H5Dopen2(file, CUTS[i].name, H5P_DEFAULT);

        assert_true(set >= 0);
        memset(got, 0, MOST * sizeof *got);
        assert_true(
            H5Dread(set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
        for (uint64_t k = 0; k < elements(&CUTS[i]); k++)
            assert_int_equal(got[k], value(k));
        H5Dclose(set);
    }
    assert_true(H5Fclose(file) >= 0);
    free(got);
}

static void any_range_of_bytes_is_read_in_row_major_order(void **state)
{
    uint32_t want[5000];
    unsigned char got[5000];
    raytrain_checkpoint *ck;
    struct error err;
    size_t item;

    (void)state;
    all_run(5, save);
    ck = open_alone(&err);
    assert_true(checkpoint_item_find(ck, "columns", &item));
    for (uint64_t from = 0, n = 1; from + n <= entry(ck, "columns")->bytes;
         from += n, n = n % 4990 + 7) {
        for (uint64_t k = 0; k <= (from % 4 + n) / 4; k++)
            want[k] = value(from / 4 + k);
        assert_int_equal(checkpoint_item_read(ck, item, from, got, n, &err), 0);
        assert_memory_equal(got, (unsigned char *)want + from % 4, n);
    }
    checkpoint_destroy(ck);
}

/* ---- How much is read ---- */

/* Bytes that this process has asked read() for. */
static uint64_t bytes_read(void)
{
    FILE *io = fopen("/proc/self/io", "r");
    unsigned long long n = 0;

    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %llu", &n), 1);
    fclose(io);
    return n;
}

static void a_rank_reads_little_more_than_its_slab(void **state)
{
    uint32_t *got = calloc(MOST, sizeof *got);
    raytrain_checkpoint *ck;
    struct error err;

    (void)state;
    all_run(8, save);
    ck = open_alone(&err);
    for (int r = 0; r < 8; r++) {
        raytrain_tensor t = tensor_of(&CUTS[0], got);
        raytrain_slab slab;
        uint64_t before, n;

        slab_of(&CUTS[0], r, 8, &slab);
        before = bytes_read();
        assert_int_equal(checkpoint_get(ck, CUTS[0].name, &t, &slab, &err), 0);
        n = bytes_read() - before;
        assert_true(n < 100 * slab.count[1] * 4 * 3 / 2);
    }
    checkpoint_destroy(ck);
    free(got);
}

/* ---- Damage ---- */

static void flip(uint64_t at)
{
    unsigned char byte;
    int fd = open(FILE_NAME, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 16;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

static void damage_to_any_part_is_found(void **state)
{
    raytrain_checkpoint *ck;
    uint64_t first, bytes;
    struct error err;

    (void)state;
    all_run(3, save);
    ck = open_alone(&err);
    first = entry(ck, "middle")->offset;
    bytes = entry(ck, "middle")->bytes;
    checkpoint_destroy(ck);
    for (uint64_t at = 0; at < bytes; at += 997) {
        flip(first + at);
        assert_null(open_alone(&err));
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        assert_non_null(strstr(err.text, "dataset 'middle' is damaged"));
        flip(first + at);
    }
    checkpoint_destroy(open_alone(&err));
}

/* Make the checksums of the metadata and of the head right again. */
static void checksums_repair(raytrain_checkpoint *ck, struct file_head *head,
                             char *file)
{
    XXH3_state_t *hash = XXH3_createState();
    struct extent *extents;
    size_t n;

    assert_int_equal(metadata_extents(ck, head->file_bytes, &extents, &n, NULL), 0);
    XXH3_64bits_reset(hash);
    for (size_t i = 0; i < n; i++)
        XXH3_64bits_update(hash, file + extents[i].start,
                           extents[i].end - extents[i].start);
    head->metadata_hash = XXH3_64bits_digest(hash);
    head->head_hash = XXH3_64bits(head, offsetof(struct file_head, head_hash));
    memcpy(file, head, sizeof *head);
    XXH3_freeState(hash);
    free(extents);
}

/* A file with valid checksums, as another format version, whose record of a tensor has
 * this value in by_parts. */
static void file_forge(size_t tensor, unsigned version, uint8_t by_parts)
{
    raytrain_checkpoint *ck = open_alone(NULL);
    struct file_head head = ck->head;
    size_t width = head.name_bytes + sizeof(struct tensor_record), n = head.file_bytes;
    char *file = NULL;

    assert_int_equal(fs_read(FILE_NAME, &file, &n, NULL), 0);
    file[head.tensors_at + tensor * width + head.name_bytes +
         offsetof(struct tensor_record, by_parts)] = (char)by_parts;
    head.version = version;
    checksums_repair(ck, &head, file);
    checkpoint_destroy(ck);
    assert_int_equal(fs_write_atomic(FILE_NAME, file, n, 0600, NULL), 0);
    free(file);
}

static void a_false_order_of_parts_is_refused(void **state)
{
    struct error err;

    (void)state;
    all_run(2, save);
    file_forge(0, FORMAT_VERSION, 2);
    assert_null(open_alone(&err));
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_non_null(strstr(err.text, "'columns': impossible order of its parts"));
    all_run(2, save);
    file_forge(0, FORMAT_OLDEST, 1);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "'columns': impossible order of its parts"));
    /* Without the mark the same bytes are in another order: the checksums say so. */
    all_run(2, save);
    file_forge(0, FORMAT_VERSION, 0);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "dataset 'columns' is damaged"));
}

static void files_of_the_format_before_are_read(void **state)
{
    struct error err;

    (void)state;
    all_run(1, save);
    file_forge(0, FORMAT_OLDEST, 0);
    all_run(3, restore);
    file_forge(0, FORMAT_VERSION + 1, 0);
    assert_null(open_alone(&err));
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    all_run(1, save);
    file_forge(0, FORMAT_OLDEST - 1, 0);
    assert_null(open_alone(&err));
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(n_ranks_write_and_m_read),
        SCRATCH(what_is_kept_does_not_grow_with_the_ranks),
        SCRATCH(hdf5_alone_reads_them),
        SCRATCH(any_range_of_bytes_is_read_in_row_major_order),
        SCRATCH(a_rank_reads_little_more_than_its_slab),
        SCRATCH(damage_to_any_part_is_found),
        SCRATCH(a_false_order_of_parts_is_refused),
        SCRATCH(files_of_the_format_before_are_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
