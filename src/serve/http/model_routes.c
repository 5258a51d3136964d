/* model_routes.c - what there is: the server, its models, and whether they are ready. */
#include <inttypes.h>
#include <stdio.h>

#include "http/route.h"
#include "http/served_model.h"

void answer_live(struct exchange *x)
{
    exchange_answer(x, 200, infer_server_live_write(true, &x->answer));
}

void answer_ready(struct exchange *x)
{
    const struct front_options *o = &x->front->o;
    bool ready = o->n_services > 0;

    for (size_t i = 0; ready && i < o->n_services; i++)
        ready = service_is_ready(o->services[i]);
    exchange_answer(x, ready ? 200 : 503, infer_server_ready_write(ready, &x->answer));
}

void answer_server(struct exchange *x)
{
    exchange_answer(
        x, 200, infer_server_write("raytrain-serve", x->front->o.version, &x->answer));
}

void answer_model(struct exchange *x)
{
    char texts[SERVICE_VERSIONS_MAX][24];
    const char *versions[SERVICE_VERSIONS_MAX];
    struct service_state state;

    if (!route_edition(x))
        return;
    service_look(x->service, &state);
    for (size_t i = 0; i < state.n_versions; i++) {
        snprintf(texts[i], sizeof texts[i], "%" PRId64, state.versions[i]);
        versions[i] = texts[i];
    }
    exchange_answer(x, 200,
                    infer_model_write(served_model_of(x->edition), versions,
                                      state.n_versions, &x->answer));
}

void answer_model_ready(struct exchange *x)
{
    bool ready;

    if (!route_service(x))
        return;
    ready = service_is_ready(x->service);
    if (x->args[1]) {
        if (!route_edition(x))
            return;
        ready = service_workers(x->service, x->edition->model.version) > 0;
    }
    exchange_answer(x, ready ? 200 : 503,
                    infer_model_ready_write(x->args[0], ready, &x->answer));
}
