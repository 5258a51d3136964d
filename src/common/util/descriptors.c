/*
 * descriptors.c - close_range(2), or its work by /proc/self/fd on older kernels, and
 * descriptors with high numbers.
 */
#include "util/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/fault.h"

/* The same on every architecture; headers of older systems lack them. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define FLAG_CLOEXEC (1U << 2)

#define LOW_ENOUGH 256

/* As filled in by the kernel's getdents64. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

static int range_close(int first, int last, unsigned flags)
{
    if (fault_point("os.close_range", -1) < 0)
        return -1;
    return (int)syscall(SYS_close_range, (unsigned)first, (unsigned)last, flags);
}

/* "17" -> 17; -1: not a number. */
static int descriptor_number(const char *text)
{
    int n = 0;

    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        n = n * 10 + (*text - '0');
    }
    return n;
}

static void one_close(int fd, bool cloexec)
{
    if (cloexec)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    else
        (void)close(fd);
}

/* Entries of /proc/self/fd are in numerical order, and readdir continues from a number.
 * So closing the descriptors that were read does not disturb it. */
static int each_close(int first, int last, bool cloexec)
{
    _Alignas(struct entry) char buffer[4096];
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;

    if (dir < 0)
        return -1;
    while ((n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(buffer + at);
            int fd = descriptor_number(e->name);

            if (fd >= first && (last < 0 || fd <= last) && fd != dir)
                one_close(fd, cloexec);
            at += e->size;
        }
    close(dir);
    return n < 0 ? -1 : 0;
}

int descriptors_close(int first, int last)
{
    if (last >= 0 && last < first)
        return 0;
    return range_close(first, last, 0) == 0 ? 0 : each_close(first, last, false);
}

int descriptors_cloexec(int first)
{
    return range_close(first, -1, FLAG_CLOEXEC) == 0 ? 0 : each_close(first, -1, true);
}

int descriptor_raise(int fd)
{
    struct rlimit limit;
    int raised;

    if (fd < LOW_ENOUGH)
        return fd;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* the old limit may be enough */
    }
    raised = fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);
    if (raised < 0)
        return fd;
    (void)close(fd);
    return raised;
}
