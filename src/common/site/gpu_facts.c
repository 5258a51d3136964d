/*
 * gpu_facts.c - ask the driver about the GPUs in a thread, since a broken driver may
 * hang. nvml.c calls the driver.
 */
#include "config.h"

#include "site/gpu_facts.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "site/nvml.h"
#include "util/thread.h"

/* The daemon's control pipe. A killed daemon leaves it behind, so this is only a
 * hint. */
static bool mps_runs(void)
{
    const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/control", dir && *dir ? dir : "/tmp/nvidia-mps");
    return access(path, F_OK) == 0;
}

static json_t *device_facts(const struct nvml_device *device)
{
    json_t *facts =
        json_pack("{s:i, s:s}", "number", device->number, "pci", device->pci);
    struct nvml_memory memory;
    enum nvml_mode mode;

    if (nvml_compute_mode(device, &mode) == NVML_OK)
        json_object_set_new(facts, "mode", json_integer(mode));
    if (nvml_memory(device, &memory) == NVML_OK) {
        json_object_set_new(facts, "total", json_integer((json_int_t)memory.total));
        json_object_set_new(facts, "free", json_integer((json_int_t)memory.free));
    }
    return facts;
}

static json_t *ask(const char *visible)
{
    struct nvml_device devices[NVML_DEVICES_MAX];
    char version[NVML_VERSION_MAX];
    json_t *list = json_array();
    int n;

    if (nvml_open(NULL) < 0) {
        json_decref(list);
        return json_null();
    }
    nvml_driver_version(version);
    n = nvml_devices(visible, devices);
    for (int i = 0; i < n; i++)
        json_array_append_new(list, device_facts(&devices[i]));
    nvml_close();
    return json_pack("{s:s, s:b, s:o}", "driver", version, "mps", mps_runs(), "devices",
                     list);
}

/* Freed by the last user of the two. */
struct question {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    int users;
    char *visible;
    json_t *answer;
};

static void question_leave(struct question *q)
{
    bool last = --q->users == 0;

    pthread_mutex_unlock(&q->lock);
    if (!last)
        return;
    json_decref(q->answer);
    free(q->visible);
    free(q);
}

static void *question_thread(void *arg)
{
    struct question *q = arg;
    json_t *found = ask(q->visible);

    pthread_mutex_lock(&q->lock);
    q->answer = found;
    pthread_cond_signal(&q->answered);
    question_leave(q);
    return NULL;
}

static json_t *await(struct question *q, double limit_s)
{
    struct timespec until;
    json_t *found;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)limit_s + 1;
    pthread_mutex_lock(&q->lock);
    while (!q->answer && pthread_cond_clockwait(&q->answered, &q->lock, CLOCK_MONOTONIC,
                                                &until) != ETIMEDOUT)
        ;
    found = q->answer ? json_incref(q->answer) : json_string("silent");
    question_leave(q);
    return found;
}

json_t *gpu_facts(const char *visible, double limit_s)
{
    struct question *q = calloc(1, sizeof *q);
    pthread_t thread;

    if (!q)
        return json_null();
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->answered, NULL);
    q->users = 2;
    q->visible = visible ? strdup(visible) : NULL;
    if (thread_start(&thread, question_thread, q, NULL) < 0) {
        free(q->visible);
        free(q);
        return json_null();
    }
    pthread_detach(thread);
    return await(q, limit_s);
}
