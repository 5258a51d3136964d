/*
 * command_line.c - the text of --help, and two tables: the options, and the views with
 * the options and the number of operands that each accepts.
 */
#include "config.h"

#include "inspect/command_line.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/long_option.h"

static const char HELP[] =
    "Usage: raytrain-inspect [OPTIONS] PATH...\n"
    "Print a run directory, a directory of runs, a checkpoint, or a dataset: a file,\n"
    "a directory of files, or a pattern such as \"train-*.h5\".\n"
    "\n"
    "  --json             one JSON object on standard output\n"
    "  --csv              a table as CSV: the reports of a run, the runs of a\n"
    "                     directory, or a comparison\n"
    "  --verify           read everything and compare it with its checksums; exit\n"
    "                     status 5 if something is damaged\n"
    "Runs:\n"
    "  --follow           print reports and events as they come, until the run ends\n"
    "  --logs             what the workers have written, the one that failed first\n"
    "  --rank N           with --logs: that of one rank; --follow: as it comes\n"
    "  --compare          two or more runs, or those of a directory: how their\n"
    "                     configurations, metrics, times and checkpoints differ\n"
    "  --plot METRIC,...  draw metrics of a run or of several ones as text\n"
    "  --log              with --plot: a logarithmic axis of values\n"
    "  --x iteration|time with --plot: the horizontal axis\n"
    "  -o, --output FILE  a plot as .png, .svg or .pdf, drawn by gnuplot; without a\n"
    "                     plot a page of the run as .html, with --compare of all runs\n"
    "Checkpoints:\n"
    "  --export DIR       write the tensors to a new directory: .npy files, strings\n"
    "                     as .txt; of a run, those of its best checkpoint\n"
    "  --export FILE      ending in .ubj, .json or .txt: the model of the trainers\n"
    "                     xgboost and lightgbm, for the library itself\n"
    "  --diff             compare two checkpoints tensor by tensor; exit status 1 if\n"
    "                     they differ\n"
    "Datasets:\n"
    "  --head N           the first N rows, instead of a table of the columns\n"
    "  --set KEY=VALUE    an option of the dataset, such as format=csv or label=y\n"
    "\n"
    "  --help             this text\n"
    "  --version          the version\n"
    "\n"
    "Exit status: 0; 1 --diff: not the same; 2 usage; 3 no such path, or what is\n"
    "there is none of these; 5 damaged, or cannot be read or written; with --follow\n"
    "that of the run.\n";

static int inspect_usage(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_EUSAGE, "%s\ntry: raytrain-inspect --help", what);
}

/* ---- Options ---- */

enum {
    VERIFY = 1 << 0,
    JSON = 1 << 1,
    CSV = 1 << 2,
    PLOT = 1 << 3,
    LOG = 1 << 4,
    AXIS = 1 << 5,
    OUTPUT = 1 << 6,
    COMPARE = 1 << 7,
    FOLLOW = 1 << 8,
    EXPORT = 1 << 9,
    DIFF = 1 << 10,
    HEAD = 1 << 11,
    SETTING = 1 << 12,
    LOGS = 1 << 13,
    RANK = 1 << 14,
};

static int metrics_take(struct request *r, char *value, struct error *err)
{
    if (value[strspn(value, ",")] == '\0')
        return inspect_usage(err, "--plot needs a metric");
    r->metrics = value;
    return 0;
}

static int axis_take(struct request *r, char *value, struct error *err)
{
    r->by_time = strcmp(value, "time") == 0;
    if (r->by_time || strcmp(value, "iteration") == 0 ||
        strcmp(value, "training_iteration") == 0)
        return 0;
    return inspect_usage(err, "--x is iteration or time");
}

static int output_take(struct request *r, char *value, struct error *err)
{
    if (!*value)
        return inspect_usage(err, "--output needs a file");
    r->output = value;
    return 0;
}

static int rank_take(struct request *r, char *value, struct error *err)
{
    if (!*value || value[strspn(value, "0123456789")] || strlen(value) > 9)
        return inspect_usage(err, "--rank needs the number of a rank");
    r->rank = value;
    return 0;
}

static int export_take(struct request *r, char *value, struct error *err)
{
    (void)err;
    r->export = value;
    return 0;
}

static int head_take(struct request *r, char *value, struct error *err)
{
    char *end;

    errno = 0;
    r->dataset.head = strtoull(value, &end, 10);
    if (errno || *end || strspn(value, "0123456789") == 0 || r->dataset.head == 0)
        return inspect_usage(err, "--head needs a number of rows, at least 1");
    return 0;
}

static int setting_take(struct request *r, char *value, struct error *err)
{
    struct inspect_options *d = &r->dataset;
    char **grown = reallocarray(d->settings, d->n_settings + 1, sizeof *d->settings);

    if (!grown)
        return error_no_memory(err);
    d->settings = grown;
    d->settings[d->n_settings++] = value;
    return 0;
}

/* `take` is NULL for options without an argument. */
static const struct option_row {
    const char *name;
    unsigned bit;
    int (*take)(struct request *r, char *value, struct error *err);
    const char *missing; /* message if the argument is missing */
} rows[] = {
    {"verify", VERIFY, NULL, NULL},
    {"json", JSON, NULL, NULL},
    {"csv", CSV, NULL, NULL},
    {"plot", PLOT, metrics_take, "--plot needs a metric"},
    {"log", LOG, NULL, NULL},
    {"x", AXIS, axis_take, "--x needs iteration or time"},
    {"output", OUTPUT, output_take, "--output needs a file"},
    {"compare", COMPARE, NULL, NULL},
    {"follow", FOLLOW, NULL, NULL},
    {"logs", LOGS, NULL, NULL},
    {"rank", RANK, rank_take, "--rank needs the number of a rank"},
    {"export", EXPORT, export_take, "--export needs a directory"},
    {"diff", DIFF, NULL, NULL},
    {"head", HEAD, head_take, "--head needs a number of rows"},
    {"set", SETTING, setting_take, "--set needs KEY=VALUE"},
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* ---- Views ---- */

/* The view is the first one whose option was given. */
static const struct view_row {
    enum request_view view;
    unsigned option; /* 0: none is needed */
    unsigned with;   /* options that go with it */
    size_t least, most;
    const char *operands; /* message if their number is wrong */
} views[] = {
    {VIEW_DIFF, DIFF, JSON, 2, 2, "--diff needs two checkpoints"},
    {VIEW_EXPORT, EXPORT, JSON, 1, 1, "--export needs one checkpoint or run"},
    {VIEW_LOGS, LOGS, FOLLOW | RANK, 1, 1, "--logs needs one run"},
    {VIEW_FOLLOW, FOLLOW, JSON, 1, 1, "--follow needs one run"},
    {VIEW_COMPARE, COMPARE, JSON | CSV | PLOT | LOG | AXIS | OUTPUT, 1, SIZE_MAX,
     "--compare needs runs, or a directory of runs"},
    {VIEW_PLOT, PLOT, LOG | AXIS | OUTPUT, 1, SIZE_MAX, "--plot needs a run"},
    {VIEW_PAGE, OUTPUT, 0, 1, 1,
     "--output FILE.html is the page of one run; for several, add --compare"},
    {VIEW_SHOW, 0, VERIFY | JSON | CSV | HEAD | SETTING, 1, 1, NULL},
};

static const struct option_row *row_of_bit(unsigned bit)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i].bit & bit)
            return &rows[i];
    return &rows[0];
}

/* Pairs of options that exclude each other in a view that has both. */
static int pairs_check(unsigned given, struct error *err)
{
    static const struct {
        unsigned a, b;
        const char *what;
    } pairs[] = {
        {JSON, CSV, "--json and --csv are two forms of output: give one of them"},
        {VERIFY, CSV, "--verify cannot be combined with --csv"},
        {CSV, HEAD | SETTING, "--csv is for runs, --head and --set are for datasets"},
        {VERIFY, HEAD | SETTING, "--head and --set are for datasets only"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if ((given & pairs[i].a) && (given & pairs[i].b))
            return inspect_usage(err, pairs[i].what);
    if ((given & (LOG | AXIS)) && !(given & PLOT))
        return inspect_usage(err,
                             "--log and --x need --plot METRIC; --logs prints what the "
                             "workers have written");
    if ((given & RANK) && !(given & LOGS))
        return inspect_usage(err, "--rank needs --logs");
    if ((given & COMPARE) && (given & OUTPUT) && (given & (JSON | CSV)) &&
        !(given & PLOT))
        return inspect_usage(
            err, "--compare prints --json and --csv, which can be redirected, "
                 "and writes a page to --output FILE.html: choose one");
    if ((given & PLOT) && (given & (JSON | CSV)) && !(given & OUTPUT))
        return inspect_usage(err, "--plot with --json or --csv needs --output FILE");
    return 0;
}

static int view_choose(struct request *r, unsigned given, struct error *err)
{
    const struct view_row *v = views;
    unsigned wrong;
    char what[100];

    while (v->option && !(given & v->option))
        v++;
    r->view = v->view;
    wrong = given & ~(v->option | v->with);
    if (wrong && v->option) {
        snprintf(what, sizeof what, "--%s cannot be combined with --%s",
                 row_of_bit(v->option)->name, row_of_bit(wrong)->name);
        return inspect_usage(err, what);
    }
    if (pairs_check(given, err) < 0)
        return -1;
    if (v->option && (r->n_paths < v->least || r->n_paths > v->most))
        return inspect_usage(err, v->operands);
    if (r->n_paths == 0)
        return inspect_usage(err, "no PATH");
    if (r->n_paths > v->most)
        return inspect_usage(err, "more than one PATH; to compare runs, add --compare");
    return 0;
}

/* ---- The command line ---- */

/* 1: nothing is left to do. */
static int text_print(int c)
{
    if (c == 'h')
        fputs(HELP, stdout);
    else
        puts("raytrain-inspect " PACKAGE_VERSION);
    return 1;
}

static int option_take(struct request *r, const struct option_row *row, char *value,
                       unsigned *given, struct error *err)
{
    *given |= row->bit;
    return row->take ? row->take(r, value, err) : 0;
}

/* The index of a row is `val` minus this. */
#define FIRST_VAL 256

int request_parse(int argc, char *argv[], struct request *r, struct error *err)
{
    struct option options[N_ROWS + 3] = {{"help", no_argument, NULL, 'h'},
                                         {"version", no_argument, NULL, 'V'}};
    unsigned given = 0;
    int c;

    for (size_t i = 0; i < N_ROWS; i++)
        options[i + 2] = (struct option){rows[i].name,
                                         rows[i].take ? required_argument : no_argument,
                                         NULL, FIRST_VAL + (int)i};
    opterr = 0;
    while ((c = long_option_next(argc, argv, ":ho:", options, "raytrain-inspect --help",
                                 err)) != -1) {
        if (c == '?')
            return -1;
        if (c == 'h' || c == 'V')
            return text_print(c);
        if (c == 'o')
            c = FIRST_VAL + (int)(row_of_bit(OUTPUT) - rows);
        if (c == ':' && optopt == 'o')
            return inspect_usage(err, row_of_bit(OUTPUT)->missing);
        if (c == ':')
            return inspect_usage(err, rows[optopt - FIRST_VAL].missing);
        if (option_take(r, &rows[c - FIRST_VAL], optarg, &given, err) < 0)
            return -1;
    }
    r->verify = given & VERIFY;
    r->json = given & JSON;
    r->csv = given & CSV;
    r->log = given & LOG;
    r->follow = given & FOLLOW;
    r->paths = argv + optind;
    r->n_paths = (size_t)(argc - optind);
    return view_choose(r, given, err);
}

void request_clear(struct request *r)
{
    free(r->dataset.settings);
    r->dataset.settings = NULL;
}
