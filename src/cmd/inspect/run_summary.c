/* run_summary.c - the object for one run, and the metrics, kinds of values and scores
 * of several. */
#include "config.h"

#include "inspect/run_summary.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/train_config.h"
#include "inspect/output.h"
#include "run/extracted.h"
#include "run/metrics.h"
#include "run/report_tail.h"
#include "run/run_dir.h"
#include "util/error.h"
#include "util/quote.h"
#include "util/run_record.h"

/* ---- Status ---- */

/* "running", the status of the result, or "interrupted". */
static void status_set(json_t *out, const char *run, bool running)
{
    char *path = run_dir_file(run, "result.h5"), *status = NULL;
    int rc = 0;

    if (!running && path)
        rc = metrics_peek_status(path, &status, NULL);
    json_object_set_new(out, "status",
                        json_string(running  ? "running"
                                    : rc < 0 ? "unknown"
                                    : status ? status
                                             : "interrupted"));
    free(status);
    free(path);
}

/* ---- Configuration ---- */

static void score_set(json_t *out, const char *run)
{
    char *path = run_dir_file(run, "run.cfg"), *text = NULL;
    const struct checkpoint_config *c;
    struct train_config cfg;
    const char *score;

    train_config_init(&cfg);
    if (path && record_read(path, RECORD_OF_RUN, &text, NULL, NULL) == 0)
        train_config_merge_text(&cfg, text, path, NULL);
    c = &cfg.run_config.checkpoint_config;
    score = c->checkpoint_score_attribute;
    json_object_set_new(out, "score", score ? json_text(score) : json_null());
    if (score)
        json_object_set_new(out, "score_min", json_boolean(c->checkpoint_score_min));
    train_config_clear(&cfg);
    free(text);
    free(path);
}

/* ---- The last report ---- */

static void summary_metrics_set(json_t *out, const json_t *report)
{
    json_t *metrics = json_object(), *by_rank = json_object_get(report, "by_rank");
    const char *score = string_of(out, "score"), *name;
    json_t *ignored;

    if (*score && json_object_get(by_rank, score))
        json_object_set(metrics, score, json_object_get(report, score));
    json_object_foreach(by_rank, name, ignored)
        json_object_set(metrics, name, json_object_get(report, name));
    json_object_set_new(out, "metrics", metrics);
}

static void report_set(json_t *out, const char *run)
{
    static const char *const keys[][2] = {{"training_iteration", "iteration"},
                                          {"time_total_s", "time_total_s"},
                                          {"world_size", "workers"},
                                          {"timestamp", "updated"}};
    json_t *report = NULL;
    struct stat st;

    report_tail(run, &report, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(report, keys[i][0]);

        json_object_set(out, keys[i][1], value ? value : json_null());
    }
    if (!json_is_number(json_object_get(out, "updated")) && stat(run, &st) == 0)
        json_object_set_new(out, "updated", json_integer((json_int_t)st.st_mtime));
    summary_metrics_set(out, report);
    json_decref(report);
}

/* ---- Checkpoints ---- */

/* Of the files of a checkpoint that were made into a directory. */
static json_int_t extracted_size(const char *run, int64_t iteration)
{
    struct extracted x;
    json_int_t bytes;

    extracted_find(run, iteration, &x);
    bytes = (json_int_t)x.bytes;
    extracted_clear(&x);
    return bytes;
}

static void checkpoints_set(json_t *out, const char *run)
{
    json_int_t n = 0, bytes = 0, newest = -1;
    DIR *d = opendir(run);
    struct dirent *e;
    struct stat st;

    while (d && (e = readdir(d))) {
        int64_t iteration = checkpoint_name_iteration(e->d_name, CHECKPOINT_ENDING);

        if (extracted_iteration(e->d_name) >= 0)
            bytes += extracted_size(run, extracted_iteration(e->d_name));
        if (iteration < 0)
            continue;
        n++;
        if (iteration > newest)
            newest = iteration;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (json_int_t)st.st_size;
    }
    if (d)
        closedir(d);
    json_object_set_new(out, "checkpoints", json_integer(n));
    json_object_set_new(out, "checkpoint_bytes", json_integer(bytes));
    json_object_set_new(out, "checkpoint_iteration",
                        newest < 0 ? json_null() : json_integer(newest));
}

/* ---- All ---- */

json_t *run_summary(const char *run, bool running)
{
    char *path = realpath(run, NULL);
    json_t *out = json_object();

    json_object_set_new(out, "path", json_text(path ? path : run));
    status_set(out, run, running);
    json_object_set_new(out, "attempts", json_integer(run_dir_last_attempt(run) + 1));
    score_set(out, run);
    report_set(out, run);
    checkpoints_set(out, run);
    free(path);
    return out;
}

json_t *run_summary_metrics(const json_t *runs)
{
    json_t *seen = json_object(), *names = json_array(), *run, *ignored;
    const char *name;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)runs, i, run)
    {
        name = string_of(run, "score");
        if (*name && json_object_get(json_object_get(run, "metrics"), name))
            json_object_set_new(seen, name, json_null());
    }
    json_array_foreach((json_t *)(uintptr_t)runs, i, run)
    {
        json_object_foreach(json_object_get(run, "metrics"), name, ignored)
        {
            if (!json_object_get(seen, name))
                json_object_set_new(seen, name, json_null());
        }
    }
    json_object_foreach(seen, name, ignored)
        json_array_append_new(names, json_string(name));
    json_decref(seen);
    return names;
}

void run_summary_kinds_add(json_t *kinds, int64_t iteration, int64_t workers,
                           bool of_rank0)
{
    const char *of = of_rank0 ? "rank0" : "mean";
    const json_t *last = json_array_get(kinds, json_array_size(kinds) - 1);

    if (workers > 1 && strcmp(string_of(last, "of"), of) != 0)
        json_array_append_new(kinds, json_pack("{s:I, s:s}", "iteration",
                                               (json_int_t)iteration, "of", of));
}

char *run_summary_kinds_text(const json_t *kinds)
{
    char *text = NULL, *longer;
    json_t *kind;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)kinds, i, kind)
    {
        const char *word =
            strcmp(string_of(kind, "of"), "mean") == 0 ? "means" : "rank 0's";

        if ((i == 0 ? asprintf(&longer, "%s", word)
                    : asprintf(&longer, "%s, %s from %lld on", text ? text : "", word,
                               (long long)integer_of(kind, "iteration"))) < 0)
            break;
        free(text);
        text = longer;
    }
    return text ? text : strdup("-");
}

int run_summary_order(const json_t *runs, const char *metric)
{
    int all = 0;
    json_t *run;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)runs, i, run)
    {
        int one = strcmp(string_of(run, "score"), metric) != 0      ? 0
                  : json_is_true(json_object_get(run, "score_min")) ? 1
                                                                    : 2;

        if (one == 0 || (i > 0 && one != all))
            return 0;
        all = one;
    }
    return all;
}
