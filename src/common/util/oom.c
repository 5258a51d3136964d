/*
 * oom.c - finds the file with the count. All three kinds of file have a line "oom_kill
 * N":
 *
 *   cgroup v2  /sys/fs/cgroup/GROUP/memory.events (in /sys/fs/cgroup/unified if v1
 *              is mounted beside it)
 *   cgroup v1  /sys/fs/cgroup/memory/GROUP/memory.oom_control
 *   machine    /proc/vmstat
 *
 * In a container the path of the group may not exist: then the mount point is the group
 * itself.
 */
#include "util/oom.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool count_read(const char *file, uint64_t *kills)
{
    FILE *in = fopen(file, "re");
    char line[256];
    bool found = false;

    while (in && !found && fgets(line, sizeof line, in))
        found = sscanf(line, "oom_kill %" SCNu64, kills) == 1;
    if (in)
        fclose(in);
    return found;
}

/* Use this file if it has the count. */
static bool file_try(struct oom_count *c, const char *root, const char *mount,
                     const char *group, const char *name)
{
    int n = snprintf(c->file, sizeof c->file, "%s%s%s/%s", root, mount, group, name);

    if (n > 0 && (size_t)n < sizeof c->file && count_read(c->file, &c->kills))
        return true;
    c->file[0] = '\0';
    return false;
}

/* The groups of one line of /proc/self/cgroup: "4:memory:/slurm/job_7" or "0::/x". */
static bool group_try(struct oom_count *c, const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group;

    line[strcspn(line, "\n")] = '\0';
    group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group)
        return false;
    *group++ = '\0';
    if (strcmp(group, "/") == 0)
        group = (char *)"";
    if (!*controllers)
        return file_try(c, root, "/sys/fs/cgroup", group, "memory.events") ||
               file_try(c, root, "/sys/fs/cgroup/unified", group, "memory.events") ||
               file_try(c, root, "/sys/fs/cgroup", "", "memory.events");
    if (strcmp(controllers, "memory") != 0)
        return false;
    return file_try(c, root, "/sys/fs/cgroup/memory", group, "memory.oom_control") ||
           file_try(c, root, "/sys/fs/cgroup/memory", "", "memory.oom_control");
}

void oom_count_init(struct oom_count *c, const char *root)
{
    char path[PATH_MAX], line[PATH_MAX + 256];
    bool found = false;
    FILE *in;

    *c = (struct oom_count){.file = ""};
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    in = fopen(path, "re");
    while (in && !found && fgets(line, sizeof line, in))
        found = group_try(c, root, line);
    if (in)
        fclose(in);
    if (!found)
        file_try(c, root, "/proc", "", "vmstat");
}

bool oom_count_grown(const struct oom_count *c)
{
    uint64_t kills;

    return c->file[0] && count_read(c->file, &kills) && kills > c->kills;
}
