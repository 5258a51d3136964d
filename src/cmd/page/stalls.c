/* stalls.c - where the time of the run went: training, waiting for data, waiting for
 * checkpoints, and work that was done twice. */
#include "config.h"

#include "page/sections.h"

#include <math.h>
#include <stdlib.h>

#include "inspect/output.h"
#include "page/curve.h"
#include "page/grid.h"
#include "page/html.h"
#include "page/measures.h"

/* Some fields of reports, with the names that they have on the page. */
static const struct {
    const char *field, *name, *id;
    bool sparse, always; /* shown even if all of them are zero */
} curves[] = {
    {"time_this_iter_s", "Time per iteration", "time-iteration", false, true},
    {"data_wait_s", "Wait for data", "time-data", false, false},
    {"checkpoint_stall_s", "Wait for checkpoints", "time-checkpoint", true, false},
};
#define CURVES (sizeof curves / sizeof *curves)

static struct series series_of(const struct facts *f, const char *field, bool sparse)
{
    return (struct series){&f->table, NULL, series_field(field), sparse};
}

static double total_of(const struct facts *f, const char *field, size_t *n)
{
    struct series s = series_of(f, field, true);
    struct series_summary sum;

    series_summarize(&s, &sum);
    *n = sum.numbers;
    return sum.numbers ? sum.sum : NAN;
}

/* ---- The bar and its table ---- */

struct part {
    const char *name, *class, *what;
    double seconds;
};

static void bar_write(FILE *out, const struct part *parts, size_t n, double total)
{
    char text[HTML_NUMBER_MAX];

    fputs("<div class=\"shares\" aria-hidden=\"true\">", out);
    for (size_t i = 0; i < n; i++)
        if (parts[i].seconds > 0)
            fprintf(out,
                    "<span class=\"%s\" style=\"width:%.3f%%\" title=\"%s: %s\">"
                    "</span>",
                    parts[i].class, 100 * parts[i].seconds / total, parts[i].name,
                    duration_text(parts[i].seconds, text));
    fputs("</div>\n", out);
}

static void parts_write(FILE *out, const struct part *parts, size_t n, double total)
{
    static const char *const titles[] = {"Time", "#In all", "#Share", "What it is"};
    char text[HTML_NUMBER_MAX];
    struct grid g;

    bar_write(out, parts, n, total);
    grid_begin(&g, out, "Where the time went, of reports that count", titles, 4);
    for (size_t i = 0; i < n; i++) {
        if (isnan(parts[i].seconds))
            continue;
        grid_cell(&g);
        fprintf(out, "<span class=\"key %s\"></span>%s", parts[i].class, parts[i].name);
        grid_text(&g, duration_text(parts[i].seconds, text));
        grid_cell(&g);
        fprintf(out, "%.3g %%", 100 * parts[i].seconds / total);
        grid_text(&g, parts[i].what);
    }
    grid_end(&g, 0);
}

static double lost_of(const struct facts *f)
{
    double lost = 0;
    size_t i;
    json_t *a;

    json_array_foreach((json_t *)(uintptr_t)f->attempts, i, a)
    {
        if (facts_number(a, "lost_seconds") > 0)
            lost += facts_number(a, "lost_seconds");
    }
    return lost > 0 ? lost : NAN;
}

static void shares_write(FILE *out, const struct facts *f)
{
    size_t reports, waits, saves;
    double trained = total_of(f, "time_this_iter_s", &reports);
    double data = total_of(f, "data_wait_s", &waits);
    double stall = total_of(f, "checkpoint_stall_s", &saves), lost = lost_of(f);
    double rest = trained - (data > 0 ? data : 0) - (stall > 0 ? stall : 0);
    double total = trained + (lost > 0 ? lost : 0);
    char saved[120] = "";
    struct part parts[] = {
        {"Training", "training", "the rest of the iterations", rest > 0 ? rest : 0},
        {"Wait for data", "data", "the rank that waited longest for rows", data},
        {"Wait for checkpoints", "saving", saved, stall},
        {"Repeated", "lost", "work of failed attempts that had to be done again", lost},
    };

    if (!(total > 0))
        return;
    snprintf(saved, sizeof saved, "training waited for %zu checkpoint%s", saves,
             saves == 1 ? "" : "s");
    parts_write(out, parts, sizeof parts / sizeof *parts, total);
}

/* ---- The section ---- */

static int curves_write(FILE *out, const struct facts *f, struct error *err)
{
    double *starts;
    size_t n_starts;
    int rc = measures_starts(f, &starts, &n_starts, err);

    fputs("<div class=\"curves\">\n", out);
    for (size_t i = 0; rc == 0 && i < CURVES; i++) {
        struct curve c = {.name = curves[i].name,
                          .unit = "s",
                          .id = curves[i].id,
                          .series = series_of(f, curves[i].field, curves[i].sparse),
                          .room = measures_room(f),
                          .starts = starts,
                          .n_starts = n_starts};
        struct series_summary sum;

        series_summarize(&c.series, &sum);
        if (sum.numbers > 0 && (curves[i].always || sum.highest.value > 0))
            rc = curve_write(out, &c, err);
    }
    fputs("</div>\n", out);
    free(starts);
    return rc;
}

int time_write(FILE *out, const struct facts *f, struct error *err)
{
    int rc;

    if (f->table.n == 0)
        return 0;
    fputs("<section id=\"time\" aria-labelledby=\"time-title\">"
          "<h2 id=\"time-title\">Time</h2>\n",
          out);
    shares_write(out, f);
    rc = curves_write(out, f, err);
    fputs("</section>\n", out);
    return rc;
}
