/*
 * reports.h - reports, and the metrics for the next one.
 */
#ifndef RAYTRAIN_SESSION_REPORTS_H
#define RAYTRAIN_SESSION_REPORTS_H

#include "session/session.h"

/*
 * report.c: COLLECTIVE, instead of raytrain_report(). The ranks need not agree: any of
 * them may have a checkpoint, and if the names of their metrics differ, rank 0's
 * metrics count. If this rank's call is wrong, the caller's message for it is passed
 * on, as for other reports.
 */
struct loose_report {
    const raytrain_metric *metrics;
    size_t n_metrics;
    /* What this rank reports, as JSON in one line: rank 0's is kept in result.json
     * (METRICS_REPORTED), and the values of the report are rank 0's. NULL: they are
     * means. */
    const char *reported;
    const char *refused; /* why this rank's call is wrong; NULL: it is not */
    bool has_checkpoint; /* this rank gives one, or a part of it */
    bool asks_stop;      /* what trains asks raytrain_should_stop() */
    bool gathers;        /* rank 0 gathers what each rank reports */
    /* COLLECTIVE: if a rank has a checkpoint, make it from what each rank gives. The
     * outcome is the same on every rank. */
    int (*make)(void *arg, raytrain_checkpoint **out, struct error *err);
    void *make_arg;
    /* The results, the same on every rank. */
    bool saved; /* some rank had a checkpoint */
    /* The training must end: no rank asks whether it should, and its reports are
     * durable. */
    bool leave;
};
int session_report_loose(raytrain_context *ctx, struct loose_report *r,
                         struct error *err);
/* worker_reports.c: COLLECTIVE. Gather the JSON objects that the ranks report, NULL
 * being an empty one, as an array on rank 0: *out is malloc'ed there, and NULL on the
 * other ranks and if it is too long, which is reported once. */
int session_worker_reports(raytrain_context *ctx, const char *reported, char **out,
                           struct error *err);
int session_report_finish(raytrain_context *ctx, struct error *err);
/* Rank 0: make sure that result.json has the line of the report that published the
 * checkpoint this attempt starts from, even if the last attempt died in between. */
int session_report_mend(raytrain_context *ctx, struct error *err);

/* metric_calls.c: messages begin with `call`. */
int session_metric_name_check(const char *call, const char *name, struct error *err);
/* Set integers, texts and vectors for the next report: the members of a JSON object. */
int session_typed_take(raytrain_context *ctx, const char *call, const json_t *metrics,
                       struct error *err);

#endif
