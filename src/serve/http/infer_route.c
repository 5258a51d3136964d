/*
 * infer_route.c - predictions: the rows of a request go to the service, while the
 * connection is suspended; when the answer is there, libmicrohttpd calls again.
 */
#include <stdlib.h>

#include "http/route.h"
#include "http/served_model.h"

/* By any thread. The exchange is not ours any more after this. */
static void resume(struct service_request *q)
{
    struct exchange *x = q->arg;

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
        .rows = x->asked.rows, .inputs = x->inputs, .done = resume, .arg = x};
    return x->inputs != NULL;
}

static bool body_parse(struct exchange *x)
{
    const struct infer_body body = {
        .bytes = x->body,
        .n_bytes = x->n,
        .content_type = exchange_header(x, "Content-Type"),
        .header_length = exchange_header(x, "Inference-Header-Content-Length")};
    const struct infer_limits limits = {.rows = x->front->o.limits.rows};
    struct infer_refusal why;

    if (infer_request_parse(served_model_of(x->edition), &body, &limits, &x->asked,
                            &why) < 0) {
        exchange_refuse(x, why.status, "%s", why.text);
        return false;
    }
    x->rows = x->asked.rows;
    if (x->rows == 0)
        exchange_refuse(x, 400, "the inputs have no rows: their first dimension is 0");
    return x->rows > 0;
}

/* The answer may come before service_submit() returns; then MHD calls again after this. */
void answer_infer(struct exchange *x)
{
    int status;

    if (!route_edition(x) || !body_parse(x) || !rows_pass(x))
        return;
    x->version = x->edition->model.version;
    x->waits = true;
    clients_set(x->front->clients, x->client, CLIENT_WAITS, x->since);
    MHD_suspend_connection(x->connection);
    status = service_submit(x->service, x->edition, &x->q);
    if (status != 0)
        MHD_resume_connection(x->connection);
}

void answer_infer_done(struct exchange *x)
{
    size_t n = x->edition->model.n_outputs;
    struct infer_data *outputs = calloc(n + 1, sizeof *outputs);
    struct infer_refusal why;
    int rc;

    x->waits = false;
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
                       : x->rows * service_row_bytes(&x->edition->model.outputs[i]);
    }
    rc = infer_response_write(served_model_of(x->edition), &x->asked, outputs,
                              &x->answer, &why);
    if (rc < 0)
        exchange_refuse(x, why.status, "%s", why.text);
    else
        exchange_answer(x, 200, 0);
    free(outputs);
}
