/*
 * block.c - the lines of the block, from top to bottom:
 *
 *   Live        a line that a worker is replacing, such as a progress bar
 *   Head        name, attempt, workers, nodes, GPUs
 *   Progress    iteration of total, a bar
 *   Time        elapsed, remaining, pace, samples/s
 *   Metrics     the last value, and a sparkline of the recent ones
 *   Checkpoint  the newest one, and the one that is being saved
 *   Event       the last one
 */
#include "view/block.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/size.h"
#include "util/sparkline.h"
#include "view/duration.h"

#define INDENT        2
#define LABEL_MIN     10 /* "checkpoint" */
#define VALUE_COLUMNS 11
#define SPARK_MIN     4
#define CELL_COURSE   8 /* columns of a sparkline if several metrics share a line */
#define BAR_MIN       8
#define BAR_MAX       40
#define BEST_FROM     76 /* lines from this width on also have the best value */
#define BEST_COLUMNS  32
#define GIB           (1024.0 * 1024 * 1024)
#define EVENT_MIN     20 /* columns of an event beside its age */

/* ---- Head ---- */

static void restarts_write(struct page *page, const struct run_state *v)
{
    const struct failure_config *cfg = &v->cfg->run_config.failure_config;

    if (v->restarts == 0)
        return;
    if (cfg->max_failures > 0 && !cfg->reset_on_progress)
        page_part(page, INK_BAD, "%d of %d restarts", v->restarts, cfg->max_failures);
    else
        page_part(page, INK_BAD, "%d restart%s", v->restarts,
                  v->restarts == 1 ? "" : "s");
}

/* "GPU 83 % 61/80 GiB" */
static void gpus_write(struct page *page, const struct run_state *v)
{
    char busy[24] = "";

    if (v->gpu_memory_total <= 0)
        return;
    if (!isnan(v->gpu_utilization))
        snprintf(busy, sizeof busy, " %.0f %%", v->gpu_utilization);
    page_part(page, INK_PLAIN, "GPU%s %.0f/%.0f GiB", busy, v->gpu_memory_used / GIB,
              v->gpu_memory_total / GIB);
}

static void head_write(struct page *page, const struct run_state *v)
{
    const char *name = v->cfg->run_config.name;
    int width = page_width(&page->style, name), most = page->style.columns / 2;

    page_cell(page, INK_BOLD, name, width < most ? width : most);
    if (!v->has_attempt) {
        page_part(page, INK_PLAIN, "starting");
    } else {
        if (!v->predicts || v->attempt > 0)
            page_part(page, INK_PLAIN, "attempt %d", v->attempt);
        restarts_write(page, v);
        page_part(page, INK_PLAIN, "%d worker%s", v->workers,
                  v->workers == 1 ? "" : "s");
        page_part(page, INK_PLAIN, "%zu node%s", v->nodes, v->nodes == 1 ? "" : "s");
        page_part(page, INK_PLAIN, "%s", v->launcher);
        gpus_write(page, v);
    }
    page_newline(page);
}

/* ---- Progress ---- */

static void bar_write(struct page *page, double fraction, int columns)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighth = (int)(fraction * columns * 8), full = eighth / 8;
    bool utf8 = page->style.utf8;

    page_text(page, INK_PLAIN, utf8 ? "▕" : "[");
    for (int i = 0; i < full; i++)
        page_text(page, INK_GOOD, utf8 ? "█" : "#");
    if (utf8 && full < columns && eighth % 8 > 0) {
        page_text(page, INK_GOOD, eighths[eighth % 8]);
        full++;
    }
    for (int i = full; i < columns; i++)
        page_text(page, INK_DIM, utf8 ? " " : ".");
    page_text(page, INK_PLAIN, utf8 ? "▏" : "]");
}

static void bar_add(struct page *page, double fraction)
{
    char percent[16];
    int columns;

    snprintf(percent, sizeof percent, "%d%%", (int)(fraction * 100));
    columns = page_room(page) - 2 - 2 - 2 - 4; /* gaps, edges, percent */
    if (columns > BAR_MAX)
        columns = BAR_MAX;
    if (columns >= BAR_MIN) {
        page_spaces(page, 2);
        bar_write(page, fraction, columns);
    }
    page_part(page, INK_PLAIN, "%s", percent);
}

static void progress_write(struct page *page, const struct run_state *v)
{
    double fraction = run_state_fraction(v);
    int64_t last = run_state_last(v);

    if (v->iteration == 0 && last == 0)
        page_text(page, INK_PLAIN, v->running ? "no report yet" : "not running");
    else if (v->predicts)
        page_printf(page, INK_PLAIN, "rows %" PRId64 "/%" PRId64, v->rows.done,
                    v->rows.total);
    else if (last > 0)
        page_printf(page, INK_PLAIN, "iteration %" PRId64 "/%" PRId64, v->iteration,
                    last);
    else
        page_printf(page, INK_PLAIN, "iteration %" PRId64, v->iteration);
    if (!isnan(fraction))
        bar_add(page, fraction);
    page_newline(page);
}

/* ---- Time ---- */

static void time_write(struct page *page, const struct run_state *v, double now)
{
    double left = run_state_remaining(v, now), pace = run_state_pace(v);
    char text[DURATION_TEXT], unit[METRIC_TEXT], number[METRIC_TEXT];
    const struct metric_view *rate = run_state_rate(v, unit);

    page_part(page, INK_PLAIN, "elapsed %s", duration_text(now - v->started, text));
    if (!isnan(left))
        page_part(page, INK_PLAIN, "remaining %s", duration_text(ceil(left), text));
    if (rate)
        page_part(page, INK_PLAIN, "%s %s", metric_number_text(rate->last, number),
                  unit);
    if (!isnan(pace) && pace > 0 && !v->predicts)
        page_part(page, INK_PLAIN, "%s/iteration", pace_text(pace, text));
    page_newline(page);
}

/* ---- Metrics ---- */

/* The columns for labels: those of the longest name, unless that leaves too little
 * room. */
static int label_columns(const struct page *page, const struct run_state *v)
{
    int columns = LABEL_MIN, most = page->style.columns / 3;
    int beside_value = page->style.columns - INDENT - 2 - VALUE_COLUMNS;

    for (size_t i = 0; i < v->n_metrics; i++) {
        int width = (int)strlen(v->metrics[i]->name);

        if (run_state_has_line(v, v->metrics[i]) && width > columns)
            columns = width;
    }
    if (most < LABEL_MIN)
        most = LABEL_MIN;
    if (most > beside_value)
        most = beside_value > 1 ? beside_value : 1;
    return columns < most ? columns : most;
}

static void label_write(struct page *page, const char *label, int columns)
{
    page_spaces(page, INDENT);
    page_cell(page, INK_DIM, label, columns);
    page_spaces(page, 2);
}

static void course_write(struct page *page, const struct metric_view *m, int columns)
{
    double values[METRIC_COURSE];
    char line[SPARKLINE_MAX];
    size_t n = m->n_course < (size_t)columns ? m->n_course : (size_t)columns;

    for (size_t i = 0; i < n; i++)
        values[i] = m->course[m->n_course - n + i].value;
    page_cell(page, INK_PLAIN, sparkline(values, n, n, page->style.utf8, line),
              columns);
}

static void best_write(struct page *page, const struct metric_view *m)
{
    const struct metric_point *best = metric_view_best(m);
    char number[METRIC_TEXT];

    if (best)
        page_part(page, INK_PLAIN, "best %s (iteration %" PRId64 ")",
                  metric_number_text(best->value, number), best->iteration);
}

/* With fewer digits if the value would touch the sparkline. */
static void value_write(struct page *page, const struct metric_view *m)
{
    char text[METRIC_TEXT];

    metric_view_text(m, text);
    if (strlen(text) >= VALUE_COLUMNS)
        snprintf(text, sizeof text, "%.4g", m->last);
    page_cell(page, INK_BOLD, text, VALUE_COLUMNS);
}

static void block_metric_write(struct page *page, const struct metric_view *m,
                               int label)
{
    char text[METRIC_TEXT];
    int columns;

    label_write(page, m->name, label);
    if (!m->is_number) {
        page_text(page, INK_PLAIN, metric_view_text(m, text));
        page_newline(page);
        return;
    }
    value_write(page, m);
    columns = page_room(page) - (page->style.columns >= BEST_FROM ? BEST_COLUMNS : 0);
    if (columns > METRIC_COURSE)
        columns = METRIC_COURSE;
    if (columns >= SPARK_MIN && m->n_course > 1)
        course_write(page, m, columns);
    if (page->style.columns >= BEST_FROM)
        best_write(page, m);
    page_newline(page);
}

/* One of several metrics on a line: a short sparkline, and no best value. */
static void metric_cell(struct page *page, const struct metric_view *m, int label)
{
    char text[METRIC_TEXT];

    label_write(page, m->name, label);
    if (!m->is_number) {
        page_cell(page, INK_PLAIN, metric_view_text(m, text),
                  VALUE_COLUMNS + CELL_COURSE);
        return;
    }
    value_write(page, m);
    if (m->n_course > 1)
        course_write(page, m, CELL_COURSE);
    else
        page_spaces(page, CELL_COURSE);
}

/* How many metrics share a line: several if there are more metrics than rows. */
static int cells_of(const struct page *page, int n, int rows, int label)
{
    int most = page->style.columns / (INDENT + label + 2 + VALUE_COLUMNS + CELL_COURSE);
    int cells = rows > 0 ? (n + rows - 1) / rows : 1;

    return cells > most ? (most > 1 ? most : 1) : cells;
}

static void more_write(struct page *page, int n)
{
    page_spaces(page, INDENT);
    page_printf(page, INK_DIM, "%d more metric%s", n, n == 1 ? "" : "s");
    page_newline(page);
}

static void block_metrics_write(struct page *page, const struct run_state *v, int label,
                                int rows)
{
    int shown = 0, n = 0, cells;

    for (size_t i = 0; i < v->n_metrics; i++)
        n += run_state_has_line(v, v->metrics[i]);
    cells = cells_of(page, n, rows, label);
    if (n > rows * cells)
        rows--; /* for the line about the others */
    for (size_t i = 0; i < v->n_metrics && shown < rows * cells; i++) {
        if (!run_state_has_line(v, v->metrics[i]))
            continue;
        if (cells == 1)
            block_metric_write(page, v->metrics[i], label);
        else
            metric_cell(page, v->metrics[i], label);
        shown++;
        if (cells > 1 && (shown % cells == 0 || shown == n))
            page_newline(page);
    }
    if (shown < n && rows >= 0)
        more_write(page, n - shown);
}

/* ---- Checkpoint, event ---- */

static void checkpoint_write(struct page *page, const struct run_state *v, int label,
                             double now)
{
    char age[DURATION_TEXT], size[SIZE_TEXT_MAX];

    label_write(page, "checkpoint", label);
    if (v->newest > 0)
        page_whole(page, INK_PLAIN, "iteration %" PRId64 ", %s", v->newest,
                   age_text(now - v->newest_at, age));
    if (v->saving > 0)
        page_whole(page, INK_GOOD, "%ssaving iteration %" PRId64,
                   v->newest > 0 ? ", " : "", v->saving);
    if (v->newest > 0 && v->newest_bytes > 0)
        page_whole(page, INK_PLAIN, ", %s", size_format(v->newest_bytes, size));
    page_newline(page);
}

static void event_write(struct page *page, const struct run_state *v, int label,
                        double now)
{
    char age[DURATION_TEXT];
    int columns, width;

    label_write(page, "last event", label);
    age_text(now - v->event_at, age);
    columns = page_room(page);
    if (columns >= EVENT_MIN + 2 + (int)strlen(age))
        columns -= 2 + (int)strlen(age);
    width = page_width(&page->style, v->event);
    page_cell(page, INK_PLAIN, v->event, width < columns ? width : columns);
    page_part(page, INK_DIM, "%s", age);
    page_newline(page);
}

/* The line as the worker printed it, cut to the terminal's width. */
static void live_write(struct page *page, const struct run_state *v)
{
    page_text(page, INK_PLAIN, v->live);
    page_newline(page);
}

void block_write(struct page *page, const struct run_state *v, int rows, double now)
{
    bool checkpoint = v->newest > 0 || v->saving > 0, event = v->event[0] != '\0';
    bool live = v->live[0] != '\0';
    int label = label_columns(page, v);

    if (live)
        live_write(page, v);
    head_write(page, v);
    progress_write(page, v);
    time_write(page, v, now);
    block_metrics_write(page, v, label, rows - 3 - checkpoint - event - live);
    if (checkpoint)
        checkpoint_write(page, v, label, now);
    if (event)
        event_write(page, v, label, now);
    page_cut(page, rows);
}
