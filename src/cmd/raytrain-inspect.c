/*
 * raytrain-inspect - print a run or a checkpoint.
 */
#include "config.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/inspect.h"
#include "util/fs.h"
#include "util/quote.h"

static const char HELP[] =
    "Usage: raytrain-inspect [OPTIONS] PATH\n"
    "Print a run directory or a checkpoint.\n"
    "\n"
    "  --verify        read everything and compare it with its checksums; exit status "
    "5\n"
    "                  where something is damaged\n"
    "  --json          one JSON object on standard output\n"
    "  --plot METRIC   a run's metric over training iterations, drawn as text\n"
    "  --help          this text\n"
    "  --version       the version\n"
    "\n"
    "Exit status: 0; 2 usage; 3 no such path, or neither a run nor a checkpoint;\n"
    "5 damaged, or cannot be read.\n";

struct request {
    bool verify, json;
    const char *plot, *path;
};

/* ---- Printing ---------------------------------------------------------------------
 */

void inspect_print(FILE *out, const char *text)
{
    char *shown = fs_printable(text);

    fputs(shown ? shown : "?", out);
    free(shown);
}

void inspect_print_word(FILE *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_-+=./:,@%^";
    char *shown = fs_printable(word);

    if (shown && *shown && shown[strspn(shown, plain)] == '\0') {
        fputs(shown, out);
    } else {
        fputc('\'', out);
        for (const char *c = shown ? shown : "?"; *c; c++)
            if (*c == '\'')
                fputs("'\\''", out);
            else
                fputc(*c, out);
        fputc('\'', out);
    }
    free(shown);
}

static int fail(const struct error *err)
{
    fprintf(stderr, "raytrain-inspect: ");
    for (const char *line = err->text; *line;) {
        size_t n = strcspn(line, "\n");
        char *copy = strndup(line, n);

        if (copy)
            inspect_print(stderr, copy);
        fputc('\n', stderr);
        free(copy);
        line += n + (line[n] == '\n');
    }
    return error_exit_status(err->code);
}

/* Standard output may be a full disk, too. */
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

/* ---- What to look at --------------------------------------------------------------
 */

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

/* A run with a damaged checkpoint is one to be told about, but an older one will do:
 * only who asks for verification gets an error. */
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

/* A file that begins like a checkpoint is one; so is one with a checkpoint's name, with
 * whatever has become of it. */
static bool is_checkpoint(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return checkpoint_is_one(path) || strncmp(base, "checkpoint_", 11) == 0;
}

static int show(const struct request *r, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (stat(r->path, &st) < 0)
        return fs_error(err, "open", r->path);
    if (S_ISDIR(st.st_mode))
        return show_run(r, err);
    if (r->plot)
        return error_set(err, RAYTRAIN_EUSAGE, "--plot wants a run directory");
    if (is_checkpoint(r->path))
        return show_checkpoint(r, err);
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s is neither a run directory nor a checkpoint of raytrain",
                     quote(r->path, quoted));
}

/* ---- The command line -------------------------------------------------------------
 */

static int usage(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_EUSAGE, "%s\ntry: raytrain-inspect --help", what);
}

/* 1: done already (help, version). */
static int request_parse(int argc, char *argv[], struct request *r, struct error *err)
{
    static const struct option options[] = {
        {"verify", no_argument, NULL, 'v'},     {"json", no_argument, NULL, 'j'},
        {"plot", required_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},    {NULL, 0, NULL, 0}};
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
        case 'h':
            fputs(HELP, stdout);
            return 1;
        case 'V':
            puts("raytrain-inspect " PACKAGE_VERSION);
            return 1;
        case ':':
            return usage(err, "--plot wants a metric");
        default:
            snprintf(what, sizeof what, "unknown option %.200s", argv[optind - 1]);
            return usage(err, what);
        }
    }
    if (optind != argc - 1)
        return usage(err, optind < argc ? "more than one PATH" : "no PATH");
    if (r->plot && (r->json || r->verify))
        return usage(err, "--plot goes with neither --json nor --verify");
    r->path = argv[optind];
    return 0;
}

int main(int argc, char *argv[])
{
    struct request r = {0};
    struct error err = {0};
    int rc = request_parse(argc, argv, &r, &err);

    if (rc < 0)
        return fail(&err);
    if (rc == 0 && show(&r, &err) < 0) {
        fflush(stdout);
        return fail(&err);
    }
    if (flush_output(&err) < 0)
        return fail(&err);
    return 0;
}
