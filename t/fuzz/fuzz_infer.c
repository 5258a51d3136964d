/*
 * fuzz_infer.c - parsing any request for predictions never crashes, hangs or leaks; what is
 * taken has the rows and sizes that the model says, and its answer is taken again as a
 * request with the same values. `make fuzz` builds it; run t/fuzz/fuzz_infer CORPUS_DIR.
 *
 * The first byte of an input says what the body is: 'j' JSON, 'c' CSV, 'b' JSON before
 * binary data, whose length is the text up to the next line end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define ROWS_MAX 100000

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- The models: what one gives, it also takes ---- */

#define NUMBERS(NAME, DTYPE, NDIM, ...)                                                \
    {                                                                                  \
        .name = NAME, .kind = INFER_NUMBERS, .row = {                                  \
            .dtype = DTYPE,                                                            \
            .ndim = NDIM,                                                              \
            .shape = {__VA_ARGS__}                                                     \
        }                                                                              \
    }
#define TEXT(NAME)                                                                     \
    {                                                                                  \
        .name = NAME, .kind = INFER_TEXT                                               \
    }
#define MODEL(COLUMNS)                                                                 \
    {                                                                                  \
        .name = "m", .version = "1", .inputs = COLUMNS, .outputs = COLUMNS,            \
        .n_inputs = sizeof(COLUMNS) / sizeof *(COLUMNS),                               \
        .n_outputs = sizeof(COLUMNS) / sizeof *(COLUMNS)                               \
    }

static const struct infer_column x[] = {NUMBERS("x", RAYTRAIN_FLOAT32, 1, 3)},
                                 mixed[] = {NUMBERS("x", RAYTRAIN_FLOAT64, 2, 2, 1),
                                            TEXT("note"),
                                            NUMBERS("flag", RAYTRAIN_UINT8, 0, 0),
                                            NUMBERS("n", RAYTRAIN_INT64, 0, 0)},
                                 text[] = {TEXT("note")},
                                 numbers[] = {NUMBERS("a", RAYTRAIN_INT8, 0, 0),
                                              NUMBERS("b", RAYTRAIN_UINT64, 0, 0),
                                              NUMBERS("c", RAYTRAIN_FLOAT16, 1, 2)};
static const struct infer_model models[] = {MODEL(x), MODEL(mixed), MODEL(text),
                                            MODEL(numbers)};

/* ---- What was taken ---- */

static void data_check(const struct infer_column *c, const struct infer_data *d,
                       uint64_t rows)
{
    check(d->bytes != NULL, "an input is missing");
    if (c->kind == INFER_NUMBERS) {
        check(d->n_bytes == rows * infer_row_bytes(c), "numbers have another size");
        return;
    }
    check(d->offsets[0] == 0 && d->offsets[rows] == d->n_bytes, "texts end elsewhere");
    for (uint64_t i = 0; i < rows; i++)
        check(d->offsets[i] <= d->offsets[i + 1], "texts overlap");
}

/* The same values; NaNs are not the same in JSON. */
static void data_same(const struct infer_column *c, const struct infer_data *a,
                      const struct infer_data *b, uint64_t rows)
{
    if (c->kind == INFER_TEXT)
        check(memcmp(a->offsets, b->offsets, (rows + 1) * sizeof *a->offsets) == 0,
              "texts have come back with other lengths");
    check(a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0,
          "values have come back as others");
}

/* An answer has "outputs", and is a request with "inputs". */
static void answer_to_request(struct infer_answer *a)
{
    char *member = memmem(a->bytes, a->n_bytes, "\"outputs\":[{", 12);

    check(member != NULL, "an answer has no outputs");
    memcpy(member, " \"inputs\"", 9);
}

/* Is all that is in JSON finite, and UTF-8? Else it does not come back: JSON has null for
 * NaN and infinities. */
static bool comes_back(const struct infer_answer *a, const struct infer_request *q)
{
    for (size_t i = 0; i < q->n_outputs; i++)
        if (!q->outputs[i].binary)
            return !memmem(a->bytes, a->n_bytes, "null", 4) &&
                   !memmem(a->bytes, a->n_bytes, "\\x", 2);
    return true;
}

static void answer(const struct infer_model *m, const struct infer_request *q)
{
    static const struct infer_limits none = {.rows = 0};
    struct infer_refusal why;
    struct infer_request back;
    struct infer_answer a;
    char length[32];

    check(infer_response_write(m, q, q->inputs, &a, &why) == 0, "no answer");
    snprintf(length, sizeof length, "%zu", a.header_length);
    if (q->n_outputs == m->n_outputs && comes_back(&a, q)) {
        struct infer_body body = {.bytes = a.bytes,
                                  .n_bytes = a.n_bytes,
                                  .header_length = a.header_length > 0 ? length : NULL};

        answer_to_request(&a);
        if (infer_request_parse(m, &body, &none, &back, &why) < 0) {
            fprintf(stderr, "%.*s\n", (int)a.n_bytes, a.bytes);
            check(0, why.text);
        }
        check(back.rows == q->rows, "other rows have come back");
        for (size_t i = 0; i < m->n_inputs; i++)
            data_same(&m->inputs[i], &q->inputs[i], &back.inputs[i], q->rows);
        infer_request_clear(&back);
    }
    infer_answer_clear(&a);
}

static void parse(const struct infer_model *m, const struct infer_body *body)
{
    static const struct infer_limits limits = {.rows = ROWS_MAX, .bytes = 1 << 26};
    struct infer_request q;
    struct infer_refusal why;

    if (infer_request_parse(m, body, &limits, &q, &why) < 0) {
        check(why.status == 400 || why.status == 413, "a refusal has no status");
        check(why.text[0] != '\0', "a refusal has no text");
        check(q.inputs == NULL, "a refused request is not clear");
        return;
    }
    check(q.rows > 0 && q.rows <= ROWS_MAX, "a request has no rows, or too many");
    for (size_t i = 0; i < m->n_inputs; i++)
        data_check(&m->inputs[i], &q.inputs[i], q.rows);
    answer(m, &q);
    infer_request_clear(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data + 1, *line;
    struct infer_body body = {.content_type = "application/json"};
    char length[32] = "";

    if (n < 1)
        return 0;
    n--;
    if (data[0] == 'b' && (line = memchr(bytes, '\n', n < 31 ? n : 31))) {
        snprintf(length, sizeof length, "%.*s", (int)(line - bytes), bytes);
        body.header_length = length;
        n -= (size_t)(line + 1 - bytes);
        bytes = line + 1;
    } else if (data[0] == 'c') {
        body.content_type = "text/csv";
    }
    body.bytes = bytes;
    body.n_bytes = n;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        parse(&models[i], &body);
    return 0;
}
