/* skewed_clock.c - to be preloaded: on the host $SKEWED_HOST the clock is $SKEWED_S seconds
 * ahead. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const char *host = getenv("SKEWED_HOST"), *ahead = getenv("SKEWED_S");
    char mine[256] = "";
    int rc = (int)syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 && clock == CLOCK_REALTIME && host && ahead &&
        gethostname(mine, sizeof mine - 1) == 0 && strcmp(mine, host) == 0)
        now->tv_sec += atol(ahead);
    return rc;
}
