#include "util/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t node_available(const char *proc)
{
    uint64_t bytes =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char path[PATH_MAX], line[256];
    unsigned long long kib;
    FILE *f;

    snprintf(path, sizeof path, "%s/meminfo", proc);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (uint64_t)kib * 1024;
    if (f)
        fclose(f);
    return bytes;
}

/* The number in a file; UINT64_MAX where there is none, or it says "max". */
static uint64_t limit_read(const char *dir, const char *name)
{
    char path[2 * PATH_MAX];
    unsigned long long bytes;
    uint64_t limit = UINT64_MAX;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    if (f && fscanf(f, "%llu", &bytes) == 1)
        limit = bytes;
    if (f)
        fclose(f);
    return limit;
}

/* The least limit of a group and all groups above it. */
static uint64_t group_limit(const char *mount, const char *group, const char *name)
{
    char dir[PATH_MAX + 8];
    uint64_t limit = UINT64_MAX;
    size_t top = strlen(mount);

    if (snprintf(dir, sizeof dir, "%s%s", mount, group) >= (int)sizeof dir)
        return limit;
    for (char *end = dir + strlen(dir); end; end = strrchr(dir + top, '/')) {
        *end = '\0';
        limit = least(limit, limit_read(dir, name));
    }
    return limit;
}

/* /proc/self/cgroup: "0::GROUP" (version 2), "7:memory:GROUP" (version 1). */
static uint64_t groups_limit(const char *proc, const char *cgroup)
{
    char path[PATH_MAX], line[PATH_MAX], mount[PATH_MAX];
    uint64_t limit = UINT64_MAX;
    FILE *f;

    snprintf(path, sizeof path, "%s/self/cgroup", proc);
    snprintf(mount, sizeof mount, "%s/memory", cgroup);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *memory = strstr(line, ":memory:");

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) == 0)
            limit = least(limit, group_limit(cgroup, line + 3, "memory.max"));
        else if (memory)
            limit =
                least(limit, group_limit(mount, memory + 8, "memory.limit_in_bytes"));
    }
    if (f)
        fclose(f);
    return limit;
}

uint64_t memory_available_in(const char *proc, const char *cgroup)
{
    uint64_t bytes = least(node_available(proc), groups_limit(proc, cgroup));

    return bytes - bytes / 16;
}

uint64_t memory_available(void)
{
    return memory_available_in("/proc", "/sys/fs/cgroup");
}
