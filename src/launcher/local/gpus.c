/*
 * gpus.c - GPUs found in small files of the kernel.
 *
 *   Small files    of /proc and /sys
 *   The user's     names in a variable
 *   NVIDIA         devices, and instances of GPUs
 *   AMD, Intel     devices
 *   CPUs           near a device
 */
#include "config.h"

#include "local/gpus.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/argv.h"

#define NVIDIA_GPUS "/proc/driver/nvidia/gpus"
#define NVIDIA_CAPS "/proc/driver/nvidia/capabilities"
#define AMD_NODES   "/sys/class/kfd/kfd/topology/nodes"
#define PCI_DEVICES "/sys/bus/pci/devices"

/* ---- Small files ---- */

/* The rest of the line that begins with key, without blanks before it; key "": the
 * first line. */
static bool line_read(const char *path, const char *key, char *value, size_t size)
{
    char line[1024];
    FILE *f = fopen(path, "re");
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        size_t n = strlen(key);

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, key, n) != 0)
            continue;
        n += strspn(line + n, " \t");
        snprintf(value, size, "%.*s", (int)size - 1, line + n);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* Entries of a directory, sorted: numbers by value, other names as text; none if it
 * does not exist. The caller frees them and the list. */
static int entries(const char *root, const char *dir, const char *prefix,
                   struct dirent ***list)
{
    char path[PATH_MAX];
    int n, kept = 0;

    snprintf(path, sizeof path, "%s%s", root, dir);
    n = scandir(path, list, NULL, versionsort);
    for (int i = 0; i < n; i++)
        if (strncmp((*list)[i]->d_name, prefix, strlen(prefix)) == 0 &&
            (*list)[i]->d_name[0] != '.')
            (*list)[kept++] = (*list)[i];
        else
            free((*list)[i]);
    if (n < 0)
        *list = NULL;
    return kept;
}

static void entries_free(struct dirent **list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* Is the rest of the name, after the prefix, a number? */
static bool is_numbered(const char *name, const char *prefix)
{
    const char *digits = name + strlen(prefix);

    return *digits && strspn(digits, "0123456789") == strlen(digits);
}

/* ---- The user's ---- */

/* CUDA uses the names up to the first that is not a device: "-1" and "NoDevFiles" mean
 * none. So do the others. */
static int names_read(const char *visible, char ***names, struct error *err)
{
    char *copy = strdup(visible), *rest = copy, *name;
    int rc = 0;

    if (!copy)
        return error_no_memory(err);
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

/* ---- NVIDIA ---- */

/* CUDA numbers devices from 0 without gaps, even if the file names have gaps. */
static int nvidia_devices(const char *root, char ***names, struct error *err)
{
    struct dirent **list;
    int n = entries(root, "/dev", "nvidia", &list), found = 0, rc = 0;

    for (int i = 0; i < n && rc == 0; i++)
        if (is_numbered(list[i]->d_name, "nvidia"))
            rc = argv_appendf(names, err, "%d", found++);
    entries_free(list, n);
    return rc;
}

/* A GPU; its directory has the name of its PCI address. */
struct nvidia_gpu {
    char uuid[96]; /* "GPU-..." */
    char minor[16];
};

static bool nvidia_read(const char *root, const char *pci, struct nvidia_gpu *gpu)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s" NVIDIA_GPUS "/%s/information", root, pci);
    return line_read(path, "GPU UUID:", gpu->uuid, sizeof gpu->uuid) &&
           line_read(path, "Device Minor:", gpu->minor, sizeof gpu->minor);
}

/* The instances of a GPU, "MIG-GPU-uuid/1/0": the form of its name that needs no
 * library. */
static int instances_append(const char *root, const struct nvidia_gpu *gpu,
                            char ***names, struct error *err)
{
    char dir[128], below[PATH_MAX];
    struct dirent **gis, **cis;
    int rc = 0, n, m;

    snprintf(dir, sizeof dir, NVIDIA_CAPS "/gpu%s/mig", gpu->minor);
    n = entries(root, dir, "gi", &gis);
    for (int i = 0; i < n && rc == 0; i++) {
        snprintf(below, sizeof below, "%s/%s", dir, gis[i]->d_name);
        m = entries(root, below, "ci", &cis);
        for (int k = 0; k < m && rc == 0; k++)
            rc = argv_appendf(names, err, "MIG-%s/%s/%s", gpu->uuid,
                              gis[i]->d_name + strlen("gi"),
                              cis[k]->d_name + strlen("ci"));
        entries_free(cis, m);
    }
    entries_free(gis, n);
    return rc;
}

/* If any GPU has instances, all get names, since CUDA's numbers would be others. */
static int nvidia_instances(const char *root, char ***names, struct error *err)
{
    struct dirent **list;
    int n = entries(root, NVIDIA_GPUS, "", &list), rc = 0;
    bool any = false;

    for (int i = 0; i < n && rc == 0; i++) {
        size_t before = argv_count(*names);
        struct nvidia_gpu gpu;

        if (!nvidia_read(root, list[i]->d_name, &gpu))
            continue;
        rc = instances_append(root, &gpu, names, err);
        any = any || argv_count(*names) > before;
        if (rc == 0 && argv_count(*names) == before)
            rc = argv_append(names, gpu.uuid, err);
    }
    entries_free(list, n);
    if (!any) {
        argv_free(*names);
        *names = NULL;
    }
    return rc;
}

static int nvidia_find(const char *root, char ***names, struct error *err)
{
    int rc = nvidia_instances(root, names, err);

    return rc < 0 || *names ? rc : nvidia_devices(root, names, err);
}

/* ---- AMD, Intel ---- */

/* A node of the topology that has SIMD units is a GPU; others are CPUs. */
static bool amd_is_gpu(const char *root, const char *node, char path[PATH_MAX])
{
    char count[32];

    snprintf(path, PATH_MAX, "%s" AMD_NODES "/%s/properties", root, node);
    return line_read(path, "simd_count ", count, sizeof count) && atoi(count) > 0;
}

static int amd_find(const char *root, char ***names, struct error *err)
{
    char path[PATH_MAX];
    struct dirent **list;
    int n = entries(root, AMD_NODES, "", &list), found = 0, rc = 0;

    for (int i = 0; i < n && rc == 0; i++)
        if (amd_is_gpu(root, list[i]->d_name, path))
            rc = argv_appendf(names, err, "%d", found++);
    entries_free(list, n);
    return rc;
}

static bool intel_is_gpu(const char *root, const char *node)
{
    char path[PATH_MAX], vendor[16];

    snprintf(path, sizeof path, "%s/sys/class/drm/%s/device/vendor", root, node);
    return is_numbered(node, "renderD") && line_read(path, "", vendor, sizeof vendor) &&
           strcmp(vendor, "0x8086") == 0;
}

static int intel_find(const char *root, char ***names, struct error *err)
{
    struct dirent **list;
    int n = entries(root, "/dev/dri", "renderD", &list), found = 0, rc = 0;

    for (int i = 0; i < n && rc == 0; i++)
        if (intel_is_gpu(root, list[i]->d_name))
            rc = argv_appendf(names, err, "%d", found++);
    entries_free(list, n);
    return rc;
}

/* ---- All ---- */

/* If several are set, the first one counts. AMD's libraries number HIP's devices among
 * those that ROCR's variable leaves, so HIP's list is divided if both are set. */
static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                        "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"};

static const struct {
    const char *variable;
    int (*find)(const char *root, char ***names, struct error *err);
} vendors[] = {
    {"CUDA_VISIBLE_DEVICES", nvidia_find},
    {"ROCR_VISIBLE_DEVICES", amd_find},
    {"ZE_AFFINITY_MASK", intel_find},
};

static int gpus_choose(const char *root, gpus_getenv *get, struct gpus *g,
                       struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (get(variables[i])) {
            g->variable = variables[i];
            return names_read(get(variables[i]), &g->names, err);
        }
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors && rc == 0 && !g->names;
         i++) {
        rc = vendors[i].find(root, &g->names, err);
        if (g->names)
            g->variable = vendors[i].variable;
    }
    return rc;
}

int gpus_find(const char *root, gpus_getenv *get, struct gpus *out, struct error *err)
{
    struct gpus g = {.variable = vendors[0].variable};

    if (gpus_choose(root, get, &g, err) < 0) {
        gpus_clear(&g);
        return -1;
    }
    g.n = argv_count(g.names);
    *out = g;
    return 0;
}

void gpus_clear(struct gpus *gpus)
{
    argv_free(gpus->names);
    gpus->names = NULL;
    gpus->n = 0;
}

/* ---- CPUs ---- */

/* Is this the name of the GPU that has the number `at` and this UUID? */
static bool is_name_of(const char *name, int at, const char *uuid)
{
    const char *of = strncmp(name, "MIG-GPU-", 8) == 0 ? name + 4 : name;
    size_t n = strcspn(of, "/");

    if (isdigit((unsigned char)*name))
        return atoi(name) == at;
    return n > strlen("GPU-") && strncmp(uuid, of, n) == 0;
}

static bool nvidia_pci(const char *root, const char *name, char pci[64])
{
    struct dirent **list;
    int n = entries(root, NVIDIA_GPUS, "", &list);
    bool found = false;

    for (int i = 0; i < n && !found; i++) {
        struct nvidia_gpu gpu;

        found =
            nvidia_read(root, list[i]->d_name, &gpu) && is_name_of(name, i, gpu.uuid);
        if (found)
            snprintf(pci, 64, "%.63s", list[i]->d_name);
    }
    entries_free(list, n);
    return found;
}

/* location_id: bus, device and function, as in PCI configuration space. */
static bool amd_pci(const char *root, const char *name, char pci[64])
{
    char path[PATH_MAX], text[32];
    struct dirent **list;
    int n = entries(root, AMD_NODES, "", &list), at = 0;
    bool found = false;

    for (int i = 0; i < n && !found; i++) {
        unsigned location, domain;

        if (!amd_is_gpu(root, list[i]->d_name, path) || at++ != atoi(name) ||
            !line_read(path, "location_id ", text, sizeof text))
            continue;
        location = (unsigned)strtoul(text, NULL, 10);
        domain = line_read(path, "domain ", text, sizeof text)
                     ? (unsigned)strtoul(text, NULL, 10)
                     : 0;
        snprintf(pci, 64, "%04x:%02x:%02x.%x", domain, location >> 8 & 0xff,
                 location >> 3 & 0x1f, location & 7);
        found = true;
    }
    entries_free(list, n);
    return found;
}

/* The file of the CPUs near this GPU. */
static bool near_path(const char *root, const struct gpus *g, const char *name,
                      char path[PATH_MAX])
{
    char pci[64];
    struct dirent **list;
    int n, at = 0;
    bool found = false;

    if (strcmp(g->variable, "ZE_AFFINITY_MASK") != 0) {
        found = strcmp(g->variable, "CUDA_VISIBLE_DEVICES") == 0
                    ? nvidia_pci(root, name, pci)
                    : isdigit((unsigned char)*name) && amd_pci(root, name, pci);
        if (found)
            snprintf(path, PATH_MAX, "%s" PCI_DEVICES "/%s/local_cpulist", root, pci);
        return found;
    }
    n = entries(root, "/dev/dri", "renderD", &list);
    for (int i = 0; i < n && !found; i++) {
        found = intel_is_gpu(root, list[i]->d_name) && at++ == atoi(name);
        if (found)
            snprintf(path, PATH_MAX, "%s/sys/class/drm/%s/device/local_cpulist", root,
                     list[i]->d_name);
    }
    entries_free(list, n);
    return found;
}

/* Add "0-15,32-47". */
static void cpus_add(const char *text, cpu_set_t *cpus)
{
    while (isdigit((unsigned char)*text)) {
        char *end;
        long first = strtol(text, &end, 10), last = first;

        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((int)cpu, cpus);
        text = end + (*end == ',');
    }
}

/* The machine has several NUMA nodes, and this process may use all CPUs. */
static bool is_free_to_choose(const char *root)
{
    char path[PATH_MAX], text[1024];
    cpu_set_t online, mine;

    snprintf(path, sizeof path, "%s/sys/devices/system/node/online", root);
    if (!line_read(path, "", text, sizeof text) || !strpbrk(text, ",-"))
        return false;
    CPU_ZERO(&online);
    CPU_ZERO(&mine);
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", root);
    if (!line_read(path, "", text, sizeof text) ||
        sched_getaffinity(0, sizeof mine, &mine) < 0)
        return false;
    cpus_add(text, &online);
    CPU_AND(&mine, &mine, &online);
    return CPU_EQUAL(&mine, &online);
}

bool gpus_near_cpus(const char *root, const struct gpus *gpus, size_t first, size_t n,
                    cpu_set_t *cpus)
{
    char path[PATH_MAX], text[1024];

    CPU_ZERO(cpus);
    if (!is_free_to_choose(root))
        return false;
    for (size_t i = first; i < first + n && i < gpus->n; i++) {
        if (!near_path(root, gpus, gpus->names[i], path) ||
            !line_read(path, "", text, sizeof text))
            return false;
        cpus_add(text, cpus);
    }
    return CPU_COUNT(cpus) > 0;
}
