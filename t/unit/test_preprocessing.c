/* Preprocessors and the rest: fits over ranges of a dataset, batches, checkpoints. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint/checkpoint_hdf5.h"
#include "data/dataset_fit.h"
#include "hdf5/h5_image.h"
#include "preprocess/chain_file.h"
#include "util/fs.h"

#include "scratch.h"
#include "thread_comm.h"

#define GROUP "/" CHECKPOINT_RESERVED "/preprocessor"
#define SCALE "preprocessor = ( { type = \"standard_scaler\"; columns = [\"x\"]; } );"
#define ALL                                                                            \
    "preprocessor = ( { standard_scaler = { columns = [\"x\"]; }; },"                  \
    "{ type = \"one_hot_encoder\"; columns = [\"y\"]; output_columns = [\"hot\"]; } "  \
    ");"

static struct error err;

static struct dataset_config config = {.name = (char *)"train",
                                       .path = (char *)"rows.npy"};

/* x is the number of the row, and y that modulo 251. */
static void files_make(uint32_t rows)
{
    FILE *f = fopen("rows.npy", "wb");
    char text[119];

    assert_non_null(f);
    snprintf(text, sizeof text,
             "{'descr': [('x', '<i4'), ('y', '|u1')], 'fortran_order': False, "
             "'shape': (%u,), }",
             rows);
    fprintf(f, "\x93NUMPY\1%c\x76%c%-117s\n", 0, 0, text);
    for (uint32_t i = 0; i < rows; i++) {
        unsigned char y = (unsigned char)(i % 251);

        fwrite(&i, sizeof i, 1, f);
        fwrite(&y, 1, 1, f);
    }
    assert_int_equal(fclose(f), 0);
}

static int chain_of(const char *text, struct chain *chain, struct error *e)
{
    struct preprocessors_config parsed = {NULL, 0};
    int rc = preprocessors_parse(&parsed, text, "test", e);

    *chain = (struct chain){.list = NULL};
    if (rc == 0)
        rc = chain_create(chain, &parsed, e);
    preprocessors_clear(&parsed);
    return rc;
}

/* ---- Fits ---- */

struct job {
    const char *text;
    uint64_t stop_after; /* rows; 0: never */
    struct chain chains[THREAD_COMM_MAX];
    struct error errors[THREAD_COMM_MAX];
    uint64_t rows[THREAD_COMM_MAX]; /* that the rank has read */
    int passes;
};

struct watch {
    struct job *job;
    int rank;
};

static int block_seen(void *arg, uint64_t rows, struct error *e)
{
    const struct watch *w = arg;

    w->job->rows[w->rank] = rows;
    if (w->job->stop_after > 0 && rows >= w->job->stop_after)
        return error_set(e, RAYTRAIN_ESTOPPED, "stopped");
    return 0;
}

static int rank_fit(struct comm *comm, void *arg)
{
    struct job *job = arg;
    struct error *e = &job->errors[comm->rank];
    struct watch watch = {job, comm->rank};
    struct dataset_fit fit = {
        .chain = &job->chains[comm->rank], .block = block_seen, .arg = &watch};
    raytrain_dataset *ds = NULL;
    int rc = dataset_open(&config, &(struct dataset_env){.size = 1}, &ds, e);

    if (rc == 0)
        rc = chain_of(job->text, fit.chain, e);
    if (comm_agree(comm, rc, e) == 0)
        rc = dataset_fit(ds, comm, &fit, e);
    if (comm->rank == 0)
        job->passes = fit.passes;
    dataset_close(ds);
    return rc;
}

static int job_run(struct job *job, const char *text, int ranks)
{
    int rc[THREAD_COMM_MAX];

    job->text = text;
    thread_comm_run(ranks, rank_fit, job, rc);
    for (int r = 1; r < ranks; r++)
        assert_int_equal(rc[r], rc[0]);
    err = job->errors[0];
    return rc[0];
}

static void job_clear(struct job *job)
{
    for (int r = 0; r < THREAD_COMM_MAX; r++)
        chain_clear(&job->chains[r]);
}

static double number(const struct chain *chain, size_t i, const char *name)
{
    const double *value;

    if (fitted_reals(&chain->list[i].fitted, "x", name, 1, &value, &err) < 0)
        fail_msg("%s", err.text);
    return *value;
}

static void check_fit(struct job *job, int ranks, uint32_t rows)
{
    uint64_t read = 0;

    for (int r = 0; r < ranks; r++) {
        const struct chain *chain = &job->chains[r];
        const struct fitted_item *found =
            fitted_find(&chain->list[1].fitted, "y", "categories");
        double n = rows;

        assert_true(chain_is_fitted(chain));
        assert_true(fabs(number(chain, 0, "mean") - (n - 1) / 2) < 1e-12 * n);
        assert_true(fabs(number(chain, 0, "std") - sqrt((n * n - 1) / 12)) < 1e-12 * n);
        assert_int_equal(found->n, rows < 251 ? rows : 251);
        for (size_t i = 0; i < found->n; i++)
            assert_int_equal(found->integers[i], i);
        read += job->rows[r];
    }
    assert_int_equal(job->passes, 1); /* they do not depend on each other */
    assert_int_equal(read, rows);
}

/* 300,000 rows are several blocks for each rank, 3 are none for some. */
static void each_rank_learns_from_its_range_of_the_rows(void **state)
{
    static const uint32_t all_rows[] = {1, 3, 601, 300000};
    static const int sizes[] = {1, 2, 3, 5};

    (void)state;
    for (size_t i = 0; i < sizeof all_rows / sizeof *all_rows; i++) {
        files_make(all_rows[i]);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            struct job job = {.stop_after = 0};

            if (job_run(&job, ALL, sizes[k]) < 0)
                fail_msg("%s", err.text);
            check_fit(&job, sizes[k], all_rows[i]);
            job_clear(&job);
        }
    }
}

static void a_fit_stops_between_blocks(void **state)
{
    struct job job = {.stop_after = 1};

    (void)state;
    files_make(600000);
    assert_int_equal(job_run(&job, ALL, 2), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTOPPED);
    assert_in_range(job.rows[0], 1, 299999);
    job_clear(&job);
}

static void a_column_that_is_missing_is_an_error_on_all_ranks(void **state)
{
    struct job job = {.stop_after = 0};

    (void)state;
    files_make(10);
    assert_int_equal(job_run(&job,
                             "preprocessor = ( { type = \"standard_scaler\";"
                             " columns = [\"z\"]; } );",
                             2),
                     -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "no column \"z\"; found: x, y"));
    job_clear(&job);
}

/* ---- Batches ---- */

static raytrain_dataset *transformed_open(const struct job *job)
{
    const struct dataset_env env = {.size = 1, .chain = &job->chains[0]};
    raytrain_dataset *ds = NULL;

    if (dataset_open(&config, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(dataset_set_batch_size(ds, 100, &err), 0);
    return ds;
}

static void check_batch(raytrain_dataset *ds, const struct chain *chain, uint64_t first)
{
    double mean = number(chain, 0, "mean"), std = number(chain, 0, "std");
    raytrain_tensor x, hot;
    uint64_t rows;

    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    assert_int_equal(rows, 100);
    assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
    assert_int_equal(dataset_column(ds, "hot", &hot, &err), 0);
    assert_int_equal(x.dtype, RAYTRAIN_FLOAT64);
    assert_int_equal(hot.shape[1], 251);
    for (uint64_t i = 0; i < rows; i++) {
        double want = ((double)(first + i) - mean) / std;

        assert_true(fabs(((double *)x.data)[i] - want) < 1e-15);
        for (uint64_t k = 0; k < 251; k++)
            assert_int_equal(((unsigned char *)hot.data)[i * 251 + k],
                             (first + i) % 251 == k);
    }
}

static void batches_are_what_preprocessors_make_of_the_rows(void **state)
{
    struct job job = {.stop_after = 0};
    raytrain_tensor row;
    raytrain_dataset *ds;

    (void)state;
    files_make(1000);
    assert_int_equal(job_run(&job, ALL, 1), 0);
    ds = transformed_open(&job);
    assert_int_equal(dataset_n_columns(ds), 3);
    assert_string_equal(dataset_column_at(ds, 2, &row), "hot");
    assert_int_equal(row.dtype, RAYTRAIN_UINT8);
    assert_int_equal(dataset_row_bytes(ds, 2), 251);
    assert_int_equal(dataset_column_info(ds, "x", &row, &err), 0);
    assert_int_equal(row.dtype, RAYTRAIN_FLOAT64); /* the file has integers */
    for (uint64_t k = 0; k < 10; k++)
        check_batch(ds, &job.chains[0], 100 * k);
    dataset_close(ds);
    job_clear(&job);
}

static size_t distinct(const void *const *pointers, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (pointers[k] != pointers[i])
            k++;
        found += k == i;
    }
    return found;
}

/* Two batches take turns, and in each the memory of the rows as they were read and as
 * they become does. */
static void a_batch_keeps_its_memory(void **state)
{
    struct job job = {.stop_after = 0};
    const void *x[10], *hot[10];
    raytrain_dataset *ds;
    raytrain_tensor t;

    (void)state;
    files_make(1000);
    assert_int_equal(job_run(&job, ALL, 1), 0);
    ds = transformed_open(&job);
    for (uint64_t k = 0; k < 10; k++) {
        check_batch(ds, &job.chains[0], 100 * k);
        assert_int_equal(dataset_column(ds, "x", &t, &err), 0);
        x[k] = t.data;
        assert_int_equal(dataset_column(ds, "hot", &t, &err), 0);
        hot[k] = t.data;
    }
    assert_in_range(distinct(x + 4, 6), 1, 4);
    assert_in_range(distinct(hot + 4, 6), 1, 4);
    dataset_close(ds);
    job_clear(&job);
}

static void a_dataset_without_the_label_is_not_encoded(void **state)
{
    struct dataset_config images = config;
    struct job job = {.stop_after = 0};
    struct dataset_env env = {.size = 1};
    char *columns[] = {(char *)"x"};
    raytrain_dataset *ds = NULL;

    (void)state;
    files_make(100);
    assert_int_equal(job_run(&job,
                             "preprocessor = ( { type = \"label_encoder\";"
                             " label_column = \"y\"; } );",
                             1),
                     0);
    env.chain = &job.chains[0];
    images.columns = columns;
    images.n_columns = 1;
    if (dataset_open(&images, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(dataset_lacks_label(ds), "y");
    assert_int_equal(dataset_n_columns(ds), 1);
    dataset_close(ds);
    ds = transformed_open(&job);
    assert_null(dataset_lacks_label(ds));
    dataset_close(ds);
    job_clear(&job);
}

/* ---- Checkpoints ---- */

static int chain_write(const void *arg, struct h5_image *file, struct error *e)
{
    return chain_save(arg, h5_image_file(file), GROUP, e);
}

static int checkpoint_write(struct comm *comm, void *arg)
{
    const struct checkpoint_meta meta = {.run_name = "r", .world_size = 2};
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    float data[1000] = {1};
    raytrain_tensor t = {
        .data = data, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {1000}};
    struct error e;
    int rc = checkpoint_put(ck, "model/w", &t, NULL, &e);

    if (comm->rank == 0)
        checkpoint_add_metadata(ck, chain_write, arg);
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &meta, "c.h5", &e);
    checkpoint_destroy(ck);
    return rc;
}

static void check_same(const struct chain *a, const struct chain *b)
{
    char *x = preprocessors_text(&a->config), *y = preprocessors_text(&b->config);
    double means[] = {number(a, 0, "mean"), number(b, 0, "mean")};

    assert_string_equal(x, y);
    assert_memory_equal(&means[0], &means[1], sizeof(double));
    assert_int_equal(fitted_find(&a->list[1].fitted, "y", "categories")->n,
                     fitted_find(&b->list[1].fitted, "y", "categories")->n);
    free(x);
    free(y);
}

static void a_checkpoint_has_what_was_learned(void **state)
{
    struct job job = {.stop_after = 0};
    raytrain_checkpoint *ck = NULL;
    struct chain chain;
    int rc[2];
    hid_t file;

    (void)state;
    files_make(777);
    assert_int_equal(job_run(&job, ALL, 1), 0);
    thread_comm_run(2, checkpoint_write, &job.chains[0], rc);
    assert_int_equal(rc[0], 0);
    assert_int_equal(rc[1], 0);
    if (checkpoint_open_index("c.h5", &ck, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(checkpoint_verify(ck, &err), 0);
    file = checkpoint_hdf5_open(ck, &err);
    assert_true(file >= 0);
    assert_true(checkpoint_hdf5_has(file, GROUP));
    assert_false(checkpoint_hdf5_has(file, "/" CHECKPOINT_RESERVED "/other/thing"));
    if (chain_load(&chain, file, GROUP, &err) < 0)
        fail_msg("%s", err.text);
    H5Fclose(file);
    check_same(&job.chains[0], &chain);
    assert_string_equal(checkpoint_name(ck, 0), "model/w");
    assert_null(checkpoint_name(ck, 1));
    checkpoint_destroy(ck);
    chain_clear(&chain);
    job_clear(&job);
}

static void damage_to_what_was_learned_is_found(void **state)
{
    static const unsigned char mean[8] = {0, 0,    0,    0,
                                          0, 0x3d, 0x98, 0x40}; /* 1551.25 */
    struct job job = {.stop_after = 0};
    raytrain_checkpoint *ck = NULL;
    char *bytes, *at;
    int rc[2], fd;
    size_t n;

    (void)state;
    files_make(777);
    assert_int_equal(job_run(&job, ALL, 1), 0);
    ((struct fitted_item *)fitted_find(&job.chains[0].list[0].fitted, "x", "mean"))
        ->reals[0] = 1551.25;
    thread_comm_run(2, checkpoint_write, &job.chains[0], rc);
    assert_int_equal(rc[0], 0);
    assert_int_equal(fs_read("c.h5", &bytes, &n, &err), 0);
    at = memmem(bytes, n, mean, sizeof mean);
    assert_non_null(at);
    fd = open("c.h5", O_WRONLY);
    assert_int_equal(fs_pwrite_full(fd, "\1", 1, (uint64_t)(at - bytes)), 0);
    close(fd);
    assert_int_equal(checkpoint_open_index("c.h5", &ck, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    free(bytes);
    job_clear(&job);
}

/* ---- The configuration ---- */

static void both_spellings_are_the_same(void **state)
{
    struct preprocessors_config a = {NULL, 0}, b = {NULL, 0}, copy = {NULL, 0};
    char *x, *y;

    (void)state;
    assert_int_equal(preprocessors_parse(&a, SCALE, "t", &err), 0);
    assert_int_equal(
        preprocessors_parse(&b,
                            "preprocessor = ( { standard_scaler = { columns "
                            "= [\"x\"]; }; } );",
                            "t", &err),
        0);
    assert_int_equal(preprocessors_copy(&b, &copy, &err), 0);
    x = preprocessors_text(&a);
    y = preprocessors_text(&copy);
    assert_string_equal(x, y);
    free(x);
    free(y);
    preprocessors_clear(&b);
    preprocessors_clear(&copy);
    assert_int_equal(
        preprocessors_parse(&a,
                            "preprocessor = ( { type = \"standard_scalar\";"
                            " columns = [\"x\"]; } );",
                            "t.cfg", &err),
        -1);
    assert_non_null(strstr(err.text, "t.cfg:1: "));
    assert_non_null(strstr(err.text, "did you mean \"standard_scaler\"?"));
    assert_int_equal(a.n, 1);
    preprocessors_clear(&a);
}

static void the_training_set_is_train_or_the_only_dataset(void **state)
{
    struct dataset_config sets[] = {{.name = (char *)"a", .preprocess = true},
                                    {.name = (char *)"train", .preprocess = true},
                                    {.name = (char *)"b", .preprocess = true}};
    const struct dataset_config *found;

    (void)state;
    assert_int_equal(data_config_training_set(sets, 3, &found, &err), 0);
    assert_ptr_equal(found, &sets[1]);
    assert_int_equal(data_config_training_set(sets, 1, &found, &err), 0);
    assert_ptr_equal(found, &sets[0]);
    assert_int_equal(data_config_training_set(sets, 0, &found, &err), -1);
    sets[1].preprocess = false;
    assert_int_equal(data_config_training_set(sets, 2, &found, &err), -1);
    sets[1].name = (char *)"c";
    assert_int_equal(data_config_training_set(sets, 3, &found, &err), -1);
    assert_non_null(strstr(err.text, "--dataset train=PATH"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(each_rank_learns_from_its_range_of_the_rows),
        SCRATCH(a_fit_stops_between_blocks),
        SCRATCH(a_column_that_is_missing_is_an_error_on_all_ranks),
        SCRATCH(batches_are_what_preprocessors_make_of_the_rows),
        SCRATCH(a_batch_keeps_its_memory),
        SCRATCH(a_dataset_without_the_label_is_not_encoded),
        SCRATCH(a_checkpoint_has_what_was_learned),
        SCRATCH(damage_to_what_was_learned_is_found),
        cmocka_unit_test(both_spellings_are_the_same),
        cmocka_unit_test(the_training_set_is_train_or_the_only_dataset),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
