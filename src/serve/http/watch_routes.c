/*
 * watch_routes.c - the routes that show what the service does: metrics for Prometheus,
 * the same numbers for the page, and the page.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/front_page.h"
#include "http/route.h"

/* ---- /metrics ---- */

struct metric {
    const char *name, *type, *help;
    double (*of)(const struct service_state *state);
};

static double rows_of(const struct service_state *state)
{
    return (double)state->counts.rows;
}

static double queue_of(const struct service_state *state)
{
    return (double)state->queue;
}

static double under_way_of(const struct service_state *state)
{
    return (double)state->under_way;
}

static double workers_of(const struct service_state *state)
{
    return (double)state->workers;
}

static double lost_of(const struct service_state *state)
{
    return (double)state->counts.workers_lost;
}

static double retries_of(const struct service_state *state)
{
    return (double)state->counts.retries;
}

static double switches_of(const struct service_state *state)
{
    return (double)state->counts.switches;
}

static double ready_of(const struct service_state *state)
{
    return state->ready;
}

static double current_version(const struct service_state *state)
{
    return state->n_versions > 0 ? (double)state->versions[0] : -1;
}

static const struct metric metrics[] = {
    {"rows_total", "counter", "Rows that were predicted.", rows_of},
    {"queue_requests", "gauge", "Requests that wait for a worker.", queue_of},
    {"batches_under_way", "gauge", "Batches that workers have.", under_way_of},
    {"workers", "gauge", "Workers that are connected.", workers_of},
    {"workers_lost_total", "counter", "Workers that have ended.", lost_of},
    {"retries_total", "counter", "Requests that were sent to another worker.",
     retries_of},
    {"switches_total", "counter", "Changes of the version.", switches_of},
    {"ready", "gauge", "1 if predictions are answered.", ready_of},
    {"model_version", "gauge", "The current version.", current_version},
};

#define N_METRICS (sizeof metrics / sizeof *metrics)

/* Names of models in labels: quotes, backslashes and line ends are escaped. */
static void label_write(FILE *out, const char *name)
{
    fputs("{model=\"", out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', out);
        if (*name == '\n')
            fputs("\\n", out);
        else
            fputc(*name, out);
    }
    fputc('"', out);
}

static void metric_head_write(FILE *out, const char *name, const char *type,
                              const char *help)
{
    fprintf(out, "# HELP raytrain_serve_%s %s\n# TYPE raytrain_serve_%s %s\n", name,
            help, name, type);
}

static void histogram_write(FILE *out, const char *name, const char *model,
                            const uint64_t counts[], const double ends[], size_t n,
                            double sum)
{
    uint64_t below = 0;

    for (size_t i = 0; i < n; i++) {
        below += counts[i];
        fprintf(out, "raytrain_serve_%s_bucket", name);
        label_write(out, model);
        if (i + 1 < n)
            fprintf(out, ",le=\"%g\"} %" PRIu64 "\n", ends[i], below);
        else
            fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", below);
    }
    fprintf(out, "raytrain_serve_%s_sum", name);
    label_write(out, model);
    fprintf(out, "} %.9g\nraytrain_serve_%s_count", sum, name);
    label_write(out, model);
    fprintf(out, "} %" PRIu64 "\n", below);
}

static void histograms_write(FILE *out, const struct front_options *o,
                             const struct service_state states[])
{
    double ends[COUNT_BATCHES];

    for (int i = 0; i < COUNT_BATCHES; i++)
        ends[i] = (double)((uint64_t)1 << i);
    metric_head_write(out, "latency_seconds", "histogram",
                      "From the arrival of a request to its predictions.");
    for (size_t i = 0; i < o->n_services; i++)
        histogram_write(out, "latency_seconds", service_name(o->services[i]),
                        states[i].counts.latencies, service_latency_ends,
                        COUNT_LATENCIES, states[i].counts.latency_s);
    metric_head_write(out, "batch_rows", "histogram", "Rows of the batches.");
    for (size_t i = 0; i < o->n_services; i++)
        histogram_write(out, "batch_rows", service_name(o->services[i]),
                        states[i].counts.batches, ends, COUNT_BATCHES,
                        (double)states[i].counts.batch_rows);
}

static void requests_write(FILE *out, const struct front_options *o,
                           const struct service_state states[])
{
    metric_head_write(out, "requests_total", "counter",
                      "Requests for predictions, by outcome.");
    for (size_t i = 0; i < o->n_services; i++)
        for (int kind = 0; kind < COUNT_ANSWERS; kind++) {
            fputs("raytrain_serve_requests_total", out);
            label_write(out, service_name(o->services[i]));
            fprintf(out, ",outcome=\"%s\"} %" PRIu64 "\n", service_answer_names[kind],
                    states[i].counts.answers[kind]);
        }
}

static void models_write(FILE *out, const struct front_options *o,
                         const struct service_state states[])
{
    for (size_t m = 0; m < N_METRICS; m++) {
        metric_head_write(out, metrics[m].name, metrics[m].type, metrics[m].help);
        for (size_t i = 0; i < o->n_services; i++) {
            fprintf(out, "raytrain_serve_%s", metrics[m].name);
            label_write(out, service_name(o->services[i]));
            fprintf(out, "} %.17g\n", metrics[m].of(&states[i]));
        }
    }
    requests_write(out, o, states);
    histograms_write(out, o, states);
}

static void http_write(FILE *out, struct front *f)
{
    struct clients_state clients;

    metric_head_write(out, "http_responses_total", "counter", "Answers, by status.");
    for (int status = 0; status < STATUS_MAX; status++) {
        uint64_t n = atomic_load(&f->answers[status]);

        if (n > 0)
            fprintf(out,
                    "raytrain_serve_http_responses_total{code=\"%d\"} %" PRIu64 "\n",
                    status, n);
    }
    clients_look(f->clients, &clients);
    metric_head_write(out, "connections", "gauge", "Clients that are connected.");
    fprintf(out, "raytrain_serve_connections %zu\n", clients.now);
    metric_head_write(out, "connections_total", "counter",
                      "Clients that have connected.");
    fprintf(out, "raytrain_serve_connections_total %" PRIu64 "\n", clients.all);
    metric_head_write(out, "connections_late_total", "counter",
                      "Clients that were disconnected because they were too slow.");
    fprintf(out, "raytrain_serve_connections_late_total %" PRIu64 "\n", clients.late);
    metric_head_write(out, "connections_pushed_total", "counter",
                      "Clients that were disconnected because there were too many.");
    fprintf(out, "raytrain_serve_connections_pushed_total %" PRIu64 "\n",
            clients.pushed);
    metric_head_write(
        out, "connections_unread_total", "counter",
        "Clients that were disconnected because too many answers were not read.");
    fprintf(out, "raytrain_serve_connections_unread_total %" PRIu64 "\n",
            clients.unread);
}

/* The state of each service; NULL: no memory. */
static struct service_state *states_of(const struct front_options *o)
{
    struct service_state *states = calloc(o->n_services + 1, sizeof *states);

    for (size_t i = 0; states && i < o->n_services; i++)
        service_look(o->services[i], &states[i]);
    return states;
}

void answer_metrics(struct exchange *x)
{
    struct service_state *states = states_of(&x->front->o);
    FILE *out = open_memstream(&x->answer.bytes, &x->answer.n_bytes);
    int rc = states && out ? 0 : -1;

    if (rc == 0) {
        models_write(out, &x->front->o, states);
        http_write(out, x->front);
    }
    if (out && fclose(out) != 0)
        rc = -1;
    free(states);
    if (rc < 0)
        infer_answer_clear(&x->answer);
    x->answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    exchange_answer(x, 200, rc);
}

/* ---- /raytrain/state ---- */

static json_t *model_state(const char *name, const struct service_state *state)
{
    json_t *versions = json_array(), *answers = json_object();

    for (size_t i = 0; i < state->n_versions; i++)
        json_array_append_new(versions, json_integer(state->versions[i]));
    for (int i = 0; i < COUNT_ANSWERS; i++)
        json_object_set_new(answers, service_answer_names[i],
                            json_integer((json_int_t)state->counts.answers[i]));
    return json_pack("{s:s, s:b, s:o, s:I, s:I, s:I, s:o, s:I, s:f, s:f}", "name", name,
                     "ready", (int)state->ready, "versions", versions, "workers",
                     (json_int_t)state->workers, "queue", (json_int_t)state->queue,
                     "under_way", (json_int_t)state->under_way, "requests", answers,
                     "rows", (json_int_t)state->counts.rows, "p50",
                     service_counts_quantile(&state->counts, 0.5), "p99",
                     service_counts_quantile(&state->counts, 0.99));
}

void answer_state(struct exchange *x)
{
    const struct front_options *o = &x->front->o;
    struct service_state *states = states_of(o);
    json_t *models = json_array(), *all = json_pack("{s:o}", "models", models);

    for (size_t i = 0; states && i < o->n_services; i++)
        json_array_append_new(models,
                              model_state(service_name(o->services[i]), &states[i]));
    free(states);
    x->answer.bytes = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    x->answer.n_bytes = x->answer.bytes ? strlen(x->answer.bytes) : 0;
    x->answer.content_type = "application/json";
    exchange_answer(x, 200, x->answer.bytes && states ? 0 : -1);
}

/* ---- / ---- */

void answer_page(struct exchange *x)
{
    x->fixed = front_page;
    x->answer.content_type = "text/html; charset=utf-8";
    exchange_answer(x, 200, 0);
}
