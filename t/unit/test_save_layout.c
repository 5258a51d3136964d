/* test_save_layout.c - the layout of a save is used again by the next one, and the file is
 * the same as with a new layout; what changes the layout makes a new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checkpoint/save_layout.h"
#include "hdf5/h5.h"
#include "hdf5/h5_image.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

#define RANKS 3
#define ROWS  (RANKS * 8)
#define COLS  40

/* What one save puts. */
struct save {
    int64_t iteration;
    const char *run_name, *note, *name; /* name: of the last tensor */
    size_t n_metrics;
    uint64_t cols; /* of the last tensor */
    bool uneven;   /* rank 0 has more rows of the first tensor, the last has fewer */
    bool attach;   /* rank 1 attaches a file */
    int odd_note;  /* this rank has another note; 0: none */
    int *state;    /* what is added to the metadata, NULL: nothing */
    bool expect_again; /* with the layout of the save before */
    raytrain_status fails;
};

static const struct save FIRST = {.iteration = 1,
                                  .run_name = "run",
                                  .note = "epoch 01",
                                  .name = "bias",
                                  .n_metrics = 2,
                                  .cols = COLS};

static int state_write(const void *arg, struct h5_image *file, struct error *err)
{
    hsize_t shape = 1;
    const int *state = arg;

    (void)err;
    return h5_dataset(h5_image_file(file), "raytrain/state", H5T_NATIVE_INT, 1, &shape,
                      state, NULL);
}

/* ---- One save ---- */

struct job {
    const struct save *saves;
    int n;
};

static void slab_of(const struct save *s, int rank, raytrain_slab *slab)
{
    uint64_t cut[RANKS + 1] = {0, s->uneven ? 10 : 8, 16, ROWS};

    *slab = (raytrain_slab){.start = {cut[rank], 0},
                            .count = {cut[rank + 1] - cut[rank], COLS}};
}

static int save_put(const struct save *s, raytrain_checkpoint *ck, int rank,
                    float *data, struct error *err)
{
    raytrain_tensor t = {.dtype = RAYTRAIN_FLOAT32, .ndim = 2, .shape = {ROWS, COLS}};
    raytrain_slab slab;
    const char *note = s->odd_note && rank == s->odd_note ? "epoch XX" : s->note;
    int rc;

    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        data[i] = (float)(i * 10 + (size_t)s->iteration);
    slab_of(s, rank, &slab);
    t.data = data + slab.start[0] * COLS;
    rc = checkpoint_put(ck, "weight", &t, &slab, err);
    if (rc == 0)
        rc = checkpoint_put_string(ck, "note", note, err);
    t = (raytrain_tensor){
        .data = data, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {s->cols}};
    if (rc == 0)
        rc = checkpoint_put(ck, s->name, &t, NULL, err);
    if (rc == 0 && s->attach && rank == 1)
        rc = checkpoint_attach(ck, "log.txt", "hello", 5, NULL, NULL, err);
    if (s->state && rank == 0)
        checkpoint_add_metadata(ck, state_write, s->state);
    return rc;
}

static int save_do(const struct save *s, struct comm *comm, struct save_layout *kept,
                   const char *path, struct error *err)
{
    struct checkpoint_metric metrics[4] = {
        {"loss", 1.0 / (double)s->iteration}, {"accuracy", 0.5}, {"c", 3}, {"d", 4}};
    const struct checkpoint_meta meta = {.run_name = s->run_name,
                                         .training_iteration = s->iteration,
                                         .world_size = RANKS,
                                         .time_total_s = (double)s->iteration * 1.5,
                                         .timestamp = 1700000000 + s->iteration,
                                         .metrics = metrics,
                                         .n_metrics = s->n_metrics};
    float *data = malloc(sizeof *data * ROWS * COLS);
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct checkpoint_save *save = NULL;
    int rc = data && ck ? save_put(s, ck, comm->rank, data, err) : -1;

    if (rc == 0)
        rc = checkpoint_save_begin(ck, comm, &meta, path, kept, &save, err);
    if (rc == 0)
        rc = checkpoint_save_publish(save, comm, NULL, err);
    checkpoint_save_destroy(save);
    checkpoint_destroy(ck);
    free(data);
    return rc;
}

/* ---- A series of saves ---- */

static bool files_equal(const char *a, const char *b)
{
    char *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    bool equal = fs_read(a, &x, &n, NULL) == 0 && fs_read(b, &y, &m, NULL) == 0 &&
                 n == m && memcmp(x, y, n) == 0;

    free(x);
    free(y);
    return equal;
}

/* A new layout is seen by the new list of entries. The old one is marked, since memory is
 * used again. */
#define MARK UINT64_C(0x5ca1ab1e)

static int series_step(const struct save *s, struct comm *comm,
                       struct save_layout *kept, int number)
{
    struct error err = {0};
    bool again;
    char path[64], fresh[64];
    int rc;

    snprintf(path, sizeof path, "kept_%d.h5", number);
    snprintf(fresh, sizeof fresh, "fresh_%d.h5", number);
    if (kept->valid)
        kept->entries[0].first_part |= MARK << 32; /* nothing looks at it */
    rc = save_do(s, comm, kept, path, &err);
    if (s->fails)
        return rc < 0 && err.code == s->fails && !kept->valid ? 0 : -1;
    if (rc < 0 || save_do(s, comm, NULL, fresh, &err) < 0) {
        fprintf(stderr, "save %d, rank %d: %s\n", number, comm->rank, err.text);
        return -1;
    }
    if (comm->rank == 0 && !files_equal(path, fresh)) {
        fprintf(stderr, "save %d: the files differ\n", number);
        return -1;
    }
    again = kept->entries[0].first_part >> 32 == MARK;
    if (again != s->expect_again) {
        fprintf(stderr, "save %d, rank %d: %s layout\n", number, comm->rank,
                s->expect_again ? "a new" : "the old");
        return -1;
    }
    return 0;
}

static int series_run(struct comm *comm, void *arg)
{
    const struct job *job = arg;
    struct save_layout *kept = save_layout_create(NULL);
    int rc = kept ? 0 : -1;

    for (int i = 0; rc == 0 && i < job->n; i++)
        rc = series_step(&job->saves[i], comm, kept, i);
    save_layout_destroy(kept);
    return rc;
}

static void expect_series(const struct save *saves, int n)
{
    struct job job = {saves, n};
    int rc[RANKS];

    thread_comm_run(RANKS, series_run, &job, rc);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(rc[r], 0);
}

/* ---- Tests ---- */

static void new_values_need_no_new_layout(void **state)
{
    struct save saves[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        saves[i] = FIRST;
        saves[i].iteration = 1 + i;
        saves[i].expect_again = i > 0;
    }
    saves[2].note = "epoch 02"; /* as long as before */
    expect_series(saves, 4);
}

static void what_is_added_to_the_metadata_stays(void **state)
{
    static int values[2] = {7, 8};
    struct save saves[3] = {FIRST, FIRST, FIRST};

    (void)state;
    saves[0].state = saves[1].state = &values[0];
    saves[1].expect_again = true;
    saves[2].state = &values[1];
    expect_series(saves, 3);
}

/* Each time the change, and then without it. */
static void each_change_makes_a_new_layout(void **state)
{
    struct save saves[20];
    int n = 0;

    (void)state;
#define ADD(...)                                                                       \
    do {                                                                               \
        saves[n] = saves[n + 1] = FIRST;                                               \
        saves[n].iteration = saves[n + 1].iteration = 1 + n;                           \
        __VA_ARGS__;                                                                   \
        n += 2;                                                                        \
    } while (0)
    ADD((void)0, saves[n + 1].expect_again = true);
    ADD(saves[n].name = "bias2");
    ADD(saves[n].cols = COLS - 1);
    ADD(saves[n].note = "another length");
    ADD(saves[n].n_metrics = 4);
    ADD(saves[n].uneven = true);
    ADD(saves[n].run_name = "another");
    ADD(saves[n].attach = saves[n + 1].attach = true);
    ADD((void)0, saves[n + 1].expect_again = true);
#undef ADD
    expect_series(saves, n);
}

static void a_failure_forgets_the_layout(void **state)
{
    struct save saves[4] = {FIRST, FIRST, FIRST, FIRST};

    (void)state;
    saves[1].odd_note = 2; /* as long as the other ranks' note */
    saves[1].fails = RAYTRAIN_EINVAL;
    saves[3].expect_again = true;
    expect_series(saves, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(new_values_need_no_new_layout),
        SCRATCH(what_is_added_to_the_metadata_stays),
        SCRATCH(each_change_makes_a_new_layout),
        SCRATCH(a_failure_forgets_the_layout),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
