/* tensor_take.c - compare a tensor of a request with the model's inputs, and store its
 * rows. */
#include "infer/request_parse.h"

#include <string.h>

#include "infer/datatype.h"
#include "infer/refusal.h"
#include "util/quote.h"

static int refuse_shape(struct request_parse *p, const struct request_tensor *t,
                        const struct infer_column *c)
{
    char name[QUOTE_TEXT_MAX], own[SHAPE_TEXT_MAX], given[SHAPE_TEXT_MAX];
    struct infer_column as = {.row.ndim = t->ndim - 1};
    const char *hint = ", where N is the number of rows";

    for (int d = 1; d < t->ndim && d <= RAYTRAIN_MAX_DIMS; d++)
        as.row.shape[d - 1] = (uint64_t)t->shape[d];
    if (t->ndim == 0)
        strcpy(given, "[]");
    else
        shape_text(t->shape[0], &as, given);
    shape_text(-1, c, own);
    if (c->kind == INFER_NUMBERS && t->ndim == c->row.ndim)
        hint = ": the first dimension is the number of rows, even for one row";
    return refuse(p->why, 400, "input %s has shape %s, and the model takes %s%s",
                  quote(t->name, name), given, own, hint);
}

/* Are the dimensions the same, apart from those of 1? [N, 1] is [N]. */
static bool is_shape(const struct request_tensor *t, const struct infer_column *c)
{
    int ndim = c->kind == INFER_NUMBERS ? c->row.ndim : 0, own = 0, given = 1;

    while (own < ndim || given < t->ndim) {
        if (own < ndim && c->row.shape[own] == 1)
            own++;
        else if (given < t->ndim && t->shape[given] == 1)
            given++;
        else if (own < ndim && given < t->ndim &&
                 (uint64_t)t->shape[given] == c->row.shape[own])
            own++, given++;
        else
            return false;
    }
    return t->ndim > 0;
}

/* Check that the shape is that of rows of the column. */
static int shape_check(struct request_parse *p, const struct request_tensor *t,
                       const struct infer_column *c)
{
    char name[QUOTE_TEXT_MAX], own[SHAPE_TEXT_MAX];

    if (t->ndim < 0)
        return refuse(p->why, 400, "input %s has no \"shape\": the model takes %s",
                      quote(t->name, name), shape_text(-1, c, own));
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] < 0)
            return refuse(
                p->why, 400, "the shape of input %s has %lld: the model takes %s",
                quote(t->name, name), (long long)t->shape[d], shape_text(-1, c, own));
    if (!is_shape(t, c))
        return refuse_shape(p, t, c);
    return request_rows(p, c->name, (uint64_t)t->shape[0]);
}

static int datatype_check(struct request_parse *p, struct request_tensor *t,
                          const struct infer_column *c)
{
    char name[QUOTE_TEXT_MAX], given[QUOTE_TEXT_MAX];

    if (!t->datatype[0])
        return refuse(p->why, 400, "input %s has no \"datatype\": the model takes %s",
                      quote(t->name, name), datatype_name(c));
    if (!datatype_fits(c, t->datatype, &t->dtype))
        return refuse(p->why, 400, "input %s has datatype %s, and the model takes %s",
                      quote(t->name, name), quote(t->datatype, given),
                      datatype_name(c));
    return 0;
}

static int tensor_column_find(struct request_parse *p, const struct request_tensor *t,
                              size_t *column)
{
    const struct infer_model *m = p->model;
    char name[QUOTE_TEXT_MAX];
    size_t i = 0;

    if (!t->name[0])
        return refuse(p->why, 400, "input number %zu has no \"name\"", t->number + 1);
    while (i < m->n_inputs && strcmp(m->inputs[i].name, t->name) != 0)
        i++;
    if (i == m->n_inputs)
        return refuse_unknown(p->why, "input", t->name, m->inputs, m->n_inputs);
    if (p->q->inputs[i].bytes)
        return refuse(p->why, 400, "input %s is there twice", quote(t->name, name));
    *column = i;
    return 0;
}

int tensor_take(struct request_parse *p, struct request_tensor *t)
{
    const struct infer_column *c;
    char name[QUOTE_TEXT_MAX];
    size_t i = 0;

    if (tensor_column_find(p, t, &i) < 0)
        return -1;
    c = &p->model->inputs[i];
    if (datatype_check(p, t, c) < 0 || shape_check(p, t, c) < 0)
        return -1;
    if (t->data && t->binary_bytes >= 0)
        return refuse(p->why, 400,
                      "input %s has both \"data\" and binary data: send one of them",
                      quote(t->name, name));
    if (t->data)
        return rows_from_json(p, c, t, &p->q->inputs[i]);
    if (t->binary_bytes >= 0)
        return rows_from_binary(p, c, t, &p->q->inputs[i]);
    return refuse(p->why, 400,
                  "input %s has no data: send \"data\", or \"binary_data_size\" among "
                  "its \"parameters\" and the bytes after the JSON",
                  quote(t->name, name));
}
