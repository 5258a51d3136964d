/*
 * route.h - which function handles which method and path. Paths are only compared with
 * a table; nothing else is done with them.
 */
#ifndef RAYTRAIN_HTTP_ROUTE_H
#define RAYTRAIN_HTTP_ROUTE_H

#include <stdbool.h>

#include "http/exchange.h"

struct route {
    const char *method;
    const char *path; /* each "*" is one part of any text, which becomes an argument */
    bool is_open;     /* without a token */
    bool waits;       /* its answer may take a while: the client needs a slot */
    /* Answers, or sets x->waits: an answer will come. Called when the body is complete. */
    void (*answer)(struct exchange *x);
};

/* Fill x->route and x->args. Else the status, 404 or 405, and x->allow if the path has
 * other methods; 204: the answer to OPTIONS; 500: no memory. */
int route_find(struct exchange *x, const char *method, const char *path);

/* One family of routes a file: answers of model_routes.c, infer_route.c, watch_routes.c. */
void answer_live(struct exchange *x);
void answer_ready(struct exchange *x);
void answer_server(struct exchange *x);
void answer_model(struct exchange *x);
void answer_model_ready(struct exchange *x);
void answer_index(struct exchange *x);
void answer_infer(struct exchange *x);
/* The answer of the service has come. */
void answer_infer_done(struct exchange *x);
void answer_metrics(struct exchange *x);
void answer_state(struct exchange *x);
void answer_page(struct exchange *x);

#endif
