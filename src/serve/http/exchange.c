/* exchange.c - what the routes do with an exchange: its header, its answer, a refusal. */
#include "http/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *exchange_header(struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

void exchange_answer(struct exchange *x, int status, int rc)
{
    x->status = rc < 0 ? 503 : status;
    if (rc < 0) {
        x->answer = (struct infer_answer){.content_type = "application/json"};
        x->fixed = "{\"error\": \"out of memory\"}";
    }
}

void exchange_refuse(struct exchange *x, int status, const char *fmt, ...)
{
    char text[REQUEST_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    exchange_answer(x, status, infer_error_write(text, &x->answer));
}

void exchange_forget(struct exchange *x)
{
    service_request_clear(&x->q);
    infer_request_clear(&x->asked);
    service_release(x->service, x->held);
    x->held = NULL;
    free(x->inputs);
    x->inputs = NULL;
    atomic_fetch_sub(&x->front->outputs, x->outputs);
    x->outputs = 0;
}
