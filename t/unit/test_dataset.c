/* test_dataset.c - which rank gets which rows, from files whose rows are numbers. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "util/fs.h"

#include "idx_file.h"

#define MAX_RANKS 8
#define MAX_ROWS  600

static const char FASHION[] =
    "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";

/* All workers of a run, in one process. */
struct group {
    int size;
    raytrain_dataset *ds[MAX_RANKS];
};

static void group_open(struct group *g, int size, bool shuffle, uint64_t batch)
{
    struct dataset_config cfg = {.name = (char *)"train",
                                 .path = (char *)"rows-images-idx1-int",
                                 .label = (char *)"rows-labels",
                                 .shuffle = shuffle};
    struct error err;

    g->size = size;
    for (int r = 0; r < size; r++) {
        struct dataset_env env = {.rank = r, .size = size, .seed = 11};

        assert_int_equal(dataset_open(&cfg, &env, &g->ds[r], &err), 0);
        assert_int_equal(dataset_set_batch_size(g->ds[r], batch, &err), 0);
    }
}

static void group_close(struct group *g)
{
    for (int r = 0; r < g->size; r++)
        dataset_close(g->ds[r]);
}

static void group_seek(struct group *g, const struct dataset_state *state)
{
    struct error err;

    for (int r = 0; r < g->size; r++)
        assert_int_equal(dataset_state_set(g->ds[r], state, &err), 0);
}

static void files_make(uint32_t rows)
{
    static struct bytes b;

    idx_numbers(&b, rows);
    bytes_write(&b, "rows-images-idx1-int");
    idx_labels(&b, rows);
    bytes_write(&b, "rows-labels");
}

/* One rank's batch, behind out[0..n); the labels must be those of the rows. */
static uint64_t rank_take(raytrain_dataset *ds, int32_t *out)
{
    raytrain_tensor x, y;
    uint64_t rows = 99;
    struct error err;

    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
    assert_int_equal(dataset_column(ds, "y", &y, &err), 0);
    assert_int_equal(x.dtype, RAYTRAIN_INT32);
    assert_int_equal(y.dtype, RAYTRAIN_UINT8);
    assert_int_equal(x.ndim, 1);
    assert_int_equal(x.shape[0], rows);
    assert_int_equal(y.shape[0], rows);
    for (uint64_t i = 0; i < rows; i++) {
        out[i] = ((int32_t *)x.data)[i];
        assert_int_equal(((unsigned char *)y.data)[i], out[i] % 251);
    }
    return rows;
}

/* A global batch, in rank order. Its rows; 0 at the end of the epoch, for all alike. */
static uint64_t group_take(struct group *g, int32_t *out)
{
    struct dataset_state state;
    struct error err;
    uint64_t n = 0, none = 99;

    dataset_state_get(g->ds[0], &state);
    if (state.position == dataset_rows(g->ds[0])) {
        for (int r = 0; r < g->size; r++) {
            assert_int_equal(dataset_next(g->ds[r], &none, &err), 1);
            assert_int_equal(none, 0);
        }
        return 0;
    }
    for (int r = 0; r < g->size; r++)
        n += rank_take(g->ds[r], out + n);
    return n;
}

/* The whole of an epoch. */
static uint64_t group_epoch(struct group *g, int32_t *out)
{
    uint64_t n = 0, k;

    while ((k = group_take(g, out + n)) > 0)
        n += k;
    return n;
}

static void check_each_once(const int32_t *rows, uint64_t n)
{
    bool seen[MAX_ROWS] = {false};

    for (uint64_t i = 0; i < n; i++) {
        assert_in_range(rows[i], 0, n - 1);
        assert_false(seen[rows[i]]);
        seen[rows[i]] = true;
    }
}

static void every_row_once_an_epoch(void **state)
{
    static const struct {
        uint32_t rows;
        int workers;
        uint64_t batch;
    } T[] = {{1, 1, 1},
             {1, 4, 3},
             {7, 3, 2},
             {64, 2, 8},
             {65, 2, 8},
             {63, 8, 8},
             {500, 3, 7},
             {500, 8, 1000},
             {257, 5, 16},
             {600, 7, 1},
             {500, 3, UINT64_MAX},
             {100, 4, 25}};
    int32_t rows[2][MAX_ROWS];
    struct group g;

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++)
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            files_make(T[i].rows);
            group_open(&g, T[i].workers, shuffle, T[i].batch);
            for (int epoch = 0; epoch < 2; epoch++) {
                assert_int_equal(group_epoch(&g, rows[epoch]), T[i].rows);
                check_each_once(rows[epoch], T[i].rows);
            }
            if (T[i].rows > 10) /* the next epoch's order is another one, or the same */
                assert_int_equal(
                    memcmp(rows[0], rows[1], T[i].rows * sizeof **rows) == 0, !shuffle);
            group_close(&g);
        }
}

static void without_shuffle_rows_come_as_they_are(void **state)
{
    int32_t rows[MAX_ROWS];
    struct group g;

    (void)state;
    files_make(50);
    group_open(&g, 3, false, 4);
    assert_int_equal(group_epoch(&g, rows), 50);
    for (int i = 0; i < 50; i++)
        assert_int_equal(rows[i], i);
    group_close(&g);
}

/* Global batch k holds the same rows for 1x24, 2x12, 3x8, 4x6 and 8x3. */
static void order_does_not_depend_on_workers(void **state)
{
    static const int SIZES[] = {1, 2, 3, 4, 8};
    int32_t first[MAX_ROWS], rows[MAX_ROWS];
    struct group g;

    (void)state;
    files_make(500);
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        group_open(&g, SIZES[i], true, 24 / SIZES[i]);
        group_epoch(&g, rows);
        assert_int_equal(group_take(&g, rows), 24); /* epoch 1, batch 0 */
        assert_int_equal(group_epoch(&g, rows + 24), 500 - 24);
        if (i == 0)
            memcpy(first, rows, sizeof rows);
        assert_memory_equal(first, rows, 500 * sizeof *rows);
        group_close(&g);
    }
}

/* After any number of batches, other workers with another batch size continue with the
 * rows that are left, and with the next epoch as if nothing had happened. */
static void any_number_of_workers_can_continue(void **state)
{
    int32_t whole[2][MAX_ROWS], rows[MAX_ROWS], next[MAX_ROWS];
    struct group g;

    (void)state;
    files_make(100);
    group_open(&g, 1, true, 1);
    group_epoch(&g, whole[0]);
    group_epoch(&g, whole[1]);
    group_close(&g);
    for (int batches = 0; batches <= 15; batches++)
        for (int size = 1; size <= 5; size += 2) {
            struct dataset_state at;
            uint64_t n = 0;

            group_open(&g, 2, true, 3 + batches % 2);
            for (int k = 0; k < batches && n < 100; k++)
                n += group_take(&g, rows + n);
            dataset_state_get(g.ds[1], &at);
            assert_int_equal(at.position, n);
            group_close(&g);
            group_open(&g, size, true, 4);
            group_seek(&g, &at);
            n += group_epoch(&g, rows + n);
            assert_int_equal(n, 100);
            assert_memory_equal(rows, whole[0], 100 * sizeof *rows);
            assert_int_equal(group_epoch(&g, next), 100);
            assert_memory_equal(next, whole[1], 100 * sizeof *rows);
            group_close(&g);
        }
}

/* What was read ahead is not what was delivered. */
static void position_counts_delivered_rows(void **state)
{
    struct dataset_state at;
    int32_t rows[MAX_ROWS];
    struct group g;

    (void)state;
    files_make(20);
    group_open(&g, 2, true, 4);
    dataset_state_get(g.ds[0], &at);
    assert_int_equal(at.position, 0);
    group_take(&g, rows);
    dataset_state_get(g.ds[0], &at);
    assert_int_equal(at.position, 8);
    group_take(&g, rows);
    group_take(&g, rows);
    dataset_state_get(g.ds[1], &at);
    assert_int_equal(at.position, 20);
    assert_int_equal(at.epoch, 0);
    group_take(&g, rows);
    dataset_state_get(g.ds[1], &at);
    assert_int_equal(at.position, 0);
    assert_int_equal(at.epoch, 1);
    group_close(&g);
}

/* Back, while the batch that would have come next is already read. */
static void position_can_be_set_at_any_time(void **state)
{
    static const struct dataset_state TO[] = {
        {.epoch = 0}, {.position = 8}, {.epoch = 3, .position = 8}, {.position = 20}};
    int32_t rows[MAX_ROWS], again[MAX_ROWS];
    raytrain_tensor x;
    struct group g;
    struct error err;

    (void)state;
    files_make(20);
    for (size_t i = 0; i < sizeof TO / sizeof *TO; i++) {
        group_open(&g, 2, true, 4);
        group_seek(&g, &TO[i]);
        group_take(&g, rows);
        group_take(&g, rows + 8);
        group_seek(&g, &TO[i]);
        assert_int_equal(dataset_column(g.ds[0], "x", &x, &err), -1);
        group_take(&g, again);
        group_take(&g, again + 8);
        if (TO[i].position < 20)
            assert_memory_equal(rows, again, 8 * sizeof *rows);
        group_close(&g);
    }
}

static void batch_size_changes_in_mid_epoch(void **state)
{
    int32_t whole[MAX_ROWS], rows[MAX_ROWS];
    raytrain_tensor before, after;
    struct group g;
    struct error err;
    uint64_t n;

    (void)state;
    files_make(200);
    group_open(&g, 1, true, 200);
    group_epoch(&g, whole);
    group_close(&g);
    group_open(&g, 1, true, 5);
    n = group_take(&g, rows);
    assert_int_equal(dataset_column(g.ds[0], "x", &before, &err), 0);
    assert_int_equal(dataset_set_batch_size(g.ds[0], 64, &err), 0);
    assert_int_equal(dataset_column(g.ds[0], "x", &after, &err), 0);
    assert_ptr_equal(before.data, after.data);
    assert_memory_equal(after.data, rows, n * sizeof *rows); /* still there */
    assert_int_equal(group_take(&g, rows + n), 64);
    n += 64;
    assert_int_equal(dataset_set_batch_size(g.ds[0], 3, &err), 0);
    assert_int_equal(group_take(&g, rows + n), 3);
    n += 3;
    n += group_epoch(&g, rows + n);
    assert_int_equal(n, 200);
    assert_memory_equal(rows, whole, 200 * sizeof *rows);
    group_close(&g);
}

static void batches_are_aligned_and_stay_until_the_next(void **state)
{
    int32_t rows[MAX_ROWS];
    raytrain_tensor x;
    struct group g;
    struct error err;

    (void)state;
    files_make(600);
    group_open(&g, 1, true, 7);
    for (int k = 0; k < 80; k++) {
        uint64_t n = group_take(&g, rows);

        assert_int_equal(dataset_column(g.ds[0], "x", &x, &err), 0);
        assert_int_equal((uintptr_t)x.data % 64, 0);
        for (int i = 0; i < k % 8; i++)
            sched_yield(); /* the next one is read meanwhile, or later */
        assert_memory_equal(x.data, rows, n * sizeof *rows);
    }
    group_close(&g);
}

static void misuse_is_an_error(void **state)
{
    struct dataset_config cfg = {.name = (char *)"train",
                                 .path = (char *)"rows-images-idx1-int"};
    struct dataset_env env = {.size = 1};
    struct dataset_state beyond = {.position = 11};
    raytrain_dataset *ds;
    raytrain_tensor x;
    struct error err;
    uint64_t rows;

    (void)state;
    files_make(10);
    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    assert_string_equal(dataset_name(ds), "train");
    assert_int_equal(dataset_next(ds, &rows, &err), -1);
    assert_non_null(strstr(err.text, "batch size"));
    assert_int_equal(dataset_set_batch_size(ds, 0, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(dataset_column(ds, "x", &x, &err), -1);
    assert_non_null(strstr(err.text, "no current batch"));
    assert_int_equal(dataset_column_info(ds, "z", &x, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "the columns are: x"));
    assert_int_equal(dataset_column_info(ds, NULL, &x, &err), -1);
    assert_int_equal(dataset_column_info(ds, "x", &x, &err), 0);
    assert_int_equal(x.ndim, 0);
    assert_null(x.data);
    assert_int_equal(dataset_state_set(ds, &beyond, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    dataset_close(ds);
    dataset_close(NULL);
}

/* The file is cut while a run reads it: the batch that needs the lost rows fails, those
 * before it do not, and the position stays. */
static void file_that_shrinks_is_an_error(void **state)
{
    struct dataset_state at;
    int32_t rows[MAX_ROWS];
    struct group g;
    struct error err;
    uint64_t n = 0;
    int rc;

    (void)state;
    files_make(500);
    group_open(&g, 1, false, 10);
    group_take(&g, rows);
    assert_int_equal(truncate("rows-images-idx1-int", 8 + 300 * 4), 0);
    while ((rc = dataset_next(g.ds[0], &n, &err)) == 0)
        ;
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_non_null(strstr(err.text, "dataset \"train\": rows-images-idx1-int: it has "
                                     "become shorter"));
    dataset_state_get(g.ds[0], &at);
    assert_int_equal(at.position, 300);
    assert_int_equal(dataset_next(g.ds[0], &n, &err), -1);
    group_close(&g);
}

static void fashion_mnist_is_read(void **state)
{
    static const unsigned char LABELS[] = {9, 0, 0, 3, 0, 2, 7, 2, 5, 5};
    struct dataset_config cfg = {.name = (char *)"train", .path = (char *)FASHION};
    struct dataset_env env = {.size = 1};
    unsigned per_class[10] = {0};
    raytrain_dataset *ds;
    raytrain_tensor x, y;
    struct error err;
    uint64_t rows, n = 0, sum = 0;

    (void)state;
    if (access(FASHION, F_OK) < 0)
        skip();
    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    assert_int_equal(dataset_rows(ds), 60000);
    assert_int_equal(dataset_column_info(ds, "x", &x, &err), 0);
    assert_int_equal(x.ndim, 2);
    assert_int_equal(x.shape[0] * x.shape[1], 784);
    assert_int_equal(dataset_set_batch_size(ds, 1000, &err), 0);
    while (dataset_next(ds, &rows, &err) == 0) {
        assert_int_equal(dataset_column(ds, "y", &y, &err), 0);
        assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
        if (n == 0)
            assert_memory_equal(y.data, LABELS, sizeof LABELS);
        for (uint64_t i = 0; i < rows; i++)
            per_class[((unsigned char *)y.data)[i]]++;
        for (uint64_t i = 0; i < rows * 784; i++)
            sum += ((unsigned char *)x.data)[i];
        n += rows;
    }
    assert_int_equal(n, 60000);
    for (int i = 0; i < 10; i++)
        assert_int_equal(per_class[i], 6000);
    assert_in_range(sum / 60000 / 784, 72, 73); /* the known mean is 0.286 of 255 */
    dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_once_an_epoch),
        cmocka_unit_test(without_shuffle_rows_come_as_they_are),
        cmocka_unit_test(order_does_not_depend_on_workers),
        cmocka_unit_test(any_number_of_workers_can_continue),
        cmocka_unit_test(position_counts_delivered_rows),
        cmocka_unit_test(position_can_be_set_at_any_time),
        cmocka_unit_test(batch_size_changes_in_mid_epoch),
        cmocka_unit_test(batches_are_aligned_and_stay_until_the_next),
        cmocka_unit_test(misuse_is_an_error),
        cmocka_unit_test(file_that_shrinks_is_an_error),
        cmocka_unit_test(fashion_mnist_is_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
