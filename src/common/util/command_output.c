/* command_output.c - start a command by child.h and read its pipe until a deadline. */
#include "util/command_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/child.h"
#include "util/clock.h"
#include "util/quote.h"

#define TEXT_MAX 65536 /* the rest is read and discarded */

/* Read until the end of the output, or until the time `until`. */
static bool text_read(int fd, double until, char *text, size_t *used)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    char spill[4096];
    double left;

    while ((left = until - clock_now()) > 0) {
        ssize_t n;

        if (poll(&readable, 1, (int)(left * 1e3) + 1) <= 0)
            continue;
        n = *used < TEXT_MAX ? read(fd, text + *used, TEXT_MAX - *used)
                             : read(fd, spill, sizeof spill);
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
        if (n > 0 && *used < TEXT_MAX)
            *used += (size_t)n;
    }
    return false;
}

static int end_judge(const char *name, bool in_time, int status, const char *text,
                     double limit_s, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (!in_time)
        return error_set(err, RAYTRAIN_ESTOPPED, "%s has not ended after %.0f s", name,
                         limit_s);
    if (status != 0)
        return error_set(err, RAYTRAIN_EFAILED, "%s failed: %s", name,
                         quote(text, quoted));
    return 0;
}

int command_output(char *const *argv, double limit_s, char **text, struct error *err)
{
    double until = clock_now() + limit_s;
    struct child child = CHILD_INIT;
    bool in_time = false, gone = false;
    size_t used = 0;
    int fds[2], status = 0, rc;

    *text = calloc(1, TEXT_MAX + 1);
    if (!*text || pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to run %s", argv[0]);
    rc = child_spawn(&(struct child_spec){.argv = argv,
                                          .in = -1,
                                          .out = fds[1],
                                          .err = fds[1],
                                          .own_group = true,
                                          .die_with_parent = true},
                     &child, err);
    close(fds[1]);
    if (rc == 0) {
        in_time = text_read(fds[0], until, *text, &used);
        while (used > 0 && (*text)[used - 1] == '\n')
            (*text)[--used] = '\0';
        while (in_time && !gone && clock_now() < until &&
               child_reap(&child, &gone, &status, err) == 0 && !gone)
            poll(&(struct pollfd){.fd = child.pidfd, .events = POLLIN}, 1, 100);
        rc = end_judge(argv[0], gone, status, *text, limit_s, err);
    }
    close(fds[0]);
    child_clear(&child);
    return rc;
}
