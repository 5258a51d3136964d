/* stop_request.c - read signals from a signalfd(2), and decide which of them mean "at
 * once". */
#include "event/stop_request.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "event/attention.h"
#include "util/clock.h"
#include "util/process.h"

int stop_request_open(struct stop_request *stop, struct error *err)
{
    sigset_t mask;

    stop->count = stop->signal = stop->latest = 0;
    stop->hurried = stop->interrupted = false;
    stop->terminated = 0;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGUSR1);
    if (!signals_hangup_is_ignored())
        sigaddset(&mask, SIGHUP);
    stop->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (stop->fd < 0)
        return error_set(err, RAYTRAIN_EFAILED, "signalfd: %s", strerror(errno));
    if (sigprocmask(SIG_BLOCK, &mask, &stop->previous) < 0) {
        error_set(err, RAYTRAIN_EFAILED, "sigprocmask: %s", strerror(errno));
        close(stop->fd);
        stop->fd = -1;
        return -1;
    }
    stop->outer = attention_set(stop->fd);
    return 0;
}

void stop_request_take(struct stop_request *stop, int sig, double now)
{
    if (stop->count++ == 0)
        stop->signal = sig;
    stop->latest = sig;
    if (sig == SIGINT) {
        stop->hurried = stop->hurried || stop->interrupted;
        stop->interrupted = true;
    } else if (sig == SIGTERM && stop->terminated == 0) {
        stop->terminated = now;
    } else if (sig == SIGTERM && !stop->in_job) {
        stop->hurried = stop->hurried || now - stop->terminated > STOP_HURRY_S;
    }
}

const char *stop_request_hint(const struct stop_request *stop)
{
    if (stop->interrupted)
        return "a second SIGINT stops at once";
    if (stop->terminated > 0 && !stop->in_job)
        return "another SIGTERM, some seconds later, stops at once";
    return "two SIGINTs stop at once";
}

int stop_request_read(struct stop_request *stop)
{
    struct signalfd_siginfo info;
    int before = stop->count;

    while (read(stop->fd, &info, sizeof info) == (ssize_t)sizeof info)
        stop_request_take(stop, (int)info.ssi_signo, clock_now());
    return stop->count - before;
}

void stop_request_close(struct stop_request *stop)
{
    if (stop->fd < 0)
        return;
    stop_request_read(stop); /* it would kill this process when it is unblocked */
    attention_set(stop->outer);
    close(stop->fd);
    stop->fd = -1;
    sigprocmask(SIG_SETMASK, &stop->previous, NULL);
}
