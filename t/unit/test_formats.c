/*
 * test_formats.c - epochs of datasets in every format, in a file, a directory and by a
 * pattern: each row once, in the same order on any number of workers and when another
 * number continues in mid-epoch, with every rule for the last batch.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <hdf5.h>

#include "data/dataset.h"
#include "util/fs.h"

#include "process_comm.h"
#define BYTES_MAX (1 << 20)
#include "idx_file.h"
#include "npy_file.h"

#define ROWS     150
#define WIDE     1024 /* numbers in a row: with 4 bytes each, 60 rows are a block */
#define REPEATED 300  /* in text, the number of a row comes so often */
#define BATCH    4
#define STEPS    2 /* before the stop */

static const int SIZES[] = {1, 2, 3, 5};
#define N_SIZES  4
#define MAX_SIZE 5

/* In file order, all rows mixed, and in windows of 2 blocks; each with every rule. */
#define N_ORDERS 3
#define N_RULES  3
#define N_KINDS  (N_ORDERS * N_RULES)

static void kind_set(struct dataset_config *cfg, int kind)
{
    cfg->shuffle = kind % N_ORDERS > 0;
    cfg->shuffle_window = kind % N_ORDERS == 2 ? 100 : 0;
    cfg->last_batch = kind / N_ORDERS;
}

/* ---- Files: every column of row n, from 1 on, has the number n ---- */

static struct bytes B;

static void fields_write(const char *path, int first, int n, char between)
{
    FILE *f = fopen(path, "w");

    fprintf(f, "id%cword%cnote\n", between, between);
    for (int row = first; row < first + n; row++) {
        fprintf(f, "%d%cw%d%c\"%7d\n", row, between, row, between, row);
        for (int i = 1; i < REPEATED; i++)
            fprintf(f, "%7d", row);
        fputs("\"\n", f);
    }
    assert_int_equal(fclose(f), 0);
}

static void csv_write(const char *path, int first, int n)
{
    fields_write(path, first, n, ',');
}

static void tsv_write(const char *path, int first, int n)
{
    fields_write(path, first, n, '\t');
}

static void libsvm_write(const char *path, int first, int n)
{
    FILE *f = fopen(path, "w");

    for (int row = first; row < first + n; row++) {
        fprintf(f, "%d", row);
        for (int i = 1; i <= REPEATED; i++)
            fprintf(f, " %d:%d", i + row % 3, row);
        fputs("\n", f);
    }
    assert_int_equal(fclose(f), 0);
}

static void lines_write(const char *path, int first, int n)
{
    FILE *f = fopen(path, "w");

    for (int row = first; row < first + n; row++) {
        for (int i = 0; i < REPEATED; i++)
            fprintf(f, "%7d", row);
        fputs("\n", f);
    }
    assert_int_equal(fclose(f), 0);
}

static void idx_write(const char *path, int first, int n)
{
    idx_header(&B, 0x0c, 2, (uint32_t[]){(uint32_t)n, WIDE});
    for (int row = first; row < first + n; row++)
        for (int i = 0; i < WIDE; i++)
            bytes_u32(&B, (uint32_t)row);
    bytes_write(&B, path);
}

/* Of `wide` numbers in each row. */
static const int32_t *numbers(int first, int n, int wide)
{
    static int32_t values[ROWS * WIDE];

    for (int i = 0; i < n * wide; i++)
        values[i] = first + i / wide;
    return values;
}

static void npy_make(struct bytes *b, int first, int n, int wide)
{
    char text[200];

    snprintf(text, sizeof text,
             "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d), }", n, wide);
    b->n = 0;
    npy_put(b, 1, text, numbers(first, n, wide), (size_t)(n * wide) * 4);
}

static void npy_file_write(const char *path, int first, int n)
{
    npy_make(&B, first, n, WIDE);
    bytes_write(&B, path);
}

static void npz_any_write(const char *path, int first, int n, bool deflated)
{
    static struct zip_writer z;

    z.file.n = z.directory.n = 0;
    npy_make(&B, first, n, WIDE);
    zip_add(&z, "x.npy", &B, deflated, false);
    npy_make(&B, first, n, 1);
    zip_add(&z, "id.npy", &B, deflated, false);
    zip_finish(&z, false, "");
    bytes_write(&z.file, path);
}

static void npz_write(const char *path, int first, int n)
{
    npz_any_write(path, first, n, false);
}

static void npz_deflated_write(const char *path, int first, int n)
{
    npz_any_write(path, first, n, true);
}

static void dataset_make(hid_t file, const char *name, int first, int n, int wide,
                         bool packed)
{
    hsize_t dims[] = {(hsize_t)n, (hsize_t)wide};
    hsize_t chunk[] = {n < 7 ? dims[0] : 7, dims[1]};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), set;

    if (packed) {
        H5Pset_chunk(plist, 2, chunk);
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 4);
    }
    set = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         numbers(first, n, wide)) >= 0);
    H5Dclose(set);
    H5Pclose(plist);
    H5Sclose(space);
}

static void hdf5_any_write(const char *path, int first, int n, bool packed)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(file >= 0);
    dataset_make(file, "x", first, n, WIDE, packed);
    dataset_make(file, "id", first, n, 1, packed);
    assert_true(H5Fclose(file) >= 0);
}

static void hdf5_write(const char *path, int first, int n)
{
    hdf5_any_write(path, first, n, false);
}

static void hdf5_packed_write(const char *path, int first, int n)
{
    hdf5_any_write(path, first, n, true);
}

static const struct format {
    const char *name, *end;
    void (*write)(const char *path, int first, int n);
    const char *program, *packed_end; /* that packs the file; NULL: none */
} FORMATS[] = {
    {"csv", ".csv", csv_write, NULL, ""},
    {"csv_in_gzip", ".csv", csv_write, "gzip", ".gz"},
    {"csv_in_zstd", ".csv", csv_write, "zstd", ".zst"},
    {"tsv", ".tsv", tsv_write, NULL, ""},
    {"tsv_in_gzip", ".tsv", tsv_write, "gzip", ".gz"},
    {"libsvm", ".libsvm", libsvm_write, NULL, ""},
    {"libsvm_in_zstd", ".libsvm", libsvm_write, "zstd", ".zst"},
    {"text", ".txt", lines_write, NULL, ""},
    {"text_in_gzip", ".txt", lines_write, "gzip", ".gz"},
    {"idx", ".idx", idx_write, NULL, ""},
    {"idx_in_gzip", ".idx", idx_write, "gzip", ".gz"},
    {"npy", ".npy", npy_file_write, NULL, ""},
    {"npz", ".npz", npz_write, NULL, ""},
    {"npz_deflated", ".npz", npz_deflated_write, NULL, ""},
    {"hdf5", ".h5", hdf5_write, NULL, ""},
    {"hdf5_in_chunks_with_deflate", ".h5", hdf5_packed_write, NULL, ""},
};
#define N_FORMATS (sizeof FORMATS / sizeof *FORMATS)

/* Rows first..first+n in the file STEM with the end of its format. */
static void file_make(const struct format *f, const char *stem, int first, int n)
{
    char path[64], command[300];

    snprintf(path, sizeof path, "%s%s", stem, f->end);
    f->write(path, first, n);
    if (!f->program)
        return;
    snprintf(command, sizeof command, "%s -q <%s >%s%s && rm %s", f->program, path,
             path, f->packed_end, path);
    assert_int_equal(system(command), 0);
}

/* All rows in one file; and the same in three, one of which has a single row. */
enum place { ONE_FILE, DIRECTORY, PATTERN, N_PLACES };

static void files_make(const struct format *f, char paths[N_PLACES][64])
{
    file_make(f, "one", 1, ROWS);
    assert_int_equal(mkdir("three", 0700), 0);
    file_make(f, "three/d-0", 1, 40);
    file_make(f, "three/d-1", 41, 1);
    file_make(f, "three/d-2", 42, ROWS - 41);
    snprintf(paths[ONE_FILE], 64, "one%s%s", f->end, f->packed_end);
    /* Of a directory, files .txt are not taken: they may be about the data. */
    snprintf(paths[DIRECTORY], 64, "three%s", strcmp(f->end, ".txt") ? "" : "/*");
    snprintf(paths[PATTERN], 64, "three/d-*%s%s", f->end, f->packed_end);
}

/* ---- Workers ---- */

struct batch {
    uint64_t n, padding;
    int rows[BATCH];
};

/* What the workers have got, of each kind: in memory that they share with the test. */
static struct shared {
    struct dataset_state from[N_KINDS], to[N_KINDS];
    uint64_t steps[N_KINDS][MAX_SIZE];
    struct batch batches[N_KINDS][MAX_SIZE][ROWS / BATCH + 1];
} * shared;

struct group {
    const char *path;
    int size;
    uint64_t steps; /* the most batches, from shared->from on */
};

static double element(const struct frame_column *c, uint64_t k)
{
    const void *data = c->data;

    switch (c->row.dtype) {
    case RAYTRAIN_INT32:
        return ((const int32_t *)data)[k];
    case RAYTRAIN_INT64:
        return (double)((const int64_t *)data)[k];
    case RAYTRAIN_FLOAT32:
        return (double)((const float *)data)[k];
    case RAYTRAIN_FLOAT64:
        return ((const double *)data)[k];
    default:
        return NAN;
    }
}

/* The number at both ends of the column's row; -1: they differ. */
static int number_of(const struct frame_column *c, uint64_t row)
{
    uint64_t from = c->offsets ? c->offsets[row] : row;
    uint64_t end = c->offsets ? c->offsets[row + 1] : row + 1;
    char text[2][8] = {"", ""};
    size_t n;

    if (c->kind == FRAME_WORDS)
        return atoi(dictionary_word(c->words, ((uint32_t *)(void *)c->data)[row], &n) +
                    1);
    if (c->kind == FRAME_TEXT) {
        if (end - from < (uint64_t)REPEATED * 7)
            return -1;
        memcpy(text[0], c->data + from, 7);
        memcpy(text[1], c->data + end - 7, 7);
        return strcmp(text[0], text[1]) == 0 ? atoi(text[0]) : -1;
    }
    if (c->kind == FRAME_NUMBERS) {
        n = frame_row_bytes(c) / raytrain_dtype_size(c->row.dtype);
        from *= n;
        end *= n;
    }
    return element(c, from) == element(c, end - 1) ? (int)element(c, from) : -1;
}

/* The rows of the batch; in all columns they are the same. */
static int batch_take(raytrain_dataset *ds, struct batch *out, struct error *err)
{
    raytrain_tensor row;

    out->padding = dataset_padding(ds);
    for (size_t i = 0; i < dataset_n_columns(ds); i++) {
        const struct frame_column *c =
            dataset_frame_column(ds, dataset_column_at(ds, i, &row), err);

        for (uint64_t r = 0; c && r < out->n; r++) {
            int number = number_of(c, r);

            if (i > 0 && number != out->rows[r])
                return error_set(err, RAYTRAIN_ECORRUPT, "column %s: %d instead of %d",
                                 c->name, number, out->rows[r]);
            out->rows[r] = number;
        }
        if (!c)
            return -1;
    }
    return 0;
}

static int kind_run(const struct group *g, struct comm *all, struct comm *node,
                    int kind, struct error *err)
{
    struct dataset_env env = {.rank = all->rank,
                              .size = all->size,
                              .node = node,
                              .all = all,
                              .directory = "run",
                              .seed = 5};
    struct dataset_config cfg = {
        .name = (char *)"d",
        .path = (char *)g->path,
        .types = (struct dataset_type[]){{(char *)"note", (char *)"text"}},
        .n_types = strstr(g->path, "sv") != NULL};
    struct batch *batches = shared->batches[kind][all->rank];
    raytrain_dataset *ds = NULL;
    uint64_t k = 0;
    int rc;

    kind_set(&cfg, kind);
    rc = dataset_open(&cfg, &env, &ds, err);
    if (rc == 0)
        rc = dataset_set_batch_size(ds, BATCH, err);
    if (rc == 0)
        rc = dataset_state_set(ds, &shared->from[kind], err);
    while (rc == 0 && k < g->steps) {
        rc = dataset_next(ds, &batches[k].n, err);
        if (rc == 0)
            rc = batch_take(ds, &batches[k++], err);
    }
    shared->steps[kind][all->rank] = k;
    if (all->rank == 0 && rc >= 0)
        dataset_state_get(ds, &shared->to[kind]);
    dataset_close(ds);
    return rc < 0 ? -1 : 0;
}

static int rank_run(struct comm *all, struct comm *node, void *arg)
{
    struct error err;

    for (int kind = 0; kind < N_KINDS; kind++)
        if (kind_run(arg, all, node, kind, &err) < 0) {
            print_error("rank %d of %d: %s\n", all->rank, all->size, err.text);
            return 1;
        }
    return 0;
}

/* ---- Epochs ---- */

/* Of each kind, rows of an epoch, one after the other. */
struct epochs {
    uint64_t n[N_KINDS];
    int rows[N_KINDS][ROWS];
};

/* Add what the group has got. Batches end at the same time on all of its workers, and
 * are full if they are padded. */
static void epoch_add(struct epochs *e, const struct group *g, int kind)
{
    for (int r = 0; r < g->size; r++)
        assert_int_equal(shared->steps[kind][r], shared->steps[kind][0]);
    for (uint64_t k = 0; k < shared->steps[kind][0]; k++)
        for (int r = 0; r < g->size; r++) {
            const struct batch *b = &shared->batches[kind][r][k];

            assert_true(b->n == BATCH || kind / N_ORDERS == LAST_BATCH_KEEP);
            assert_true(b->padding == 0 || kind / N_ORDERS == LAST_BATCH_PAD);
            assert_in_range(b->n, b->padding, BATCH);
            assert_in_range(e->n[kind] + b->n - b->padding, 0, ROWS);
            memcpy(e->rows[kind] + e->n[kind], b->rows,
                   (b->n - b->padding) * sizeof *b->rows);
            e->n[kind] += b->n - b->padding;
        }
}

/* Go on from shared->from. */
static void group_run(struct epochs *e, const char *path, int size, uint64_t steps)
{
    struct group g = {path, size, steps};

    assert_int_equal(process_comm_run(size, 2, rank_run, &g), 0);
    for (int kind = 0; kind < N_KINDS; kind++)
        epoch_add(e, &g, kind);
}

/* The orders that one worker sees, each row once. */
static void whole_make(struct epochs *whole, const char *path)
{
    *whole = (struct epochs){.n = {0}};
    memset(shared, 0, sizeof *shared);
    group_run(whole, path, 1, UINT64_MAX);
    for (int order = 0; order < N_ORDERS; order++) {
        bool seen[ROWS + 1] = {false};
        int in_place = 0;

        assert_int_equal(whole->n[order], ROWS);
        for (int i = 0; i < ROWS; i++) {
            assert_in_range(whole->rows[order][i], 1, ROWS);
            assert_false(seen[whole->rows[order][i]]);
            seen[whole->rows[order][i]] = true;
            in_place += whole->rows[order][i] == i + 1;
        }
        assert_true(order == 0 ? in_place == ROWS : in_place < ROWS / 2);
    }
    assert_memory_not_equal(whole->rows[1], whole->rows[2], sizeof whole->rows[1]);
}

/* Workers stop in mid-epoch, and other ones get the other rows. */
static void epochs_check(const struct epochs *whole, const char *path, int first,
                         int second)
{
    static struct epochs e;
    uint64_t all = (uint64_t)second * BATCH;

    e = (struct epochs){.n = {0}};
    memset(shared, 0, sizeof *shared);
    group_run(&e, path, first, STEPS);
    memcpy(shared->from, shared->to, sizeof shared->from);
    for (int kind = 0; kind < N_KINDS; kind++) {
        assert_int_equal(e.n[kind], STEPS * BATCH * first);
        assert_int_equal(shared->from[kind].position, e.n[kind]);
    }
    group_run(&e, path, second, UINT64_MAX);
    for (int kind = 0; kind < N_KINDS; kind++) {
        uint64_t at = shared->from[kind].position, n = ROWS;

        if (kind / N_ORDERS == LAST_BATCH_DROP)
            n = at + (ROWS - at) / all * all;
        assert_int_equal(e.n[kind], n);
        assert_memory_equal(e.rows[kind], whole->rows[kind % N_ORDERS],
                            n * sizeof *e.rows[kind]);
    }
}

static void every_row_comes_once(void **state)
{
    const struct format *f = *state;
    static struct epochs whole;
    char paths[N_PLACES][64];

    if (f->program && strcmp(f->program, "zstd") == 0) {
#ifdef HAVE_ZSTD
        if (system("zstd --version >/dev/null 2>&1") != 0)
            skip();
#else
        skip();
#endif
    }
    files_make(f, paths);
    for (int place = 0; place < N_PLACES; place++) {
        const char *path = paths[place];

        whole_make(&whole, path);
        for (int i = 0; i < N_SIZES; i++) {
            assert_int_equal(fs_remove_tree("run", NULL),
                             0); /* text is converted again */
            for (int k = 1; k < (place == ONE_FILE ? N_SIZES : 2); k++)
                epochs_check(&whole, path, SIZES[i], SIZES[(i + k) % N_SIZES]);
        }
        assert_int_equal(fs_remove_tree("run", NULL), 0);
    }
}

/* Each format has a directory of its own. */
static int enter(void **state)
{
    const struct format *f = *state;

    return mkdir(f->name, 0700) < 0 ? -1 : chdir(f->name);
}

static int leave(void **state)
{
    (void)state;
    return chdir("..");
}

/* The group has no state: if it had one, cmocka would not give tests their own. */
static void *scratch;

static int all_enter(void **state)
{
    (void)state;
    return scratch_enter(&scratch);
}

static int all_leave(void **state)
{
    (void)state;
    return scratch_leave(&scratch);
}

int main(void)
{
    struct CMUnitTest tests[N_FORMATS];

    for (size_t i = 0; i < N_FORMATS; i++)
        tests[i] = (struct CMUnitTest){.name = FORMATS[i].name,
                                       .test_func = every_row_comes_once,
                                       .setup_func = enter,
                                       .teardown_func = leave,
                                       .initial_state = (void *)(uintptr_t)&FORMATS[i]};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, all_enter, all_leave);
}
