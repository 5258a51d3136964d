/* finish.c - orders over a keeper's socket, and how a keeper waits for workers that
 * finish. */
#include "launch/finish.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"

/* ---- Messages ---- */

struct order {
    int seconds;
    char run_dir[PATH_MAX];
};

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int finish_order(int socket, const struct finish_terms *terms, int seconds)
{
    struct order order = {.seconds = seconds};
    struct iovec piece = {.iov_base = &order, .iov_len = sizeof order};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    union control control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                                      .cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS}};
    int fd = run_lock_descriptor(terms->lock);

    if (terms->run_dir)
        snprintf(order.run_dir, sizeof order.run_dir, "%s", terms->run_dir);
    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* The descriptor that came with a message; -1: none. */
static int descriptor_of(struct msghdr *message)
{
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

static void lock_fd_close(struct finish *f)
{
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    f->lock_fd = -1;
}

static void order_take(struct finish *f, const struct order *order, int fd)
{
    lock_fd_close(f);
    f->lock_fd = fd;
    f->seconds = order->seconds;
    memcpy(f->run_dir, order->run_dir, sizeof f->run_dir);
    f->run_dir[sizeof f->run_dir - 1] = '\0';
}

ssize_t finish_receive(struct finish *f, int socket, void *text, size_t size)
{
    struct order order;
    struct iovec piece = {.iov_base = &order, .iov_len = sizeof order};
    union control control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got;

    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return -1;
    if ((size_t)got == sizeof order) {
        order_take(f, &order, descriptor_of(&message));
        return 0;
    }
    memcpy(text, &order, (size_t)got < size ? (size_t)got : size);
    return got;
}

/* ---- Finish ---- */

static volatile sig_atomic_t asked_to_end;

static void end_note(int signo)
{
    (void)signo;
    asked_to_end = 1;
}

void finish_init(struct finish *f)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGALRM};

    *f = (struct finish){.lock_fd = -1};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
}

/* In a job, SIGTERM stays ignored: the batch system sends it to all processes of a job
 * long before it kills them. */
static void signals_hear(void)
{
    const char *job = getenv("SLURM_JOB_ID");

    signal(SIGINT, end_note);
    if (!job || !*job)
        signal(SIGTERM, end_note);
}

bool finish_begin(struct finish *f, pid_t parent)
{
    int fd = f->lock_fd;

    if (f->seconds <= 0 || fd < 0)
        return false;
    f->lock_fd = -1;
    if (run_lock_inherit(f->run_dir, fd, (long)parent, &f->lock, NULL) < 0)
        return false;
    signals_hear();
    f->until = clock_now() + f->seconds;
    if (run_lock_keep(f->lock, NULL) == 0)
        return true;
    finish_end(f);
    return false;
}

bool finish_goes_on(const struct finish *f)
{
    return f->lock && !asked_to_end && clock_now() < f->until;
}

void finish_end(struct finish *f)
{
    run_lock_release(f->lock);
    f->lock = NULL;
    lock_fd_close(f);
}
