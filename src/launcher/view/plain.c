/* plain.c - lines about attempts and reports, for logs and pipes. A terminal gets
 * block.c's. */
#include "view/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/quote.h"
#include "view/duration.h"

char *plain_attempt(const struct run_state *v)
{
    char *text, attempt[32] = "";

    if (!v->predicts || v->attempt > 0)
        snprintf(attempt, sizeof attempt, "attempt %d: ", v->attempt);
    if (asprintf(&text, "%s%d worker%s on %zu node%s, launcher %s", attempt, v->workers,
                 v->workers == 1 ? "" : "s", v->nodes, v->nodes == 1 ? "" : "s",
                 v->launcher) < 0)
        return NULL;
    return text;
}

/* The metrics of this report. */
static void plain_metrics_write(FILE *out, const struct run_state *v)
{
    char text[METRIC_TEXT];
    size_t n = 0;

    for (size_t i = 0; i < v->n_metrics; i++) {
        const struct metric_view *m = v->metrics[i];

        if (m->iteration != v->iteration || n++ >= METRICS_SHOWN)
            continue;
        fprintf(out, "  %s %s", m->name, metric_view_text(m, text));
    }
    if (n > METRICS_SHOWN)
        fprintf(out, "  and %zu more", n - METRICS_SHOWN);
}

static void report_write(FILE *out, const struct run_state *v, double now)
{
    double left = run_state_remaining(v, now);
    char time[DURATION_TEXT];
    int64_t last = run_state_last(v);

    if (v->predicts)
        fprintf(out, "rows %" PRId64, v->rows.done);
    else
        fprintf(out, "iteration %" PRId64, v->iteration);
    if (v->predicts && v->rows.total > 0)
        last = v->rows.total;
    if (last > 0)
        fprintf(out, " of %" PRId64, last);
    plain_metrics_write(out, v);
    fprintf(out, "  %.1f s", v->total_s);
    if (!isnan(left) && v->running)
        fprintf(out, "  remaining %s", duration_text(ceil(left), time));
    if (v->saving == v->iteration || v->newest == v->iteration)
        fputs("  checkpoint", out);
}

char *plain_report(const struct run_state *v, double now)
{
    char *text = NULL, *printable;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    report_write(out, v, now);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    printable = printable_text(text);
    free(text);
    return printable;
}
