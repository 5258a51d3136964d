/* request_json.c - the JSON of a request: its members, inputs and outputs. */
#include "infer/request_parse.h"

#include <stdlib.h>
#include <string.h>

#include "infer/refusal.h"
#include "util/quote.h"

#define ID_MAX      1024
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- Parameters ---- */

/* Parameters of other services, such as a priority, are ignored. */
struct parameters {
    int64_t binary_bytes; /* -1: none */
    int binary;           /* of an output; -1: not given */
    int binary_output;    /* of the request, likewise */
    /* a parameter that the service does not support; NULL: none */
    const char *unknown;
};

#define PARAMETERS_INIT                                                                \
    {                                                                                  \
        .binary_bytes = -1, .binary = -1, .binary_output = -1                          \
    }

static bool flag_take(struct json_scan *s, int *flag)
{
    bool value = false, good = json_scan_bool(s, &value);

    *flag = value;
    return good;
}

static bool parameters_read(struct json_scan *s, struct parameters *found)
{
    static const char *const keys[] = {"binary_data_size", "binary_data",
                                       "binary_data_output", "shared_memory_region",
                                       "classification"};
    uint32_t seen = 0;
    bool first = true, good = json_scan_open(s, '{');

    while (good && json_scan_more(s, '}', &first)) {
        int key = json_scan_member(s, keys, COUNT(keys), &seen);

        if (key < 0)
            return false;
        if (key == 0) {
            good = json_scan_integer(s, &found->binary_bytes);
            if (good && found->binary_bytes < 0)
                return json_scan_wrong(s, "a binary_data_size is less than 0");
        } else if (key == 1) {
            good = flag_take(s, &found->binary);
        } else if (key == 2) {
            good = flag_take(s, &found->binary_output);
        } else {
            if (key < (int)COUNT(keys))
                found->unknown = keys[key];
            good = json_scan_skip(s);
        }
    }
    return good && !s->wrong[0];
}

static int refuse_parameter(struct request_parse *p, const char *parameter)
{
    return refuse(p->why, 400,
                  "the service has no \"%s\": send data in the request, and take it "
                  "from the answer",
                  parameter);
}

/* ---- Inputs ---- */

/* A string that is too long cannot be the name of an input or output; its beginning is
 * in the message. */
static bool name_read(struct json_scan *s, char *name, size_t room)
{
    size_t n;

    if (!json_scan_string(s, name, room - 1, &n))
        return false;
    n = n < room - 1 ? n : room - 1;
    name[n] = '\0';
    return strlen(name) == n || json_scan_wrong(s, "a name has a NUL");
}

static bool shape_read(struct json_scan *s, struct request_tensor *t)
{
    bool first = true;

    if (!json_scan_open(s, '['))
        return false;
    for (t->ndim = 0; json_scan_more(s, ']', &first); t->ndim++) {
        if (t->ndim == (int)COUNT(t->shape))
            return json_scan_wrong(s, "a shape has more than %d dimensions",
                                   RAYTRAIN_MAX_DIMS + 1);
        if (!json_scan_integer(s, &t->shape[t->ndim]))
            return false;
    }
    return !s->wrong[0];
}

static bool data_find(struct json_scan *s, struct request_tensor *t)
{
    json_scan_peek(s);
    t->data = s->at;
    if (!json_scan_skip_list(s))
        return false;
    t->n_data = (size_t)(s->at - t->data);
    return true;
}

static bool tensor_read(struct json_scan *s, struct request_tensor *t,
                        struct parameters *parameters)
{
    static const char *const keys[] = {"name", "datatype", "shape", "data",
                                       "parameters"};
    uint32_t seen = 0;
    bool first = true, good = json_scan_open(s, '{');

    while (good && json_scan_more(s, '}', &first))
        switch (json_scan_member(s, keys, COUNT(keys), &seen)) {
        case -1:
            return false;
        case 0:
            good = name_read(s, t->name, sizeof t->name);
            break;
        case 1:
            good = name_read(s, t->datatype, sizeof t->datatype);
            break;
        case 2:
            good = shape_read(s, t);
            break;
        case 3:
            good = data_find(s, t);
            break;
        case 4:
            good = parameters_read(s, parameters);
            break;
        default:
            good = json_scan_skip(s);
        }
    return good && !s->wrong[0];
}

/* The error for JSON that is wrong somewhere in this input. */
static int refuse_input(struct request_parse *p, const char *name)
{
    char quoted[QUOTE_TEXT_MAX];

    return refuse(p->why, 400, "input %s is wrong at byte %zu of the JSON: %s",
                  quote(name, quoted), (size_t)(p->scan.at - p->scan.begin),
                  p->scan.wrong);
}

static int input_read(struct request_parse *p, size_t number)
{
    struct request_tensor t = {.number = number, .ndim = -1};
    struct parameters parameters = PARAMETERS_INIT;
    int rc = tensor_read(&p->scan, &t, &parameters) ? 0 : -1;

    t.binary_bytes = parameters.binary_bytes;
    if (rc == 0 && parameters.unknown)
        rc = refuse_parameter(p, parameters.unknown);
    if (rc == 0)
        rc = tensor_take(p, &t);
    return rc < 0 && p->why->status == 0 && t.name[0] ? refuse_input(p, t.name) : rc;
}

static int inputs_read(struct request_parse *p)
{
    bool first = true;

    if (!json_scan_open(&p->scan, '['))
        return -1;
    for (size_t i = 0; json_scan_more(&p->scan, ']', &first); i++)
        if (input_read(p, i) < 0)
            return -1;
    return p->scan.wrong[0] ? -1 : 0;
}

/* ---- Outputs ---- */

static int output_add(struct request_parse *p, const char *given, int binary)
{
    const struct infer_model *m = p->model;
    struct infer_request *q = p->q;
    char name[QUOTE_TEXT_MAX];
    size_t i = 0;

    while (i < m->n_outputs && strcmp(m->outputs[i].name, given) != 0)
        i++;
    if (i == m->n_outputs)
        return refuse_unknown(p->why, "output", given, m->outputs, m->n_outputs);
    for (size_t k = 0; k < q->n_outputs; k++)
        if (q->outputs[k].column == i)
            return refuse(p->why, 400, "output %s is there twice", quote(given, name));
    q->outputs[q->n_outputs++] =
        (struct infer_output){.column = i, .binary = binary > 0};
    p->says[i] = (signed char)binary;
    return 0;
}

static int output_read(struct request_parse *p)
{
    struct request_tensor t = {.ndim = -1};
    struct parameters parameters = PARAMETERS_INIT;

    if (!tensor_read(&p->scan, &t, &parameters))
        return -1;
    if (parameters.unknown)
        return refuse_parameter(p, parameters.unknown);
    return output_add(p, t.name, parameters.binary);
}

static int outputs_read(struct request_parse *p)
{
    bool first = true;

    if (!json_scan_open(&p->scan, '['))
        return -1;
    while (json_scan_more(&p->scan, ']', &first))
        if (output_read(p) < 0)
            return -1;
    return p->scan.wrong[0] ? -1 : 0;
}

/* ---- The request ---- */

static int id_read(struct request_parse *p)
{
    char id[ID_MAX + 1];
    size_t n;

    if (!json_scan_string(&p->scan, id, ID_MAX, &n))
        return -1;
    if (n > ID_MAX || memchr(id, '\0', n))
        return refuse(p->why, 400,
                      "the \"id\" has more than %d bytes, or a NUL: send a shorter one",
                      ID_MAX);
    p->q->id = strndup(id, n);
    return p->q->id ? 0 : request_no_memory(p);
}

static int parameters_take(struct request_parse *p)
{
    struct parameters parameters = PARAMETERS_INIT;

    if (!parameters_read(&p->scan, &parameters))
        return -1;
    p->binary_output = parameters.binary_output > 0;
    return 0;
}

static int members_read(struct request_parse *p)
{
    static const char *const keys[] = {"id", "inputs", "outputs", "parameters"};
    static int (*const read[])(struct request_parse *) = {
        id_read, inputs_read, outputs_read, parameters_take};
    uint32_t seen = 0;
    bool first = true;

    if (!json_scan_open(&p->scan, '{'))
        return -1;
    while (json_scan_more(&p->scan, '}', &first)) {
        int key = json_scan_member(&p->scan, keys, COUNT(keys), &seen);

        if (key < 0)
            return -1;
        if (key < (int)COUNT(keys) ? read[key](p) < 0 : !json_scan_skip(&p->scan))
            return -1;
    }
    if (!json_scan_done(&p->scan))
        return -1;
    if (!(seen & 2))
        return refuse(
            p->why, 400,
            "the request has no \"inputs\": it is an object like "
            "{\"inputs\": [{\"name\": ..., \"datatype\": ..., \"shape\": [...], "
            "\"data\": [...]}]}");
    return 0;
}

int request_json(struct request_parse *p)
{
    if (members_read(p) == 0)
        return 0;
    if (p->why->status == 0)
        refuse(p->why, 400, "the JSON of the request is wrong at byte %zu: %s",
               (size_t)(p->scan.at - p->scan.begin), p->scan.wrong);
    return -1;
}
