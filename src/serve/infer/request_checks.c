/* request_checks.c - the checks that tensors from all sources share, and room for texts. */
#include "infer/request_parse.h"

#include <stdlib.h>
#include <string.h>

#include "infer/datatype.h"
#include "infer/refusal.h"
#include "util/quote.h"

int request_no_memory(struct request_parse *p)
{
    return refuse(p->why, 500, "the service has no memory left for this request");
}

int request_rows(struct request_parse *p, const char *input, uint64_t rows)
{
    char name[QUOTE_TEXT_MAX], first[QUOTE_TEXT_MAX];

    if (rows == 0)
        return refuse(p->why, 400, "input %s has no rows: send at least one",
                      quote(input, name));
    if (p->limits->rows > 0 && rows > p->limits->rows)
        return refuse(p->why, 413,
                      "input %s has %llu rows, and a request may have %llu: send "
                      "them in several requests",
                      quote(input, name), (unsigned long long)rows,
                      (unsigned long long)p->limits->rows);
    if (p->first && rows != p->q->rows)
        return refuse(p->why, 400,
                      "input %s has %llu rows, and input %s has %llu: the first "
                      "dimension of all inputs is the same",
                      quote(input, name), (unsigned long long)rows,
                      quote(p->first, first), (unsigned long long)p->q->rows);
    p->first = input;
    p->q->rows = rows;
    return 0;
}

int request_bytes(struct request_parse *p, const char *input, uint64_t bytes)
{
    char name[QUOTE_TEXT_MAX];

    if (!__builtin_add_overflow(p->bytes, bytes, &p->bytes) &&
        p->bytes <= SIZE_MAX / 2 &&
        (p->limits->bytes == 0 || p->bytes <= p->limits->bytes))
        return 0;
    return refuse(
        p->why, 413,
        "with input %s the request has more bytes of tensors than the %llu "
        "that it may have: send fewer rows at once",
        quote(input, name),
        (unsigned long long)(p->limits->bytes ? p->limits->bytes : SIZE_MAX / 2));
}

int request_complete(struct request_parse *p)
{
    const struct infer_model *m = p->model;
    char name[QUOTE_TEXT_MAX], shape[SHAPE_TEXT_MAX];

    for (size_t i = 0; i < m->n_inputs; i++)
        if (!p->q->inputs[i].bytes)
            return refuse(p->why, 400,
                          "input %s is missing: the model takes %s with shape %s",
                          quote(m->inputs[i].name, name), datatype_name(&m->inputs[i]),
                          shape_text(-1, &m->inputs[i], shape));
    return 0;
}

int text_room(struct request_parse *p, uint64_t rows, uint64_t n, struct infer_data *d,
              uint64_t **offsets, char **bytes)
{
    size_t head = (size_t)(rows + 1) * sizeof **offsets;

    d->owned = malloc(head + (size_t)n + 1);
    if (!d->owned)
        return request_no_memory(p);
    *offsets = d->owned;
    *bytes = (char *)d->owned + head;
    (*offsets)[0] = 0;
    d->offsets = *offsets;
    d->bytes = *bytes;
    d->n_bytes = (size_t)n;
    return 0;
}
