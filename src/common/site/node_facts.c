#include "site/node_facts.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/process.h"
#include "util/quote.h"
#include "util/thread.h"

#define CPUS_MAX (1 << 20)

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
static json_t *space(const char *path, bool with_path)
{
    struct statvfs fs;
    json_t *out;

    if (statvfs(path, &fs) < 0)
        return json_null();
    out = json_pack("{s:I, s:I}", "size",
                    (json_int_t)fs.f_blocks * (json_int_t)fs.f_frsize, "free",
                    (json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize);
    if (with_path)
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

/* How many entries a directory has. */
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
    json_object_set_new(facts, "shm", space("/dev/shm", false));
    json_object_set_new(facts, "tmp", space(tmp && *tmp ? tmp : "/tmp", true));
    json_object_set_new(facts, "limits", limits());
    json_object_set_new(facts, "pidfd", json_boolean(has_pidfd()));
    json_object_set_new(facts, "gpu_devices", json_integer(gpu_devices()));
    json_object_set_new(facts, "rdma_devices",
                        json_integer(entries("/sys/class/infiniband")));
    return facts;
}
