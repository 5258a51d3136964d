/*
 * keeper_process.h - what raytrain-keeper does (keeper.h), and its messages. It is a
 * separate program, because the process that starts it may have threads: after a fork
 * without exec, a lock that one of them held would stay locked.
 */
#ifndef RAYTRAIN_LOCAL_KEEPER_PROCESS_H
#define RAYTRAIN_LOCAL_KEEPER_PROCESS_H

#include <limits.h>

/* KEEPER_MARK DIR, which is another directory for each keeper. */
#define KEEPER_MARK     "RAYTRAIN_GROUP="
#define KEEPER_MARK_MAX (sizeof KEEPER_MARK + PATH_MAX)

void keeper_mark_make(const char *dir, char mark[KEEPER_MARK_MAX]);

/* The first message of the keeper. */
struct keeper_hello {
    int failed; /* errno of private_dir_make(); 0: dir exists */
    char dir[PATH_MAX];
};

/* Waits until the other end of the socket is closed, then for the workers if there is
 * an order (launch/finish.h), and cleans up. n_before: how many keepers its parent has
 * started before. The other messages to it are a pid_t each: a new group, or, if
 * negative, one that is gone. */
void keeper_process_run(int socket, int n_before) __attribute__((noreturn));

#endif
