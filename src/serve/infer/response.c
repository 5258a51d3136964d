/* response.c - the answer to a request: JSON, and binary data after it. */
#include "infer/answer.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/datatype.h"
#include "infer/refusal.h"
#include "util/half.h"

#define LENGTH_BYTES 4

/* ---- JSON ---- */

#define AS(type, from)                                                                 \
    ({                                                                                 \
        type value_;                                                                   \
        memcpy(&value_, from, sizeof value_);                                          \
        value_;                                                                        \
    })

/* JSON has no form for it; the binary form has. */
static bool not_finite(struct json_writer *w, double x)
{
    if (isfinite(x))
        return false;
    json_writer_raw(w, NULL, "null");
    return true;
}

static void float_write(struct json_writer *w, float x)
{
    if (!not_finite(w, (double)x))
        json_writer_real32(w, NULL, x);
}

static void half_write(struct json_writer *w, uint16_t half)
{
    float x;

    float16_widen(&x, &half, 1);
    float_write(w, x);
}

static void number_write(struct json_writer *w, raytrain_dtype dtype,
                         const unsigned char *from)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        float_write(w, AS(float, from));
        break;
    case RAYTRAIN_FLOAT64:
        if (!not_finite(w, AS(double, from)))
            json_writer_real(w, NULL, AS(double, from));
        break;
    case RAYTRAIN_FLOAT16:
        half_write(w, AS(uint16_t, from));
        break;
    case RAYTRAIN_INT8:
        json_writer_integer(w, NULL, AS(int8_t, from));
        break;
    case RAYTRAIN_INT16:
        json_writer_integer(w, NULL, AS(int16_t, from));
        break;
    case RAYTRAIN_INT32:
        json_writer_integer(w, NULL, AS(int32_t, from));
        break;
    case RAYTRAIN_INT64:
        json_writer_integer(w, NULL, AS(int64_t, from));
        break;
    case RAYTRAIN_UINT16:
        json_writer_unsigned(w, NULL, AS(uint16_t, from));
        break;
    case RAYTRAIN_UINT32:
        json_writer_unsigned(w, NULL, AS(uint32_t, from));
        break;
    case RAYTRAIN_UINT64:
        json_writer_unsigned(w, NULL, AS(uint64_t, from));
        break;
    default:
        json_writer_unsigned(w, NULL, *from);
    }
}

static void data_write(struct json_writer *w, const struct infer_column *c,
                       const struct infer_data *d, uint64_t rows)
{
    const unsigned char *from = d->bytes;
    size_t size = raytrain_dtype_size(c->row.dtype);
    uint64_t n = c->kind == INFER_NUMBERS ? rows * (infer_row_bytes(c) / size) : 0;

    json_writer_list_begin(w, "data");
    for (uint64_t i = 0; i < n; i++)
        number_write(w, c->row.dtype, from + i * size);
    for (uint64_t i = 0; c->kind == INFER_TEXT && i < rows; i++)
        json_writer_text(w, NULL, (const char *)d->bytes + d->offsets[i],
                         (size_t)(d->offsets[i + 1] - d->offsets[i]));
    json_writer_list_end(w);
}

static uint64_t binary_bytes(const struct infer_column *c, const struct infer_data *d,
                             uint64_t rows)
{
    return c->kind == INFER_TEXT
               ? d->offsets[rows] - d->offsets[0] + rows * LENGTH_BYTES
               : rows * infer_row_bytes(c);
}

static void output_write(struct json_writer *w, const struct infer_column *c,
                         const struct infer_data *d, uint64_t rows, bool binary)
{
    json_writer_begin(w, NULL);
    json_writer_string(w, "name", c->name);
    json_writer_string(w, "datatype", datatype_name(c));
    json_writer_list_begin(w, "shape");
    json_writer_unsigned(w, NULL, rows);
    for (int i = 0; c->kind == INFER_NUMBERS && i < c->row.ndim; i++)
        json_writer_unsigned(w, NULL, c->row.shape[i]);
    json_writer_list_end(w);
    if (binary) {
        json_writer_begin(w, "parameters");
        json_writer_unsigned(w, "binary_data_size", binary_bytes(c, d, rows));
        json_writer_end(w);
    } else {
        data_write(w, c, d, rows);
    }
    json_writer_end(w);
}

static void json_write(struct json_writer *w, const struct infer_model *m,
                       const struct infer_request *q, const struct infer_data outputs[])
{
    json_writer_begin(w, NULL);
    json_writer_string(w, "model_name", m->name);
    json_writer_string(w, "model_version", m->version);
    if (q->id)
        json_writer_string(w, "id", q->id);
    json_writer_list_begin(w, "outputs");
    for (size_t i = 0; i < q->n_outputs; i++) {
        size_t column = q->outputs[i].column;

        output_write(w, &m->outputs[column], &outputs[column], q->rows,
                     q->outputs[i].binary);
    }
    json_writer_list_end(w);
    json_writer_end(w);
}

/* ---- Binary data ---- */

static char *binary_write(char *to, const struct infer_column *c,
                          const struct infer_data *d, uint64_t rows)
{
    if (c->kind == INFER_NUMBERS) {
        size_t n = (size_t)(rows * infer_row_bytes(c));

        memcpy(to, d->bytes, n);
        return to + n;
    }
    for (uint64_t i = 0; i < rows; i++) {
        size_t n = (size_t)(d->offsets[i + 1] - d->offsets[i]);
        uint32_t length = htole32((uint32_t)n);

        memcpy(to, &length, LENGTH_BYTES);
        memcpy(to + LENGTH_BYTES, (const char *)d->bytes + d->offsets[i], n);
        to += LENGTH_BYTES + n;
    }
    return to;
}

static int binary_add(const struct infer_model *m, const struct infer_request *q,
                      const struct infer_data outputs[], struct infer_answer *a)
{
    uint64_t n = 0;
    bool any = false;
    char *grown, *to;

    for (size_t i = 0; i < q->n_outputs; i++) {
        size_t column = q->outputs[i].column;

        any |= q->outputs[i].binary;
        if (q->outputs[i].binary)
            n += binary_bytes(&m->outputs[column], &outputs[column], q->rows);
    }
    if (!any)
        return 0;
    grown = realloc(a->bytes, a->n_bytes + n + 1);
    if (!grown)
        return -1;
    a->bytes = grown;
    to = grown + a->n_bytes;
    for (size_t i = 0; i < q->n_outputs; i++) {
        size_t column = q->outputs[i].column;

        if (q->outputs[i].binary)
            to = binary_write(to, &m->outputs[column], &outputs[column], q->rows);
    }
    a->header_length = a->n_bytes;
    a->n_bytes += n;
    a->content_type = "application/octet-stream";
    return 0;
}

int infer_response_write(const struct infer_model *m, const struct infer_request *q,
                         const struct infer_data outputs[], struct infer_answer *a,
                         struct infer_refusal *why)
{
    struct json_writer w = {.text = NULL};

    json_write(&w, m, q, outputs);
    if (answer_take(&w, a) < 0 || binary_add(m, q, outputs, a) < 0) {
        infer_answer_clear(a);
        return refuse(why, 500, "the service has no memory left for this answer");
    }
    return 0;
}
