/* bounded.c - the process that makes the call, and its answer through a pipe. */
#include "check/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/fs.h"
#include "util/process.h"

#define TEXT_MAX 65536
#define REAPED_S 1.0 /* limits the wait: a process that waits for storage may not die */

static _Noreturn void answer_write(int fd, json_t *(*call)(const void *arg),
                                   const void *arg)
{
    json_t *value;
    char *text;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    value = call(arg);
    text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    _exit(!text || fs_write_full(fd, text, strlen(text)) < 0);
}

/* The whole answer, or NULL. */
static json_t *answer_read(int fd, double until)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    char *text = malloc(TEXT_MAX);
    json_t *value = NULL;
    size_t used = 0;
    double left;

    while (text && used < TEXT_MAX && (left = until - clock_now()) > 0) {
        ssize_t n;

        if (poll(&readable, 1, (int)(left * 1e3) + 1) <= 0)
            continue;
        n = read(fd, text + used, TEXT_MAX - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            value = json_loadb(text, used, JSON_DECODE_ANY, NULL);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    free(text);
    return value;
}

json_t *bounded_call(json_t *(*call)(const void *arg), const void *arg, double limit_s)
{
    double until = clock_now() + limit_s;
    json_t *value = NULL;
    int fds[2], status;
    pid_t child;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return NULL;
    child = fork();
    if (child == 0)
        answer_write(fds[1], call, arg);
    close(fds[1]);
    if (child > 0) {
        value = answer_read(fds[0], until);
        if (!value)
            kill(child, SIGKILL);
        process_reap(child, REAPED_S, &status);
    }
    close(fds[0]);
    return value;
}
