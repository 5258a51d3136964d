/*
 * raytrain-inspect.c - print a run, a directory of runs, a checkpoint or a dataset. The
 * views are in other files (views.h); this one finds out what the paths are.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "config/data_files.h"
#include "hangup.h"
#include "inspect/command_line.h"
#include "inspect/model.h"
#include "inspect/output.h"
#include "inspect/run_list.h"
#include "inspect/views.h"
#include "page/compare_page.h"
#include "page/run_page.h"
#include "plot/plot.h"
#include "run/checkpoint_manager.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/process.h"

/* ---- Printing ---- */

static int error_print(const struct error *err)
{
    fprintf(stderr, "raytrain-inspect: ");
    for (const char *line = err->text; *line;) {
        size_t n = strcspn(line, "\n");
        char *copy = strndup(line, n);

        if (copy)
            output_text(stderr, copy);
        fputc('\n', stderr);
        free(copy);
        line += n + (line[n] == '\n');
    }
    return error_exit_status(err->code);
}

/* Standard output may be a file on a full disk. */
static int flush_output(struct error *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return error_set(err, RAYTRAIN_ESTORAGE, "cannot write to standard output");
}

static void json_print(const json_t *object)
{
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', stdout);
}

/* ---- What to look at ---- */

static int show_checkpoint(const struct request *r, struct error *err)
{
    json_t *checkpoint = inspect_checkpoint(r->paths[0], true, r->verify, err);
    int rc = 0;

    if (!checkpoint)
        return error_no_memory(err);
    if (err->code != RAYTRAIN_OK)
        rc = -1;
    if (r->json)
        json_print(checkpoint);
    else if (rc == 0 || json_object_get(checkpoint, "run_name"))
        inspect_checkpoint_print(stdout, checkpoint);
    json_decref(checkpoint);
    return rc;
}

/* A damaged checkpoint is shown; it is an error only with --verify, since an older one
 * can be used. */
static int damaged_find(const json_t *run, struct error *err)
{
    json_t *c;
    size_t i;

    json_array_foreach(json_object_get(run, "checkpoints"), i, c)
    {
        const char *why = json_string_value(json_object_get(c, "error"));

        if (why)
            return error_set(err, RAYTRAIN_ECORRUPT, "%s", why);
    }
    if (json_object_get(run, "result_error"))
        return error_set(err, RAYTRAIN_ECORRUPT, "%s",
                         json_string_value(json_object_get(run, "result_error")));
    return 0;
}

static int show_run(const struct request *r, struct error *err)
{
    json_t *run;
    int rc = 0;

    if (r->csv)
        return reports_csv_print(stdout, r->paths[0], err);
    run = inspect_run(r->paths[0], r->verify, err);
    if (!run)
        return -1;
    if (r->json)
        json_print(run);
    else
        inspect_run_print(stdout, run);
    if (r->verify)
        rc = damaged_find(run, err);
    json_decref(run);
    return rc;
}

/* A checkpoint is a file that begins like one, or has the name of one, whatever its
 * contents. */
static bool is_checkpoint(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return checkpoint_is_one(path) ||
           strncmp(base, CHECKPOINT_PREFIX, strlen(CHECKPOINT_PREFIX)) == 0;
}

/* The path, or for a run its best checkpoint. To free(). */
static char *checkpoint_choose(const char *path, struct error *err)
{
    char *best = NULL, *latest = NULL, quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (!inspect_is_run(path) && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        error_set(err, RAYTRAIN_EINVAL,
                  "--export: %s is not a run of raytrain; name a run or a checkpoint",
                  quote(path, quoted));
        return NULL;
    }
    if (!inspect_is_run(path))
        best = strdup(path);
    else if (checkpoint_manager_best_of(path, &best, &latest, err) < 0)
        return NULL;
    free(latest);
    if (!best && !inspect_is_run(path))
        error_no_memory(err);
    else if (!best)
        error_set(err, RAYTRAIN_ENOTFOUND, "--export: the run %s has no checkpoint yet",
                  quote(path, quoted));
    return best;
}

static int show_export(struct request *r, struct error *err)
{
    char *path = checkpoint_choose(r->paths[0], err);
    json_t *export;

    if (!path)
        return -1;
    export = model_is_file(r->export) ? model_export(path, r->export, err)
                                      : inspect_export(path, r->export, err);
    if (!export && err->code == RAYTRAIN_ECORRUPT && !is_checkpoint(path))
        err->code = RAYTRAIN_EINVAL; /* not damaged, but something else */
    free(path);
    if (!export)
        return -1;
    if (r->json)
        json_print(export);
    else
        inspect_export_print(stdout, export);
    json_decref(export);
    return 0;
}

static int show_diff(struct request *r, struct error *err)
{
    json_t *diff = inspect_diff(r->paths[0], r->paths[1], err);

    if (!diff)
        return -1;
    if (r->json)
        json_print(diff);
    else
        inspect_diff_print(stdout, diff);
    r->status = json_is_true(json_object_get(diff, "same")) ? 0 : 1;
    json_decref(diff);
    return 0;
}

static int csv_refused(const struct request *r, struct error *err)
{
    return error_set(err, RAYTRAIN_EUSAGE,
                     "--csv: %s is not a run; name a run, or a directory of runs",
                     r->paths[0]);
}

static int show_dataset(const struct request *r, struct error *err)
{
    struct inspect_options options = r->dataset;
    json_t *dataset;

    options.as_text = !r->json;
    if (r->csv)
        return csv_refused(r, err);
    if (r->verify)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "--verify: %s is a dataset, which has no checksums; name a run or a "
            "checkpoint",
            r->paths[0]);
    dataset = inspect_dataset(r->paths[0], &options, err);
    if (!dataset)
        return -1;
    if (r->json)
        json_print(dataset);
    else
        inspect_dataset_print(stdout, dataset);
    json_decref(dataset);
    return 0;
}

static int show_runs(const struct request *r, struct run_list *list, struct error *err)
{
    json_t *runs;

    if (r->verify)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--verify: %s is a directory of runs; name one of them",
                         r->paths[0]);
    runs = inspect_runs(r->paths[0], list, err);
    if (!runs)
        return -1;
    if (r->json)
        json_print(runs);
    else if (r->csv)
        inspect_runs_csv(stdout, runs);
    else
        inspect_runs_print(stdout, runs);
    json_decref(runs);
    return 0;
}

/* A directory with runs below it is a directory of runs. One that has neither runs nor
 * files may be a run whose path is wrong. */
static int show_directory(const struct request *r, struct error *err)
{
    struct data_files files = {0};
    struct run_list list = {0};
    bool has_files;
    int rc;

    if (inspect_is_run(r->paths[0]))
        return show_run(r, err);
    rc = run_list_find(r->paths[0], &list, err);
    if (rc == 0 && list.n > 0)
        rc = show_runs(r, &list, err);
    if (rc < 0 || list.n > 0) {
        run_list_clear(&list);
        return rc;
    }
    has_files = data_files_list(r->paths[0], NULL, &files, NULL) == 0;
    data_files_clear(&files);
    return has_files ? show_dataset(r, err) : show_run(r, err);
}

/* Choose the view by what is at the path. */
static int show_path(struct request *r, struct error *err)
{
    bool as_dataset = r->dataset.head > 0 || r->dataset.n_settings > 0;
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (stat(r->paths[0], &st) < 0)
        return errno == ENOENT && data_files_exist(r->paths[0])
                   ? show_dataset(r, err)
                   : fs_error(err, "open", r->paths[0]);
    if (as_dataset)
        return show_dataset(r, err);
    if (S_ISDIR(st.st_mode))
        return show_directory(r, err);
    if (r->csv)
        return csv_refused(r, err);
    if (is_checkpoint(r->paths[0]))
        return show_checkpoint(r, err);
    if (show_dataset(r, err) == 0)
        return 0;
    if (err->code != RAYTRAIN_EINVAL || data_files_text_format(r->paths[0]))
        return -1;
    return error_prefix(err,
                        "%s is neither a run directory nor a checkpoint of raytrain, "
                        "and as a dataset",
                        quote(r->paths[0], quoted));
}

/* ---- Other views ---- */

/* The runs of the command line: a directory of runs stands for all runs in it. */
static int runs_take(const struct request *r, struct run_list *list, struct error *err)
{
    for (size_t i = 0; i < r->n_paths; i++)
        if (run_list_add(r->paths[i], list, err) < 0)
            return -1;
    return 0;
}

static int plot_make(const struct request *r, const struct run_list *list,
                     struct error *err)
{
    const struct plot_request plot = {.metrics = r->metrics,
                                      .runs = list->paths,
                                      .n_runs = list->n,
                                      .log = r->log,
                                      .by_time = r->by_time};

    return r->output ? plot_write(r->output, &plot, err)
                     : plot_print(stdout, &plot, err);
}

static int show_plot(struct request *r, struct error *err)
{
    struct run_list list = {0};
    int rc = runs_take(r, &list, err);

    if (rc == 0)
        rc = plot_make(r, &list, err);
    run_list_clear(&list);
    return rc;
}

static int comparison_show(const struct request *r, const struct run_list *list,
                           struct error *err)
{
    json_t *comparison = inspect_compare(list, err);

    if (!comparison)
        return -1;
    if (r->json)
        json_print(comparison);
    else if (r->csv)
        inspect_compare_csv(stdout, comparison);
    else
        inspect_compare_print(stdout, comparison);
    json_decref(comparison);
    return 0;
}

/* Does --output name an HTML page? */
static int page_check(const struct request *r, struct error *err)
{
    const char *dot = strrchr(r->output, '.');

    if (dot && strcasecmp(dot, ".html") == 0)
        return 0;
    return error_set(
        err, RAYTRAIN_EUSAGE,
        "--output: %s: a page ends in .html; for a plot, add --plot METRIC", r->output);
}

static int comparison_make(const struct request *r, const struct run_list *list,
                           struct error *err)
{
    if (r->output && !r->metrics)
        return compare_page(list, r->output, err);
    if (comparison_show(r, list, err) < 0)
        return -1;
    if (!r->metrics)
        return 0;
    if (!r->output)
        fputc('\n', stdout);
    return plot_make(r, list, err);
}

static int show_comparison(struct request *r, struct error *err)
{
    struct run_list list = {0};
    int rc = r->output && !r->metrics ? page_check(r, err) : 0;

    if (rc == 0)
        rc = runs_take(r, &list, err);
    if (rc == 0 && list.n < 2)
        rc = error_set(err, RAYTRAIN_EUSAGE,
                       "--compare: there is only one run, %s; name another one, or a "
                       "directory of runs",
                       r->paths[0]);
    if (rc == 0)
        rc = comparison_make(r, &list, err);
    run_list_clear(&list);
    return rc;
}

static int show_following(struct request *r, struct error *err)
{
    return inspect_follow(stdout, r->paths[0], r->json, &r->status, err);
}

static int show_logs(struct request *r, struct error *err)
{
    return inspect_logs(stdout, r->paths[0], r->rank, r->follow, &r->status, err);
}

static int show_page(struct request *r, struct error *err)
{
    return page_check(r, err) < 0 ? -1
                                  : inspect_report_page(r->paths[0], r->output, err);
}

static int (*const view_functions[])(struct request *, struct error *) = {
    [VIEW_SHOW] = show_path,          [VIEW_DIFF] = show_diff,
    [VIEW_EXPORT] = show_export,      [VIEW_FOLLOW] = show_following,
    [VIEW_COMPARE] = show_comparison, [VIEW_PLOT] = show_plot,
    [VIEW_PAGE] = show_page,          [VIEW_LOGS] = show_logs,
};

int main(int argc, char *argv[])
{
    struct request r = {0};
    struct error err = {0};
    int rc;

    if (fs_hold_stdio() < 0)
        return 5;
    signals_restore();
    hangup_restore();
    rc = request_parse(argc, argv, &r, &err);
    if (rc == 0)
        rc = view_functions[r.view](&r, &err);
    request_clear(&r);
    if (rc < 0) {
        fflush(stdout);
        return error_print(&err);
    }
    if (flush_output(&err) < 0)
        return error_print(&err);
    return r.status;
}
