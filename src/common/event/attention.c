/* attention.c - one descriptor for the process, and a poll(2) that includes it. */
#include "event/attention.h"

#include <poll.h>

static int called_by = -1;

int attention_set(int fd)
{
    int before = called_by;

    called_by = fd;
    return before;
}

bool attention_is_called(void)
{
    struct pollfd p = {.fd = called_by, .events = POLLIN};

    return called_by >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

void attention_wait(int fd, int ms)
{
    struct pollfd p[] = {{.fd = fd, .events = POLLIN},
                         {.fd = called_by, .events = POLLIN}};

    poll(p, 2, ms);
}
