/*
 * process_mark.c - search /proc/PID/environ of all processes for an entry, and kill
 * those that have it. Repeat the search until it finds none, or has been made LOOKS
 * times.
 */
#include "util/process_mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A process that forks during a search leaves a child for the next search, and one that
 * is executing a program has no environment for a moment. */
#define LOOKS   10
#define WAIT_NS 1000000

#define PIECE 65536

enum mark { MARK_NONE, MARK_THERE, MARK_NOT_KNOWN };

/* Does the text contain the entry, with the zero byte at its end? The text is read in
 * pieces; bytes that may begin the entry are kept for the next piece. If the text is
 * empty, the answer is not known. */
static enum mark text_look(int fd, const char *entry, char *piece)
{
    const size_t n = strlen(entry) + 1;
    enum mark without = MARK_NOT_KNOWN;
    size_t kept = 0;
    ssize_t got;

    while ((got = read(fd, piece + kept, PIECE - kept)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return MARK_NONE;
        without = MARK_NONE;
        kept += (size_t)got;
        if (memmem(piece, kept, entry, n))
            return MARK_THERE;
        if (kept >= n) {
            memmove(piece, piece + kept - (n - 1), n - 1);
            kept = n - 1;
        }
    }
    return without;
}

/* Kernel threads and processes that have ended have no environment, but they have no
 * program either. */
static bool has_program(pid_t pid)
{
    char path[64], program[1];

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, program, sizeof program) >= 0;
}

static enum mark process_look(pid_t pid, const char *entry, char *piece)
{
    char path[64];
    enum mark mark;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return MARK_NONE;
    mark = text_look(fd, entry, piece);
    close(fd);
    return mark == MARK_NOT_KNOWN && !has_program(pid) ? MARK_NONE : mark;
}

/* Returns how many were found, or may be found later. */
static int marked_kill(DIR *proc, const char *entry, char *piece)
{
    struct dirent *at;
    int n = 0;

    rewinddir(proc);
    while ((at = readdir(proc))) {
        pid_t pid = (pid_t)strtol(at->d_name, NULL, 10);
        enum mark mark = MARK_NONE;

        if (pid > 1 && pid != getpid())
            mark = process_look(pid, entry, piece);
        if (mark == MARK_THERE)
            n += kill(pid, SIGKILL) == 0;
        n += mark == MARK_NOT_KNOWN;
    }
    return n;
}

void process_mark_kill(const char *entry)
{
    char *piece = strlen(entry) < PIECE ? malloc(PIECE) : NULL;
    DIR *proc = opendir("/proc");

    for (int i = 0; piece && proc && i < LOOKS; i++) {
        if (marked_kill(proc, entry, piece) == 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    }
    if (proc)
        closedir(proc);
    free(piece);
}
