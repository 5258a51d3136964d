/*
 * plot_file.c - a script for gnuplot: a panel for each metric, one below the other.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plot/gnuplot.h"
#include "plot/paper.h"
#include "plot/plot.h"
#include "plot/plot_data.h"
#include "util/fs.h"

#define WIDTH          900 /* pixels */
#define PANEL_HEIGHT   320
#define LEGEND_LINE    24
#define HEIGHT_MAX     16000
#define NAME_COLUMNS   48 /* of names in a picture, which would be cut by its edge */
#define LEGEND_COLUMNS 40
#define MARKED_MAX     60 /* up to this many points have a mark each */

/* The colours of lines; further runs have them again, with dashes. All are
 * distinguishable on white, even for people who are colour-blind. */
static const char *const colours[] = {"#0067a3", "#c24a00", "#00805c", "#b0468a",
                                      "#8a6a00", "#6a54d1", "#12161b", "#7d8896"};
#define COLOURS (sizeof colours / sizeof *colours)

/* ---- Formats ---- */

/* gnuplot may lack the cairo terminals. The first one that it has is used. */
static const struct format {
    const char *ending;
    const char *terminals[3];
    const char *options; /* after "size" */
    double unit;         /* of the size, in pixels */
} formats[] = {
    {".png", {"pngcairo", "png"}, "noenhanced", 1},
    {".svg", {"svg"}, "noenhanced dynamic background \"white\"", 1},
    {".pdf", {"pdfcairo", "pdf"}, "noenhanced", 96},
};
#define N_FORMATS (sizeof formats / sizeof *formats)

static const struct format *format_of(const char *file)
{
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && i < N_FORMATS; i++)
        if (strcasecmp(dot, formats[i].ending) == 0)
            return &formats[i];
    return NULL;
}

static void terminal_write(FILE *script, const struct format *f, int height)
{
    fprintf(script, "known = ' '.GPVAL_TERMINALS.' '\n");
    for (size_t i = 0; i < 3 && f->terminals[i]; i++)
        fprintf(script,
                "%sif (strstrt(known, ' %s ')) {\n"
                "  set terminal %s size %g,%g %s\n}",
                i > 0 ? " else { " : "", f->terminals[i], f->terminals[i],
                WIDTH / f->unit, height / f->unit, f->options);
    fprintf(script, " else { exit error \"this gnuplot cannot write %s\" }", f->ending);
    if (f->terminals[1])
        fprintf(script, " }");
    fputc('\n', script);
}

/* ---- Data ---- */

static void number_write(FILE *script, double value)
{
    if (isfinite(value))
        fprintf(script, " %.17g", value);
    else
        fputs(" NaN", script);
}

static void curve_write(FILE *script, const struct plot_curve *c, size_t panel)
{
    fprintf(script, "$d%zu_%zu << EOD\n", panel, c->run);
    for (size_t i = 0; i < c->n; i++) {
        const struct plot_point *p = &c->points[i];

        number_write(script, p->x);
        number_write(script, p->mean);
        number_write(script, p->low);
        number_write(script, p->high);
        fputc('\n', script);
    }
    if (c->n == 0)
        fputs("NaN NaN NaN NaN\n", script);
    fputs("EOD\n", script);
}

/* ---- Panels ---- */

static void name_write(FILE *script, const char *name, int columns)
{
    const struct paper paper = {.utf8 = true};
    char *text = paper_text(&paper, name, columns);

    gnuplot_string(script, text ? text : "?");
    free(text);
}

/* gnuplot refuses an axis without a length. */
static void range_write(FILE *script, char axis, double low, double high, bool log)
{
    double around = low == 0 ? 1 : fabs(low) * 0.1;

    if (low < high)
        fprintf(script, "set autoscale %c\n", axis);
    else if (log)
        fprintf(script, "set %crange [%.17g:%.17g]\n", axis, low / 2, low * 2);
    else
        fprintf(script, "set %crange [%.17g:%.17g]\n", axis, low - around,
                low + around);
}

static void style_write(FILE *script, size_t run)
{
    fprintf(script, " lw 1.5 lc rgb '%s' dt %zu", colours[run % COLOURS],
            run / COLOURS % 5 + 1);
}

/* Marks on all curves of a panel, or only on those that would not be visible
 * without. */
static const char *curve_form(const struct plot_panel *p, size_t n_runs, size_t run)
{
    size_t most = 0;

    for (size_t r = 0; r < n_runs; r++)
        most = p->curves[r].n > most ? p->curves[r].n : most;
    return most <= MARKED_MAX || p->curves[run].n == 1 ? "linespoints pt 7 ps 0.5"
                                                       : "lines";
}

static void panel_write(FILE *script, const struct plot_data *data, size_t at)
{
    const struct plot_panel *p = &data->panels[at];
    const char *separator = "plot ";

    fputs("set title ", script);
    name_write(script, p->metric, NAME_COLUMNS);
    fputc('\n', script);
    range_write(script, 'y', p->low, p->high, data->log);
    if (p->band) {
        fprintf(script,
                "plot $d%zu_0 using 1:3:4 with filledcurves lc rgb '#c6dbef' title "
                "'lowest to highest worker'",
                at);
        separator = ", ";
    }
    for (size_t r = 0; r < data->n_runs; r++) {
        fprintf(script, "%s$d%zu_%zu using 1:2 with %s", separator, at, r,
                curve_form(p, data->n_runs, r));
        style_write(script, r);
        fputs(p->band ? " title 'value'" : " title ''", script);
        separator = ", ";
    }
    fputc('\n', script);
}

/* ---- The picture ---- */

/* The legend above all panels: the names of several runs, in two columns. */
static int legend_height(const struct plot_data *data)
{
    return data->n_runs > 1 ? (int)((data->n_runs + 1) / 2) * LEGEND_LINE + 12 : 0;
}

/* The legend is made of lines and labels: gnuplot's own key has one column as soon as a
 * name is long. */
static void legend_write(FILE *script, const struct plot_data *data, double height)
{
    for (size_t r = 0; r < data->n_runs; r++) {
        double x = r % 2 ? 0.5 : 0.04;
        double y = 1 - (double)(r / 2 * LEGEND_LINE + LEGEND_LINE / 2 + 6) / height;

        fprintf(script, "set arrow from screen %g,%g to screen %g,%g nohead", x, y,
                x + 0.05, y);
        style_write(script, r);
        fprintf(script, "\nset label ");
        name_write(script, data->labels[r], LEGEND_COLUMNS);
        fprintf(script, " at screen %g,%g left\n", x + 0.06, y);
    }
}

static void settings_write(FILE *script, const struct plot_data *data)
{
    fputs("set border 3\nset tics nomirror out\n"
          "set grid lt 1 lc rgb '#e4e4e4'\nset format y '%.5g'\nset lmargin 12\n",
          script);
    fprintf(script, "set xlabel '%s'\n",
            data->by_time ? "training time (s)" : "training iteration");
    if (data->log)
        fputs("set logscale y\n", script);
    range_write(script, 'x', data->x_low, data->x_high, false);
    if (data->x_low < data->x_high)
        fprintf(script, "set xrange [%.17g:%.17g]\n", data->x_low, data->x_high);
}

static void script_write(FILE *script, const struct plot_data *data,
                         const struct format *format)
{
    int legend = legend_height(data);
    double height = (double)data->n_panels * PANEL_HEIGHT + legend;
    double share = legend / height; /* of the legend */
    double panel = (1 - share) / (double)data->n_panels;

    terminal_write(script, format, height < HEIGHT_MAX ? (int)height : HEIGHT_MAX);
    fputs("set encoding utf8\nset key above\n", script);
    for (size_t i = 0; i < data->n_panels; i++)
        for (size_t r = 0; r < data->n_runs; r++)
            curve_write(script, &data->panels[i].curves[r], i);
    fputs("set multiplot\n", script);
    settings_write(script, data);
    if (legend > 0)
        legend_write(script, data, height);
    for (size_t i = 0; i < data->n_panels; i++) {
        fprintf(script, "set origin 0,%g\nset size 1,%g\n",
                1 - share - panel * (double)(i + 1), panel);
        panel_write(script, data, i);
        fputs("unset arrow\nunset label\n", script); /* of the legend */
    }
    fputs("unset multiplot\n", script);
}

/* ---- All ---- */

static int data_write(const char *file, const struct format *format,
                      const struct plot_data *data, struct error *err)
{
    char *text = NULL, *picture = NULL;
    size_t n = 0, n_picture;
    FILE *script = open_memstream(&text, &n);
    int rc = -1;

    if (script)
        script_write(script, data, format);
    if (!script || fclose(script) != 0)
        error_no_memory(err);
    else if (gnuplot_run(text, n, &picture, &n_picture, err) == 0)
        rc = fs_write_atomic(file, picture, n_picture, 0666, err);
    free(picture);
    free(text);
    return rc;
}

int plot_write(const char *file, const struct plot_request *plot, struct error *err)
{
    const struct format *format = format_of(file);
    struct plot_data data;
    int rc;

    if (!format)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--output: %s: a plot ends in .png, .svg or .pdf", file);
    rc = plot_data_load(plot, &data, err);
    if (rc == 0)
        rc = data_write(file, format, &data, err);
    plot_data_clear(&data);
    return rc;
}
