/*
 * request.c - a request, from its headers and its body on.
 *
 *   what the body is           content types, the length of the JSON
 *   what is wanted of it       outputs
 *   infer_request_parse()
 */
#include "infer/request_parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "infer/datatype.h"
#include "infer/refusal.h"
#include "util/number.h"
#include "util/quote.h"

/* ---- What the body is ---- */

/* curl -d sends JSON with the content type of a form; binary data may follow the
 * JSON. */
static const struct {
    const char *name;
    bool json, csv;
} types[] = {{"application/json", true, false},
             {"application/octet-stream", true, false},
             {"application/x-www-form-urlencoded", true, false},
             {"application/vnd.sagemaker-triton.binary+json", true, false},
             {"text/csv", false, true},
             {"application/csv", false, true}};

static int type_find(const char *content_type, bool *csv, struct infer_refusal *why)
{
    char quoted[QUOTE_TEXT_MAX];
    size_t n;

    *csv = false;
    if (!content_type)
        return 0;
    n = strcspn(content_type, "; \t");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == n &&
            strncasecmp(types[i].name, content_type, n) == 0) {
            *csv = types[i].csv;
            return 0;
        }
    return refuse(
        why, 415,
        "the service does not read %s: send JSON as application/json, or rows "
        "of CSV as text/csv",
        quote(content_type, quoted));
}

/* The length of the JSON, before binary data. */
static int header_length(const struct infer_body *body, size_t *n,
                         struct infer_refusal *why)
{
    const char *text = body->header_length;
    char quoted[QUOTE_TEXT_MAX];
    int64_t length;

    *n = body->n_bytes;
    if (!text)
        return 0;
    if (*text < '0' || *text > '9' ||
        *number_int64(text, text + strlen(text), &length) != '\0')
        return refuse(why, 400, "Inference-Header-Content-Length is %s, not a number",
                      quote(text, quoted));
    if ((uint64_t)length > body->n_bytes)
        return refuse(why, 400,
                      "Inference-Header-Content-Length is %lld, and the body has %zu "
                      "bytes",
                      (long long)length, body->n_bytes);
    *n = (size_t)length;
    return 0;
}

static int json_take(struct request_parse *p, const struct infer_body *body)
{
    const char *bytes = body->bytes;
    size_t n;

    if (header_length(body, &n, p->why) < 0)
        return -1;
    json_scan_init(&p->scan, bytes, n);
    p->has_binary = body->header_length != NULL;
    p->binary = bytes + n;
    p->binary_end = bytes + body->n_bytes;
    if (request_json(p) < 0)
        return -1;
    if (p->binary < p->binary_end)
        return refuse(p->why, 400,
                      "the body has %zu bytes of binary data after those that the "
                      "inputs claim by binary_data_size",
                      (size_t)(p->binary_end - p->binary));
    return 0;
}

/* ---- What is wanted ---- */

/* Without names, all are wanted. */
static int outputs_settle(struct request_parse *p)
{
    struct infer_request *q = p->q;
    char name[QUOTE_TEXT_MAX];

    if (q->n_outputs == 0)
        for (size_t i = 0; i < p->model->n_outputs; i++)
            q->outputs[q->n_outputs++] = (struct infer_output){.column = i};
    for (size_t i = 0; i < q->n_outputs; i++) {
        struct infer_output *o = &q->outputs[i];
        const struct infer_column *c = &p->model->outputs[o->column];

        if (p->says[o->column] < 0)
            o->binary = p->binary_output;
        if (!o->binary && c->kind == INFER_NUMBERS && c->row.dtype == RAYTRAIN_BFLOAT16)
            return refuse(p->why, 400,
                          "output %s is BF16, which JSON has no notation for: ask for "
                          "it with the parameter \"binary_data\": true",
                          quote(c->name, name));
    }
    return 0;
}

/* ---- The request ---- */

static int request_room(struct request_parse *p)
{
    const struct infer_model *m = p->model;

    p->q->n_inputs = m->n_inputs;
    p->q->inputs = calloc(m->n_inputs + 1, sizeof *p->q->inputs);
    p->q->outputs = calloc(m->n_outputs + 1, sizeof *p->q->outputs);
    p->says = malloc(m->n_outputs + 1);
    if (!p->q->inputs || !p->q->outputs || !p->says)
        return request_no_memory(p);
    memset(p->says, -1, m->n_outputs + 1);
    return 0;
}

static int body_take(struct request_parse *p, const struct infer_body *body)
{
    bool csv;

    if (type_find(body->content_type, &csv, p->why) < 0 || request_room(p) < 0)
        return -1;
    if (body->n_bytes == 0)
        return refuse(p->why, 400, "the request has no body: send JSON or CSV");
    if (csv ? request_csv(p, body->bytes, body->n_bytes) < 0 : json_take(p, body) < 0)
        return -1;
    return request_complete(p) < 0 || outputs_settle(p) < 0 ? -1 : 0;
}

int infer_request_parse(const struct infer_model *m, const struct infer_body *body,
                        const struct infer_limits *limits, struct infer_request *q,
                        struct infer_refusal *why)
{
    struct request_parse p = {.model = m, .limits = limits, .q = q, .why = why};
    int rc;

    *q = (struct infer_request){.id = NULL};
    *why = (struct infer_refusal){.status = 0};
    rc = body_take(&p, body);
    free(p.says);
    if (rc < 0)
        infer_request_clear(q);
    return rc;
}

void infer_request_clear(struct infer_request *q)
{
    for (size_t i = 0; q->inputs && i < q->n_inputs; i++)
        free(q->inputs[i].owned);
    free(q->inputs);
    free(q->outputs);
    free(q->id);
    *q = (struct infer_request){.id = NULL};
}
