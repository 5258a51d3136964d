/*
 * model_routes.c - the routes about the server and its models: which there are, and
 * whether they are ready.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/named_model.h"
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
    char numbers[SERVICE_VERSIONS_MAX][24];
    const char *versions[SERVICE_VERSIONS_MAX];
    struct service_state state;

    if (!route_version(x))
        return;
    service_look(x->service, &state);
    for (size_t i = 0; i < state.n_versions; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, state.versions[i]);
        versions[i] = numbers[i];
    }
    exchange_answer(x, 200,
                    infer_model_write(served_model_of(x->held), versions,
                                      state.n_versions, &x->answer));
}

void answer_model_ready(struct exchange *x)
{
    bool ready;

    if (!route_service(x))
        return;
    ready = service_is_ready(x->service);
    if (x->args[1]) {
        if (!route_version(x))
            return;
        ready = service_workers(x->service, x->held->model.version) > 0;
    }
    exchange_answer(x, ready ? 200 : 503,
                    infer_model_ready_write(x->args[0], ready, &x->answer));
}

/* ---- The index ---- */

/* The versions of a model; or the model, without one. */
static size_t index_add(struct service *s, bool only_ready,
                        struct infer_index_entry entries[],
                        char numbers[SERVICE_VERSIONS_MAX][24])
{
    const char *name = service_name(s);
    struct service_state state;
    size_t n = 0;

    service_look(s, &state);
    for (size_t i = 0; i < state.n_versions; i++) {
        bool ready =
            state.ready && (i == 0 || service_workers(s, state.versions[i]) > 0);

        if (only_ready && !ready)
            continue;
        snprintf(numbers[n], sizeof numbers[n], "%" PRId64, state.versions[i]);
        entries[n] = (struct infer_index_entry){name, numbers[n], ready};
        n++;
    }
    if (state.n_versions == 0 && !only_ready)
        entries[n++] = (struct infer_index_entry){name, NULL, false};
    return n;
}

void answer_index(struct exchange *x)
{
    const struct front_options *o = &x->front->o;
    size_t most = o->n_services * SERVICE_VERSIONS_MAX, n = 0;
    struct infer_index_entry *entries;
    struct infer_refusal why;
    char(*numbers)[24];
    bool only_ready;

    if (!infer_index_parse(x->body, x->n, &only_ready, &why)) {
        exchange_refuse(x, why.status, "%s", why.text);
        return;
    }
    entries = calloc(most + 1, sizeof *entries);
    numbers = calloc(most + 1, sizeof *numbers);
    for (size_t i = 0; entries && numbers && i < o->n_services; i++)
        n += index_add(o->services[i], only_ready, entries + n, numbers + n);
    exchange_answer(
        x, 200, entries && numbers ? infer_index_write(entries, n, &x->answer) : -1);
    free(entries);
    free(numbers);
}
