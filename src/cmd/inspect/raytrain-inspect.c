/*
 * raytrain-inspect - print a run, a checkpoint or a dataset.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/data_files.h"
#include "hangup.h"
#include "inspect/model.h"
#include "inspect/output.h"
#include "inspect/views.h"
#include "run/checkpoint_manager.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/process.h"

static const char HELP[] =
    "Usage: raytrain-inspect [OPTIONS] PATH\n"
    "       raytrain-inspect --diff CHECKPOINT CHECKPOINT\n"
    "Print a run directory, a checkpoint, or a dataset: a file, a directory of\n"
    "files, or a pattern such as \"train-*.h5\".\n"
    "\n"
    "  --verify        read everything and compare it with its checksums; exit\n"
    "                  status 5 if something is damaged\n"
    "  --json          one JSON object on standard output\n"
    "  --plot METRIC   a run's metric over training iterations, drawn as text\n"
    "  --export DIR    write a checkpoint's tensors to a new directory: .npy files,\n"
    "                  strings as .txt; of a run, those of its best checkpoint\n"
    "  --export FILE   ending in .ubj, .json or .txt: the model of the trainers\n"
    "                  xgboost and lightgbm, for the library itself\n"
    "  --diff          compare two checkpoints tensor by tensor; exit status 1 if\n"
    "                  they differ\n"
    "  --head N        the first N rows of a dataset, instead of a table of its\n"
    "                  columns\n"
    "  --set KEY=VALUE an option of the dataset, such as format=csv or label=y\n"
    "  --help          this text\n"
    "  --version       the version\n"
    "\n"
    "Exit status: 0; 1 --diff: not the same; 2 usage; 3 no such path, or what is\n"
    "there is none of the three; 5 damaged, or cannot be read or written.\n";

struct request {
    bool verify, json, diff;
    const char *plot, *export, *path, *other;
    struct inspect_options dataset;
    int status; /* exit status if nothing failed */
};

/* ---- Printing ---- */

static int fail(const struct error *err)
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

/* Standard output may be on a full disk. */
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
    json_t *checkpoint = inspect_checkpoint(r->path, true, r->verify, err);
    int rc = 0;

    if (!checkpoint)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (err->code != RAYTRAIN_OK)
        rc = -1;
    if (r->json)
        json_print(checkpoint);
    else if (rc == 0 || json_object_get(checkpoint, "run_name"))
        inspect_checkpoint_print(stdout, checkpoint);
    json_decref(checkpoint);
    return rc;
}

/* A damaged checkpoint is shown, but an older one can be used: it is an error only with
 * --verify. */
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

    if (r->plot)
        return inspect_plot(stdout, r->path, r->plot, err);
    run = inspect_run(r->path, r->verify, err);
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

/* Of a run, its best checkpoint. To free(). */
static char *checkpoint_choose(const char *path, struct error *err)
{
    char *best = NULL, *latest = NULL, quoted[QUOTE_TEXT_MAX];

    if (!inspect_is_run(path))
        best = strdup(path);
    else if (checkpoint_manager_best_of(path, &best, &latest, err) < 0)
        return NULL;
    free(latest);
    if (!best && !inspect_is_run(path))
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    else if (!best)
        error_set(err, RAYTRAIN_ENOTFOUND, "--export: the run %s has no checkpoint yet",
                  quote(path, quoted));
    return best;
}

static int show_export(const struct request *r, struct error *err)
{
    char *path = checkpoint_choose(r->path, err);
    json_t *export;

    if (!path)
        return -1;
    export = model_is_file(r->export) ? model_export(path, r->export, err)
                                      : inspect_export(path, r->export, err);
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
    json_t *diff = inspect_diff(r->path, r->other, err);

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

/* A file that begins like a checkpoint is one; so is one with the name of a checkpoint,
 * whatever its contents. */
static bool is_checkpoint(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return checkpoint_is_one(path) ||
           strncmp(base, CHECKPOINT_PREFIX, strlen(CHECKPOINT_PREFIX)) == 0;
}

static int show_dataset(const struct request *r, struct error *err)
{
    struct inspect_options options = r->dataset;
    json_t *dataset;

    options.as_text = !r->json;
    if (r->verify)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "--verify: %s is a dataset, which has no checksums; name a run or a "
            "checkpoint",
            r->path);
    dataset = inspect_dataset(r->path, &options, err);
    if (!dataset)
        return -1;
    if (r->json)
        json_print(dataset);
    else
        inspect_dataset_print(stdout, dataset);
    json_decref(dataset);
    return 0;
}

/* A directory that has neither a run nor files may be a run whose path is wrong. */
static int show_directory(const struct request *r, bool as_dataset, struct error *err)
{
    struct data_files files = {0};
    bool has_files;

    if (as_dataset)
        return show_dataset(r, err);
    if (inspect_is_run(r->path) || r->plot)
        return show_run(r, err);
    has_files = data_files_list(r->path, NULL, &files, NULL) == 0;
    data_files_clear(&files);
    return has_files ? show_dataset(r, err) : show_run(r, err);
}

static int show(struct request *r, struct error *err)
{
    bool as_dataset = r->dataset.head > 0 || r->dataset.n_settings > 0;
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (r->diff)
        return show_diff(r, err);
    if (r->export)
        return show_export(r, err);
    if (stat(r->path, &st) < 0)
        return errno == ENOENT && data_files_exist(r->path)
                   ? show_dataset(r, err)
                   : fs_error(err, "open", r->path);
    if (S_ISDIR(st.st_mode))
        return show_directory(r, as_dataset, err);
    if (r->plot)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--plot: %s has no metrics; name the directory of a run",
                         r->path);
    if (!as_dataset && is_checkpoint(r->path))
        return show_checkpoint(r, err);
    if (show_dataset(r, err) == 0)
        return 0;
    if (as_dataset || err->code != RAYTRAIN_EINVAL)
        return -1;
    return error_prefix(err,
                        "%s is neither a run directory nor a checkpoint of raytrain, "
                        "and as a dataset",
                        quote(r->path, quoted));
}

/* ---- The command line ---- */

static int usage(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_EUSAGE, "%s\ntry: raytrain-inspect --help", what);
}

static int operands_take(int n, char *const paths[], struct request *r,
                         struct error *err)
{
    if (r->diff && n != 2)
        return usage(err, "--diff needs two checkpoints");
    if (!r->diff && n != 1)
        return usage(err, n > 1 ? "more than one PATH" : "no PATH");
    if (r->plot && (r->json || r->verify))
        return usage(err, "--plot cannot be combined with --json or --verify");
    if ((r->dataset.head > 0 || r->dataset.n_settings > 0) &&
        (r->plot || r->export || r->diff || r->verify))
        return usage(err, "--head and --set are for datasets alone");
    if ((r->plot != NULL) + (r->export != NULL) + r->diff > 1)
        return usage(err, "--plot, --export and --diff cannot be combined");
    if ((r->export || r->diff) && r->verify)
        return usage(err, "--export and --diff always verify what they read");
    r->path = paths[0];
    r->other = r->diff ? paths[1] : NULL;
    return 0;
}

static int head_take(const char *text, uint64_t *head, struct error *err)
{
    char *end;

    errno = 0;
    *head = strtoull(text, &end, 10);
    if (errno || *end || strspn(text, "0123456789") == 0 || *head == 0)
        return usage(err, "--head needs a number of rows, at least 1");
    return 0;
}

static int setting_take(char *assignment, struct inspect_options *options,
                        struct error *err)
{
    char **grown = reallocarray(options->settings, options->n_settings + 1,
                                sizeof *options->settings);

    if (!grown)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    options->settings = grown;
    options->settings[options->n_settings++] = assignment;
    return 0;
}

static const char *argument_missing(int option)
{
    switch (option) {
    case 'p':
        return "--plot needs a metric";
    case 'e':
        return "--export needs a directory";
    case 'n':
        return "--head needs a number of rows";
    default:
        return "--set needs KEY=VALUE";
    }
}

/* 1: nothing left to do (help, version). */
static int request_parse(int argc, char *argv[], struct request *r, struct error *err)
{
    static const struct option options[] = {{"verify", no_argument, NULL, 'v'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"plot", required_argument, NULL, 'p'},
                                            {"export", required_argument, NULL, 'e'},
                                            {"diff", no_argument, NULL, 'd'},
                                            {"head", required_argument, NULL, 'n'},
                                            {"set", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {NULL, 0, NULL, 0}};
    char what[300];
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (c) {
        case 'v':
            r->verify = true;
            break;
        case 'j':
            r->json = true;
            break;
        case 'p':
            r->plot = optarg;
            break;
        case 'e':
            r->export = optarg;
            break;
        case 'd':
            r->diff = true;
            break;
        case 'n':
            if (head_take(optarg, &r->dataset.head, err) < 0)
                return -1;
            break;
        case 's':
            if (setting_take(optarg, &r->dataset, err) < 0)
                return -1;
            break;
        case 'h':
            fputs(HELP, stdout);
            return 1;
        case 'V':
            puts("raytrain-inspect " PACKAGE_VERSION);
            return 1;
        case ':':
            return usage(err, argument_missing(optopt));
        default:
            snprintf(what, sizeof what, "unknown option %.200s", argv[optind - 1]);
            return usage(err, what);
        }
    }
    return operands_take(argc - optind, argv + optind, r, err);
}

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
        rc = show(&r, &err);
    free(r.dataset.settings);
    if (rc < 0) {
        fflush(stdout);
        return fail(&err);
    }
    if (flush_output(&err) < 0)
        return fail(&err);
    return r.status;
}
