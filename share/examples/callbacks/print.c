/*
 * print.c - a callback in C: prints one metric of each report.
 *
 *     cc -shared -fPIC -o print.so print.c
 *
 *     run_config = { callbacks = ( "json",
 *         { type = "library"; path = "./print.so"; args = ["loss"]; } ); };
 *
 * Its output is in RUN/logs/callback-print.so.log.
 */
#include <raytrain_callback.h>

#include <stdio.h>
#include <stdlib.h>

struct print {
    const char *metric;
    double best;
    int reports;
};

static int create(int argc, char **argv, void **self)
{
    struct print *p = calloc(1, sizeof *p);

    if (!p)
        return -1;
    p->metric = argc > 1 ? argv[1] : "loss";
    *self = p;
    return 0;
}

static void on_start(void *self, const char *run, const char *path)
{
    (void)self;
    printf("run %s in %s\n", run, path);
}

static void on_report(void *self, const raytrain_callback_report *report)
{
    struct print *p = self;
    double value;

    if (raytrain_callback_number(report, p->metric, &value) != 0)
        return;
    if (p->reports++ == 0 || value < p->best)
        p->best = value;
    printf("iteration %lld: %s %g, least so far %g\n",
           (long long)raytrain_callback_iteration(report), p->metric, value, p->best);
}

static void on_event(void *self, const char *event, const char *json)
{
    (void)self;
    printf("%s: %s\n", event, json);
}

static void on_end(void *self, const char *status, const char *json)
{
    (void)self;
    (void)json;
    printf("the run has %s\n", status);
}

static void destroy(void *self)
{
    free(self);
}

const raytrain_callback *raytrain_callback_library(void)
{
    static const raytrain_callback functions = {
        .version = RAYTRAIN_CALLBACK_VERSION,
        .create = create,
        .on_start = on_start,
        .on_report = on_report,
        .on_event = on_event,
        .on_end = on_end,
        .destroy = destroy,
    };

    return &functions;
}
