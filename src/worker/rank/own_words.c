/*
 * own_words.c - writes a worker's line into its log, whose descriptor the launcher has
 * passed.
 */
#include "config.h"
#include "rank/own_words.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "protocol/output_wire.h"
#include "util/fs.h"

/* How long to wait until the log has what was printed before. */
#define BEFORE_MS 200

static int log_fd = -1;

void own_words_init(void)
{
    const char *text = getenv(OUTPUT_LOG_VARIABLE);

    if (!text)
        return;
    log_fd = atoi(text);
    if (log_fd <= STDERR_FILENO || fcntl(log_fd, F_SETFD, FD_CLOEXEC) < 0)
        log_fd = -1;
    unsetenv(OUTPUT_LOG_VARIABLE);
}

/* Wait until what was printed before is read, which keeps the order of the log. */
static void before_wait(void)
{
    int waiting;

    for (int ms = 0; ms < BEFORE_MS; ms++) {
        if (ioctl(STDERR_FILENO, FIONREAD, &waiting) < 0 || waiting == 0)
            return;
        poll(NULL, 0, 1);
    }
}

void raytrain_worker_say(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    text[n] = '\n'; /* in place of the NUL */
    if (log_fd >= 0)
        before_wait();
    (void)fs_write_full(log_fd >= 0 ? log_fd : STDERR_FILENO, text, (size_t)n + 1);
    free(text);
}
