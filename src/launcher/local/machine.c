/* machine.c - CPUs by the affinity of this process, memory by its cgroups, GPUs by
 * gpus.c. */
#include "config.h"

#include "local/machine.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local/child_env.h"
#include "local/gpus.h"

/* ---- CPUs ---- */

int machine_cpus(void)
{
    /* The kernel rejects a set smaller than its own. */
    for (int room = 1024; room <= 1024 * 1024; room *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        size_t size = CPU_ALLOC_SIZE((size_t)room);
        int n = 0;

        if (!set)
            break;
        if (sched_getaffinity(0, size, set) == 0)
            n = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (n > 0)
            return n;
        if (errno != EINVAL)
            break;
    }
    return 1;
}

/* ---- Memory ---- */

/* The number in a small file, 0 if there is none (cgroups write "max" for no limit). */
static uint64_t number_read(const char *path)
{
    unsigned long long value = 0;
    FILE *f = fopen(path, "re");

    if (!f)
        return 0;
    if (fscanf(f, "%llu", &value) != 1)
        value = 0;
    fclose(f);
    return value;
}

static uint64_t memory_total(const char *root)
{
    char path[PATH_MAX], line[256];
    unsigned long long kib = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    f = fopen(path, "re");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
            break;
    fclose(f);
    return (uint64_t)kib * 1024;
}

static uint64_t lower_limit(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a ? a : b;
    return a < b ? a : b;
}

/* The lowest limit from the cgroup up to the root of its hierarchy. */
static uint64_t cgroup_limit(const char *mount, char *group, const char *file)
{
    char path[2 * PATH_MAX];
    uint64_t limit = 0;
    char *slash;

    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
        limit = lower_limit(limit, number_read(path));
        slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

/* One line of /proc/self/cgroup: "0::/path" in version 2, "4:memory:/path" in 1. */
static uint64_t cgroup_line_limit(const char *root, char *line)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':'), *group;

    line[strcspn(line, "\n")] = '\0';
    group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *controllers++ = '\0';
    *group++ = '\0';
    if (strcmp(line, "0") == 0 && !*controllers) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return cgroup_limit(mount, group, "memory.max");
    }
    if (strcmp(controllers, "memory") == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/memory", root);
        return cgroup_limit(mount, group, "memory.limit_in_bytes");
    }
    return 0;
}

uint64_t machine_memory(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint64_t limit = memory_total(root);
    FILE *f;

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    f = fopen(path, "re");
    if (!f)
        return limit;
    while (fgets(line, sizeof line, f))
        limit = lower_limit(limit, cgroup_line_limit(root, line));
    fclose(f);
    return limit;
}

/* ---- GPUs ---- */

int machine_gpus_share(int index, int each, struct error *err)
{
    struct gpus gpus = {0};
    char *list = NULL;
    size_t first = (size_t)index * (size_t)each, last = first + (size_t)each;
    int rc = gpus_find("", getenv, &gpus, err);

    if (rc == 0 && last > gpus.n)
        rc = error_set(err, RAYTRAIN_EFIT,
                       "worker %d needs GPUs %zu to %zu, and this machine has %zu",
                       index, first, last - 1, gpus.n);
    if (rc == 0 && (!(list = local_names_join(gpus.names + first, (size_t)each)) ||
                    setenv(gpus.variable, list, 1) < 0))
        rc = error_no_memory(err);
    free(list);
    gpus_clear(&gpus);
    return rc;
}

/* ---- All together ---- */

int machine_resources(struct resources *out, struct error *err)
{
    struct node_resources *node;
    char host[256] = "localhost";
    struct gpus gpus;
    size_t n_gpus;

    if (gpus_find("", getenv, &gpus, err) < 0)
        return -1;
    n_gpus = gpus.n;
    gpus_clear(&gpus);
    node = calloc(1, sizeof *node);
    gethostname(host, sizeof host - 1);
    if (!node || !(node->name = strdup(host))) {
        free(node);
        return error_no_memory(err);
    }
    node->cpus = machine_cpus();
    node->gpus = (int)n_gpus;
    node->memory = machine_memory("");
    *out = (struct resources){.what = "this machine",
                              .nodes = node,
                              .n_nodes = 1,
                              .cpu_share = RESOURCES_CPU_SHARE_LOCAL};
    return 0;
}
