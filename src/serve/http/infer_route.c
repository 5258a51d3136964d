/*
 * infer_route.c - predictions: the rows of a request go to the service, and the
 * connection is suspended until the answer has arrived. Then libmicrohttpd calls again.
 * If there is only one client, this thread first waits for the answer itself for a
 * moment, because otherwise another thread would have to be woken to receive it, and to
 * wake this one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "http/named_model.h"
#include "http/route.h"
#include "http/served_model.h"

/* The length of that moment. Other clients of this thread have to wait, too. */
#define HELP_MS 1

enum phase { PHASE_ASKED, PHASE_SUSPENDED, PHASE_ANSWERED };

/* Called by any thread. After this, the exchange may not be used here. */
static void on_answer(struct service_request *q)
{
    struct exchange *x = q->arg;

    atomic_fetch_sub(&x->front->asking, 1);
    if (atomic_exchange(&x->phase, PHASE_ANSWERED) == PHASE_SUSPENDED)
        MHD_resume_connection(x->connection);
}

/* The answer may come at any time; then libmicrohttpd calls again after this. */
static void suspend(struct exchange *x)
{
    int phase = PHASE_ASKED;

    MHD_suspend_connection(x->connection);
    if (!atomic_compare_exchange_strong(&x->phase, &phase, PHASE_SUSPENDED))
        MHD_resume_connection(x->connection);
}

/* The rows as the service takes them; they stay where they are. */
static bool rows_pass(struct exchange *x)
{
    x->inputs = calloc(x->asked.n_inputs + 1, sizeof *x->inputs);
    for (size_t i = 0; x->inputs && i < x->asked.n_inputs; i++)
        x->inputs[i] = (struct service_rows){.data = x->asked.inputs[i].bytes,
                                             .offsets = x->asked.inputs[i].offsets};
    if (!x->inputs)
        exchange_refuse(x, 503, "out of memory");
    x->q = (struct service_request){
        .rows = x->asked.rows, .inputs = x->inputs, .done = on_answer, .arg = x};
    return x->inputs != NULL;
}

/* Memory for the predictions; of texts, only their offsets are known yet. */
static bool outputs_admit(struct exchange *x)
{
    const struct service_hello *model = &x->held->model;
    struct front *f = x->front;
    uint64_t bytes = 0;

    for (size_t i = 0; i < model->n_outputs; i++) {
        const struct service_column *c = &model->outputs[i];
        uint64_t width =
            c->kind == SERVICE_TEXT ? sizeof(uint64_t) : service_row_bytes(c);
        uint64_t n;

        if (__builtin_mul_overflow(width, x->rows, &n) ||
            __builtin_add_overflow(bytes, n, &bytes))
            bytes = UINT64_MAX;
    }
    if (bytes > f->o.limits.answers) {
        exchange_refuse(x, 413,
                        "the answer for %" PRIu64
                        " rows is too large; send fewer rows at once",
                        x->rows);
        return false;
    }
    x->outputs = bytes;
    if (atomic_fetch_add(&f->outputs, bytes) + bytes <= f->o.limits.answers)
        return true;
    exchange_refuse(x, 503, "too many large answers at once; try again in a moment");
    return false;
}

static bool body_parse(struct exchange *x)
{
    const struct infer_body body = {
        .bytes = x->body,
        .n_bytes = x->n,
        .content_type = exchange_header(x, "Content-Type"),
        .header_length = exchange_header(x, "Inference-Header-Content-Length")};
    const struct front_limits *most = &x->front->o.limits;
    const struct infer_limits limits = {.rows = most->rows, .bytes = most->body};
    struct infer_refusal why;

    if (infer_request_parse(served_model_of(x->held), &body, &limits, &x->asked, &why) <
        0) {
        exchange_refuse(x, why.status, "%s", why.text);
        return false;
    }
    x->rows = x->asked.rows;
    if (x->rows == 0)
        exchange_refuse(x, 400, "the inputs have no rows: their first dimension is 0");
    return x->rows > 0;
}

/* No other request is in progress, and the last one came from the same client. While a
 * thread waits for an answer, it does not read the requests of its other clients; these
 * would then be answered one by one, not in batches. */
static bool is_alone(struct exchange *x)
{
    bool again = atomic_exchange(&x->front->asked, x->client) == x->client;

    return atomic_fetch_add(&x->front->asking, 1) == 0 && again;
}

void answer_infer(struct exchange *x)
{
    bool alone;

    if (!route_version(x) || !body_parse(x) || !outputs_admit(x) || !rows_pass(x))
        return;
    x->version = x->held->model.version;
    x->waits = true;
    clients_set(x->front->clients, x->client, CLIENT_WAITS, x->since);
    atomic_store(&x->phase, PHASE_ASKED);
    alone = is_alone(x);
    if (service_submit(x->service, x->held, &x->q) != 0)
        on_answer(&x->q);
    else if (alone)
        service_help(x->service, x->held, HELP_MS);
    if (atomic_load(&x->phase) == PHASE_ANSWERED)
        answer_infer_done(x);
    else
        suspend(x);
}

/* Submit it again to the version that is current now, which may differ: start from the
 * body. */
static void ask_again(struct exchange *x)
{
    x->is_again = true;
    exchange_forget(x);
    answer_infer(x);
}

void answer_infer_done(struct exchange *x)
{
    size_t n = x->held->model.n_outputs;
    struct infer_data *outputs = calloc(n + 1, sizeof *outputs);
    struct infer_refusal why;
    int rc;

    x->waits = false;
    if (x->q.version_ended && !x->is_again && !route_names_version(x)) {
        free(outputs);
        ask_again(x);
        return;
    }
    if (x->q.status != 200 || !outputs) {
        exchange_refuse(x, x->q.status != 200 ? x->q.status : 503, "%s",
                        x->q.status != 200 ? x->q.text : "out of memory");
        free(outputs);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct service_rows *o = &x->q.outputs[i];

        outputs[i].bytes = o->data;
        outputs[i].offsets = o->offsets;
        outputs[i].n_bytes =
            o->offsets ? o->offsets[x->rows]
                       : x->rows * service_row_bytes(&x->held->model.outputs[i]);
    }
    rc = infer_response_write(served_model_of(x->held), &x->asked, outputs, &x->answer,
                              &why);
    if (rc < 0)
        exchange_refuse(x, why.status, "%s", why.text);
    else
        exchange_answer(x, 200, 0);
    free(outputs);
}
