/*
 * gpu_watch.c - the thread that watches the GPUs of this worker through site/nvml.h.
 *
 *   Filled    processes of others on a GPU
 *   Errors    Xids, and GPUs that do not answer
 *   Samples   for the reports
 *   The thread
 */
#include "config.h"

#include "rank/gpu_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rank/event.h"
#include "site/nvml.h"
#include "util/clock.h"
#include "util/quote.h"
#include "util/thread.h"

#define LOOK_S        0.05 /* between two checks for errors */
#define SAMPLE_S      1.0
#define OLD_S         5.0
#define SETTLE_S      0.3 /* how long a failed worker waits for a report of an error */
#define STOP_S        1.0 /* how long gpu_watch_stop() waits for the thread */
#define PROCESSES_MAX 64
#define NAMED_MAX     3   /* processes in a warning */
#define FREE_LEAST    0.5 /* of the memory; with less, the user is warned */
#define GIB           (1024.0 * 1024 * 1024)

struct gpu_watch {
    char *log_dir, *node, *run_dir, *visible; /* as in gpu_watch_spec */
    pthread_t thread;
    struct nvml_device devices[NVML_DEVICES_MAX];
    int n;
    struct nvml_errors *errors;
    bool lost[NVML_DEVICES_MAX];
    int seen[NVML_DEVICES_MAX]; /* the last Xid of each */
};

/* What the threads share. It outlives the watch, since the thread may be in a call that
 * does not return. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, ended;
    bool look;   /* the thread checks at once */
    bool failed; /* an error was seen */
    double at;   /* of the sample; 0: none */
    struct gpu_sample sample;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* ---- Filled ---- */

/* Does another process, which this user may inspect, have this variable and value? */
static bool process_has(int pid, const char *name, const char *value)
{
    char path[64], *line = NULL;
    size_t size = 0, length = strlen(name);
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    if (!(f = fopen(path, "re")))
        return false;
    while (!found && getdelim(&line, &size, '\0', f) > 0)
        found = strncmp(line, name, length) == 0 && line[length] == '=' &&
                strcmp(line + length + 1, value) == 0;
    free(line);
    fclose(f);
    return found;
}

static void command_name(int pid, char name[32])
{
    char path[64];
    FILE *f;

    name[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (!(f = fopen(path, "re")))
        return;
    if (fgets(name, 32, f))
        name[strcspn(name, "\n")] = '\0';
    fclose(f);
}

static bool process_is_own(const struct gpu_watch *w, int pid)
{
    return pid == (int)getpid() || process_has(pid, "RAYTRAIN_RUN_DIR", w->run_dir);
}

static int fullest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct nvml_process *)a)->bytes,
             y = ((const struct nvml_process *)b)->bytes;

    return x != y ? (x < y ? 1 : -1) : 0;
}

/* The processes of a GPU that are not of this run, the fullest first. -1: all are. */
static int others_find(const struct gpu_watch *w, const struct nvml_device *device,
                       struct nvml_process found[PROCESSES_MAX])
{
    int n = nvml_processes(device, found, PROCESSES_MAX), others = 0;

    for (int i = 0; i < n; i++)
        if (!process_is_own(w, found[i].pid))
            found[others++] = found[i];
    qsort(found, (size_t)others, sizeof *found, fullest_first);
    return n > 0 && others == 0 ? -1 : others;
}

/* "process 4711 (python3) uses 77.0 GiB, ..."; or that its processes cannot be seen. */
static void processes_print(const struct nvml_process found[], int n, FILE *out)
{
    for (int i = 0; i < n && i < NAMED_MAX; i++) {
        char name[32], quoted[QUOTE_TEXT_MAX];

        command_name(found[i].pid, name);
        fprintf(out, "%sprocess %d", i > 0 ? ", " : "", found[i].pid);
        if (name[0])
            fprintf(out, " (%s)", quote(name, quoted));
        if (found[i].bytes < UINT64_MAX)
            fprintf(out, " uses %.1f GiB", (double)found[i].bytes / GIB);
        else
            fputs(" is on it", out);
    }
    if (n == 0)
        fputs("the process that uses it cannot be seen here", out);
}

/* "GPU 1 (PCI 00000000:41:00.0)" */
static void device_print(const struct nvml_device *device, FILE *out)
{
    fprintf(out, "GPU %d", device->number);
    if (device->is_instance)
        fprintf(out, ", instance %s,", device->uuid);
    if (device->pci[0])
        fprintf(out, " (PCI %s)", device->pci);
}

/* At the start the worker itself uses no memory, or not much. Others of this run that
 * share the GPU may have started before. */
static void fill_look(const struct gpu_watch *w, const struct nvml_device *device)
{
    struct nvml_process others[PROCESSES_MAX];
    struct nvml_memory m;
    char text[ERROR_TEXT_MAX] = "";
    FILE *out;
    int n;

    if (nvml_memory(device, &m) != NVML_OK || m.total == 0 ||
        (double)m.free >= FREE_LEAST * (double)m.total ||
        (n = others_find(w, device, others)) < 0)
        return;
    if (!(out = fmemopen(text, sizeof text - 1, "w")))
        return;
    device_print(device, out);
    fprintf(out, " of node %s has %.1f of %.1f GiB free: ", w->node,
            (double)m.free / GIB, (double)m.total / GIB);
    processes_print(others, n, out);
    fprintf(out, ". End it, or use another GPU or node (under Slurm --exclude=%s)",
            w->node);
    fclose(out);
    event_add(w->log_dir, EVENT_WARNING, "%s", text);
}

/* ---- Errors ---- */

static void error_report(struct gpu_watch *w, const struct nvml_device *device,
                         bool hardware, const char *what)
{
    char text[ERROR_TEXT_MAX] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");

    if (!out)
        return;
    device_print(device, out);
    fprintf(out, " of node %s %s", w->node, what);
    fclose(out);
    event_add_gpu_error(w->log_dir, w->node, hardware, text);
    pthread_mutex_lock(&shared.lock);
    shared.failed = true;
    pthread_mutex_unlock(&shared.lock);
}

/* Report new errors; one that repeats is reported once. */
static void errors_look(struct gpu_watch *w)
{
    char what[160];
    int at, xid;

    while (nvml_errors_next(w->errors, &at, &xid)) {
        if (w->seen[at] == xid)
            continue;
        w->seen[at] = xid;
        snprintf(what, sizeof what, "reported Xid %d (%s)", xid, nvml_xid_text(xid));
        error_report(w, &w->devices[at], nvml_xid_is_hardware(xid), what);
    }
}

/* ---- Samples ---- */

static bool device_sample(struct gpu_watch *w, int i, struct gpu_sample *sum,
                          int *measured)
{
    struct nvml_memory m;
    double percent;

    switch (w->lost[i] ? NVML_LOST : nvml_memory(&w->devices[i], &m)) {
    case NVML_LOST:
        if (!w->lost[i])
            error_report(w, &w->devices[i], true,
                         "is lost: it does not answer any more");
        w->lost[i] = true;
        return false;
    case NVML_UNKNOWN:
        return false;
    case NVML_OK:
        break;
    }
    sum->memory_used += (double)m.used;
    sum->memory_total += (double)m.total;
    if (nvml_utilization(&w->devices[i], &percent) == NVML_OK) {
        sum->utilization += percent;
        ++*measured;
    }
    return true;
}

static void sample_take(struct gpu_watch *w)
{
    struct gpu_sample sum = {0};
    int measured = 0;
    bool all = w->n > 0;

    for (int i = 0; i < w->n; i++)
        all = device_sample(w, i, &sum, &measured) && all;
    sum.utilization = measured == w->n ? sum.utilization / w->n : -1;
    pthread_mutex_lock(&shared.lock);
    if (all) {
        shared.sample = sum;
        shared.at = clock_now();
    }
    pthread_mutex_unlock(&shared.lock);
}

bool gpu_watch_sample(struct gpu_sample *sample)
{
    bool fresh;

    pthread_mutex_lock(&shared.lock);
    fresh = shared.at > 0 && clock_now() - shared.at < OLD_S;
    *sample = shared.sample;
    pthread_mutex_unlock(&shared.lock);
    return fresh;
}

/* ---- The thread ---- */

static struct timespec from_now(double seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

/* Wait until the next check is due. True: stop. *now: take a sample. */
static bool watch_rest(bool *now)
{
    struct timespec until = from_now(LOOK_S);
    bool stop;

    pthread_mutex_lock(&shared.lock);
    while (!shared.stop && !shared.look &&
           pthread_cond_clockwait(&shared.wake, &shared.lock, CLOCK_MONOTONIC,
                                  &until) != ETIMEDOUT)
        ;
    stop = shared.stop;
    *now = shared.look;
    shared.look = false;
    pthread_mutex_unlock(&shared.lock);
    return stop;
}

static void look_on(struct gpu_watch *w)
{
    double sampled = clock_now();
    bool now = false;

    w->n = nvml_devices(w->visible, w->devices);
    w->errors = nvml_errors_watch(w->devices, w->n);
    for (int i = 0; i < w->n; i++)
        fill_look(w, &w->devices[i]);
    sample_take(w);
    do {
        errors_look(w);
        if (now || clock_now() - sampled >= SAMPLE_S) {
            sample_take(w);
            sampled = clock_now();
        }
    } while (!watch_rest(&now));
    errors_look(w);
    nvml_errors_free(w->errors);
}

static void *watch_run(void *arg)
{
    struct gpu_watch *w = arg;

    if (nvml_open(NULL) == 0) {
        look_on(w);
        nvml_close();
    }
    pthread_mutex_lock(&shared.lock);
    shared.ended = true;
    pthread_cond_broadcast(&shared.wake);
    pthread_mutex_unlock(&shared.lock);
    return NULL;
}

static void watch_free(struct gpu_watch *w)
{
    free(w->log_dir);
    free(w->node);
    free(w->run_dir);
    free(w->visible);
    free(w);
}

static struct gpu_watch *watch_make(const struct gpu_watch_spec *spec)
{
    struct gpu_watch *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->log_dir = strdup(spec->log_dir);
    w->node = strdup(spec->node);
    w->run_dir = strdup(spec->run_dir);
    w->visible = spec->visible ? strdup(spec->visible) : NULL;
    if (w->log_dir && w->node && w->run_dir && (w->visible || !spec->visible))
        return w;
    watch_free(w);
    return NULL;
}

struct gpu_watch *gpu_watch_start(const struct gpu_watch_spec *spec)
{
    struct gpu_watch *w = watch_make(spec);

    if (!w)
        return NULL;
    shared.stop = shared.ended = shared.look = shared.failed = false;
    shared.at = 0;
    if (thread_start(&w->thread, watch_run, w, NULL) < 0) {
        watch_free(w);
        return NULL;
    }
    pthread_setname_np(w->thread, "gpu watch");
    return w;
}

/* Wait for a change until then. The caller holds the lock. */
static bool wait_until(const struct timespec *until)
{
    return pthread_cond_clockwait(&shared.wake, &shared.lock, CLOCK_MONOTONIC, until) !=
           ETIMEDOUT;
}

void gpu_watch_settle(struct gpu_watch *w)
{
    double until = clock_now() + SETTLE_S;
    bool wait = w != NULL;

    while (wait && clock_now() < until) {
        struct timespec step = from_now(LOOK_S / 2);

        pthread_mutex_lock(&shared.lock);
        wait = !shared.ended && !shared.failed;
        shared.look = wait;
        pthread_cond_broadcast(&shared.wake);
        while (wait && wait_until(&step))
            ;
        pthread_mutex_unlock(&shared.lock);
    }
}

/* If the thread does not end, what it uses is not freed. */
void gpu_watch_stop(struct gpu_watch *w)
{
    struct timespec until = from_now(STOP_S);
    bool ended;

    if (!w)
        return;
    pthread_mutex_lock(&shared.lock);
    shared.stop = true;
    pthread_cond_broadcast(&shared.wake);
    while (!shared.ended && wait_until(&until))
        ;
    ended = shared.ended;
    pthread_mutex_unlock(&shared.lock);
    if (!ended) {
        pthread_detach(w->thread);
        return;
    }
    pthread_join(w->thread, NULL);
    watch_free(w);
}
