/*
 * predict_requests.c - a prediction for a command's process: raytrain_predictor for a
 * client, with one request per batch. Rows and predictions go through memory that both
 * sides map.
 *
 *   predict_open  {} -> {"rows": N, "columns": [...], "goes_on": BOOL}: the input, with
 *                 words as data (frame_wire.h); see client_maps.h, too. "goes_on": the
 *                 prediction continues after a batch that fails
 *   predict_begin {"outputs": [{"name": NAME, "dtype": DTYPE, "shape": [...]}, ...],
 *                 "batch_size": N}: the outputs for one row. Once, the same on all
 *                 ranks. The batch size, which may be missing, is a request
 *   predict_fail  {"text": TEXT, "of_rows": BOOL}: the current batch cannot be
 *                 predicted. "of_rows": the cause is its rows, not the model.
 *                 predict_next follows
 *   predict_next  {"slot": NUMBER, "put": BOOL} -> {"rows": N, "places": [...],
 *                 "outputs": [OFFSET, ...], "new": [BOOL, BOOL]}. "put": the outputs of
 *                 the previous batch are at the offsets in its reply. "rows" is 0 at
 *                 the end
 *
 * The client chooses the slot, one that it no longer uses. The rows of a batch are at
 * the places in this slot (frame_wire.h). Its outputs belong into another memory, at
 * the offsets, each as dense rows in native byte order. "new" says whether the reply
 * has the descriptors of the slot and of that memory, in this order; then an earlier
 * mapping is no longer valid.
 *
 * A client that ends before it has got "rows": 0 has failed.
 */
#include "command/batch_slot.h"
#include "command/client_maps.h"
#include "command/companion.h"
#include "command/frame_wire.h"

#include <stdlib.h>
#include <string.h>

#include "predict/predictor.h"
#include "session/predictions.h"
#include "util/api_names.h"

#define OUTPUT_ALIGNMENT 64 /* of each output, in bytes */

struct prediction {
    struct frame_place *places; /* of the columns of the input */
    struct batch_slot slots[BATCH_SLOTS];
    struct batch_slot outputs;
    uint64_t rows; /* of the current batch; 0: there is none */
};

static void prediction_close(struct companion *c)
{
    struct prediction *p = c->state[PREDICT_FAMILY];

    if (!p)
        return;
    for (int i = 0; i < BATCH_SLOTS; i++)
        batch_slot_clear(&p->slots[i]);
    batch_slot_clear(&p->outputs);
    free(p->places);
    free(p);
    c->state[PREDICT_FAMILY] = NULL;
}

static struct prediction *prediction_of(struct companion *c, struct error *err)
{
    struct prediction *p = c->state[PREDICT_FAMILY];
    const struct frame *schema;

    if (!c->ctx->predictor) {
        error_set(err, RAYTRAIN_EINVAL,
                  "this worker trains: start a prediction with raytrain-predict");
        return NULL;
    }
    if (p)
        return p;
    schema = dataset_schema(predictor_dataset(c->ctx->predictor));
    p = calloc(1, sizeof *p);
    if (p)
        p->places = calloc(schema->n_columns + 1, sizeof *p->places);
    if (!p || !p->places) {
        free(p);
        error_no_memory(err);
        return NULL;
    }
    c->state[PREDICT_FAMILY] = p;
    return p;
}

/* ---- predict_open ---- */

static int handle_predict_open(struct companion *c, const struct request *q,
                               struct reply *reply, struct error *err)
{
    struct wire_bytes words = {0};
    json_t *columns = NULL;
    raytrain_dataset *input;
    int rc;

    if (!prediction_of(c, err))
        return -1;
    input = predictor_dataset(c->ctx->predictor);
    if (client_maps_reply(input, q, reply, err) < 0)
        return -1;
    rc = frame_columns_json(dataset_schema(input), &columns, &words, err);
    if (rc == 0)
        rc = reply_set(reply, "columns", columns, err);
    if (rc == 0)
        rc = reply_set(reply, "rows", json_integer((json_int_t)dataset_rows(input)),
                       err);
    if (rc == 0)
        rc = reply_set(reply, "goes_on",
                       json_boolean(predictor_goes_on(c->ctx->predictor)), err);
    if (rc < 0) {
        free(words.data);
        return -1;
    }
    reply->data = words.data;
    reply->n_data = words.n;
    return 0;
}

/* ---- predict_begin ---- */

static int output_declare(struct companion *c, const json_t *output, struct error *err)
{
    const char *name = json_string_value(json_object_get(output, "name")),
               *type = json_string_value(json_object_get(output, "dtype"));
    const json_t *dims = json_object_get(output, "shape");
    uint64_t shape[RAYTRAIN_MAX_DIMS] = {0};
    size_t n = json_array_size(dims);

    if (!name || !type || !json_is_array(dims) || n >= RAYTRAIN_MAX_DIMS)
        return error_set(err, RAYTRAIN_EINVAL,
                         "an output has a name, a dtype and a shape of at most %d "
                         "dimensions",
                         RAYTRAIN_MAX_DIMS - 1);
    if (dtype_of_name(type) == 0)
        return error_set(err, RAYTRAIN_ETYPE,
                         "output \"%.255s\": there is no type %.80s", name, type);
    for (size_t i = 0; i < n; i++) {
        json_int_t extent = json_integer_value(json_array_get(dims, i));

        shape[i] = extent > 0 ? (uint64_t)extent : 0; /* 0 is refused */
    }
    return predictor_output(c->ctx->predictor, name, dtype_of_name(type), (int)n, shape,
                            err);
}

static int handle_predict_begin(struct companion *c, const struct request *q,
                                struct reply *reply, struct error *err)
{
    const json_t *outputs = json_object_get(q->args, "outputs");
    int64_t rows;

    (void)reply;
    if (!prediction_of(c, err))
        return -1;
    for (size_t i = 0; i < json_array_size(outputs); i++)
        if (output_declare(c, json_array_get(outputs, i), err) < 0)
            return -1;
    if (!json_object_get(q->args, "batch_size"))
        return 0;
    if (request_integer(q, "batch_size", &rows, err) < 0)
        return -1;
    return predictor_set_batch_size(c->ctx->predictor, rows > 0 ? (uint64_t)rows : 0,
                                    err);
}

/* ---- predict_next ---- */

/* Bytes of one row of an output. */
static uint64_t output_bytes(const raytrain_tensor *row)
{
    uint64_t n = raytrain_dtype_size(row->dtype);

    for (int i = 0; i < row->ndim; i++)
        n *= row->shape[i];
    return n;
}

/* Add the size of these rows of an output to *bytes, aligned. */
static int room_add(size_t *bytes, uint64_t row_bytes, uint64_t rows, struct error *err)
{
    size_t n;

    if (__builtin_mul_overflow(row_bytes, rows, &n) ||
        __builtin_add_overflow(n, (size_t)(OUTPUT_ALIGNMENT - 1), &n) ||
        __builtin_add_overflow(*bytes, n / OUTPUT_ALIGNMENT * OUTPUT_ALIGNMENT, bytes))
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the outputs of a batch");
    return 0;
}

/* Put the outputs of the previous batch, which are in the memory. */
static int outputs_put(struct companion *c, const struct prediction *p,
                       struct error *err)
{
    raytrain_predictor *predictor = c->ctx->predictor;
    raytrain_tensor row;
    const char *name;
    size_t at = 0;

    for (size_t i = 0; (name = predictor_output_at(predictor, i, &row)); i++) {
        if (predictor_put(predictor, name, p->outputs.memory + at, err) < 0 ||
            room_add(&at, output_bytes(&row), p->rows, err) < 0)
            return -1;
    }
    return 0;
}

/* Make room for the outputs of a batch. Returns as batch_slot_ready(). */
static int outputs_room(struct companion *c, struct prediction *p, struct reply *reply,
                        struct error *err)
{
    json_t *offsets = json_array();
    raytrain_tensor row;
    size_t bytes = 0;

    for (size_t i = 0; predictor_output_at(c->ctx->predictor, i, &row); i++) {
        json_array_append_new(offsets, json_integer((json_int_t)bytes));
        if (room_add(&bytes, output_bytes(&row), p->rows, err) < 0) {
            json_decref(offsets);
            return -1;
        }
    }
    if (reply_set(reply, "outputs", offsets, err) < 0)
        return -1;
    return batch_slot_ready(&p->outputs, bytes, 1, err);
}

/* Copy the rows of the batch into the slot. Returns as batch_slot_ready(). */
static int rows_room(struct companion *c, struct prediction *p, struct batch_slot *slot,
                     struct reply *reply, struct error *err)
{
    const struct frame *batch = dataset_batch(predictor_dataset(c->ctx->predictor));
    size_t bytes;
    int is_new;

    if (frame_places(batch, p->rows, p->places, &bytes, err) < 0)
        return -1;
    is_new = batch_slot_ready(slot, bytes, 1, err);
    if (is_new < 0)
        return -1;
    frame_copy(batch, p->rows, p->places, slot->memory);
    if (reply_set(reply, "places", frame_places_json(p->places, batch->n_columns),
                  err) < 0)
        return -1;
    return is_new;
}

static int prediction_batch_reply(struct companion *c, struct prediction *p,
                                  struct batch_slot *slot, struct reply *reply,
                                  struct error *err)
{
    int new_rows = rows_room(c, p, slot, reply, err), new_outputs;

    if (new_rows < 0)
        return -1;
    new_outputs = outputs_room(c, p, reply, err);
    if (new_outputs < 0)
        return -1;
    if (new_rows)
        reply->fds[reply->n_fds++] = slot->fd;
    if (new_outputs)
        reply->fds[reply->n_fds++] = p->outputs.fd;
    return reply_set(reply, "new", json_pack("[b, b]", new_rows, new_outputs), err);
}

static int handle_predict_next(struct companion *c, const struct request *q,
                               struct reply *reply, struct error *err)
{
    struct prediction *p = prediction_of(c, err);
    int64_t number;
    int rc;

    if (!p || request_integer(q, "slot", &number, err) < 0)
        return -1;
    if (number < 0 || number >= BATCH_SLOTS)
        return error_set(err, RAYTRAIN_EINVAL, "there is no slot %lld",
                         (long long)number);
    if (p->rows > 0 && request_flag(q, "put") && outputs_put(c, p, err) < 0)
        return -1;
    rc = session_predict_first(c->ctx, c->ctx->predictor, err);
    if (rc == 0)
        rc = predictor_next(c->ctx->predictor, &p->rows, err);
    if (rc < 0)
        return -1;
    if (rc == 0 && prediction_batch_reply(c, p, &p->slots[number], reply, err) < 0)
        return -1;
    return reply_set(reply, "rows", json_integer((json_int_t)p->rows), err);
}

static int handle_predict_fail(struct companion *c, const struct request *q,
                               struct reply *reply, struct error *err)
{
    const char *text = json_string_value(json_object_get(q->args, "text"));
    struct prediction *p = prediction_of(c, err);
    struct error why;

    (void)reply;
    if (!p)
        return -1;
    error_set(&why, request_flag(q, "of_rows") ? RAYTRAIN_EINVAL : RAYTRAIN_EFAILED,
              "%s", text ? text : "the predictor failed");
    p->rows = 0;
    return predictor_fail(c->ctx->predictor, &why, err);
}

static const struct request_row predict_request_rows[] = {
    {"predict_open", handle_predict_open},
    {"predict_begin", handle_predict_begin},
    {"predict_fail", handle_predict_fail},
    {"predict_next", handle_predict_next},
    {NULL, NULL},
};

const struct request_family predict_requests = {
    .rows = predict_request_rows,
    .close = prediction_close,
};
