/*
 * raytrain_callback.h - callbacks in C: a shared object that gets the reports and events
 * of a run. The settings are
 *
 *     run_config = { callbacks = ( { type = "library"; path = "./print.so";
 *                                    args = ["--digits", "3"]; } ); };
 *
 * The shared object is loaded by a process of its own, raytrain-callback, which runs
 * beside raytrain-run during the run. A crash or an endless loop in it does not affect
 * the run; if it is slow, it misses events. Its output is in
 * RUN/logs/callback-FILE.log.
 *
 *     #include <raytrain_callback.h>
 *
 *     static void on_report(void *self, const raytrain_callback_report *report)
 *     {
 *         double loss;
 *
 *         if (raytrain_callback_number(report, "loss", &loss) == 0)
 *             printf("%lld %g\n", (long long)raytrain_callback_iteration(report), loss);
 *     }
 *
 *     const raytrain_callback *raytrain_callback_library(void)
 *     {
 *         static const raytrain_callback functions = {
 *             .version = RAYTRAIN_CALLBACK_VERSION, .on_report = on_report};
 *
 *         return &functions;
 *     }
 *
 * Compile it with `cc -shared -fPIC -o print.so print.c`. It needs no library of
 * raytrain: raytrain-callback provides the functions below.
 */
#ifndef RAYTRAIN_CALLBACK_H
#define RAYTRAIN_CALLBACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RAYTRAIN_CALLBACK_API __attribute__((visibility("default")))

#define RAYTRAIN_CALLBACK_VERSION 1

/* A report. It is valid until the function to which it was passed returns. */
typedef struct raytrain_callback_report raytrain_callback_report;

/*
 * The functions of a callback, each of which may be NULL. One thread calls them, one at
 * a time. `self` is the value that `create` has set, or NULL. Texts are UTF-8, and
 * valid until the function returns.
 */
typedef struct raytrain_callback {
    int version; /* RAYTRAIN_CALLBACK_VERSION */

    /* Called once, before all others. argv[0] is the path of the shared object,
     * followed by `args` of the configuration. A result other than 0 ends the
     * callback. */
    int (*create)(int argc, char **argv, void **self);
    /* raytrain-run has begun or continues the run `run`, whose directory is `path`. */
    void (*on_start)(void *self, const char *run, const char *path);
    /* The workers have made a report. */
    void (*on_report)(void *self, const raytrain_callback_report *report);
    /* Any other event: "attempt_start", "checkpoint", "rewind", "note", "attempt_end", or
     * "lost" if the callback missed events. json is the whole event, see
     * raytrain.cfg(5). */
    void (*on_event)(void *self, const char *event, const char *json);
    /* raytrain-run ends. status is "finished", "stopped" or "failed"; json is the event
     * with the Result. */
    void (*on_end)(void *self, const char *status, const char *json);
    /* Called once, after all others. */
    void (*destroy)(void *self);

    void *reserved[8]; /* NULL */
} raytrain_callback;

/* The function that the shared object defines. */
RAYTRAIN_CALLBACK_API const raytrain_callback *raytrain_callback_library(void);

/* ---- What it can call ---- */

/* The number of the report; the first is 1. */
RAYTRAIN_CALLBACK_API int64_t
raytrain_callback_iteration(const raytrain_callback_report *report);

/* Get a number: the value in result.json of a metric, or of another key. Returns 0, or
 * -1 if there is no number of this name. NaN and infinities are numbers. */
RAYTRAIN_CALLBACK_API int
raytrain_callback_number(const raytrain_callback_report *report, const char *name,
                         double *value);

/* Get a text; NULL if there is none of this name. */
RAYTRAIN_CALLBACK_API const char *
raytrain_callback_text(const raytrain_callback_report *report, const char *name);

/* The whole report, as a line of result.json. */
RAYTRAIN_CALLBACK_API const char *
raytrain_callback_json(const raytrain_callback_report *report);

#ifdef __cplusplus
}
#endif

#endif
