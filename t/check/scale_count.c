/*
 * scale_count.c - to be preloaded into a run: counts what its processes open and write
 * below $SCALE_DIR, in a file of numbers, $SCALE_COUNTS, that all of them map.
 *
 * These are numbers of 64 bits: what was counted so far, SCALE_COLUMNS of them; the same
 * for each mark, which is when a training function called scale_mark(); then the peak
 * memory and the processor time of the launcher. t/scale/scale reads them.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MARKS  4
#define FD_MAX 65536

enum column { OPENS, BYTES, LAUNCHER_OPENS, LAUNCHER_BYTES, SCALE_COLUMNS };

struct counts {
    _Atomic uint64_t now[SCALE_COLUMNS];
    uint64_t mark[MARKS][SCALE_COLUMNS];
    uint64_t launcher_kib, launcher_us;
};

static struct counts *counts;
static const char *below;
static _Atomic bool counted[FD_MAX]; /* this descriptor is of a file below it */
static bool is_worker;

__attribute__((constructor)) static void counts_map(void)
{
    const char *path = getenv("SCALE_COUNTS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *at = MAP_FAILED;

    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof *counts) == 0)
        at = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    below = getenv("SCALE_DIR");
    is_worker = strcmp(program_invocation_short_name, "raytrain-worker") == 0;
    if (at != MAP_FAILED && below)
        counts = at;
}

static uint64_t peak_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    unsigned long kib = 0;
    char line[256];

    while (f && kib == 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lu", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    return kib;
}

__attribute__((destructor)) static void launcher_count(void)
{
    struct rusage used;

    if (!counts || strcmp(program_invocation_short_name, "raytrain-run") != 0 ||
        getrusage(RUSAGE_SELF, &used) < 0)
        return;
    counts->launcher_kib = peak_kib();
    counts->launcher_us =
        (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
        (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void scale_mark(int i);

void scale_mark(int i)
{
    for (int c = 0; counts && c < SCALE_COLUMNS; c++)
        counts->mark[i][c] = counts->now[c];
}

/* For raytrain-run the machine has 16 CPUs: it would refuse more than 16 workers for each
 * of those that are there. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    long n = syscall(SYS_sched_getaffinity, pid, size, set);

    if (n > 0)
        memset((char *)set + n, 0, size - (size_t)n);
    if (n > 0 && strcmp(program_invocation_short_name, "raytrain-run") == 0)
        for (int cpu = 0; cpu < 16; cpu++)
            CPU_SET(cpu, set);
    return n < 0 ? -1 : 0;
}

/* ---- Opens ---- */

static bool is_below(int dir, const char *path)
{
    size_t n = counts ? strlen(below) : 0;

    if (!counts)
        return false;
    if (path[0] != '/')
        return dir >= 0 && dir < FD_MAX && counted[dir];
    return strncmp(path, below, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);

    if (is_below(dir, path)) {
        counts->now[is_worker ? OPENS : LAUNCHER_OPENS]++;
        if (fd >= 0 && fd < FD_MAX)
            counted[fd] = true;
    }
    return fd;
}

#define MODE_OF(mode, last)                                                            \
    do {                                                                               \
        va_list ap;                                                                    \
        va_start(ap, last);                                                            \
        (mode) = (last) & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;              \
        va_end(ap);                                                                    \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return open_at(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return open_at(dir, path, flags, mode);
}

/* The C library opens by itself here. */
static void *passed_on(const char *function, const char *path, const char *mode)
{
    void *(*real)(const char *, const char *) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, function);
    if (is_below(-1, path))
        counts->now[is_worker ? OPENS : LAUNCHER_OPENS]++;
    return real(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *f = passed_on("fopen", path, mode);

    if (f && is_below(-1, path) && fileno(f) < FD_MAX)
        counted[fileno(f)] = true;
    return f;
}

FILE *fopen64(const char *path, const char *mode)
{
    return fopen(path, mode);
}

DIR *opendir(const char *path)
{
    return passed_on("opendir", path, NULL);
}

int close(int fd)
{
    if (fd >= 0 && fd < FD_MAX)
        counted[fd] = false;
    return (int)syscall(SYS_close, fd);
}

/* ---- Writes ---- */

static ssize_t written(int fd, ssize_t n)
{
    if (counts && n > 0 && fd >= 0 && fd < FD_MAX && counted[fd])
        counts->now[is_worker ? BYTES : LAUNCHER_BYTES] += (uint64_t)n;
    return n;
}

ssize_t write(int fd, const void *data, size_t n)
{
    return written(fd, syscall(SYS_write, fd, data, n));
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    return written(fd, syscall(SYS_writev, fd, parts, n));
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    return written(fd, syscall(SYS_pwrite64, fd, data, n, at));
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    return written(fd, syscall(SYS_pwrite64, fd, data, n, at));
}
