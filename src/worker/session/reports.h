/*
 * reports.h - reports, and the metrics for the next one.
 */
#ifndef RAYTRAIN_SESSION_REPORTS_H
#define RAYTRAIN_SESSION_REPORTS_H

#include "session/session.h"

/*
 * report.c: COLLECTIVE, instead of raytrain_report(). The ranks need not agree: any of
 * them may have a checkpoint, and if the names of their metrics differ, rank 0's metrics
 * are those of all. The caller's words for what is wrong with this rank's call are passed
 * on, like those for any other report.
 */
struct loose_report {
    const raytrain_metric *metrics;
    size_t n_metrics;
    /* What this rank reports, as JSON in one line: of rank 0, it is kept in result.json
     * (METRICS_REPORTED), and the values of the report are those of rank 0. NULL: they
     * are the means. */
    const char *reported;
    const char *refused; /* why this rank's call is wrong; NULL: it is not */
    bool has_checkpoint; /* this rank gives one, or a part of it */
    bool asks_stop;      /* what trains asks raytrain_should_stop() */
    bool gathers;        /* rank 0 is to have what each rank reports */
    /* COLLECTIVE: if a rank has a checkpoint, make it, of what each rank gives. The
     * outcome is the same on every rank. */
    int (*make)(void *arg, raytrain_checkpoint **out, struct error *err);
    void *make_arg;
    /* The results, the same on every rank. */
    bool saved; /* some rank had a checkpoint */
    /* Training is to end, no rank asks whether it should, and what it has reported is
     * durable. */
    bool leave;
};
int session_report_loose(raytrain_context *ctx, struct loose_report *r,
                         struct error *err);
/* worker_reports.c: COLLECTIVE. Gather the JSON objects that the ranks report, NULL being an
 * empty one, as an array on rank 0: *out is malloc'ed there, and NULL on the other ranks and
 * if it is too long, which is said once. */
int session_worker_reports(raytrain_context *ctx, const char *reported, char **out,
                           struct error *err);
int session_report_finish(raytrain_context *ctx, struct error *err);
/* Rank 0: make sure that result.json has the line of the report that published the
 * checkpoint this attempt starts from, even if the last attempt died in between. */
int session_report_mend(raytrain_context *ctx, struct error *err);

/* metric_calls.c: `call` begins the messages. */
int session_metric_name_check(const char *call, const char *name, struct error *err);
/* Set integers, texts and vectors for the next report: the members of a JSON object. */
int session_typed_take(raytrain_context *ctx, const char *call, const json_t *metrics,
                       struct error *err);

#endif
