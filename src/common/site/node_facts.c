/* node_facts.c - collect facts about the node from the system, as JSON. */
#include "site/node_facts.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "util/command_output.h"
#include "util/memory.h"
#include "util/process.h"
#include "util/quote.h"
#include "util/thread.h"

#define CPUS_MAX  (1 << 20)
#define TMP_MAX_S 5.0

static json_t *limits(void)
{
    static const struct {
        const char *name;
        int which;
    } rows[] = {{"memlock", RLIMIT_MEMLOCK},
                {"nofile", RLIMIT_NOFILE},
                {"nproc", RLIMIT_NPROC},
                {"core", RLIMIT_CORE},
                {"stack", RLIMIT_STACK}};
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rlimit limit;

        if (getrlimit(rows[i].which, &limit) < 0)
            continue;
        json_object_set_new(all, rows[i].name,
                            json_integer(limit.rlim_cur == RLIM_INFINITY
                                             ? -1
                                             : (json_int_t)limit.rlim_cur));
    }
    return all;
}

/* null: there is no such file system. */
static json_t *shm_space(void)
{
    struct statvfs fs;

    if (statvfs("/dev/shm", &fs) < 0)
        return json_null();
    return json_pack("{s:I, s:I}", "size",
                     (json_int_t)fs.f_blocks * (json_int_t)fs.f_frsize, "free",
                     (json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize);
}

/* The directory of TMPDIR may be on storage that does not answer, where this process
 * would wait forever; so stat(1) asks. null: there is no such directory. */
static json_t *tmp_space(const char *path)
{
    char *argv[] = {(char *)"stat",
                    (char *)"--file-system",
                    (char *)"--format=%S %b %a",
                    (char *)"--",
                    (char *)path,
                    NULL};
    long long unit, size, available;
    struct error err = {0};
    char *text = NULL;
    json_t *out = NULL;

    if (command_output(argv, TMP_MAX_S, &text, &err) == 0 &&
        sscanf(text, "%lld %lld %lld", &unit, &size, &available) == 3)
        out = json_pack("{s:I, s:I}", "size", (json_int_t)(size * unit), "free",
                        (json_int_t)(available * unit));
    else if (err.code == RAYTRAIN_ESTOPPED)
        out = json_pack("{s:b}", "silent", 1);
    else if (err.code == RAYTRAIN_ENOTFOUND)
        out = json_pack("{s:b}", "not_asked", 1);
    free(text);
    if (!out)
        return json_null();
    json_object_set_new(out, "path", json_text(path));
    return out;
}

static int gpu_devices(void)
{
    DIR *dir = opendir("/dev");
    struct dirent *entry;
    int n = 0;

    while (dir && (entry = readdir(dir))) {
        const char *digits = entry->d_name + 6;

        n += strncmp(entry->d_name, "nvidia", 6) == 0 && *digits &&
             strspn(digits, "0123456789") == strlen(digits);
    }
    if (dir)
        closedir(dir);
    return n;
}

/* The number of entries of a directory. */
static int entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int n = 0;

    while (dir && (entry = readdir(dir)))
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static bool has_pidfd(void)
{
    struct process me;
    bool has;

    if (process_open(getpid(), &me) < 0)
        return false;
    has = me.fd >= 0;
    process_close(&me);
    return has;
}

json_t *node_facts(void)
{
    const char *node = getenv("SLURMD_NODENAME"), *tmp = getenv("TMPDIR");
    struct utsname system;
    json_t *facts = json_object();

    if (!facts)
        return NULL;
    if (uname(&system) < 0)
        memset(&system, 0, sizeof system);
    json_object_set_new(facts, "host", json_text(system.nodename));
    json_object_set_new(facts, "node",
                        json_text(node && *node ? node : system.nodename));
    json_object_set_new(facts, "kernel", json_text(system.release));
    json_object_set_new(facts, "cpus", json_integer(thread_cores(CPUS_MAX)));
    json_object_set_new(facts, "memory_available",
                        json_integer((json_int_t)memory_available()));
    json_object_set_new(facts, "shm", shm_space());
    json_object_set_new(facts, "tmp", tmp_space(tmp && *tmp ? tmp : "/tmp"));
    json_object_set_new(facts, "limits", limits());
    json_object_set_new(facts, "pidfd", json_boolean(has_pidfd()));
    json_object_set_new(facts, "gpu_devices", json_integer(gpu_devices()));
    json_object_set_new(facts, "rdma_devices",
                        json_integer(entries("/sys/class/infiniband")));
    return facts;
}
