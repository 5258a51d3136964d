/* rows_request.c - copy the answers of pieces into the answer of a request. */
#include "service/rows_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts of one output and one piece: rows first to first + n - 1. */
struct rows_request_text {
    struct rows_request_text *next;
    size_t output;
    uint64_t first, n;
    uint64_t offsets[]; /* n + 1, and then the bytes */
};

void rows_request_list_init(struct rows_request_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

void rows_request_list_add(struct rows_request_list *list, struct service_request *q)
{
    q->next = NULL;
    *list->end = q;
    list->end = &q->next;
}

/* Bytes of numbers, or of the offsets of texts; 0 if there are too many. */
static uint64_t output_bytes(const struct service_column *c, uint64_t rows)
{
    uint64_t width = c->kind == SERVICE_TEXT ? sizeof(uint64_t) : service_row_bytes(c);
    uint64_t bytes;

    if (__builtin_mul_overflow(width, rows + (c->kind == SERVICE_TEXT), &bytes) ||
        bytes > SERVICE_MAX)
        return 0;
    return bytes;
}

int rows_request_begin(struct service_request *q, const struct service_column outputs[],
                       size_t n_outputs)
{
    q->columns = outputs;
    q->n_outputs = n_outputs;
    q->outputs = calloc(n_outputs + 1, sizeof *q->outputs);
    for (size_t i = 0; i < n_outputs; i++) {
        uint64_t bytes = output_bytes(&outputs[i], q->rows);
        void *memory = q->outputs && bytes > 0 ? malloc(bytes) : NULL;

        if (!memory) {
            rows_request_fail(
                q, bytes > 0 ? 503 : 413,
                "the answer for %llu rows is too large; send fewer rows at once",
                (unsigned long long)q->rows);
            return -1;
        }
        if (outputs[i].kind == SERVICE_TEXT)
            q->outputs[i].offsets = memory;
        else
            q->outputs[i].data = memory;
    }
    if (!q->outputs)
        rows_request_fail(q, 503, "out of memory");
    return q->outputs ? 0 : -1;
}

/* ---- Take the answer of a piece ---- */

static int answer_text_take(struct service_request *q, size_t output,
                            const struct service_rows *found, uint64_t at,
                            uint64_t first, uint64_t n)
{
    uint64_t from = found->offsets[at], bytes = found->offsets[at + n] - from;
    struct rows_request_text *t =
        malloc(sizeof *t + (n + 1) * sizeof(uint64_t) + bytes);

    if (!t)
        return -1;
    t->output = output;
    t->first = first;
    t->n = n;
    for (uint64_t i = 0; i <= n; i++)
        t->offsets[i] = found->offsets[at + i] - from;
    memcpy(t->offsets + n + 1, found->data + from, bytes);
    t->next = q->texts;
    q->texts = t;
    return 0;
}

int rows_request_take(struct service_request *q, const struct service_rows found[],
                      uint64_t at, uint64_t first, uint64_t n)
{
    for (size_t i = 0; i < q->n_outputs; i++) {
        uint64_t width = service_row_bytes(&q->columns[i]);

        if (q->columns[i].kind == SERVICE_NUMBERS)
            memcpy((unsigned char *)q->outputs[i].data + first * width,
                   found[i].data + at * width, n * width);
        else if (answer_text_take(q, i, &found[i], at, first, n) < 0)
            return -1;
    }
    q->answered += n;
    return 0;
}

/* ---- Put the texts together ---- */

static void texts_free(struct service_request *q)
{
    while (q->texts) {
        struct rows_request_text *t = q->texts;

        q->texts = t->next;
        free(t);
    }
}

/* At first, each offset holds the length of its text, at the place of the text's
 * end. */
static int texts_join(struct service_request *q, size_t output)
{
    uint64_t *offsets = (uint64_t *)q->outputs[output].offsets;
    unsigned char *bytes;

    offsets[0] = 0;
    for (const struct rows_request_text *t = q->texts; t; t = t->next)
        for (uint64_t i = 0; t->output == output && i < t->n; i++)
            offsets[t->first + i + 1] = t->offsets[i + 1] - t->offsets[i];
    for (uint64_t i = 0; i < q->rows; i++)
        offsets[i + 1] += offsets[i];
    bytes = malloc(offsets[q->rows] + 1);
    if (!bytes)
        return -1;
    for (const struct rows_request_text *t = q->texts; t; t = t->next)
        if (t->output == output)
            memcpy(bytes + offsets[t->first], t->offsets + t->n + 1, t->offsets[t->n]);
    q->outputs[output].data = bytes;
    return 0;
}

void rows_request_complete(struct service_request *q)
{
    for (size_t i = 0; i < q->n_outputs; i++)
        if (q->columns[i].kind == SERVICE_TEXT && texts_join(q, i) < 0)
            rows_request_fail(q, 503, "out of memory for the answer");
    texts_free(q);
    if (q->status == 0)
        q->status = 200;
}

/* ---- The end ---- */

static void outputs_free(struct service_request *q)
{
    for (size_t i = 0; q->outputs && i < q->n_outputs; i++) {
        free((void *)q->outputs[i].data);
        free((void *)q->outputs[i].offsets);
    }
    free(q->outputs);
    q->outputs = NULL;
}

void rows_request_fail(struct service_request *q, int status, const char *fmt, ...)
{
    va_list ap;

    if (q->status != 0)
        return;
    q->status = status;
    va_start(ap, fmt);
    vsnprintf(q->text, sizeof q->text, fmt, ap);
    va_end(ap);
}

void service_request_clear(struct service_request *q)
{
    outputs_free(q);
    texts_free(q);
}
