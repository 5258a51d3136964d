/*
 * logs_view.c - print what the workers of the newest attempt have written, each line
 * after the name of its rank, or of its node if all ranks of a node share a log. The
 * rank that failed comes first. With --follow, lines are printed as they come,
 * including those of later attempts.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/follow.h"
#include "inspect/output.h"
#include "inspect/views.h"
#include "run/report_follow.h"
#include "run/run_dir.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/quote.h"
#include "util/run_record.h"

#define RANK_PREFIX "rank-"
#define NODE_PREFIX "node-"

struct log_file {
    char *path;
    char label[RUN_DIR_LOG_NAME_MAX]; /* "rank 3", "node n1" */
    long rank;                        /* -1: log of a node */
    bool failed;
    uint64_t offset; /* bytes that are not printed yet */
};

struct logs {
    FILE *out;
    const char *run;
    const char *rank; /* the only rank to print; NULL: all */
    int attempt;      /* -1: none yet */
    struct log_file *files;
    size_t n, room;
    const struct log_file *at; /* the log whose line is being printed */
};

/* ---- The files of an attempt ---- */

static void files_clear(struct logs *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->files[i].path);
    free(l->files);
    l->files = NULL;
    l->n = l->room = 0;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);

    return n > m && strcmp(name + n - m, ending) == 0;
}

/* Parse the file's name. False: it is not a log of workers, or not a wanted one. */
static bool name_read(const struct logs *l, const char *name, struct log_file *file)
{
    bool of_rank = strncmp(name, RANK_PREFIX, sizeof RANK_PREFIX - 1) == 0;
    bool of_node = strncmp(name, NODE_PREFIX, sizeof NODE_PREFIX - 1) == 0;

    if ((!of_rank && !of_node) || (!ends_in(name, ".out") && !ends_in(name, ".err")) ||
        strlen(name) >= sizeof file->label)
        return false;
    *file = (struct log_file){.rank = -1};
    if (of_rank) {
        file->rank = strtol(name + sizeof RANK_PREFIX - 1, NULL, 10);
        snprintf(file->label, sizeof file->label, "rank %ld", file->rank);
    } else {
        snprintf(file->label, sizeof file->label, "node %.*s",
                 (int)(strlen(name) - sizeof NODE_PREFIX + 1 - strlen(".out")),
                 name + sizeof NODE_PREFIX - 1);
    }
    return !l->rank || (of_rank && file->rank == strtol(l->rank, NULL, 10));
}

static bool has_file(const struct logs *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->files[i].path, path) == 0)
            return true;
    return false;
}

static int file_add(struct logs *l, const char *dir, const char *name,
                    struct error *err)
{
    struct log_file file;
    char *path;

    if (!name_read(l, name, &file))
        return 0;
    if (!(path = run_dir_file(dir, name)))
        return error_no_memory(err);
    if (has_file(l, path)) {
        free(path);
        return 0;
    }
    if (array_grow(&l->files, &l->room, l->n, sizeof *l->files) < 0) {
        free(path);
        return error_no_memory(err);
    }
    file.path = path;
    l->files[l->n++] = file;
    return 0;
}

/* Order: the rank that failed, then by rank or node; standard output before standard
 * error. */
static int file_order(const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;
    int order;

    if (x->failed != y->failed)
        return x->failed ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    order = strcmp(x->label, y->label);
    return order ? order : -strcmp(x->path, y->path);
}

static void failed_mark(struct logs *l, const char *dir)
{
    char *path = run_dir_file(dir, "attempt.json");
    json_t *attempt = path ? record_read_json(path, RECORD_OF_ATTEMPT) : NULL;
    const json_t *rank = json_object_get(attempt, "rank");
    char node[RUN_DIR_LOG_NAME_MAX];

    snprintf(node, sizeof node, "node %.255s", string_of(attempt, "host"));
    for (size_t i = 0; i < l->n && json_is_integer(rank); i++)
        l->files[i].failed = l->files[i].rank >= 0
                                 ? l->files[i].rank == json_integer_value(rank)
                                 : strcmp(l->files[i].label, node) == 0;
    json_decref(attempt);
    free(path);
}

/* Open the logs that exist by now, in their order. */
static int files_find(struct logs *l, struct error *err)
{
    char *dir = run_dir_log_dir(l->run, l->attempt);
    int fd = dir ? record_open_dir(dir, RECORD_OF_ATTEMPT - 1) : -1, rc = 0;
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (fd >= 0 && !listing)
        close(fd);
    while (rc == 0 && listing && (entry = readdir(listing)))
        rc = file_add(l, dir, entry->d_name, err);
    if (listing)
        closedir(listing);
    if (rc == 0 && dir) {
        failed_mark(l, dir);
        if (l->n > 0)
            qsort(l->files, l->n, sizeof *l->files, file_order);
    }
    free(dir);
    return rc;
}

/* ---- Lines ---- */

/* Print without control sequences. Of a line that was written over, such as a progress
 * bar, print the last state. */
static void log_line_print(void *arg, const char *line, size_t n)
{
    const struct logs *l = arg;
    const char *end, *from;
    char *text;

    while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == '\n'))
        n--;
    from = memrchr(line, '\r', n);
    from = from ? from + 1 : line;
    end = line + n;
    text = strndup(from, (size_t)(end - from));
    fprintf(l->out, "%s: ", l->at->label);
    for (const char *c = text; c && *c;) {
        int length = *c == '\t' ? 1 : printable_length(c);

        if (length > 0)
            fwrite(c, 1, (size_t)length, l->out);
        else
            fprintf(l->out, "\\x%02x", (unsigned char)*c);
        c += length > 0 ? length : 1;
    }
    fputc('\n', l->out);
    free(text);
}

static int lines_print(struct logs *l, struct error *err)
{
    for (size_t i = 0; i < l->n; i++) {
        l->at = &l->files[i];
        if (line_follow(l->files[i].path, RECORD_OF_ATTEMPT, &l->files[i].offset,
                        log_line_print, l, err) < 0)
            return -1;
    }
    fflush(l->out);
    return 0;
}

/* Print what follows the last newline: no more will come. */
static void rests_print(struct logs *l)
{
    char rest[4096];

    for (size_t i = 0; i < l->n; i++) {
        int fd = record_open(l->files[i].path, RECORD_OF_ATTEMPT);
        ssize_t n =
            fd < 0 ? 0 : pread(fd, rest, sizeof rest - 1, (off_t)l->files[i].offset);

        if (fd >= 0)
            close(fd);
        if (n <= 0)
            continue;
        l->at = &l->files[i];
        log_line_print(l, rest, (size_t)n);
        l->files[i].offset += (uint64_t)n;
    }
}

/* ---- The view ---- */

static int fail_none(const struct logs *l, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    quote(l->run, quoted);
    if (l->attempt < 0)
        return error_set(err, RAYTRAIN_ENOTFOUND, "--logs: %s has no attempt yet",
                         quoted);
    if (l->rank)
        return error_set(
            err, RAYTRAIN_ENOTFOUND,
            "--logs: attempt %d of %s has no log of rank %s; without --rank, "
            "all of its logs are printed",
            l->attempt, quoted, l->rank);
    return 0; /* the workers have written nothing */
}

static int attempt_print(struct logs *l, struct error *err)
{
    return files_find(l, err) < 0 || lines_print(l, err) < 0 ? -1 : 0;
}

/* Print all attempts up to the newest. */
static int attempt_logs_print(struct logs *l, int newest, struct error *err)
{
    if (l->attempt >= 0 && attempt_print(l, err) < 0)
        return -1;
    while (l->attempt < newest) {
        rests_print(l);
        files_clear(l);
        l->attempt = l->attempt < 0 ? newest : l->attempt + 1;
        if (attempt_print(l, err) < 0)
            return -1;
    }
    return 0;
}

static int logs_follow(struct logs *l, int *status, struct error *err)
{
    struct pulse pulse = {.changed_s = clock_now()};
    double held_s = clock_now();

    for (;;) {
        bool alive = follow_is_alive(l->run, &pulse);
        char *result = alive ? NULL : follow_result(l->run);

        *status = result ? follow_status(result) : 1;
        held_s = alive ? clock_now() : held_s;
        if (attempt_logs_print(l, run_dir_last_attempt(l->run), err) < 0) {
            free(result);
            return -1;
        }
        if (result || clock_now() - held_s > FOLLOW_GRACE_S) {
            free(result);
            rests_print(l);
            return 0;
        }
        if (ferror(l->out))
            return error_set(err, RAYTRAIN_ESTORAGE, "cannot write to standard output");
        follow_pause(FOLLOW_LOOK_S);
    }
}

int inspect_logs(FILE *out, const char *run, const char *rank, bool follow, int *status,
                 struct error *err)
{
    struct logs l = {.out = out, .run = run, .rank = rank, .attempt = -1};
    char quoted[QUOTE_TEXT_MAX];
    int rc;

    if (!inspect_is_run(run))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "--logs: %s is not a run of raytrain; name the directory of one",
            quote(run, quoted));
    if (follow) {
        rc = logs_follow(&l, status, err);
    } else {
        rc = attempt_logs_print(&l, run_dir_last_attempt(run), err);
        if (rc == 0)
            rests_print(&l);
        if (rc == 0 && l.n == 0)
            rc = fail_none(&l, err);
    }
    files_clear(&l);
    return rc;
}
