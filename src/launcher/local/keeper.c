/* keeper.c - what the keeper does, and its parent's side; see keeper.h. */
#include "local/keeper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/private_dir.h"
#include "util/descriptors.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/process.h"
#include "util/process_mark.h"
#include "util/shm_tidy.h"

#define GONE_WAIT_MS  5000 /* for the end of workers that it has killed */
#define KILLED_WAIT_S 5.0  /* for the end of the keeper itself */

/* RAYTRAIN_GROUP=DIR, which is another directory for each keeper. */
#define MARK     "RAYTRAIN_GROUP="
#define MARK_MAX (sizeof MARK + PATH_MAX)

struct keeper {
    pid_t pid;
    int socket; /* only this process has it: when it dies the keeper reads the end */
    int hold;   /* a lock on dir, since the keeper may be killed */
    char dir[PATH_MAX];
    char mark[MARK_MAX];
};

/* The first message of the keeper. */
struct keeper_hello {
    int failed; /* errno of private_dir_make(); 0: dir exists */
    char dir[PATH_MAX];
};

/* ---- In the keeper ---- */

struct group_list {
    pid_t *pids;
    size_t n, room;
};

static void groups_add(struct group_list *list, pid_t pid)
{
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        pid_t *grown = realloc(list->pids, room * sizeof *grown);

        if (!grown) /* the workers still get their parent-death signal */
            return;
        list->pids = grown;
        list->room = room;
    }
    list->pids[list->n++] = pid;
}

static void groups_remove(struct group_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->pids[i] == pid) {
            list->pids[i] = list->pids[--list->n];
            return;
        }
}

/* A message is one pid_t: a new group, or, if negative, one that is gone. */
static void groups_follow(struct group_list *list, int fd)
{
    pid_t pid;
    ssize_t got;

    while ((got = recv(fd, &pid, sizeof pid, 0)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        if (got != (ssize_t)sizeof pid)
            continue;
        if (pid > 1)
            groups_add(list, pid);
        else if (pid < -1)
            groups_remove(list, -pid);
    }
}

/* Close the parent's descriptors: no pipe of the user may stay open because of the
 * keeper. */
static void keeper_detach(int fd)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGALRM};
    sigset_t none;

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_NAME, "raytrain-keeper");
    dup2(fd, STDIN_FILENO);
    (void)descriptors_close(STDIN_FILENO + 1, -1);
    if (chdir("/") < 0)
        _exit(1);
}

/* Wait for the end of a process that is not a child. */
static void wait_gone(pid_t pid)
{
    struct process gone;

    if (process_open(pid, &gone) < 0)
        return;
    (void)process_wait(&gone, GONE_WAIT_MS);
    process_close(&gone);
}

/* n: how many keepers this process has started before. */
static void keeper_main(int fd, int n) __attribute__((noreturn));

static void keeper_main(int fd, int n)
{
    struct keeper_hello hello = {.failed = 0};
    struct group_list groups = {NULL, 0, 0};
    char mark[MARK_MAX];

    keeper_detach(fd);
    fault_point("keeper.hello", n);
    if (private_dir_make(hello.dir, sizeof hello.dir) <
        0) /* held until the keeper exits */
        hello.failed = errno;
    send(STDIN_FILENO, &hello, sizeof hello, MSG_NOSIGNAL);
    if (hello.failed)
        _exit(1);
    groups_follow(&groups, STDIN_FILENO);
    for (size_t i = 0; i < groups.n; i++)
        kill(-groups.pids[i], SIGKILL);
    snprintf(mark, sizeof mark, MARK "%s", hello.dir);
    process_mark_kill(mark);
    for (size_t i = 0; i < groups.n; i++)
        wait_gone(groups.pids[i]);
    shm_tidy(); /* no process uses it any more */
    fs_remove_tree(hello.dir, NULL);
    _exit(0);
}

/* ---- In its parent ---- */

int keeper_ready(struct keeper *k, struct error *err)
{
    struct keeper_hello hello;
    ssize_t got;

    do
        got = recv(k->socket, &hello, sizeof hello, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got != (ssize_t)sizeof hello)
        return error_set(err, RAYTRAIN_ECOMM,
                         "the process that cleans up after the workers has died");
    if (hello.failed)
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "cannot make the directory %s: %s: set TMPDIR to a "
                         "directory that you can write to",
                         hello.dir, strerror(hello.failed));
    memcpy(k->dir, hello.dir, sizeof k->dir);
    snprintf(k->mark, sizeof k->mark, MARK "%s", k->dir);
    k->hold = private_dir_hold(k->dir);
    if (k->hold < 0)
        return fs_error(err, "open", k->dir);
    return 1;
}

int keeper_start(struct keeper **out, struct error *err)
{
    static int n_started;
    struct keeper *k = calloc(1, sizeof *k);
    int ends[2], n = n_started++;

    if (!k)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        error_set(err, RAYTRAIN_EFAILED, "cannot make a socket pair: %s",
                  strerror(errno));
        free(k);
        return -1;
    }
    k->socket = ends[0];
    k->hold = -1;
    k->pid = fork();
    if (k->pid == 0)
        keeper_main(ends[1], n);
    if (k->pid < 0)
        error_set(err, RAYTRAIN_ENOMEM, "cannot start another process: %s",
                  strerror(errno));
    close(ends[1]);
    if (k->pid < 0) {
        keeper_stop(k);
        return -1;
    }
    *out = k;
    return 0;
}

const char *keeper_dir(const struct keeper *k)
{
    return k->dir;
}

const char *keeper_mark(const struct keeper *k)
{
    return k->mark;
}

int keeper_socket(const struct keeper *k)
{
    return k->socket;
}

void keeper_forget(const struct keeper *k, pid_t group)
{
    pid_t message = -group;

    /* A keeper that was killed needs no message. One that does not read its messages
     * would in the end kill a group id that was reused. */
    if (send(k->socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno == EAGAIN)
        kill(k->pid, SIGKILL);
}

void keeper_stop(struct keeper *k)
{
    int saved = errno;

    if (!k)
        return;
    if (!k->dir[0])
        (void)keeper_ready(k, NULL); /* it may have made one by now */
    if (k->dir[0])
        fs_remove_tree(k->dir, NULL);
    if (k->pid > 0) {
        kill(k->pid, SIGKILL);
        (void)process_reap(k->pid, KILLED_WAIT_S, NULL);
    }
    close(k->socket);
    if (k->hold >= 0)
        close(k->hold);
    free(k);
    errno = saved;
}
