/*
 * test_window_rows.c - texts and sparse vectors in an order with windows: the rows are
 * those that the order says, on any number of workers, also when others continue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/dataset.h"

#include "scratch.h"

#define ROWS      60000
#define WINDOW    20000 /* two blocks */
#define SEED      11
#define MAX_RANKS 5

static struct error err;

/* Row i has the number i, and i % 41 bytes or elements, which are functions of i and of
 * their place. */
static char letter(uint64_t row, uint64_t k)
{
    return (char)('a' + (row + k) % 26);
}

static void files_make(void)
{
    FILE *csv = fopen("rows.csv", "w"), *svm = fopen("rows.libsvm", "w");

    assert_true(csv && svm);
    fputs("number,text\n", csv);
    for (uint64_t i = 0; i < ROWS; i++) {
        fprintf(csv, "%d,", (int)i);
        fprintf(svm, "%d", (int)i);
        for (uint64_t k = 0; k < i % 41; k++) {
            fputc(letter(i, k), csv);
            fprintf(svm, " %d:%d", (int)(k * 3), letter(i, k));
        }
        fputc('\n', csv);
        fputc('\n', svm);
    }
    assert_int_equal(fclose(csv), 0);
    assert_int_equal(fclose(svm), 0);
}

static struct dataset_type text_type[] = {{(char *)"text", (char *)"text"}};

static const struct kind {
    struct dataset_config cfg;
    const char *number, *ragged;
} KINDS[] = {
    {{.path = (char *)"rows.csv", .types = text_type, .n_types = 1}, "number", "text"},
    {{.path = (char *)"rows.libsvm", .first_index = FIRST_INDEX_ZERO},
     "label",
     "features"},
};

/* ---- Batches ---- */

struct group {
    const struct kind *kind;
    int size;
    uint64_t batch;
    raytrain_dataset *ds[MAX_RANKS];
};

static void group_open(struct group *g, const struct kind *kind, enum last_batch last,
                       int size, uint64_t batch)
{
    struct dataset_config cfg = kind->cfg;

    cfg.name = (char *)"d";
    cfg.shuffle = true;
    cfg.shuffle_window = WINDOW;
    cfg.last_batch = (int)last;
    *g = (struct group){.kind = kind, .size = size, .batch = batch};
    for (int r = 0; r < size; r++) {
        struct dataset_env env = {.rank = r, .size = size, .seed = SEED};

        if (dataset_open(&cfg, &env, &g->ds[r], &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(dataset_set_batch_size(g->ds[r], batch, &err), 0);
    }
}

static void group_close(struct group *g)
{
    for (int r = 0; r < g->size; r++)
        dataset_close(g->ds[r]);
}

static uint64_t number_at(const raytrain_tensor *t, uint64_t i)
{
    return t->dtype == RAYTRAIN_INT64 ? (uint64_t)((int64_t *)t->data)[i]
                                      : (uint64_t)((float *)t->data)[i];
}

/* The i-th row of the batch is this row of the table. */
static void row_check(const raytrain_tensor *numbers, const raytrain_ragged *r,
                      uint64_t i, uint64_t row)
{
    uint64_t first = r->offsets[i], n = r->offsets[i + 1] - first;

    assert_int_equal(number_at(numbers, i), row);
    assert_int_equal(n, row % 41);
    for (uint64_t k = 0; k < n; k++) {
        if (r->indices)
            assert_int_equal(r->indices[first + k], k * 3);
        assert_int_equal(r->indices ? (int)((const float *)r->values)[first + k]
                                    : ((const char *)r->values)[first + k],
                         letter(row, k));
    }
}

/* A batch of one rank: the order's rows from *at on, then padding. */
static void batch_check(raytrain_dataset *ds, const struct kind *kind,
                        struct epoch_order *o, uint64_t rows, uint64_t *at,
                        uint64_t *padding)
{
    uint64_t real = rows - dataset_padding(ds);
    raytrain_tensor numbers;
    raytrain_ragged ragged;

    assert_int_equal(dataset_column(ds, kind->number, &numbers, &err), 0);
    assert_int_equal(dataset_ragged(ds, kind->ragged, &ragged, &err), 0);
    assert_int_equal(ragged.rows, rows);
    for (uint64_t i = 0; i < rows; i++)
        row_check(&numbers, &ragged, i,
                  epoch_order_row(o, i < real ? (*at)++ : (*padding)++));
}

/* Up to this number of batches of all ranks. False at the end of the epoch. */
static bool group_follow(struct group *g, uint64_t *at, uint64_t batches)
{
    struct epoch_order order = EPOCH_ORDER_INIT;
    struct dataset_state state;
    uint64_t rows, padding = 0;
    bool more = true;

    dataset_state_get(g->ds[0], &state);
    assert_in_range(state.kind.window, 2, 2);
    assert_int_equal(
        epoch_order_set(&order, ROWS, &state.kind, SEED, state.epoch, &err), 0);
    for (; more && batches > 0; batches--)
        for (int r = 0; r < g->size; r++) {
            int rc = dataset_next(g->ds[r], &rows, &err);

            if (rc < 0)
                fail_msg("%s", err.text);
            more = rc == 0;
            if (more)
                batch_check(g->ds[r], g->kind, &order, rows, at, &padding);
        }
    epoch_order_clear(&order);
    return more;
}

static void rows_are_those_of_the_order(void **state)
{
    static const struct {
        int size, then;
        uint64_t batch, batches;
        enum last_batch last;
    } T[] = {{1, 3, 1000, 17, LAST_BATCH_KEEP},
             {3, 1, 777, 9, LAST_BATCH_PAD},
             {2, 5, 13000, 1, LAST_BATCH_KEEP}, /* more than a window */
             {5, 2, 4000, 2, LAST_BATCH_PAD}};

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T * 2; i++) {
        const struct kind *kind = &KINDS[i % 2];
        struct dataset_state stopped;
        struct group g;
        uint64_t at = 0;

        group_open(&g, kind, T[i / 2].last, T[i / 2].size, T[i / 2].batch);
        assert_true(group_follow(&g, &at, T[i / 2].batches));
        dataset_state_get(g.ds[0], &stopped);
        group_close(&g);
        group_open(&g, kind, T[i / 2].last, T[i / 2].then, T[i / 2].batch / 3);
        for (int r = 0; r < g.size; r++)
            assert_int_equal(dataset_state_set(g.ds[r], &stopped, &err), 0);
        assert_false(group_follow(&g, &at, ROWS));
        assert_int_equal(at, ROWS);
        at = 0;
        assert_true(group_follow(&g, &at, 1));
        group_close(&g);
    }
}

/* What was read for another batch size is not handed out. */
static void the_batch_size_may_change(void **state)
{
    struct group g;
    uint64_t at = 0;

    (void)state;
    group_open(&g, &KINDS[0], LAST_BATCH_KEEP, 2, 100);
    for (uint64_t batch = 100; batch < 3000; batch += batch) {
        for (int r = 0; r < g.size; r++)
            assert_int_equal(dataset_set_batch_size(g.ds[r], batch, &err), 0);
        assert_true(group_follow(&g, &at, 3));
    }
    group_close(&g);
}

static int enter(void **state)
{
    int rc = scratch_enter(state);

    files_make();
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_order),
        cmocka_unit_test(the_batch_size_may_change),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, enter, scratch_leave);
}
