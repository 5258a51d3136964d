/* report_impl.h - inside a report: report_combine.c combines it, report.c keeps it. */
#ifndef RAYTRAIN_SESSION_REPORT_IMPL_H
#define RAYTRAIN_SESSION_REPORT_IMPL_H

#include "session/report_block.h"
#include "session/reports.h"
#include "session/session.h"

/* A report, and its combination over all ranks. */
struct combined {
    struct report report;
    struct comm_stat block[REPORT_BLOCK_MAX];
    struct comm_stat *stats; /* one per metric */
    int ranks;               /* the number of ranks in them */
    /* The values of the report: means, or values of rank 0, which the other ranks have
     * only if they need them. */
    struct checkpoint_metric *values;
};

/* The call of one rank. */
struct call {
    const char *name; /* that the user knows, for messages */
    enum report_kind kind;
    const raytrain_metric *metrics;
    size_t n;
    raytrain_checkpoint *ck;    /* NULL once saving owns it */
    struct loose_report *loose; /* REPORT_LOOSE: makes the checkpoint */
};

/* -- report_combine.c -- */
void report_combined_free(struct combined *c);
/* A rank whose call is wrong takes part, too, since the others wait for it. */
void report_begin(raytrain_context *ctx, struct combined *c, const struct call *call,
                  struct error *err);
double report_mean_of(const struct combined *c, size_t i);
bool report_keeps_rank0(const struct combined *c);
/* How long this rank has waited for rows of the configuration's datasets in this
 * attempt; -1: it has opened none. */
double report_data_waited_s(const raytrain_context *ctx);
int report_combine(raytrain_context *ctx, struct combined *c, struct error *err);

#endif
