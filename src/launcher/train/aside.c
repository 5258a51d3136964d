/*
 * aside.c - a forked process works, and writes its outcome into a pipe:
 *
 *   {"code": a raytrain_status, "text": the error's, "answer": of the work, or null}
 */
#include "train/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "event/attention.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/process.h"
#include "util/quote.h"

/* limits the wait: a process that waits for storage may not die */
#define REAPED_S   1.0
#define READ_BYTES 65536

struct errand {
    struct run *run;
    const char *what;
    pid_t pid;
    int fd; /* the pipe */
    char *text;
    size_t n, room;
    bool over; /* the pipe has been read to its end */
    int stops; /* requests that came before, or are answered */
};

/* ---- The process that works ---- */

static _Noreturn void work_and_exit(aside_work *work, void *arg, pid_t parent, int fd)
{
    struct error err = {.code = RAYTRAIN_OK};
    json_t *answer = NULL, *all;
    char *text;

    attention_set(-1); /* a request to stop is for the parent */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (work(arg, &answer, &err) == 0)
        err = (struct error){.code = RAYTRAIN_OK}; /* a text that is not an error's */
    all = json_pack("{s:i, s:o, s:o?}", "code", (int)err.code, "text",
                    json_text(err.text), "answer", answer);
    text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    _exit(!text || fs_write_full(fd, text, strlen(text)) < 0);
}

static int errand_start(struct errand *e, aside_work *work, void *arg)
{
    pid_t parent = getpid();
    int fds[2];

    if (fault_point("aside.fork", 0) < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    e->pid = fork();
    if (e->pid == 0)
        work_and_exit(work, arg, parent, fds[1]);
    close(fds[1]);
    if (e->pid > 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0) {
        e->fd = fds[0];
        return 0;
    }
    if (e->pid > 0) {
        kill(e->pid, SIGKILL);
        process_reap(e->pid, REAPED_S, NULL);
    }
    close(fds[0]);
    return -1;
}

/* ---- This process, meanwhile ---- */

static int on_readable(void *arg, struct error *err)
{
    struct errand *e = arg;
    ssize_t n;

    if (e->n + READ_BYTES > e->room) {
        size_t room = 2 * e->room + READ_BYTES;
        char *bigger = realloc(e->text, room);

        if (!bigger)
            return error_no_memory(err);
        e->text = bigger;
        e->room = room;
    }
    n = read(e->fd, e->text + e->n, READ_BYTES);
    if (n > 0)
        e->n += (size_t)n;
    e->over = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    return 0;
}

/* After a signal. -1: it ends the work. */
static int on_signal(struct errand *e, struct error *err)
{
    const struct stop_request *stop = &e->run->stop;

    e->stops = stop->count;
    if (run_lock_check(e->run->lock, err) < 0)
        return -1;
    if (stop->hurried)
        return error_set(err, RAYTRAIN_ESTOPPED, "stopped at once, before it could %s",
                         e->what);
    callback_note(e->run->callbacks, "%s: it remains to %s; %s",
                  strsignal(stop->latest), e->what, stop_request_hint(stop));
    return 0;
}

static int errand_await(struct errand *e, struct error *err)
{
    while (!e->over) {
        if (event_loop_turn(e->run->loop, -1, err) < 0)
            return -1;
        if (e->run->stop.count > e->stops && !e->over && on_signal(e, err) < 0)
            return -1;
    }
    return 0;
}

/* The answer of the process. */
static int errand_take(struct errand *e, json_t **answer, struct error *err)
{
    json_t *all = json_loadb(e->text, e->n, 0, NULL), *value;
    raytrain_status code =
        (raytrain_status)json_integer_value(json_object_get(all, "code"));

    if (!all)
        return error_set(
            err, RAYTRAIN_EFAILED,
            "cannot %s: the process for this was killed, perhaps for lack of memory",
            e->what);
    value = json_object_get(all, "answer");
    if (code == RAYTRAIN_OK && !json_is_null(value))
        *answer = json_incref(value);
    else if (code != RAYTRAIN_OK)
        error_set(err, code, "%s", json_string_value(json_object_get(all, "text")));
    json_decref(all);
    return code == RAYTRAIN_OK ? 0 : -1;
}

int aside(struct run *run, const char *what, aside_work *work, void *arg,
          json_t **answer, struct error *err)
{
    struct errand e = {.run = run, .what = what, .stops = run->stop.count};
    int rc;

    *answer = NULL;
    if (errand_start(&e, work, arg) < 0)
        return work(arg, answer, err);
    rc = event_loop_add(run->loop, e.fd, on_readable, &e, err);
    if (rc == 0)
        rc = errand_await(&e, err);
    event_loop_remove(run->loop, e.fd);
    if (rc < 0)
        kill(e.pid, SIGKILL);
    process_reap(e.pid, REAPED_S, NULL);
    close(e.fd);
    if (rc == 0)
        rc = errand_take(&e, answer, err);
    free(e.text);
    return rc;
}
