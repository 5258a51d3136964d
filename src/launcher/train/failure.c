#include "train/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/worker_log.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"

#define RECORD_NAME      "error.json"
#define TAIL_LINES       10
#define TAIL_BYTES       3000
#define STATUS_NOT_FOUND 127 /* of shells and of the dynamic linker */

static int text_field(const json_t *record, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(record, key));

    if (!value)
        return 0;
    snprintf(out, size, "%s", value);
    return 1;
}

/* What the worker half itself could not do is not cured by another try; what the
 * training function did may be. The kind decides, for its exit status may be anything.
 */
static raytrain_status record_code(const json_t *record, int exit_status)
{
    static const char *const training[] = {"train_func", "exit", "signal", "comm"};
    const char *kind = json_string_value(json_object_get(record, "kind"));

    for (size_t i = 0; kind && i < sizeof training / sizeof training[0]; i++)
        if (strcmp(kind, training[i]) == 0)
            return RAYTRAIN_EFAILED;
    switch (exit_status) {
    case 2:
    case 3:
        return RAYTRAIN_EINVAL;
    case 4:
        return RAYTRAIN_EFIT;
    case 5:
        return RAYTRAIN_ESTORAGE;
    default:
        return RAYTRAIN_EFAILED;
    }
}

/* A worker that could not reach another one says so; where another one was killed, that
 * is the cause and this the consequence. */
static int is_consequence(const json_t *record, const struct failure *f)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));

    return f->signal && kind && strcmp(kind, "comm") == 0 &&
           json_integer_value(json_object_get(record, "rank")) != f->rank;
}

/* The first failing worker's own words. It names the cause: what died of its absence
 * came later, whatever the launcher saw first. */
static int record_read(const char *log_dir, struct failure *f)
{
    char *path = run_dir_file(log_dir, RECORD_NAME);
    json_t *record = path ? json_load_file(path, 0, NULL) : NULL;
    int found = json_is_object(record) && !is_consequence(record, f);

    if (found) {
        json_t *rank = json_object_get(record, "rank");
        json_t *status = json_object_get(record, "status");

        if (json_is_integer(rank))
            f->rank = (int)json_integer_value(rank);
        if (json_is_integer(status))
            f->exit_status = (int)json_integer_value(status);
        f->signal = 0;
        text_field(record, "host", f->host, sizeof f->host);
        if (!text_field(record, "message", f->message, sizeof f->message))
            snprintf(f->message, sizeof f->message, "no reason given");
        f->code = record_code(record, f->exit_status);
        f->final = f->code != RAYTRAIN_EFAILED;
    }
    json_decref(record);
    free(path);
    return found;
}

static void outcome_sentence(const struct launch_outcome *o, struct failure *f)
{
    const char *detail = o->detail[0] ? o->detail : "no reason given";

    if (o->launch_failed)
        snprintf(f->message, sizeof f->message, "the workers could not be started: %s",
                 detail);
    else if (o->oom)
        snprintf(f->message, sizeof f->message,
                 "out of memory: the kernel killed it; ask for more with "
                 "--mem-per-worker, or put fewer workers on a node%s%s",
                 o->detail[0] ? ": " : "", o->detail);
    else if (o->signal)
        snprintf(f->message, sizeof f->message, "killed by signal %d (%s)%s%s",
                 o->signal, strsignal(o->signal), o->detail[0] ? ": " : "", o->detail);
    else if (o->exit_status == STATUS_NOT_FOUND)
        snprintf(
            f->message, sizeof f->message,
            "ended with exit status %d: a program or a library was not found (if it "
            "is libraytrain: link as pkg-config --libs raytrain says, or set "
            "LD_LIBRARY_PATH)%s%s",
            o->exit_status, o->detail[0] ? ": " : "", o->detail);
    else if (o->exit_status)
        snprintf(f->message, sizeof f->message, "ended with exit status %d%s%s",
                 o->exit_status, o->detail[0] ? ": " : "", o->detail);
    else
        snprintf(f->message, sizeof f->message, "%s", detail);
}

/* Read the last bytes of a file, with a NUL behind them; the number read, 0 where there
 * is nothing. */
static size_t file_end(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 0;

    if (fd < 0)
        return 0;
    off_t end = lseek(fd, 0, SEEK_END);
    if (end > 0) {
        off_t room = (off_t)size - 1, from = end > room ? end - room : 0;

        n = pread(fd, buf, (size_t)room, from);
    }
    close(fd);
    n = n > 0 ? n : 0;
    buf[n] = '\0';
    return (size_t)n;
}

/* The last lines of a log, without what could steer a terminal. */
static int log_tail(const char *path, char *out, size_t size)
{
    char buf[TAIL_BYTES];
    size_t n = file_end(path, buf, sizeof buf), from, used = 0;
    int lines = 0;

    while (n > 0 && buf[n - 1] == '\n')
        n--;
    for (from = n; from > 0; from--)
        if (buf[from - 1] == '\n' && ++lines == TAIL_LINES)
            break;
    for (const char *c = buf + from; c < buf + n && used + 5 < size;) {
        int length = *c == '\n' || *c == '\t' ? 1 : printable_length(c);

        if (length > 0)
            memcpy(out + used, c, (size_t)length);
        else
            sprintf(out + used, "\\x%02x", (unsigned char)*c);
        used += length > 0 ? (size_t)length : 4;
        c += length > 0 ? length : 1;
    }
    out[used] = '\0';
    return used > 0;
}

static void log_find(const char *log_dir, int n_workers, struct failure *f)
{
    static const char *const suffixes[] = {"err", "out"};
    char stem[WORKER_LOG_STEM_MAX];

    if (n_workers <= LAUNCHER_RANK_LOGS_MAX ? f->rank < 0 : !f->host[0])
        return;
    worker_log_stem(n_workers, f->rank, f->host, stem);
    for (int i = 0; i < 2 && !f->tail[0]; i++) {
        int n = snprintf(f->log, sizeof f->log, "%s/%s.%s", log_dir, stem, suffixes[i]);

        if (n < 0 || (size_t)n >= sizeof f->log)
            f->log[0] = '\0';
        else
            log_tail(f->log, f->tail, sizeof f->tail);
    }
}

void failure_describe(const struct launch_outcome *outcome, const char *log_dir,
                      int n_workers, struct failure *failure)
{
    memset(failure, 0, sizeof *failure);
    failure->rank = outcome->rank;
    failure->never_started = outcome->launch_failed;
    failure->exit_status = outcome->exit_status;
    failure->signal = outcome->signal;
    failure->code = outcome->code ? outcome->code : RAYTRAIN_EFAILED;
    failure->final = outcome->code != RAYTRAIN_OK;
    snprintf(failure->host, sizeof failure->host, "%s", outcome->host);
    outcome_sentence(outcome, failure);
    if (!outcome->launch_failed && !record_read(log_dir, failure) &&
        outcome->rank < 0 && outcome->detail[0] && !outcome->oom)
        snprintf(failure->message, sizeof failure->message, "%s", outcome->detail);
    log_find(log_dir, n_workers, failure);
}

void failure_never_joined(const struct train_config *cfg, int n_workers,
                          struct failure *failure)
{
    char name[QUOTE_TEXT_MAX];

    *failure = (struct failure){.rank = -1, .final = true, .code = RAYTRAIN_EINVAL};
    quote(cfg->train_func, name);
    if (cfg->train_func_kind == TRAIN_FUNC_PROGRAM)
        snprintf(failure->message, sizeof failure->message,
                 "%s never called raytrain_main(), so nothing was trained: it ran %d "
                 "time%s, each process on its own\n"
                 "  call raytrain_main() in it, see raytrain_main(3); any other MPI "
                 "program is started without raytrain-run: mpiexec -n %d PROGRAM, "
                 "under Slurm srun -n %d PROGRAM",
                 name, n_workers, n_workers == 1 ? "" : "s", n_workers, n_workers);
    else
        snprintf(failure->message, sizeof failure->message,
                 "the workers ended before the training began: does %s end the process "
                 "when it is loaded?",
                 name);
}

void failure_tidy(const char *log_dir)
{
    char *record = run_dir_file(log_dir, RECORD_NAME);

    if (record)
        fs_remove_temps(record);
    free(record);
}
