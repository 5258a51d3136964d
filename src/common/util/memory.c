/*
 * memory.c - read MemAvailable, and the limits and usage of this process's control
 * groups, of version 1 and 2.
 */
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

/* The number in a file. UINT64_MAX if there is none, or if the file says "max". */
static uint64_t file_number_read(const char *dir, const char *name)
{
    char path[2 * PATH_MAX];
    unsigned long long bytes;
    uint64_t number = UINT64_MAX;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    if (f && fscanf(f, "%llu", &bytes) == 1)
        number = bytes;
    if (f)
        fclose(f);
    return number;
}

/* The names of the same things in the two versions of control groups. */
struct group_names {
    const char *limit, *use;
    const char *cache[2]; /* keys of memory.stat, for the group and all below it */
};

static const struct group_names VERSION_2 = {
    "memory.max", "memory.current", {"active_file", "inactive_file"}};
static const struct group_names VERSION_1 = {
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    {"total_active_file", "total_inactive_file"}};

/* The page cache is part of a group's usage, but the kernel reclaims it before it kills
 * a process. MemAvailable counts it as free, too. */
static uint64_t group_cache(const char *dir, const struct group_names *names)
{
    char path[2 * PATH_MAX], key[64];
    unsigned long long bytes;
    uint64_t sum = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/memory.stat", dir);
    f = fopen(path, "re");
    while (f && fscanf(f, "%63s %llu", key, &bytes) == 2)
        for (int i = 0; i < 2; i++)
            if (strcmp(key, names->cache[i]) == 0)
                sum += bytes;
    if (f)
        fclose(f);
    return sum;
}

/* How much a group may still allocate; UINT64_MAX if it has no limit. */
static uint64_t group_left(const char *dir, const struct group_names *names)
{
    uint64_t limit = file_number_read(dir, names->limit), use, cache;

    if (limit == UINT64_MAX)
        return limit;
    use = file_number_read(dir, names->use);
    if (use == UINT64_MAX)
        return limit;
    cache = group_cache(dir, names);
    use -= least(use, cache);
    return limit - least(limit, use);
}

/* The smallest amount that is left to the group, or to any group above it. */
static uint64_t groups_left(const char *mount, const char *group,
                            const struct group_names *names)
{
    char dir[PATH_MAX + 8];
    uint64_t left = UINT64_MAX;
    size_t top = strlen(mount);

    if (snprintf(dir, sizeof dir, "%s%s", mount, group) >= (int)sizeof dir)
        return left;
    for (char *end = dir + strlen(dir); end; end = strrchr(dir + top, '/')) {
        *end = '\0';
        left = least(left, group_left(dir, names));
    }
    return left;
}

/* /proc/self/cgroup: "0::GROUP" (version 2), "7:memory:GROUP" (version 1). */
static uint64_t own_groups_left(const char *proc, const char *cgroup)
{
    char path[PATH_MAX], line[PATH_MAX], mount[PATH_MAX];
    uint64_t left = UINT64_MAX;
    FILE *f;

    snprintf(path, sizeof path, "%s/self/cgroup", proc);
    snprintf(mount, sizeof mount, "%s/memory", cgroup);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *memory = strstr(line, ":memory:");

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) == 0)
            left = least(left, groups_left(cgroup, line + 3, &VERSION_2));
        else if (memory)
            left = least(left, groups_left(mount, memory + 8, &VERSION_1));
    }
    if (f)
        fclose(f);
    return left;
}

uint64_t memory_available_in(const char *proc, const char *cgroup)
{
    uint64_t bytes = least(node_available(proc), own_groups_left(proc, cgroup));

    return bytes - bytes / 16;
}

uint64_t memory_available(void)
{
    return memory_available_in("/proc", "/sys/fs/cgroup");
}
