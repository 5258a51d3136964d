/* listener.c - the process, its guard, its log, and its end. Lines wait in
 * kept_lines.c. */
#include "callback/listener.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callback/kept_lines.h"
#include "event/attention.h"
#include "run/run_dir.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define PIPE_BYTES  (1 << 20) /* if the system allows it */
#define GATHER_S    0.2
#define TERMINATE_S 1.0
#define TAIL_BYTES  2048 /* of the log, to find the last line */

struct listener {
    struct callback_list *list;
    struct event_loop *loop;
    struct child child;
    struct child guard; /* kills the processes that it has started */
    int guarded;        /* a pipe to the guard; -1: none */
    const char *what;
    char *log;               /* its path; NULL: none */
    off_t log_begin;         /* where the output of this process begins */
    struct kept_lines lines; /* for its pipe */
    int timer;
    bool lost_said, quiet;
};

/* ---- The guard ---- */

/* If this process is killed, the kernel kills the child, but not the child's own
 * children. Then the guard, another process, reads the end of a pipe and kills the rest
 * of the group. */
static int guard_start(struct listener *l, struct error *err)
{
    char group[16];
    char *argv[] = {(char *)"/bin/sh",
                    (char *)"-c",
                    (char *)"read -r end; kill -s KILL -- \"-$1\"",
                    (char *)"sh",
                    group,
                    NULL};
    struct child_spec spec = {.argv = argv, .out = -1, .err = -1, .own_group = true};
    int ends[2], rc;

    snprintf(group, sizeof group, "%d", (int)l->child.pid);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a pipe: %s",
                         strerror(errno));
    l->guarded = ends[1];
    spec.in = ends[0];
    rc = child_spawn(&spec, &l->guard, err);
    close(ends[0]);
    return rc;
}

/* The group has ended, and its number may be reused. */
static void guard_end(struct listener *l)
{
    child_clear(&l->guard);
    if (l->guarded >= 0)
        close(l->guarded);
    l->guarded = -1;
}

/* ---- The end of the process ---- */

/* The last non-empty line of its output, made printable, or NULL. */
static char *last_line(const struct listener *l)
{
    char text[TAIL_BYTES + 1];
    int fd = l->log ? record_open(l->log, RECORD_OF_LOG) : -1;
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    off_t from = end - TAIL_BYTES > l->log_begin ? end - TAIL_BYTES : l->log_begin;
    ssize_t n = fd >= 0 && end > from ? pread(fd, text, (size_t)(end - from), from) : 0;
    char *line;

    if (fd >= 0)
        close(fd);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    line = strrchr(text, '\n');
    return printable_text(line ? line + 1 : text);
}

static void end_note(const struct listener *l, int status, bool early)
{
    char *line = last_line(l), how[96];

    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "has ended with status %d", WEXITSTATUS(status));
    callback_note(l->list, "%s %s%s: %s\n  its output is %s%s", l->what, how,
                  early ? ", and gets no more events" : "",
                  line ? line : "it has printed nothing", l->log ? "in " : "lost",
                  l->log ? l->log : "");
    free(line);
}

/* It is not restarted: it would lack the earlier events. */
static void group_gone(struct listener *l, int status, bool note)
{
    guard_end(l);
    kept_lines_close(&l->lines);
    if (note && !l->quiet)
        end_note(l, status, true);
}

static int on_child(void *arg, struct error *err)
{
    struct listener *l = arg;
    int pidfd = l->child.pidfd, status;
    bool ended = false;

    (void)err;
    if (child_reap(&l->child, &ended, &status, NULL) == 0 && !ended)
        return 0;
    event_loop_remove(l->loop, pidfd);
    if (ended)
        group_gone(l, status, true);
    return 0;
}

/* ---- Lines ---- */

static int listener_timer(void *arg, struct error *err)
{
    (void)err;
    kept_lines_write(&((struct listener *)arg)->lines);
    return 0;
}

static void line_lose(struct listener *l)
{
    kept_lines_lose(&l->lines);
    if (l->lost_said || l->quiet)
        return;
    l->lost_said = true;
    callback_note(l->list,
                  "%s does not read its events in time: some are lost, and counted in "
                  "the next one that it gets",
                  l->what);
}

void listener_send(struct listener *l, const char *line, bool now)
{
    if (!kept_lines_add(&l->lines, line))
        line_lose(l);
    else if (now)
        kept_lines_write(&l->lines);
}

/* ---- Start ---- */

/* The path of the log, with a safe file name. */
static char *log_path(const char *run_dir, const char *name, struct error *err)
{
    char *path = NULL;

    if (asprintf(&path, "%s/logs/callback-%s.log", run_dir, name) < 0) {
        error_no_memory(err);
        return NULL;
    }
    for (char *p = path + strlen(path) - strlen(name) - strlen(".log"); *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            *p = '_';
    return path;
}

/* Does not block on a FIFO without a reader. */
static int file_open(const char *path, struct error *err)
{
    int fd = open(path, FS_WRITE | O_CREAT | O_APPEND, 0666);

    return fd < 0 ? fs_error(err, "create", path) : fd;
}

/* -1: its output is lost, with a note. */
static int log_open(struct listener *l, const char *run_dir, const char *name)
{
    struct error err;
    int fd = -1;

    l->log = log_path(run_dir, name, &err);
    if (l->log && run_dir_make_logs(run_dir, &err) == 0)
        fd = file_open(l->log, &err);
    if (fd >= 0) {
        l->log_begin = lseek(fd, 0, SEEK_END);
        return fd;
    }
    free(l->log);
    l->log = NULL;
    callback_note(l->list, "%s: %s; what it prints is lost", l->what, err.text);
    return -1;
}

static int process_start(struct listener *l, char *const *argv, int log,
                         struct error *err)
{
    struct child_spec spec = {.argv = argv,
                              .in = -1,
                              .out = log,
                              .err = log,
                              .own_group = true,
                              .die_with_parent = true};
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a pipe: %s",
                         strerror(errno));
    l->lines.fd = ends[1];
    spec.in = ends[0];
    rc = child_spawn(&spec, &l->child, err);
    close(ends[0]);
    (void)fcntl(l->lines.fd, F_SETPIPE_SZ, PIPE_BYTES);
    if (rc == 0 && fcntl(l->lines.fd, F_SETFL, O_NONBLOCK) < 0)
        rc = error_set(err, RAYTRAIN_EFAILED, "fcntl: %s", strerror(errno));
    return rc;
}

int listener_start(char *const *argv, const char *what, const char *name,
                   const struct callback_context *context, struct listener **out,
                   struct error *err)
{
    struct listener *l = calloc(1, sizeof *l);
    int log = -1, rc;

    if (!l)
        return error_no_memory(err);
    *l = (struct listener){.list = context->list,
                           .loop = context->loop,
                           .child = CHILD_INIT,
                           .guard = CHILD_INIT,
                           .guarded = -1,
                           .what = what,
                           .lines = KEPT_LINES_INIT,
                           .timer = -1};
    rc = kept_lines_open(&l->lines, err);
    if (rc == 0)
        log = log_open(l, context->run_dir, name);
    if (rc == 0 && process_start(l, argv, log, err) == 0 && guard_start(l, err) == 0 &&
        event_loop_every(l->loop, GATHER_S, listener_timer, l, &l->timer, err) == 0 &&
        event_loop_add(l->loop, l->child.pidfd, on_child, l, err) == 0) {
        if (log >= 0)
            close(log);
        *out = l;
        return 0;
    }
    if (log >= 0)
        close(log);
    l->quiet = true;
    child_clear(&l->child);
    listener_destroy(l);
    return -1;
}

/* ---- Finish ---- */

/* Wait until it has ended, after a last line if that is not NULL. False: not within
 * `seconds`, or the user does not want to wait. */
static bool wait_end(struct listener *l, const char *line, double seconds)
{
    double until = clock_now() + seconds;
    bool ended = false;
    int status = 0;

    while (l->child.pid > 0) {
        if (line && kept_lines_add(&l->lines, line))
            line = NULL;
        kept_lines_write(&l->lines);
        if (!line && kept_lines_written(&l->lines))
            kept_lines_close(&l->lines);
        if (child_reap(&l->child, &ended, &status, NULL) < 0)
            return false;
        if (ended && !l->quiet && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
            end_note(l, status, false);
        if (ended)
            break;
        if (clock_now() >= until || attention_is_called())
            return false;
        attention_wait(l->child.pidfd, l->lines.fd >= 0 ? 20 : 100);
    }
    return true;
}

void listener_finish(struct listener *l, const char *line, double seconds)
{
    bool quiet = l->quiet;

    if (l->child.pid == 0)
        return;
    event_loop_remove(l->loop, l->child.pidfd);
    if (wait_end(l, line, seconds)) {
        guard_end(l);
        return;
    }
    if (!quiet)
        callback_note(l->list,
                      "%s has not ended within %g s after the run: it is ended now; "
                      "grace_s gives it more time",
                      l->what, seconds);
    kept_lines_close(&l->lines);
    l->quiet = true;
    child_signal_group(&l->child, SIGTERM, NULL);
    wait_end(l, NULL, TERMINATE_S);
    child_clear(&l->child);
    guard_end(l);
    l->quiet = quiet;
}

void listener_destroy(struct listener *l)
{
    if (!l)
        return;
    l->quiet = true;
    listener_finish(l, NULL, TERMINATE_S);
    if (l->timer >= 0)
        event_loop_remove(l->loop, l->timer);
    guard_end(l);
    kept_lines_clear(&l->lines);
    free(l->log);
    free(l);
}
