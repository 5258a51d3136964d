/* fault.c - compare RAYTRAIN_FAULT with the point that is passed, and act on it. */
#include "util/fault.h"

#ifdef RAYTRAIN_FAULTS
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "RAYTRAIN_FAULT"
#define SLOW_US  500000

/* Take the text up to the next ':' from *rest. */
static bool field_is(const char **rest, const char *value)
{
    size_t n = strcspn(*rest, ":");
    bool same = strlen(value) == n && strncmp(*rest, value, n) == 0;

    *rest += n;
    *rest += **rest == ':';
    return same;
}

static bool rank_matches(const char **rest, int rank)
{
    char *end;
    long wanted = strtol(*rest, &end, 10);

    if (end == *rest) {
        field_is(rest, "all");
        return true;
    }
    *rest = *end == ':' ? end + 1 : end;
    return wanted == rank;
}

static int fifo_await(void)
{
    const char *path = getenv("RAYTRAIN_FAULT_FIFO");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = 1;
    char byte;

    while (fd >= 0 && (got > 0 || (got < 0 && errno == EINTR)))
        got = read(fd, &byte, 1);
    if (fd >= 0)
        close(fd);
    return 0;
}

static int fault_act(const char *action)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {{"enospc", ENOSPC},
                  {"eio", EIO},
                  {"enosys", ENOSYS},
                  {"enoent", ENOENT},
                  {"eagain", EAGAIN}};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(action, errors[i].name) != 0)
            continue;
        errno = errors[i].number;
        return -1;
    }
    if (strcmp(action, "stop") == 0)
        return kill(getpid(), SIGSTOP);
    if (strcmp(action, "wait") == 0)
        return fifo_await();
    if (strcmp(action, "slow") == 0)
        return usleep(SLOW_US);
    if (strcmp(action, "killall") == 0)
        kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
    return 0;
}

int fault_point(const char *name, int rank)
{
    const char *armed = getenv(VARIABLE);

    if (!armed || !field_is(&armed, name) || !rank_matches(&armed, rank))
        return 0;
    return fault_act(armed);
}
#endif
