/* device_trial.c - copies to each GPU, in a thread that may be left behind, and the
 * sum. */
#include "config.h"

#include "probe/device_trial.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "device/group.h"
#include "device/nccl.h"
#include "device/stream.h"
#include "device/vendor.h"
#include "util/clock.h"
#include "util/quote.h"
#include "util/thread.h"

#define COPIED   ((size_t)16 << 20)
#define N_SUMMED ((size_t)1 << 18) /* float32: 1 MiB */

/* ---- Memory on a GPU ---- */

/* The two sides of a trial. */
struct sides {
    int device, id;
    size_t n;
    struct device_stream *stream; /* NULL: not made */
    void *memory;                 /* of the device */
    unsigned char *there, *back;
};

static void sides_clear(struct sides *s)
{
    if (s->memory)
        device_memory_free(s->stream, s->memory);
    device_stream_destroy(s->stream);
    free(s->there);
    free(s->back);
}

static int sides_init(struct sides *s, int device, int id, size_t n, struct error *err)
{
    *s = (struct sides){.device = device, .id = id, .n = n};
    s->there = malloc(n);
    s->back = calloc(1, n);
    if (!s->there || !s->back)
        return error_no_memory(err);
    return device_stream_create(device, id, &s->stream, err) < 0 ||
                   device_memory_alloc(s->stream, n, &s->memory, err) < 0
               ? -1
               : 0;
}

/* ---- Copies ---- */

static int copies_compare(struct sides *s, double *took_s, struct error *err)
{
    double start = clock_now();

    for (size_t i = 0; i < s->n; i++)
        s->there[i] = (unsigned char)(i * 2654435761u >> 24);
    if (device_copy_in(s->device, s->id, s->memory, s->there, s->n, err) < 0 ||
        device_fetch(s->device, s->id, s->memory, s->back, s->n, err) < 0)
        return -1;
    *took_s = clock_now() - start;
    for (size_t i = 0; i < s->n; i++)
        if (s->back[i] != s->there[i])
            return error_set(
                err, RAYTRAIN_EFAILED,
                "byte %zu of %zu that were copied there and back is %d, not %d", i,
                s->n, s->back[i], s->there[i]);
    return 0;
}

static int device_try(int device, int id, double *took_s, struct error *err)
{
    struct sides s;
    int rc = sides_init(&s, device, id, COPIED, err);

    if (rc == 0)
        rc = copies_compare(&s, took_s, err);
    sides_clear(&s);
    return rc;
}

/* Try the vendor whose library is installed. */
static int device_try_any(int id, int *device, double *took_s, struct error *err)
{
    struct error other;
    int rc;

    *device = RAYTRAIN_CUDA;
    if (device_try(RAYTRAIN_CUDA, id, took_s, err) == 0)
        return 0;
    if (err->code != RAYTRAIN_ENOTSUP)
        return -1;
    rc = device_try(RAYTRAIN_HIP, id, took_s, &other);
    if (rc < 0 && other.code == RAYTRAIN_ENOTSUP)
        return -1; /* neither is installed */
    *device = RAYTRAIN_HIP;
    return rc < 0 ? error_set(err, other.code, "%s", other.text) : 0;
}

static json_t *device_describe(int id)
{
    struct error err;
    double took_s = 0;
    int device, rc = device_try_any(id, &device, &took_s, &err);
    json_t *one = json_pack("{s:i, s:i}", "id", id, "device", device);

    if (rc == 0) {
        json_object_set_new(one, "failed", json_null());
        json_object_set_new(one, "bytes_s", json_real(2.0 * COPIED / took_s));
        return one;
    }
    json_object_set_new(one, "failed", json_text(err.text));
    json_object_set_new(one, "missing", json_boolean(err.code == RAYTRAIN_ENOTSUP));
    return one;
}

/* Two threads use it; the last one frees it. */
struct trial {
    pthread_mutex_t lock;
    pthread_cond_t went_on;
    int users, n, n_tried;
    json_t *devices; /* NULL: not all have been tried */
};

static void trial_leave(struct trial *t)
{
    bool last = --t->users == 0;

    pthread_mutex_unlock(&t->lock);
    if (!last)
        return;
    json_decref(t->devices);
    free(t);
}

static void *trial_run(void *arg)
{
    struct trial *t = arg;
    json_t *devices = json_array();

    for (int id = 0; id < t->n; id++) {
        json_array_append_new(devices, device_describe(id));
        pthread_mutex_lock(&t->lock);
        t->n_tried++;
        pthread_cond_signal(&t->went_on);
        pthread_mutex_unlock(&t->lock);
    }
    pthread_mutex_lock(&t->lock);
    t->devices = devices;
    pthread_cond_signal(&t->went_on);
    trial_leave(t);
    return NULL;
}

static struct timespec after(double seconds)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)(seconds * 1e3) % 1000 * 1000000;
    t.tv_sec += (time_t)seconds + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Wait until another GPU has been tried; false at the end. The caller holds the
 * lock. */
static bool trial_goes_on(struct trial *t, int n_tried, double limit_s)
{
    const struct timespec until = after(limit_s);

    while (!t->devices && t->n_tried == n_tried)
        if (pthread_cond_clockwait(&t->went_on, &t->lock, CLOCK_MONOTONIC, &until) ==
            ETIMEDOUT)
            break;
    return t->devices || t->n_tried > n_tried;
}

static json_t *trial_await(struct trial *t, double limit_s, void (*tried)(void *arg),
                           void *arg)
{
    int n_tried = 0;
    json_t *devices;

    pthread_mutex_lock(&t->lock);
    while ((n_tried < t->n || !t->devices) && trial_goes_on(t, n_tried, limit_s)) {
        if (n_tried == t->n_tried)
            continue;
        n_tried++;
        pthread_mutex_unlock(&t->lock);
        tried(arg);
        pthread_mutex_lock(&t->lock);
    }
    devices = t->devices ? json_incref(t->devices) : json_string("silent");
    if (!t->devices)
        device_abandon();
    trial_leave(t);
    return devices;
}

json_t *device_trial_copies(int n, double limit_s, void (*tried)(void *arg), void *arg)
{
    struct trial *t = calloc(1, sizeof *t);
    pthread_t thread;

    if (!t)
        return json_null();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->went_on, NULL);
    t->users = 2;
    t->n = n;
    if (thread_start(&thread, trial_run, t, NULL) < 0) {
        free(t);
        return json_null();
    }
    pthread_detach(thread);
    return trial_await(t, limit_s, tried, arg);
}

/* ---- A sum over the GPUs of all workers ---- */

/* The numbers are 1 to ROUND, repeated: sums stay below 2^24, up to which float32 is
 * exact. */
#define ROUND 16

float device_trial_number(int rank)
{
    return (float)(rank % ROUND + 1);
}

int64_t device_trial_total(int size)
{
    int64_t rounds = size / ROUND, rest = size % ROUND;

    return rounds * (ROUND * (ROUND + 1) / 2) + rest * (rest + 1) / 2;
}

static int sum_compare(const float *numbers, int size, struct error *err)
{
    float sum = (float)device_trial_total(size);

    for (size_t i = 0; i < N_SUMMED; i++)
        if (numbers[i] != sum)
            return error_set(err, RAYTRAIN_EFAILED,
                             "a sum over the GPUs of all workers is %.9g, not %.0f",
                             numbers[i], sum);
    return 0;
}

/* Sum by the call that training functions use. */
static int sum_make(raytrain_context *ctx, struct sides *s, struct error *err)
{
    raytrain_tensor tensor = {.data = s->memory,
                              .dtype = RAYTRAIN_FLOAT32,
                              .ndim = 1,
                              .shape = {N_SUMMED},
                              .device = s->device,
                              .device_id = s->id};
    float *numbers = (float *)(void *)s->there;
    int rc;

    for (size_t i = 0; i < N_SUMMED; i++)
        numbers[i] = device_trial_number(ctx->comm->rank);
    rc = device_copy_in(s->device, s->id, s->memory, numbers, s->n, err);
    if (comm_agree(ctx->user, rc, err) < 0)
        return -1;
    rc = raytrain_allreduce_tensor(ctx, &tensor, RAYTRAIN_SUM);
    if (rc != RAYTRAIN_OK)
        return error_set(err, (raytrain_status)rc, "%s", raytrain_last_error(ctx));
    return device_fetch(s->device, s->id, s->memory, s->back, s->n, err);
}

/* Record the transport. If it was not NCCL or RCCL, ask again for the reason. */
static int transport_note(raytrain_context *ctx, int device, json_t *sum,
                          struct error *err)
{
    const struct device_vendor *v = device == RAYTRAIN_HIP ? &hip_vendor : &cuda_vendor;
    struct device_group_env env = {.comm = ctx->user, .device = device, .id = 0};
    struct device_group *group = NULL;
    const struct nccl *nccl;
    struct error why = {0};

    if (!ctx->devices.group) {
        if (device_group_create(&env, &group, &why, err) < 0)
            return -1;
        device_group_destroy(group);
        json_object_set_new(sum, "host", json_text(why.text));
    } else if (nccl_open(v->collectives, &nccl, &why) == 0) {
        json_object_set_new(sum, "library", json_text(nccl->file));
        json_object_set_new(sum, "version", json_integer(nccl->version));
    }
    return 0;
}

int device_trial_sum(raytrain_context *ctx, int device, json_t *sum, struct error *err)
{
    struct sides s;
    int rc = sides_init(&s, device, 0, N_SUMMED * sizeof(float), err);

    rc = comm_agree(ctx->user, rc, err);
    if (rc == 0) {
        rc = sum_make(ctx, &s, err);
        if (!ctx->devices.lost)
            rc = comm_agree(ctx->user, rc, err);
    }
    if (rc == 0)
        rc = comm_agree(
            ctx->user, sum_compare((float *)(void *)s.back, ctx->comm->size, err), err);
    if (rc == 0)
        rc = transport_note(ctx, device, sum, err);
    if (rc == 0)
        json_object_set_new(sum, "right", json_true());
    sides_clear(&s);
    return rc;
}
