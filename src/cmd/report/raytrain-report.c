/*
 * raytrain-report.c - the session for shell scripts and other languages: it reports
 * metrics, and files as a checkpoint, and gets the files of the checkpoint that an
 * attempt starts from. Outside raytrain-run it does nothing, like a single worker.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/session_client.h"
#include "report/extracted_files.h"
#include "report/offered_files.h"
#include "util/api_names.h"
#include "util/fs.h"
#include "util/long_option.h"
#include "util/quote.h"

#define STATUS_NONE 1 /* exit status of --get-checkpoint: there is no checkpoint */

#define HELP                                                                           \
    "Usage: raytrain-report NAME=VALUE... [--text NAME=VALUE]...\n"                    \
    "                       [--checkpoint PATH]... [--total N]\n"                      \
    "       raytrain-report --get-checkpoint DIR\n"                                    \
    "       raytrain-report --should-stop\n"                                           \
    "\n"                                                                               \
    "For commands of raytrain-run: end a training iteration. Every worker's command\n" \
    "does so, and waits for the others.\n"                                             \
    "\n"                                                                               \
    "      --checkpoint PATH     save a file, or what is in a directory; repeatable\n" \
    "      --text NAME=VALUE     a text (of rank 0) instead of a number; repeatable\n" \
    "      --get-checkpoint DIR  write the files of the checkpoint that this "         \
    "attempt\n"                                                                        \
    "                            starts from; exit status 1 if there is none\n"        \
    "      --should-stop         exit status 75 if the training is to end, else 0\n"   \
    "      --total N             the expected number of iterations, for the\n"         \
    "                            display of progress; alone, nothing is reported\n"    \
    "  -h, --help                this text\n"                                          \
    "  -V, --version             the version\n"                                        \
    "\n"                                                                               \
    "After a report: exit status 75 if the training is to end, else 0.\n"

struct task {
    const char *get;  /* a directory; NULL: report */
    bool should_stop; /* only ask whether to stop */
    bool offers;      /* --checkpoint was given */
    bool has_total;
    long long total; /* --total */
    struct offered_files files;
    json_t *metrics, *typed;
    /* What is wrong with the report; the other workers are informed, since they
     * wait. */
    bool refused;
    struct error why;
};

static int report_fail(const struct error *err)
{
    fprintf(stderr, "raytrain-report: %s\n", err->text);
    return error_exit_status(err->code);
}

/* ---- The command line ---- */

static int report_usage(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_EUSAGE, "%s; raytrain-report --help lists the usage",
                     what);
}

/* JSON has no form for NaN and infinities. */
static json_t *number_json(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

/* The name in WORD, NAME=VALUE, malloc'ed; NULL: it has none. option: precedes the word
 * in a message. */
static char *name_take(const char *option, const char *word, const char *equals,
                       struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *name = strndup(word, (size_t)(equals - word));

    if (!name) {
        error_no_memory(err);
    } else if (!metric_name_is_valid(name)) {
        error_set(
            err, RAYTRAIN_EUSAGE,
            "%s%s: this is not a valid name for a metric; write a letter or _, then "
            "letters, digits, _ . / @ - (at most %d bytes)",
            option, quote(word, quoted), RAYTRAIN_NAME_MAX);
        free(name);
        name = NULL;
    }
    return name;
}

static int metric_add(json_t *metrics, const char *word, struct error *err)
{
    const char *equals = strchr(word, '=');
    char quoted[QUOTE_TEXT_MAX], *name, *end;
    double value;
    int rc = 0;

    if (!equals || equals == word)
        return error_set(err, RAYTRAIN_EUSAGE, "%s is not a metric: write NAME=VALUE",
                         quote(word, quoted));
    value = strtod(equals + 1, &end);
    if (end == equals + 1 || *end)
        return error_set(err, RAYTRAIN_EUSAGE, "%s: the value is not a number",
                         quote(word, quoted));
    if (!(name = name_take("", word, equals, err)))
        return -1;
    if (json_object_get(metrics, name))
        rc = error_set(err, RAYTRAIN_EUSAGE, "%s: the metric is given twice",
                       quote(word, quoted));
    else if (json_object_set_new(metrics, name, number_json(value)) < 0)
        rc = error_no_memory(err);
    free(name);
    return rc;
}

static int text_add(const struct task *t, const char *word, struct error *err)
{
    const char *equals = strchr(word, '=');
    char quoted[QUOTE_TEXT_MAX], *name;
    int rc = 0;

    if (!equals || equals == word)
        return error_set(err, RAYTRAIN_EUSAGE, "--text %s: write NAME=VALUE",
                         quote(word, quoted));
    if (!(name = name_take("--text ", word, equals, err)))
        return -1;
    if (json_object_get(t->typed, name))
        rc = error_set(err, RAYTRAIN_EUSAGE, "%s: the metric is given twice",
                       quote(word, quoted));
    else if (json_object_set_new(t->typed, name, json_string(equals + 1)) < 0)
        rc = error_set(err, RAYTRAIN_EUSAGE, "--text %s: the text is not UTF-8",
                       quote(word, quoted));
    free(name);
    return rc;
}

static int total_set(struct task *t, const char *word, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *end;

    errno = 0;
    t->total = strtoll(word, &end, 10);
    t->has_total = true;
    if (end == word || *end || errno || t->total < 0)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--total %s: write a number of iterations, at least 0",
                         quote(word, quoted));
    return 0;
}

/* Is there something to report? */
static bool has_report(const struct task *t)
{
    return t->offers || t->refused || json_object_size(t->typed) > 0 ||
           json_object_size(t->metrics) > 0;
}

static void report_refuse(struct task *t, const struct error *why)
{
    if (!t->refused)
        t->why = *why;
    t->refused = true;
}

static void metrics_take(struct task *t, char *const *words)
{
    struct error why;

    for (; *words; words++)
        if (metric_add(t->metrics, *words, &why) < 0)
            report_refuse(t, &why);
}

/* 1: nothing left to do. */
static int task_parse(struct task *t, int argc, char *argv[], struct error *err)
{
    static const struct option options[] = {
        {"checkpoint", required_argument, NULL, 'c'},
        {"text", required_argument, NULL, 't'},
        {"get-checkpoint", required_argument, NULL, 'g'},
        {"total", required_argument, NULL, 'n'},
        {"should-stop", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0}};
    struct error why;
    char what[300];
    int c;

    opterr = 0;
    while ((c = long_option_next(argc, argv, ":hV", options, "raytrain-report --help",
                                 err)) != -1) {
        switch (c) {
        case 'c':
            t->offers = true;
            if (offered_files_add(&t->files, optarg, &why) < 0)
                report_refuse(t, &why);
            break;
        case 't':
            if (text_add(t, optarg, &why) < 0)
                report_refuse(t, &why);
            break;
        case 'g':
            t->get = optarg;
            break;
        case 's':
            t->should_stop = true;
            break;
        case 'n':
            if (total_set(t, optarg, err) < 0)
                return -1;
            break;
        case 'h':
            fputs(HELP, stdout);
            return 1;
        case 'V':
            puts("raytrain-report " PACKAGE_VERSION);
            return 1;
        case ':':
            snprintf(what, sizeof what, "%.200s needs %s", argv[optind - 1],
                     optopt == 't'   ? "NAME=VALUE"
                     : optopt == 'n' ? "a number"
                                     : "a path");
            return report_usage(err, what);
        default:
            return -1;
        }
    }
    if ((t->get || t->should_stop) && (optind < argc || t->has_total || has_report(t)))
        return report_usage(err, "--get-checkpoint and --should-stop report nothing");
    if (t->get && t->should_stop)
        return report_usage(err,
                            "--get-checkpoint and --should-stop cannot be combined");
    if (!t->get && !t->should_stop && !t->has_total && optind == argc && !has_report(t))
        return report_usage(err, "there is nothing to report");
    metrics_take(t, argv + optind);
    return 0;
}

/* ---- The session ---- */

static int copy_answer(void *arg, const struct wire_message *question,
                       struct error *err)
{
    const struct task *t = arg;

    return offered_files_copy(&t->files, question, err);
}

/* A command that may be killed asks each time whether to stop, so the session must not
 * wait for a checkpoint before it passes a request on. */
static json_t *report_request(const struct task *t)
{
    json_t *request = json_pack("{s:s, s:b, s:O, s:O}", "op", "report", "asks_stop", 1,
                                "metrics", t->metrics, "typed", t->typed);

    if (t->refused)
        json_object_set_new(request, "refused", json_string(t->why.text));
    else if (t->offers)
        json_object_set_new(request, "checkpoint", offered_files_json(&t->files));
    return request;
}

static int report_send(struct session_client *c, struct task *t, int *status,
                       struct error *err)
{
    struct wire_message reply;
    int rc = session_client_call(c, report_request(t), copy_answer, t, &reply, err);

    if (rc == 0) {
        if (json_is_true(json_object_get(reply.text, "should_stop")))
            *status = error_exit_status(RAYTRAIN_ESTOPPED);
        wire_clear(&reply);
    }
    if (!t->refused)
        return rc;
    *err = t->why;
    return -1;
}

static int total_pass(struct session_client *c, const struct task *t, struct error *err)
{
    struct wire_message reply;
    json_t *request =
        json_pack("{s:s, s:I}", "op", "total", "iterations", (json_int_t)t->total);

    if (session_client_call(c, request, NULL, NULL, &reply, err) < 0)
        return -1;
    wire_clear(&reply);
    return 0;
}

static int value_get_print(struct session_client *c, const struct task *t, int *status,
                           struct error *err)
{
    bool found = false;

    if (extracted_files_write(c, t->get, &found, err) < 0)
        return -1;
    *status = found ? 0 : STATUS_NONE;
    return 0;
}

static int session_use(const char *path, struct task *t, int *status, struct error *err)
{
    struct session_client c;
    json_t *info;
    int rc = 0;

    if (session_client_open(&c, path, &info, err) < 0)
        return -1;
    if (t->has_total)
        rc = total_pass(&c, t, err);
    if (rc == 0 && t->get)
        rc = value_get_print(&c, t, status, err);
    else if (rc == 0 && !t->should_stop && has_report(t))
        rc = report_send(&c, t, status, err);
    else if (rc == 0 && t->should_stop &&
             json_is_true(json_object_get(info, "should_stop")))
        *status = error_exit_status(RAYTRAIN_ESTOPPED);
    json_decref(info);
    session_client_close(&c);
    return rc;
}

/* A single worker: reports are checked, and dropped. */
static int alone(const struct task *t, int *status, struct error *err)
{
    if (t->get)
        *status = STATUS_NONE;
    if (!t->refused)
        return 0;
    *err = t->why;
    return -1;
}

int main(int argc, char *argv[])
{
    const char *path = getenv(WIRE_VARIABLE);
    struct task t = {.metrics = json_object(), .typed = json_object()};
    struct error err = {0};
    int status = 0, rc;

    if (fs_hold_stdio() < 0)
        return 5;
    /* Ignored, since Slurm sends it to all processes; a request to stop comes through
     * the session. */
    signal(SIGTERM, SIG_IGN);
    rc = task_parse(&t, argc, argv, &err);
    if (rc == 0)
        rc = path && *path ? session_use(path, &t, &status, &err)
                           : alone(&t, &status, &err);
    offered_files_clear(&t.files);
    json_decref(t.metrics);
    json_decref(t.typed);
    return rc < 0 ? report_fail(&err) : status;
}
