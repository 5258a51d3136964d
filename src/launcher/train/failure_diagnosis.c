/*
 * failure_diagnosis.c - the message of a failure, from
 *
 *   The worker's record   error.json
 *   The sentence          from a signal or an exit status
 *   The log               its last lines
 */
#include "config.h"

#include "train/failure_diagnosis.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/backend_row.h"
#include "run/run_dir.h"
#include "util/quote.h"
#include "util/run_record.h"

#define TAIL_LINES       10
#define TAIL_BYTES       3000
#define STACK_BYTES_MAX  65536 /* of a crash, at the end of a log */
#define FRAMES_SHOWN     5
#define LOG_PREFIX       "raytrain" /* of lines that a worker writes itself */
#define STATUS_NOT_FOUND 127        /* of shells and of the dynamic linker */

/* ---- The worker's record ---- */

/* A worker that could not reach another one records that. If another one was killed,
 * its death is the cause, and this the consequence. */
static bool is_consequence(const struct failure *recorded, const struct failure *seen)
{
    return seen->signal && strcmp(recorded->kind, "comm") == 0 &&
           recorded->rank != seen->rank;
}

/* The first failing worker's own message names the cause: workers that died because it
 * was missing came later, whatever the launcher saw first. */
static bool record_take(const char *log_dir, struct failure *f)
{
    struct failure recorded = *f;

    if (!failure_read(log_dir, &recorded) || is_consequence(&recorded, f))
        return false;
    recorded.signal = 0;
    *f = recorded;
    return true;
}

/* ---- The sentence ---- */

static void sentence_make(struct failure *f)
{
    char said[ERROR_TEXT_MAX], *message = f->message;
    const size_t size = sizeof f->message;
    const char *colon;

    strcpy(said, f->message);
    colon = said[0] ? ": " : "";
    if (f->never_started)
        snprintf(message, size, "the workers could not be started: %.4000s",
                 said[0] ? said : "no reason given");
    else if (f->cause == CAUSE_OOM)
        snprintf(message, size,
                 "out of memory: the kernel killed it; ask for more with "
                 "--mem-per-worker, or put fewer workers on a node%s%.3900s",
                 colon, said);
    else if (f->rank < 0 && said[0])
        return; /* it concerns all workers */
    else if (f->signal)
        snprintf(message, size, "killed by signal %d (%s)%s%.3900s", f->signal,
                 strsignal(f->signal), colon, said);
    else if (f->exit_status == STATUS_NOT_FOUND)
        snprintf(message, size,
                 "ended with exit status %d: a program or a library was not found (if "
                 "it is libraytrain: link as pkg-config --libs raytrain says, or set "
                 "LD_LIBRARY_PATH)%s%.3800s",
                 f->exit_status, colon, said);
    else if (f->exit_status)
        snprintf(message, size, "ended with exit status %d%s%.4000s", f->exit_status,
                 colon, said);
    else if (!said[0])
        snprintf(message, size, "no reason given");
}

/* ---- The log ---- */

/* Read the last bytes of a file, followed by a NUL; returns the number read, 0 if there
 * is nothing. */
static size_t file_end(const char *path, char *buf, size_t size)
{
    int fd = record_open(path, RECORD_OF_ATTEMPT);
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

/* Bytes [*from, *to) of the log's end. */
struct excerpt {
    const char *from, *to;
};

/* The start of the next line after c; `end` if there is none. */
static const char *line_next(const char *c, const char *end)
{
    const char *newline = memchr(c, '\n', (size_t)(end - c));

    return newline ? newline + 1 : end;
}

/* The last n lines before `end`. */
static const char *lines_before(const char *start, const char *end, int n)
{
    const char *from = end;

    while (from > start && from[-1] == '\n')
        from--;
    for (; from > start; from--)
        if (from[-1] == '\n' && --n == 0)
            break;
    return from;
}

/* The first lines of stacks that crashes leave in a log, innermost call first: two
 * texts; the first may have to be at the start of the line. */
static const struct {
    const char *text, *then;
    bool begins;
} stack_heads[] = {
    {STACK_OF_WORKER, STACK_OF_CRASH, true}, /* a worker's own */
    {"Fatal Python error: ", "", true},      /* Python's faulthandler */
    {"ERROR: AddressSanitizer: ", "", false},
    {"==== backtrace (tid:", "", true},             /* UCX */
    {"*** Process received signal ***", "", false}, /* Open MPI */
};

static bool is_stack_head(const char *line, size_t n)
{
    for (size_t i = 0; i < sizeof stack_heads / sizeof *stack_heads; i++) {
        const char *text = stack_heads[i].text, *then = stack_heads[i].then,
                   *found = memmem(line, n, text, strlen(text));

        if (found && (found == line || !stack_heads[i].begins) &&
            memmem(found, n - (size_t)(found - line), then, strlen(then)))
            return true;
    }
    return false;
}

/* The line with which the last stack begins; NULL: none. */
static const char *stack_find(const char *start, const char *end)
{
    const char *found = NULL;

    for (const char *line = start; line < end; line = line_next(line, end))
        if (is_stack_head(line, (size_t)(line_next(line, end) - line)))
            found = line;
    return found;
}

/* The last lines. If these are a stack, which may be long, the lines before it are more
 * useful: the message of an exception or an assertion. */
static struct excerpt excerpt_choose(const char *buf, size_t n)
{
    struct excerpt e = {buf, buf + n};
    const char *stack;

    while (e.to > buf && e.to[-1] == '\n')
        e.to--;
    stack = stack_find(buf, e.to);
    if (!stack) {
        e.from = e.to - buf > TAIL_BYTES ? e.to - TAIL_BYTES : buf;
        e.from = lines_before(e.from, e.to, TAIL_LINES);
        return e;
    }
    e.from = lines_before(buf, stack, TAIL_LINES - FRAMES_SHOWN - 1);
    for (int i = 0; i <= FRAMES_SHOWN; i++)
        stack = line_next(stack, e.to);
    e.to = stack;
    return e;
}

/* The end of a log to show, without control characters. */
static int log_tail(const char *path, char *out, size_t size)
{
    char buf[STACK_BYTES_MAX];
    struct excerpt e = excerpt_choose(buf, file_end(path, buf, sizeof buf));
    size_t used = 0;

    while (e.to > e.from && e.to[-1] == '\n')
        e.to--;
    for (const char *c = e.from; c < e.to && used + 5 < size;) {
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

static void log_find(const char *log_dir, int n_workers, const struct failure *f,
                     struct failure_log *log)
{
    static const char *const suffixes[] = {"err", "out"};
    char stem[RUN_DIR_LOG_NAME_MAX];

    if (n_workers <= RUN_DIR_RANK_LOGS_MAX ? f->rank < 0 : !f->host[0])
        return;
    run_dir_log_name(n_workers, f->rank, f->host, stem);
    for (int i = 0; i < 2 && !log->tail[0]; i++) {
        int n = snprintf(log->path, sizeof log->path, "%s/%s.%s", log_dir, stem,
                         suffixes[i]);

        if (n < 0 || (size_t)n >= sizeof log->path)
            log->path[0] = '\0';
        else if (!log_tail(log->path, log->tail, sizeof log->tail))
            log->path[0] = '\0';
    }
}

/* Workers also write their record into their logs: show it once. */
static void repetition_drop(const char *message, char *tail)
{
    size_t n = strlen(tail), m = strlen(message);
    char *line;

    if (m == 0 || n < m || strcmp(tail + n - m, message) != 0)
        return;
    line = memrchr(tail, '\n', n - m);
    line = line ? line + 1 : tail;
    if (strncmp(line, LOG_PREFIX, strlen(LOG_PREFIX)) == 0)
        *(line > tail ? line - 1 : tail) = '\0';
}

/* ---- Together ---- */

void failure_diagnose(struct failure *f, const char *log_dir, int n_workers,
                      struct failure_log *log)
{
    *log = (struct failure_log){.path = ""};
    f->final = f->code != RAYTRAIN_OK;
    f->code = f->code ? f->code : RAYTRAIN_EFAILED;
    if (f->never_started || !record_take(log_dir, f))
        sentence_make(f);
    log_find(log_dir, n_workers, f, log);
    repetition_drop(f->message, log->tail);
}

const char *failure_missed_backend(const struct train_config *cfg,
                                   const struct failure *failure,
                                   const struct failure_log *log)
{
    if (cfg->train_func_kind != TRAIN_FUNC_COMMAND || !cfg->backend ||
        strcmp(cfg->backend, "command") != 0)
        return NULL;
    for (const struct backend_row *row = backend_rows; row->name; row++)
        for (const char *const *sign = row->signs; sign && *sign; sign++)
            if (strstr(failure->message, *sign) || strstr(log->tail, *sign))
                return row->name;
    return NULL;
}

bool failure_is_shared_gpu(const struct failure *failure, const struct failure_log *log)
{
    static const char sign[] = "Duplicate GPU detected"; /* NCCL's */

    return strstr(failure->message, sign) || strstr(log->tail, sign);
}

void failure_never_joined(const struct train_config *cfg, int n_workers,
                          struct failure *failure)
{
    char name[QUOTE_TEXT_MAX];

    *failure = (struct failure){.rank = -1, .final = true, .code = RAYTRAIN_EINVAL};
    quote(cfg->train_func ? cfg->train_func : cfg->trainer, name);
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
