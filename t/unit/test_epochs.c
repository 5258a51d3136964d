/*
 * test_epochs.c - epochs of all workers: with every order, every rule for the last
 * batch, and some rows of the files only; stopped, and continued by other workers.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "data/batch_source.h"
#include "data/dataset.h"
#include "table/reader.h"
#include "util/fs.h"

#include "idx_file.h"

#define MAX_RANKS 5
#define ROWS      103
#define WIDE      16384 /* bytes of x: 15 rows are a block */

static const int SIZES[] = {1, 2, 3, 5};
#define N_SIZES 4

/* In file order, all rows mixed, and in windows of 3 blocks. */
static const struct dataset_config ORDERS[] = {
    {.shuffle = false},
    {.shuffle = true},
    {.shuffle = true, .shuffle_window = 40},
};
#define N_ORDERS 3

struct group {
    int size;
    uint64_t batch;
    raytrain_dataset *ds[MAX_RANKS];
};

static struct dataset_config config(int order, enum last_batch last)
{
    struct dataset_config cfg = ORDERS[order];

    cfg.name = (char *)"train";
    cfg.path = (char *)"rows-images-idx2-ubyte";
    cfg.label = (char *)"rows-labels";
    cfg.last_batch = (int)last;
    return cfg;
}

static void group_open(struct group *g, const struct dataset_config *cfg, int size,
                       uint64_t batch)
{
    struct error err;

    *g = (struct group){.size = size, .batch = batch};
    for (int r = 0; r < size; r++) {
        struct dataset_env env = {.rank = r, .size = size, .seed = 7};

        if (dataset_open(cfg, &env, &g->ds[r], &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(dataset_set_batch_size(g->ds[r], batch, &err), 0);
    }
}

static void group_close(struct group *g)
{
    for (int r = 0; r < g->size; r++)
        dataset_close(g->ds[r]);
}

static void group_seek(struct group *g, const struct dataset_state *at)
{
    struct error err;

    for (int r = 0; r < g->size; r++)
        assert_int_equal(dataset_state_set(g->ds[r], at, &err), 0);
}

/* Rows whose bytes are functions of their number: x is
 * large enough to be read straight to its place, y is not. */
static void images_make(const char *path, unsigned rows)
{
    static unsigned char row[WIDE];
    uint32_t dims[] = {rows, WIDE};
    struct bytes b;
    FILE *f = fopen(path, "w");

    idx_header(&b, 0x08, 2, dims);
    assert_int_equal(fwrite(b.data, 1, b.n, f), b.n);
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned k = 0; k < WIDE; k++)
            row[k] = (unsigned char)(i + k * k);
        assert_int_equal(fwrite(row, 1, WIDE, f), WIDE);
    }
    assert_int_equal(fclose(f), 0);
}

static void files_make(void)
{
    struct bytes b;

    images_make("rows-images-idx2-ubyte", ROWS);
    idx_numbers(&b, ROWS);
    bytes_write(&b, "rows-labels");
}

/* The number of each row of the batch; all of its elements are those of the row. */
static void batch_look(raytrain_dataset *ds, uint64_t rows, int32_t *out)
{
    raytrain_tensor x, y;
    struct error err;

    assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
    assert_int_equal(dataset_column(ds, "y", &y, &err), 0);
    assert_int_equal(x.shape[0], rows);
    assert_int_equal(y.shape[0], rows);
    assert_int_equal((uintptr_t)x.data % 64, 0);
    for (uint64_t i = 0; i < rows; i++) {
        const unsigned char *row = (const unsigned char *)x.data + i * WIDE;

        for (unsigned k = 0; k < WIDE; k += 7)
            assert_int_equal(row[k], (unsigned char)(row[0] + k * k));
        out[i] = ((int32_t *)y.data)[i];
        assert_int_equal(out[i], row[0]);
    }
}

/* What ranks get of one batch: first what counts, then padding. */
struct taken {
    uint64_t n, n_padding;
    int32_t rows[ROWS], padding[ROWS * MAX_RANKS];
};

/* One batch of all ranks. False at the end of the epoch, for all alike. */
static bool group_take(struct group *g, struct taken *t)
{
    int32_t rows[ROWS];
    struct error err;
    int end = 0;

    t->n = t->n_padding = 0;
    for (int r = 0; r < g->size; r++) {
        uint64_t n = 0, padding;
        int rc = dataset_next(g->ds[r], &n, &err);

        if (rc < 0)
            fail_msg("%s", err.text);
        end += rc;
        if (rc == 1)
            continue;
        batch_look(g->ds[r], n, rows);
        padding = dataset_padding(g->ds[r]);
        memcpy(t->rows + t->n, rows, (n - padding) * sizeof *rows);
        memcpy(t->padding + t->n_padding, rows + (n - padding), padding * sizeof *rows);
        t->n += n - padding;
        t->n_padding += padding;
    }
    assert_true(end == 0 || end == g->size);
    return end == 0;
}

/* The rows of an epoch, one after the other, as one worker gets them; their number. */
static uint64_t epoch_with(struct dataset_config cfg, uint64_t epoch,
                           int32_t rows[ROWS])
{
    struct dataset_state at = {.epoch = epoch};
    static struct taken t;
    struct group g;
    uint64_t n = 0;

    cfg.last_batch = LAST_BATCH_KEEP;
    group_open(&g, &cfg, 1, 5);
    group_seek(&g, &at);
    for (; group_take(&g, &t); n += t.n)
        memcpy(rows + n, t.rows, t.n * sizeof *t.rows);
    group_close(&g);
    return n;
}

static void epoch_of(int order, uint64_t epoch, int32_t rows[ROWS])
{
    assert_int_equal(epoch_with(config(order, LAST_BATCH_KEEP), epoch, rows), ROWS);
}

static void check_each_once(const int32_t rows[ROWS])
{
    bool seen[ROWS] = {false};

    for (int i = 0; i < ROWS; i++) {
        assert_in_range(rows[i], 0, ROWS - 1);
        assert_false(seen[rows[i]]);
        seen[rows[i]] = true;
    }
}

/* Up to `batches` batches from position *at on are those of `whole`, in its order; what
 * fills them up are its first rows. False at the end of the epoch. */
static bool group_follow(struct group *g, enum last_batch last, const int32_t *whole,
                         uint64_t *at, int batches)
{
    static struct taken t;
    uint64_t all = g->batch * (uint64_t)g->size, rows = dataset_rows(g->ds[0]);

    while (batches-- > 0) {
        if (!group_take(g, &t)) {
            assert_true(last == LAST_BATCH_DROP ? rows - *at < all : *at == rows);
            return false;
        }
        assert_int_equal(t.n, all < rows - *at ? all : rows - *at);
        assert_memory_equal(t.rows, whole + *at, t.n * sizeof *t.rows);
        assert_true(last != LAST_BATCH_DROP || t.n == all);
        assert_int_equal(t.n_padding, last == LAST_BATCH_PAD ? all - t.n : 0);
        for (uint64_t i = 0; i < t.n_padding; i++)
            assert_int_equal(t.padding[i], whole[i % rows]);
        *at += t.n;
    }
    return true;
}

/* Every row of the epoch comes once, in the order that one worker sees, for any number
 * of workers, and when another number continues. */
static void rules_hold_for_all_orders_and_workers(void **state)
{
    static const uint64_t BATCHES[] = {4, 1, 20, 7};
    int32_t whole[2][ROWS];

    (void)state;
    for (int order = 0; order < N_ORDERS; order++) {
        for (int e = 0; e < 2; e++) {
            epoch_of(order, (uint64_t)e, whole[e]);
            check_each_once(whole[e]);
        }
        assert_int_equal(memcmp(whole[0], whole[1], sizeof whole[0]) == 0, order == 0);
        for (int last = 0; last < 3; last++)
            for (int i = 0; i < N_SIZES * N_SIZES; i++) {
                int a = SIZES[i / N_SIZES], b = SIZES[i % N_SIZES];
                struct dataset_config cfg = config(order, (enum last_batch)last);
                struct dataset_state stopped;
                struct group g;
                uint64_t at = 0;

                group_open(&g, &cfg, a, BATCHES[i % 3]);
                bool more =
                    group_follow(&g, (enum last_batch)last, whole[0], &at, 1 + i % 4);

                dataset_state_get(g.ds[0], &stopped);
                group_close(&g);
                if (!more)
                    continue;
                assert_int_equal(stopped.position, at);
                group_open(&g, &cfg, b, BATCHES[i % 4]);
                group_seek(&g, &stopped);
                assert_false(
                    group_follow(&g, (enum last_batch)last, whole[0], &at, ROWS + 1));
                at = 0;
                group_follow(&g, (enum last_batch)last, whole[1], &at, 3);
                group_close(&g);
            }
    }
}

/* Part of what a checkpoint means: these numbers never change. */
static void order_in_windows_is_fixed(void **state)
{
    static const int32_t FIRST[] = {12, 91, 78, 99, 4, 77, 93, 101, 89, 0};
    int32_t rows[ROWS];
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    struct dataset_state at;
    struct group g;

    (void)state;
    epoch_of(2, 0, rows);

    assert_memory_equal(rows, FIRST, sizeof FIRST);
    group_open(&g, &cfg, 1, 1);
    dataset_state_get(g.ds[0], &at);
    assert_int_equal(at.rows, ROWS);
    assert_int_equal(at.kind.block, 15);
    assert_int_equal(at.kind.window, 3);
    group_close(&g);
}

/* The rows of a window are those of its blocks. */
static void windows_mix_blocks_that_are_far_apart(void **state)
{
    int32_t rows[ROWS];
    unsigned blocks = 0;

    (void)state;
    epoch_of(2, 0, rows);
    for (int i = 0; i < 45; i++)
        blocks |= 1u << rows[i] / 15;
    assert_in_range(__builtin_popcount(blocks), 3, 4); /* 4: one is the short one */
}

/* The epoch that was begun keeps its order, the next one has the new. */
static void another_window_takes_effect_with_the_next_epoch(void **state)
{
    (void)state;
    for (int from = 0; from < N_ORDERS; from++)
        for (int to = 0; to < N_ORDERS; to++) {
            struct dataset_config before = config(from, LAST_BATCH_KEEP);
            struct dataset_config after = config(to, LAST_BATCH_KEEP);
            int32_t whole[ROWS], next[ROWS];
            struct dataset_state stopped;
            struct group g;
            uint64_t at = 0;

            epoch_of(from, 0, whole);
            epoch_of(to, 1, next);
            group_open(&g, &before, 2, 8);
            assert_true(group_follow(&g, LAST_BATCH_KEEP, whole, &at, 2));
            dataset_state_get(g.ds[1], &stopped);
            group_close(&g);
            group_open(&g, &after, 3, 5);
            group_seek(&g, &stopped);
            assert_false(group_follow(&g, LAST_BATCH_KEEP, whole, &at, ROWS));
            at = 0;
            assert_false(group_follow(&g, LAST_BATCH_KEEP, next, &at, ROWS));
            group_close(&g);
        }
}

static void numbers_in_a_checkpoint_are_checked(void **state)
{
    static const struct {
        uint64_t rows, block, window;
    } BAD[] = {{ROWS + 1, 1, 0},
               {ROWS, 2, 0},
               {ROWS, 1u << 20, 1u << 20},
               {ROWS, 0, 3},
               {ROWS, UINT64_MAX, 2}};
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    struct group g;
    struct error err;

    (void)state;
    group_open(&g, &cfg, 1, 5);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct dataset_state at = {
            .position = 5, .rows = BAD[i].rows, .kind = {BAD[i].block, BAD[i].window}};

        assert_int_equal(dataset_state_set(g.ds[0], &at, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
    }
    group_close(&g);
}

static void batch_size_changes_in_mid_window(void **state)
{
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    int32_t whole[ROWS];
    struct error err;
    struct group g;
    uint64_t at = 0;

    (void)state;
    epoch_of(2, 0, whole);
    group_open(&g, &cfg, 2, 1);
    for (uint64_t batch = 1; at < ROWS; batch = batch * 2 + 1) {
        for (int r = 0; r < 2; r++)
            assert_int_equal(dataset_set_batch_size(g.ds[r], batch, &err), 0);
        g.batch = batch;
        assert_true(group_follow(&g, LAST_BATCH_KEEP, whole, &at, 2) || at == ROWS);
    }
    group_close(&g);
}

static void an_epoch_without_a_batch_is_an_error(void **state)
{
    struct dataset_config cfg = config(1, LAST_BATCH_DROP);
    struct group g;
    struct error err;
    uint64_t rows;

    (void)state;
    group_open(&g, &cfg, 2, 52);
    assert_int_equal(dataset_next(g.ds[0], &rows, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "last_batch"));
    group_close(&g);
}

/* More than once around, if the dataset is smaller than the batches. */
static void padding_may_repeat_the_dataset(void **state)
{
    struct dataset_config cfg = config(2, LAST_BATCH_PAD);
    int32_t whole[ROWS];
    struct group g;
    struct error err;
    uint64_t n;

    (void)state;
    epoch_of(2, 0, whole);
    group_open(&g, &cfg, 2, 150);
    for (uint64_t r = 0, again = 0; r < 2; r++) {
        int32_t rows[150];
        uint64_t real = r == 0 ? 52 : 51;

        assert_int_equal(dataset_next(g.ds[r], &n, &err), 0);
        assert_int_equal(n, 150);
        assert_int_equal(dataset_padding(g.ds[r]), 150 - real);
        batch_look(g.ds[r], n, rows);
        assert_memory_equal(rows, whole + r * 52, real * sizeof *rows);
        for (uint64_t i = real; i < 150; i++)
            assert_int_equal(rows[i], whole[again++ % ROWS]);
    }
    group_close(&g);
}

/* ---- Across the end of an epoch ---- */

/* Where a group stops. */
enum stop {
    IN_LAST_WINDOW, /* with at most a window's rows left */
    AT_LAST_ROW,    /* all batches were taken, but the end was not seen */
    AFTER_END,      /* nothing of the next epoch was taken */
    STOPS
};

/* Follow an epoch from *at on, up to a stop. False: at the end of the epoch. */
static bool group_stop(struct group *g, enum last_batch last, const int32_t *whole,
                       uint64_t *at, enum stop stop)
{
    uint64_t rows = dataset_rows(g->ds[0]), all = g->batch * (uint64_t)g->size;
    uint64_t least = last == LAST_BATCH_DROP ? rows / all * all : rows;
    bool more = true;

    while (more &&
           (stop == AFTER_END || *at < (stop == AT_LAST_ROW ? least : rows - 45)))
        more = group_follow(g, last, whole, at, 1);
    return more;
}

/* Rows that pass a filter, up to a limit, in three epochs, each of which is begun by
 * one number of workers and ended by another: each row once, or those that fill
 * batches. */
static void epochs_go_on_across_their_end(void **state)
{
    static const uint64_t BATCHES[] = {4, 7, 3};
    int32_t whole[3][ROWS];

    (void)state;
    for (int i = 0; i < N_ORDERS * 3 * STOPS * N_SIZES; i++) {
        enum last_batch last = (enum last_batch)(i / N_ORDERS % 3);
        struct dataset_config cfg = config(i % N_ORDERS, last);
        enum stop stop = (enum stop)(i / (N_ORDERS * 3) % STOPS);
        struct dataset_state stopped = {.epoch = 0};
        uint64_t at = 0;

        cfg.filter = (struct filter_config){.column = (char *)"y",
                                            .has_min = true,
                                            .min = 3,
                                            .has_max = true,
                                            .max = 99};
        cfg.limit = 83;
        for (uint64_t e = 0; e < 3; e++)
            assert_int_equal(epoch_with(cfg, e, whole[e]), 83);
        for (int k = 0; k < 6 && stopped.epoch < 3; k++) {
            int size = SIZES[(i / (N_ORDERS * 3 * STOPS) + k) % N_SIZES];
            struct group g;

            group_open(&g, &cfg, size, BATCHES[(i + k) % 3]);
            group_seek(&g, &stopped);
            if (k > 0 && stop != AFTER_END) { /* what is left of the last one */
                group_follow(&g, last, whole[stopped.epoch], &at, ROWS);
                dataset_state_get(g.ds[0], &stopped);
                assert_int_equal(stopped.epoch, k);
                at = 0;
            }
            if (stopped.epoch < 3 &&
                !group_stop(&g, last, whole[stopped.epoch], &at, stop))
                at = 0;
            dataset_state_get(g.ds[size - 1], &stopped);
            assert_int_equal(stopped.position, at);
            group_close(&g);
        }
        assert_int_equal(stopped.epoch, 3);
    }
}

/* The batches of an epoch from position *at on, without another epoch being asked
 * for. */
static void source_epoch(struct batch_source *s, const struct batch_job *job, int rank,
                         int size, struct frame *f)
{
    struct batch_job next = *job;
    struct error err;

    while (next.position < ROWS) {
        if (batch_source_read(s, &next, f, &err) < 0)
            fail_msg("%s", err.text);
        next.position =
            position_portion(ROWS, next.position, next.batch, rank, size).end;
    }
}

/* The files are overwritten once an epoch's last batch is there: the rows of the next
 * epoch's first window have been read by then. */
static void first_window_is_read_with_the_epoch_before(void **state)
{
    static const uint64_t BATCHES[] = {4, 1, 20, 7};

    (void)state;
    for (int i = 0; i < 16; i++) {
        struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
        struct batch_job job = {
            .batch = BATCHES[i % 4], .kind = {15, 3}, .next_kind = {15, 3}};
        int size = SIZES[i / 4], rank = i % size;
        struct batch_source *s;
        struct table t = {0};
        struct frame f = FRAME_INIT;
        struct error err;
        int32_t whole[ROWS];
        struct portion p;

        files_make();
        epoch_of(2, 1, whole);
        assert_int_equal(
            reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), 0);
        assert_int_equal(table_ready(&t, &err), 0);
        assert_int_equal(batch_source_create(&t, 7, rank, size, i % 2 == 0, &s, &err),
                         0);
        assert_int_equal(batch_init(&f, &t, &err), 0);
        source_epoch(s, &job, rank, size, &f);
        images_make("rows-images-idx2-ubyte", 0);
        assert_int_equal(truncate("rows-images-idx2-ubyte", t.sources[0].size), 0);
        job.epoch = 1;
        p = position_portion(ROWS, 0, job.batch, rank, size);
        while (p.first + p.count <= 40) { /* a window has 3 blocks, one of them short */
            assert_int_equal(batch_source_read(s, &job, &f, &err), 0);
            for (uint64_t k = 0; k < p.count; k++)
                assert_int_equal(f.columns[0].data[k * WIDE], whole[p.first + k]);
            job.position = p.end;
            p = position_portion(ROWS, job.position, job.batch, rank, size);
        }
        batch_source_destroy(s);
        frame_clear(&f);
        table_clear(&t);
    }
    files_make();
}

/* ---- Some of the rows ---- */

static void check_selected(const struct dataset_config *cfg, const int32_t *rows,
                           uint64_t n)
{
    struct dataset_config any = *cfg;
    static struct taken t;
    struct group g;
    bool wanted[ROWS] = {false};

    for (uint64_t i = 0; i < n; i++)
        wanted[rows[i]] = true;
    for (int order = 0; order < N_ORDERS; order++) {
        uint64_t got = 0;
        bool seen[ROWS] = {false};

        any.shuffle = ORDERS[order].shuffle;
        any.shuffle_window = ORDERS[order].shuffle_window;
        group_open(&g, &any, 2, 3);
        assert_int_equal(dataset_rows(g.ds[0]), n);
        while (group_take(&g, &t))
            for (uint64_t i = 0; i < t.n; i++, got++) {
                assert_true(wanted[t.rows[i]] && !seen[t.rows[i]]);
                seen[t.rows[i]] = true;
                if (order == 0)
                    assert_int_equal(t.rows[i], rows[got]);
            }
        assert_int_equal(got, n);
        group_close(&g);
    }
}

static void filter_and_limit_select_rows(void **state)
{
    struct dataset_config cfg = config(0, LAST_BATCH_KEEP);
    int32_t rows[ROWS];

    (void)state;
    for (int i = 0; i < ROWS; i++)
        rows[i] = i;
    cfg.limit = 40;
    check_selected(&cfg, rows, 40);
    cfg.limit = 1000;
    check_selected(&cfg, rows, ROWS);
    cfg.filter = (struct filter_config){.column = (char *)"y",
                                        .has_min = true,
                                        .min = 19.5,
                                        .has_max = true,
                                        .max = 80};
    check_selected(&cfg, rows + 20, 61);
    cfg.limit = 7;
    check_selected(&cfg, rows + 20, 7);
    cfg.filter.has_min = false;
    cfg.limit = 0;
    check_selected(&cfg, rows, 81);
    cfg.filter.has_max = false;
    check_selected(&cfg, rows, ROWS);
}

/* A step without a seed keeps the order, and each takes what the one before it has
 * left. */
static void rows_are_chosen_by_their_numbers(void **state)
{
    struct dataset_config cfg = config(0, LAST_BATCH_KEEP);
    int32_t rows[ROWS];

    (void)state;
    for (int i = 0; i < ROWS; i++)
        rows[i] = i;
    cfg.rows = (struct rows_config){.steps = {{.count = 30}}, .n = 1};
    check_selected(&cfg, rows, 30);
    cfg.rows.steps[0].first = 10;
    check_selected(&cfg, rows + 10, 30);
    cfg.rows.steps[cfg.rows.n++] = (struct rows_step){.first = 25, .count = 100};
    check_selected(&cfg, rows + 35, 5);
    cfg.filter = (struct filter_config){
        .column = (char *)"y", .has_min = true, .min = 20, .has_max = true, .max = 69};
    check_selected(&cfg, rows + 55, 5);
}

/* The parts of a seed divide the rows, and each begins another order of them. */
static void a_seed_divides_the_rows_at_random(void **state)
{
    struct dataset_config cfg = config(0, LAST_BATCH_KEEP);
    struct shuffle order;
    int32_t rows[ROWS], in_order = 0;

    (void)state;
    shuffle_init(&order, ROWS, 7, UINT64_MAX);
    for (int i = 0; i < ROWS; i++) {
        rows[i] = (int32_t)shuffle_row(&order, (uint64_t)i);
        in_order += rows[i] == i;
    }
    assert_true(in_order < ROWS / 2);
    cfg.rows = (struct rows_config){
        .steps = {{.shuffled = true, .seed = 7, .count = 40}}, .n = 1};
    check_selected(&cfg, rows, 40);
    cfg.rows.steps[0] = (struct rows_step){.shuffled = true, .seed = 7, .first = 40};
    check_selected(&cfg, rows + 40, ROWS - 40);
    cfg.rows.steps[0] = (struct rows_step){
        .shuffled = true, .seed = 7, .is_share = true, .from = 0.25, .to = 1};
    check_selected(&cfg, rows + ROWS / 4, ROWS - ROWS / 4);
    cfg.rows.steps[0].from = 0;
    cfg.rows.steps[0].to = 0.25;
    check_selected(&cfg, rows, ROWS / 4);
}

/* x of the rows with some y: y itself is not there. */
static void column_of_a_filter_need_not_be_read(void **state)
{
    char *columns[] = {(char *)"x"};
    struct dataset_config cfg = config(0, LAST_BATCH_KEEP);
    struct group g;
    raytrain_tensor x;
    struct error err;
    uint64_t n;

    (void)state;
    cfg.columns = columns;
    cfg.n_columns = 1;
    cfg.filter =
        (struct filter_config){.column = (char *)"y", .has_min = true, .min = 100};
    cfg.label = NULL;
    cfg.path = (char *)"rows-images-idx2-ubyte";
    assert_int_equal(rename("rows-labels", "rows-labels-idx1-ubyte"), 0);
    group_open(&g, &cfg, 1, 10);
    assert_int_equal(rename("rows-labels-idx1-ubyte", "rows-labels"), 0);
    assert_int_equal(dataset_n_columns(g.ds[0]), 1);
    assert_int_equal(dataset_next(g.ds[0], &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(dataset_column(g.ds[0], "x", &x, &err), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(((unsigned char *)x.data)[i * WIDE], 100 + i);
    group_close(&g);
}

/* Big-endian floats, some of which are NaN. */
static void a_nan_passes_no_filter(void **state)
{
    static const float VALUES[] = {1, NAN, -3, 0.5, INFINITY, -INFINITY, NAN, 2};
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)"v-images-idx1-float",
                                 .filter = {.column = (char *)"x", .has_min = true}};
    struct group g;
    struct bytes b;
    raytrain_tensor x;
    struct error err;
    uint64_t n;

    (void)state;
    idx_header(&b, 0x0d, 1, &(uint32_t){8});
    for (int i = 0; i < 8; i++) {
        uint32_t bits;

        memcpy(&bits, &VALUES[i], sizeof bits);
        bytes_u32(&b, bits);
    }
    bytes_write(&b, "v-images-idx1-float");
    group_open(&g, &cfg, 1, 10);
    assert_int_equal(dataset_next(g.ds[0], &n, &err), 0);
    assert_int_equal(n, 4);
    assert_int_equal(dataset_column(g.ds[0], "x", &x, &err), 0);
    assert_memory_equal(x.data, ((const float[]){1, 0.5, INFINITY, 2}), 16);
    group_close(&g);
}

static uint64_t count_between(const char *path, const char *min, const char *max)
{
    char text[256];
    struct train_config cfg;
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds = NULL;
    struct error err;
    uint64_t rows;

    snprintf(text, sizeof text,
             "datasets = { d = { path = \"%s\"; filter = { column = \"x\"; "
             "min = %s; max = %s; }; }; };",
             path, min, max);
    train_config_init(&cfg);
    if (train_config_merge_text(&cfg, text, "test", &err) < 0)
        fail_msg("%s", err.text);
    rows = dataset_open(&cfg.datasets[0], &env, &ds, &err) == 0 ? dataset_rows(ds) : 0;
    dataset_close(ds);
    train_config_clear(&cfg);
    return rows;
}

/* Above 2^53, a double has not every integer. */
static void integers_are_compared_as_integers(void **state)
{
    static const struct {
        const char *min, *max;
        uint64_t n, n_real; /* of 2^53 - 1 ... 2^53 + 3: those that are doubles */
    } T[] = {
        {"9007199254740993L", "9007199254740994L", 2, 1},
        {"9007199254740992L", "9007199254740992L", 1, 1},
        {"9007199254740991L", "9007199254740993L", 3, 2},
        {"9007199254740993L", "9007199254740993L", 1, 0},
        {"9007199254740990.5", "9007199254740992.0", 2, 2},
        {"-9223372036854775808L", "9223372036854775807L", 5, 3},
        {"-1e300", "1e300", 5, 3},
        {"-0.5", "0.5", 0, 0},
    };
    FILE *ints = fopen("ints.csv", "w"), *reals = fopen("reals.csv", "w");

    (void)state;
    assert_true(ints && reals);
    fputs("x\n9007199254740991\n9007199254740992\n9007199254740993\n"
          "9007199254740994\n9007199254740995\n",
          ints);
    fputs("x\n9007199254740991.0\n9007199254740992.0\n9007199254740994.0\n", reals);
    assert_int_equal(fclose(ints) | fclose(reals), 0);
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        assert_int_equal(count_between("ints.csv", T[i].min, T[i].max), T[i].n);
        assert_int_equal(count_between("reals.csv", T[i].min, T[i].max), T[i].n_real);
    }
}

static void filters_that_cannot_be_are_errors(void **state)
{
    static const struct {
        const char *column;
        double min;
        raytrain_status code;
        const char *text;
    } T[] = {{"z", 0, RAYTRAIN_ENOTFOUND, "no column \"z\""},
             {"x", 0, RAYTRAIN_ETYPE, "exactly one number"},
             {"y", 1000, RAYTRAIN_EINVAL, "no row has a value of \"y\""}};
    struct dataset_config cfg = config(0, LAST_BATCH_KEEP);
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        cfg.filter = (struct filter_config){
            .column = (char *)(uintptr_t)T[i].column, .has_min = true, .min = T[i].min};
        assert_int_equal(dataset_open(&cfg, &env, &ds, &err), -1);
        assert_int_equal(err.code, T[i].code);
        assert_non_null(strstr(err.text, T[i].text));
    }
}

/* Not even with a filter, whose column is read without being asked for. */
static void a_list_of_no_columns_is_an_error(void **state)
{
    char *none[] = {NULL};
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct error err;

    (void)state;
    cfg.columns = none;
    cfg.n_columns = 0;
    cfg.label = NULL;
    for (int filtered = 0; filtered < 2; filtered++) {
        cfg.path = (char *)"rows-labels-idx1-ubyte";
        cfg.filter = (struct filter_config){.column = filtered ? (char *)"x" : NULL,
                                            .has_min = true};
        assert_int_equal(rename("rows-labels", cfg.path), 0);
        assert_int_equal(dataset_open(&cfg, &env, &ds, &err), -1);
        assert_int_equal(rename(cfg.path, "rows-labels"), 0);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        assert_non_null(strstr(err.text, "columns: "));
    }
}

/* The batch that needs rows that are gone fails; those before it do not. */
static void a_file_that_shrinks_is_an_error_in_windows(void **state)
{
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    int32_t whole[ROWS];
    struct group g;
    struct error err;
    uint64_t n = 0, at = 0;
    int rc;

    (void)state;
    epoch_of(2, 0, whole);
    group_open(&g, &cfg, 1, 5);
    assert_true(group_follow(&g, LAST_BATCH_KEEP, whole, &at, 1));
    assert_int_equal(truncate("rows-images-idx2-ubyte", 1000), 0);
    while ((rc = dataset_next(g.ds[0], &n, &err)) == 0)
        ;
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_non_null(strstr(err.text, "become shorter"));
    files_make();
    while ((rc = dataset_next(g.ds[0], &n, &err)) == 0)
        ;
    assert_int_equal(rc, 1);
    group_close(&g);
}

/* Files are copied from memory unless the program handles SIGBUS: then they are
 * read. */
static void windows_are_the_same_when_they_are_read(void **state)
{
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    int32_t whole[2][ROWS];

    (void)state;
    epoch_of(2, 0, whole[0]);
    epoch_of(2, 1, whole[1]);
    for (int i = 0; i < N_SIZES; i++) {
        struct group g;
        uint64_t at = 0;

        group_open(&g, &cfg, SIZES[i], 4);
        group_follow(&g, LAST_BATCH_KEEP, whole[0], &at, 1);
        signal(SIGBUS, SIG_DFL);
        assert_false(group_follow(&g, LAST_BATCH_KEEP, whole[0], &at, ROWS));
        at = 0;
        assert_false(group_follow(&g, LAST_BATCH_KEEP, whole[1], &at, ROWS));
        group_close(&g);
    }
}

#define LARGE 700

/* The batch's rows are others than those seen, and their bytes are as they should
 * be. */
static void large_batch_look(raytrain_dataset *ds, uint64_t rows, bool seen[LARGE])
{
    raytrain_tensor x, y;
    struct error err;

    assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
    assert_int_equal(dataset_column(ds, "y", &y, &err), 0);
    for (uint64_t i = 0; i < rows; i++) {
        const unsigned char *row = (const unsigned char *)x.data + i * WIDE;
        int32_t number = ((int32_t *)y.data)[i];

        assert_in_range(number, 0, LARGE - 1);
        assert_false(seen[number]);
        seen[number] = true;
        for (unsigned c = 0; c < WIDE; c++)
            if (row[c] != (unsigned char)((unsigned)number + c * c))
                fail_msg("row %d, byte %u", (int)number, c);
    }
}

/* Its windows do not fit into caches, and their memory is in huge pages. */
static void a_large_window_has_every_row_once(void **state)
{
    struct dataset_config cfg = config(2, LAST_BATCH_KEEP);
    struct dataset_env env = {.size = 1, .seed = 7};
    raytrain_dataset *ds;
    struct error err;
    struct bytes b;

    (void)state;
    images_make("large-images-idx2-ubyte", LARGE);
    idx_numbers(&b, LARGE);
    bytes_write(&b, "large-labels");
    cfg.path = (char *)"large-images-idx2-ubyte";
    cfg.label = (char *)"large-labels";
    cfg.shuffle_window = 600;
    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    for (int epoch = 0; epoch < 3; epoch++) {
        bool seen[LARGE] = {false};
        uint64_t n = 0;

        for (uint64_t i = 0; i < LARGE; i += n) {
            uint64_t batch = epoch == 1 && i > 200 ? 41 : 16;

            assert_int_equal(dataset_set_batch_size(ds, batch, &err), 0);
            assert_int_equal(dataset_next(ds, &n, &err), 0);
            large_batch_look(ds, n, seen);
        }
        assert_int_equal(dataset_next(ds, &n, &err), 1);
    }
    dataset_close(ds);
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
        cmocka_unit_test(rules_hold_for_all_orders_and_workers),
        cmocka_unit_test(order_in_windows_is_fixed),
        cmocka_unit_test(windows_mix_blocks_that_are_far_apart),
        cmocka_unit_test(another_window_takes_effect_with_the_next_epoch),
        cmocka_unit_test(numbers_in_a_checkpoint_are_checked),
        cmocka_unit_test(batch_size_changes_in_mid_window),
        cmocka_unit_test(an_epoch_without_a_batch_is_an_error),
        cmocka_unit_test(padding_may_repeat_the_dataset),
        cmocka_unit_test(epochs_go_on_across_their_end),
        cmocka_unit_test(first_window_is_read_with_the_epoch_before),
        cmocka_unit_test(filter_and_limit_select_rows),
        cmocka_unit_test(rows_are_chosen_by_their_numbers),
        cmocka_unit_test(a_seed_divides_the_rows_at_random),
        cmocka_unit_test(column_of_a_filter_need_not_be_read),
        cmocka_unit_test(a_nan_passes_no_filter),
        cmocka_unit_test(integers_are_compared_as_integers),
        cmocka_unit_test(filters_that_cannot_be_are_errors),
        cmocka_unit_test(a_list_of_no_columns_is_an_error),
        cmocka_unit_test(a_file_that_shrinks_is_an_error_in_windows),
        cmocka_unit_test(windows_are_the_same_when_they_are_read),
        cmocka_unit_test(a_large_window_has_every_row_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, enter, scratch_leave);
}
