/* machine.c - see machine.h. No CUDA library is used: none need be installed. */
#include "config.h"

#include "local/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/argv.h"

/* ---- CPUs ---- */

int machine_cpus(void)
{
    /* The kernel refuses a set smaller than its own. */
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

/* CUDA uses the names up to the first that is not a device: "-1" and "NoDevFiles" mean
 * none. */
static int gpus_from_list(const char *visible, char ***names, struct error *err)
{
    char *copy = strdup(visible), *rest = copy, *name;
    int rc = 0;

    if (!copy)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    while (rc == 0 && (name = strsep(&rest, ","))) {
        while (isspace((unsigned char)*name))
            name++;
        name[strcspn(name, " \t\n")] = '\0';
        if (!isdigit((unsigned char)*name) && strncmp(name, "GPU-", 4) != 0 &&
            strncmp(name, "MIG-", 4) != 0)
            break;
        rc = argv_append(names, name, err);
    }
    free(copy);
    return rc;
}

static int is_gpu_device(const struct dirent *entry)
{
    const char *digits = entry->d_name + strlen("nvidia");

    return strncmp(entry->d_name, "nvidia", strlen("nvidia")) == 0 && *digits &&
           strspn(digits, "0123456789") == strlen(digits);
}

/* CUDA numbers devices from 0 without gaps, whatever the names of the files are. */
static int gpus_from_devices(const char *dev_dir, char ***names, struct error *err)
{
    DIR *dir = opendir(dev_dir);
    struct dirent *entry;
    int n = 0, rc = 0;

    if (!dir)
        return 0;
    while (rc == 0 && (entry = readdir(dir)))
        if (is_gpu_device(entry))
            rc = argv_appendf(names, err, "%d", n++);
    closedir(dir);
    return rc;
}

int machine_gpus(const char *visible, const char *dev_dir, char ***names, size_t *n,
                 struct error *err)
{
    char **found = NULL;
    int rc = visible ? gpus_from_list(visible, &found, err)
                     : gpus_from_devices(dev_dir, &found, err);

    if (rc < 0) {
        argv_free(found);
        return -1;
    }
    *n = argv_count(found);
    *names = found;
    return 0;
}

int machine_gpus_share(int index, int each, struct error *err)
{
    char **gpus = NULL, *list = NULL;
    size_t n, first = (size_t)index * (size_t)each, last = first + (size_t)each;
    int rc = machine_gpus(getenv("CUDA_VISIBLE_DEVICES"), "/dev", &gpus, &n, err);

    if (rc == 0 && last > n)
        rc = error_set(err, RAYTRAIN_EFIT,
                       "worker %d needs GPUs %zu to %zu, and this machine has %zu",
                       index, first, last - 1, n);
    for (size_t i = first; rc == 0 && i < last; i++) {
        char *longer;

        if (asprintf(&longer, "%s%s%s", list ? list : "", list ? "," : "", gpus[i]) < 0)
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        else {
            free(list);
            list = longer;
        }
    }
    if (rc == 0 && setenv("CUDA_VISIBLE_DEVICES", list ? list : "", 1) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    free(list);
    argv_free(gpus);
    return rc;
}

/* ---- All together ---- */

int machine_resources(struct resources *out, struct error *err)
{
    struct node_resources *node;
    char host[256] = "localhost";
    char **gpus;
    size_t n_gpus;

    if (machine_gpus(getenv("CUDA_VISIBLE_DEVICES"), "/dev", &gpus, &n_gpus, err) < 0)
        return -1;
    argv_free(gpus);
    node = calloc(1, sizeof *node);
    gethostname(host, sizeof host - 1);
    if (!node || !(node->name = strdup(host))) {
        free(node);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
