#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preprocess_table.h"

#include "config/config_file.h"
#include "preprocess/chain_fit.h"

/* ---- The table, and rows of it ---- */

static struct dictionary *words;
struct frame table;

struct frame_column *column(struct frame *f, const char *name, enum frame_kind kind,
                            raytrain_dtype dtype, uint64_t width)
{
    struct frame_column like = {.kind = kind, .row = {.dtype = dtype}};
    size_t index;

    if (kind != FRAME_NUMBERS)
        like.words = words;
    if (width != 1) {
        like.row.ndim = 1;
        like.row.shape[0] = width;
    }
    strcpy(like.name, name);
    assert_int_equal(frame_add(f, &like, &index, &err), 0);
    assert_int_equal(frame_reserve(&f->columns[index], ROWS, 3 * ROWS, &err), 0);
    return &f->columns[index];
}

static void lists_make(void)
{
    struct frame_column *c = column(&table, "l", FRAME_WORD_LISTS, 0, 1);
    int32_t *codes = (int32_t *)(void *)c->data;
    uint64_t n = 0;

    for (size_t i = 0; i < ROWS; i++) {
        c->offsets[i] = n;
        for (size_t k = 0; k < i % 4; k++)
            codes[n++] = (int32_t)((i + k) % N_WORDS);
    }
    c->offsets[ROWS] = c->n_data = n;
}

int table_make(void **state)
{
    int32_t code;

    (void)state;
    words = dictionary_create();
    assert_int_equal(dictionary_add(words, "unused", 6, &code, &err), 0);
    for (size_t i = 0; i < N_WORDS; i++)
        assert_int_equal(
            dictionary_add(words, all_words[i], strlen(all_words[i]), &code, &err), 0);
    memcpy(column(&table, "a", FRAME_NUMBERS, RAYTRAIN_FLOAT64, 1)->data, a_values,
           sizeof a_values);
    memcpy(column(&table, "b", FRAME_NUMBERS, RAYTRAIN_FLOAT64, 1)->data, b_values,
           sizeof b_values);
    memcpy(column(&table, "v", FRAME_NUMBERS, RAYTRAIN_FLOAT64, WIDTH)->data, v_values,
           sizeof v_values);
    column(&table, "c", FRAME_NUMBERS, RAYTRAIN_INT32, 1);
    column(&table, "f", FRAME_NUMBERS, RAYTRAIN_FLOAT32, 1);
    column(&table, "w", FRAME_WORDS, 0, 1);
    column(&table, "m", FRAME_WORDS, 0, 1); /* w, with missing ones */
    for (size_t i = 0; i < ROWS; i++) {
        ((int32_t *)(void *)frame_find(&table, "c")->data)[i] = (int32_t)c_values[i];
        ((float *)(void *)frame_find(&table, "f")->data)[i] = (float)a_values[i];
        ((int32_t *)(void *)frame_find(&table, "w")->data)[i] =
            1 + (int32_t)w_values[i];
        ((int32_t *)(void *)frame_find(&table, "m")->data)[i] =
            i % 10 == 3 ? -1 : 1 + (int32_t)w_values[i];
    }
    lists_make();
    table.rows = ROWS;
    return 0;
}

int table_free(void **state)
{
    (void)state;
    frame_clear(&table);
    dictionary_destroy(words);
    return 0;
}

/* Rows first .. first + n - 1, as readers make them. Not by asserts: other threads do
 * this, too. */
int rows_take(struct frame *f, uint64_t first, uint64_t n, struct error *e)
{
    size_t at;

    frame_clear(f);
    for (size_t i = 0; i < table.n_columns; i++) {
        const struct frame_column *from = &table.columns[i];
        bool lists = from->kind == FRAME_WORD_LISTS || from->kind == FRAME_TEXT;
        uint64_t start = lists ? from->offsets[first] : first;
        uint64_t count = lists ? from->offsets[first + n] - start : n;
        size_t bytes = lists ? frame_element_bytes(from) : frame_row_bytes(from);

        if (frame_add(f, from, &at, e) < 0 ||
            frame_reserve(&f->columns[at], n, count, e) < 0)
            return -1;
        memcpy(f->columns[at].data, from->data + start * bytes, count * bytes);
        for (uint64_t r = 0; lists && r <= n; r++)
            f->columns[at].offsets[r] = from->offsets[first + r] - start;
        f->columns[at].n_data = count;
    }
    f->rows = n;
    return 0;
}

struct reader {
    uint64_t first, end, at, batch;
};

static int reader_rewind(void *arg, struct error *e)
{
    struct reader *r = arg;

    (void)e;
    r->at = r->first;
    return 0;
}

static int reader_next(void *arg, struct frame *f, struct error *e)
{
    struct reader *r = arg;
    uint64_t n = r->end - r->at < r->batch ? r->end - r->at : r->batch;

    if (n == 0)
        return 0;
    if (rows_take(f, r->at, n, e) < 0)
        return -1;
    r->at += n;
    return 1;
}

/* ---- Chains ---- */

/* Numbers without a point, as a node of the configuration has them, are fine. */
int chain_parse(const char *text, struct chain *chain, struct error *e)
{
    struct config_where root = {.source = "test", .err = e};
    struct preprocessors_config config = {NULL, 0};
    struct config_node node;
    char setting[4096];
    int rc;

    memset(chain, 0, sizeof *chain);
    snprintf(setting, sizeof setting, "p = ( %s );", text);
    if (config_file_parse(setting, "test", &node, e))
        return -1;
    rc = preprocessors_set(&config, &node.items[0], &root);
    config_node_clear(&node);
    if (rc == 0)
        rc = chain_create(chain, &config, e);
    preprocessors_clear(&config);
    return rc;
}

static int rank_fit(struct comm *comm, void *arg)
{
    struct job *job = arg;
    uint64_t size = (uint64_t)comm->size, rank = (uint64_t)comm->rank;
    struct reader reader = {.first = ROWS * rank / size,
                            .end = ROWS * (rank + 1) / size,
                            .batch = job->batch};
    struct chain_source source = {
        .schema = &table, .rewind = reader_rewind, .next = reader_next, .arg = &reader};
    struct error *e = &job->errors[rank];
    int passes;

    if (size == 5 && rank == 1) /* a rank without rows; the next one has its */
        reader.end = reader.first;
    if (size == 5 && rank == 2)
        reader.first = ROWS / size;
    if (chain_parse(job->text, &job->chains[rank], e) < 0 ||
        chain_fit(&job->chains[rank], &source, comm, &passes, e) < 0)
        return -1;
    if (rank == 0)
        job->passes = passes;
    return 0;
}

void job_clear(struct job *job)
{
    for (size_t r = 0; r < THREAD_COMM_MAX; r++)
        chain_clear(&job->chains[r]);
}

int fit(struct job *job, const char *text, int ranks, uint64_t batch)
{
    int rc[THREAD_COMM_MAX];

    memset(job, 0, sizeof *job);
    job->text = text;
    job->batch = batch;
    thread_comm_run(ranks, rank_fit, job, rc);
    for (int r = 0; r < ranks; r++)
        if (rc[r] != rc[0])
            fail_msg("ranks do not agree: %s", job->errors[r].text);
    err = job->errors[0];
    return rc[0];
}

/* All rows of the table, through a fitted chain. */
void transformed(const struct chain *chain, struct frame *f)
{
    struct transform *t;

    if (transform_create(chain, &table, NULL, &t, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(rows_take(f, 0, ROWS, &err), 0);
    if (transform_apply(t, f, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(f->n_columns, transform_schema(t)->n_columns);
    for (size_t i = 0; i < f->n_columns; i++) {
        const struct frame_column *said = &transform_schema(t)->columns[i];

        assert_string_equal(f->columns[i].name, said->name);
        assert_int_equal(f->columns[i].kind, said->kind);
        assert_int_equal(f->columns[i].row.dtype, said->row.dtype);
        assert_int_equal(f->columns[i].row.ndim, said->row.ndim);
        assert_memory_equal(f->columns[i].row.shape, said->row.shape,
                            sizeof said->row.shape);
        assert_ptr_equal(f->columns[i].words, said->words);
    }
    transform_destroy(t);
}

double number(const struct frame_column *c, size_t i)
{
    switch (c->row.dtype) {
    case RAYTRAIN_FLOAT32:
        return (double)((const float *)(const void *)c->data)[i];
    case RAYTRAIN_UINT8:
        return c->data[i];
    case RAYTRAIN_INT32:
        return ((const int32_t *)(const void *)c->data)[i];
    case RAYTRAIN_INT64:
        return (double)((const int64_t *)(const void *)c->data)[i];
    default:
        return ((const double *)(const void *)c->data)[i];
    }
}

bool close_to(double x, double y, double tolerance)
{
    return isnan(x) ? isnan(y) : fabs(x - y) <= tolerance * fmax(1, fabs(y));
}

void assert_column(const struct frame *f, const char *name, const double *expected,
                   size_t n, double tolerance)
{
    const struct frame_column *c = frame_find(f, name);

    assert_non_null(c);
    for (size_t i = 0; i < n; i++)
        if (!close_to(number(c, i), expected[i], tolerance))
            fail_msg("%s[%zu] is %.17g, not %.17g", name, i, number(c, i), expected[i]);
}
