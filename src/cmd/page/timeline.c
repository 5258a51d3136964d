/*
 * timeline.c - attempts over time: a lane for each, or one for all if they are many.
 * Long gaps without an attempt are cut out, since the rest would be too small.
 */
#include "config.h"

#include "page/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inspect/output.h"
#include "page/html.h"

#define LANES_MAX    12
#define SPANS_MAX    24
#define ATTEMPTS_MAX 400
#define CUT_SHARE    0.10 /* a gap longer than this share of the rest is cut */
#define CUT_WIDTH    0.03 /* width of a gap that is cut */
#define SPOTS        250  /* positions of checkpoints that can be distinguished */

/* A stretch of time that is drawn, and its position. */
struct span {
    double from, to, at, width;
};

struct timeline {
    const struct facts *facts;
    size_t first; /* attempt that is drawn */
    struct span spans[SPANS_MAX];
    size_t n;
    double busy; /* total seconds of spans */
};

/* ---- Time to place ---- */

/* Add a stretch of time. Attempts follow each other, so spans grow at the end; but
 * clocks may be set back. */
static void spans_add(struct timeline *t, double from, double to)
{
    struct span *last = t->n ? &t->spans[t->n - 1] : NULL;
    double gap = last ? from - last->to : 0;

    if (last &&
        (gap <= fmax(CUT_SHARE * (t->busy + to - from), 1) || t->n == SPANS_MAX)) {
        t->busy += fmax(to - last->to, 0);
        last->to = fmax(last->to, to);
        return;
    }
    t->spans[t->n++] = (struct span){.from = from, .to = to};
    t->busy += to - from;
}

static bool timeline_init(struct timeline *t, const struct facts *f)
{
    size_t n = json_array_size(f->attempts);
    double at = 0, scale;

    *t =
        (struct timeline){.facts = f, .first = n > ATTEMPTS_MAX ? n - ATTEMPTS_MAX : 0};
    for (size_t i = t->first; i < n; i++) {
        double start, end;

        if (facts_times(f, json_array_get(f->attempts, i), &start, &end))
            spans_add(t, start, end);
    }
    if (t->n == 0)
        return false;
    if (t->busy <= 0) { /* less than the resolution of recorded times */
        t->spans[t->n - 1].to += 1;
        t->busy = 1;
    }
    scale = (1 - CUT_WIDTH * (double)(t->n - 1)) / t->busy;
    for (size_t i = 0; i < t->n; i++) {
        t->spans[i].at = at;
        t->spans[i].width = (t->spans[i].to - t->spans[i].from) * scale;
        at += t->spans[i].width + CUT_WIDTH;
    }
    return true;
}

/* The position of a time: 0 to 1. */
static double place_of_time(const struct timeline *t, double time)
{
    for (size_t i = t->n; i-- > 0;) {
        const struct span *s = &t->spans[i];

        if (time < s->from && i > 0)
            continue;
        if (s->to <= s->from)
            return s->at;
        return s->at +
               s->width * fmin(fmax((time - s->from) / (s->to - s->from), 0), 1);
    }
    return 0;
}

/* ---- The axis ---- */

static const struct {
    double seconds;
    const char *format;
} steps[] = {{1, "%H:%M:%S"},    {2, "%H:%M:%S"},    {5, "%H:%M:%S"},
             {10, "%H:%M:%S"},   {15, "%H:%M:%S"},   {30, "%H:%M:%S"},
             {60, "%H:%M"},      {120, "%H:%M"},     {300, "%H:%M"},
             {600, "%H:%M"},     {900, "%H:%M"},     {1800, "%H:%M"},
             {3600, "%H:%M"},    {7200, "%H:%M"},    {10800, "%H:%M"},
             {21600, "%H:%M"},   {43200, "%b %-d"},  {86400, "%b %-d"},
             {172800, "%b %-d"}, {604800, "%b %-d"}, {2592000, "%b %Y"}};
#define STEPS (sizeof steps / sizeof *steps)

static void tick_write(FILE *out, double time, double at, const char *format)
{
    time_t t = (time_t)time;
    char text[HTML_NUMBER_MAX];
    struct tm tm;

    if (!localtime_r(&t, &tm) || strftime(text, sizeof text, format, &tm) == 0)
        return;
    fprintf(out, "<span style=\"left:%.2f%%\">%s</span>", 100 * at, text);
}

static void ticks_write(FILE *out, const struct timeline *t)
{
    size_t step = 0;
    double before = -1;

    while (step < STEPS - 1 && t->busy / steps[step].seconds > 5)
        step++;
    fputs("<div class=\"lane times\" aria-hidden=\"true\"><span></span><div>", out);
    for (size_t i = 0; i < t->n; i++) {
        const struct span *s = &t->spans[i];
        time_t from = (time_t)s->from;
        double unit = steps[step].seconds, offset;
        struct tm tm;

        if (!localtime_r(&from, &tm))
            continue;
        offset = (double)tm.tm_gmtoff; /* at local midnight */
        for (double k = ceil((s->from + offset) / unit); k * unit - offset <= s->to;
             k++) {
            double at = place_of_time(t, k * unit - offset);

            if (at - before < 0.16 || at > 0.96 || at < 0.04)
                continue;
            tick_write(out, k * unit - offset, at, steps[step].format);
            before = at;
        }
    }
    fputs("</div></div>\n", out);
}

/* ---- Lanes ---- */

/* Marks for the checkpoints of all reports that count, whether they were kept or not;
 * one for each position. */
static void saves_write(FILE *out, const struct timeline *t, int64_t from, int64_t to)
{
    const struct facts *f = t->facts;
    int before = -1;
    bool any = false;

    for (size_t i = 0; i < f->table.n; i++) {
        int64_t attempt = facts_integer(f, i, "attempt");
        int spot;

        if (attempt < from || attempt > to || !facts_integer(f, i, "checkpoint"))
            continue;
        spot =
            (int)(place_of_time(t, (double)facts_integer(f, i, "timestamp")) * SPOTS);
        if (spot == before)
            continue;
        fputs(any ? "" : "<path class=\"saves\" d=\"", out);
        fprintf(out, "M%.5g 10h0", (spot + 0.5) * 1000 / SPOTS);
        any = true;
        before = spot;
    }
    fputs(any ? "\"/>" : "", out);
}

static void attempt_bar(FILE *out, const struct timeline *t, const json_t *a)
{
    double start, end, x, width;

    if (!facts_times(t->facts, a, &start, &end))
        return;
    x = 1000 * place_of_time(t, start);
    width = fmax(1000 * place_of_time(t, end) - x, 2);
    if (x + width > 1000)
        x = 1000 - width;
    fprintf(out,
            "<rect class=\"bar\" x=\"%.5g\" y=\"2\" width=\"%.5g\" height=\"16\" "
            "data-outcome=\"",
            x, width);
    html_text(out, string_of(a, "outcome"));
    fputs("\"/>", out);
}

/* A cross where an attempt failed. */
static void attempt_end(FILE *out, const struct timeline *t, const json_t *a)
{
    double start, end;

    if (strcmp(string_of(a, "outcome"), "failed") == 0 &&
        facts_times(t->facts, a, &start, &end))
        fprintf(out, "<i class=\"end\" style=\"left:%.2f%%\">\xe2\x9c\x95</i>",
                100 * place_of_time(t, end));
}

static void lane_write(FILE *out, const struct timeline *t, size_t from, size_t to)
{
    const json_t *all = t->facts->attempts;
    char text[HTML_NUMBER_MAX];
    double start, end;

    fputs("<div class=\"lane\"><span>", out);
    if (to - from == 1)
        fprintf(out, "%lld",
                (long long)integer_of(json_array_get(all, from), "attempt"));
    else
        fprintf(out, "all");
    fputs("</span><div><svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" "
          "role=\"img\" aria-label=\"",
          out);
    if (to - from == 1) {
        const json_t *a = json_array_get(all, from);

        fprintf(out, "attempt %lld: ", (long long)integer_of(a, "attempt"));
        html_text(out, string_of(a, "outcome"));
        if (facts_times(t->facts, a, &start, &end))
            fprintf(out, " after %s", duration_text(end - start, text));
    } else {
        fprintf(out, "%zu attempts", to - from);
    }
    fputs("\">", out);
    for (size_t i = from; i < to; i++)
        attempt_bar(out, t, json_array_get(all, i));
    saves_write(out, t, integer_of(json_array_get(all, from), "attempt"),
                integer_of(json_array_get(all, to - 1), "attempt"));
    fputs("</svg>", out);
    for (size_t i = from; i < to; i++)
        attempt_end(out, t, json_array_get(all, i));
    fputs("</div></div>\n", out);
}

/* The legend: the gaps, and what the marks mean. */
static void legend_write(FILE *out, const struct timeline *t)
{
    double cut = 0, from = t->spans[0].from, to = t->spans[t->n - 1].to;
    char text[HTML_NUMBER_MAX], zone[HTML_NUMBER_MAX];

    for (size_t i = 1; i < t->n; i++)
        cut += t->spans[i].from - t->spans[i - 1].to;
    fputs("<p class=\"legend\">", out);
    html_date(out, from);
    fputs(" \xe2\x80\x93 ", out);
    html_date(out, to);
    fprintf(out, " (%s)", zone_text(from, zone));
    fputs(" <span><i class=\"key saves\"></i>checkpoint</span> "
          "<span><i class=\"end\">\xe2\x9c\x95</i>failure</span>",
          out);
    if (t->n > 1)
        fprintf(out,
                " <span><i class=\"key cut\"></i>%zu gap%s without an attempt, %s "
                "in all, cut out</span>",
                t->n - 1, t->n == 2 ? "" : "s", duration_text(cut, text));
    fputs("</p>\n", out);
}

/* The gaps, behind all lanes. */
static void cuts_write(FILE *out, const struct timeline *t)
{
    fputs("<div class=\"cuts\" aria-hidden=\"true\">", out);
    for (size_t i = 1; i < t->n; i++)
        fprintf(out, "<i style=\"left:%.3f%%;width:%.3f%%\"></i>",
                100 * (t->spans[i].at - CUT_WIDTH), 100 * CUT_WIDTH);
    fputs("</div>\n", out);
}

static void timeline_chart_write(FILE *out, const struct timeline *t)
{
    size_t n = json_array_size(t->facts->attempts);

    fputs("<div class=\"timeline\">\n", out);
    cuts_write(out, t);
    if (n - t->first > LANES_MAX)
        lane_write(out, t, t->first, n);
    else
        for (size_t i = t->first; i < n; i++)
            lane_write(out, t, i, i + 1);
    ticks_write(out, t);
    fputs("</div>\n", out);
    legend_write(out, t);
}

void timeline_write(FILE *out, const struct facts *f)
{
    struct timeline t;

    fputs("<section id=\"timeline\" aria-labelledby=\"timeline-title\">"
          "<h2 id=\"timeline-title\">Attempts</h2>\n",
          out);
    if (json_array_size(f->attempts) == 0)
        fputs("<p>There is no record of an attempt.</p>\n", out);
    else if (timeline_init(&t, f))
        timeline_chart_write(out, &t);
    attempts_write(out, f);
    fputs("</section>\n", out);
}
