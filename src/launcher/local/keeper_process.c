/* keeper_process.c - the messages of raytrain-run, and after its death the end of the
 * workers. */
#include "local/keeper_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/finish.h"
#include "util/array.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/private_dir.h"
#include "util/process.h"
#include "util/process_mark.h"
#include "util/shm_tidy.h"

#define GONE_WAIT_MS 5000 /* for workers that were killed to end */
#define LOOK_MS      200  /* between two checks of whether workers may still finish */

void keeper_mark_make(const char *dir, char mark[KEEPER_MARK_MAX])
{
    snprintf(mark, KEEPER_MARK_MAX, KEEPER_MARK "%s", dir);
}

struct group_list {
    pid_t *pids;
    size_t n, room;
};

static void groups_add(struct group_list *list, pid_t pid)
{
    /* Without memory: the workers still get their parent-death signal. */
    if (array_grow(&list->pids, &list->room, list->n, sizeof *list->pids) == 0)
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

/* Reads messages until raytrain-run is dead. */
static void messages_follow(struct group_list *list, struct finish *finish, int fd)
{
    pid_t pid;
    ssize_t got;

    while ((got = finish_receive(finish, fd, &pid, sizeof pid)) >= 0) {
        if (got != (ssize_t)sizeof pid)
            continue;
        if (pid > 1)
            groups_add(list, pid);
        else if (pid < -1)
            groups_remove(list, -pid);
    }
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

/* Wait for workers that may finish. */
static void group_finish(const struct group_list *groups, const struct finish *finish)
{
    struct process leader;

    for (size_t i = 0; i < groups->n; i++) {
        if (process_open(groups->pids[i], &leader) < 0)
            continue;
        while (finish_goes_on(finish) && !process_wait(&leader, LOOK_MS))
            continue;
        process_close(&leader);
    }
}

/* Kill what is left of the workers, and remove what they have left. */
static void group_clean(const struct group_list *groups, const char *dir)
{
    char mark[KEEPER_MARK_MAX];

    for (size_t i = 0; i < groups->n; i++)
        kill(-groups->pids[i], SIGKILL);
    keeper_mark_make(dir, mark);
    process_mark_kill(mark);
    for (size_t i = 0; i < groups->n; i++)
        wait_gone(groups->pids[i]);
    shm_tidy(); /* no process uses it any more */
    fs_remove_tree(dir, NULL);
}

void keeper_process_run(int socket, int n_before)
{
    struct keeper_hello hello = {.failed = 0};
    struct group_list groups = {NULL, 0, 0};
    struct finish finish;
    pid_t parent = getppid();

    finish_init(&finish);
    fault_point("keeper.hello", n_before);
    if (private_dir_make(hello.dir, sizeof hello.dir) <
        0) /* held until the keeper exits */
        hello.failed = errno;
    send(socket, &hello, sizeof hello, MSG_NOSIGNAL);
    if (hello.failed)
        _exit(1);
    messages_follow(&groups, &finish, socket);
    if (finish_begin(&finish, parent))
        group_finish(&groups, &finish);
    group_clean(&groups, hello.dir);
    finish_end(&finish);
    _exit(0);
}
