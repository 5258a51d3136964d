/*
 * standin_cuda.c - a stand-in for libcuda.so.1, for tests on machines without a GPU:
 * the functions that raytrain and its tests use, over host memory.
 *
 * It is no CUDA: it computes nothing, and shows nothing about the real library, but
 * that calls follow its rules. To show mistakes, it is as unhelpful as CUDA may be:
 *
 *   - memory of a "device" has two mappings: that of the pointer cannot be accessed, so that
 *     a host that touches it crashes; copies use the other one. An address is never used
 *     again, and memory of the host is not known. An allocation begins where the one before it
 *     ends, at the next multiple of 8, and what crosses from one to the other is refused.
 *   - a stream does nothing until something waits for it, and then only what it must. So what
 *     does not wait sees old bytes, every time, and no thread or delay is needed. The default
 *     stream is one of them, per GPU: none waits for another.
 *     cuEventQuery() is a wait that continues in a thread.
 *   - pinned memory is full of 0xa5 at first, and only such memory, or memory that is
 *     registered, is copied from and to.
 *   - most calls need a current context; handles of another GPU are refused.
 *   - while a stream captures a graph, what is queued there is not done, and a stream that waits
 *     for an event of it captures, too. Calls that are unsafe then, by the rules of
 *     cuThreadExchangeStreamCaptureMode(), spoil the capture. Graphs cannot be launched.
 *   - a kernel that fails (standin_fault()) makes all later calls on its GPU return 700.
 *   - after standin_reset() the GPU has no memory, streams or events, and its calls return 709
 *     until its context is retained again. Who uses an old stream crashes, as with CUDA.
 *
 * Environment, read at each call:
 *   STANDIN_CUDA_LOG=FILE      append "open PID" when it is loaded, and "left PID N" with what
 *                              standin_count() says when the process exits
 *   STANDIN_CUDA_VERSION=N     12040 by default
 *   STANDIN_CUDA_DEVICES=N       2 by default, at most 8
 *   STANDIN_CUDA_FIRST=N       GPU 0 of this process is GPU N of the machine; 0 by default;
 *                              visible: the first number of CUDA_VISIBLE_DEVICES
 *   STANDIN_CUDA_CALLS=FILE    append "pin THREAD" when memory is registered and "copy THREAD"
 *                              when a copy to the host is queued; THREAD is main or other
 *   STANDIN_CUDA_SILENT=1      cuDevicePrimaryCtxRetain() does not return
 *   STANDIN_CUDA_BUSY=1        GPUs are for one process at a time, and another one has them
 *   STANDIN_CUDA_FAIL=NAME:K   the K-th call of this function since this was set returns 700;
 *                              0: each call
 */
#include "standin_cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
/* The library has no header here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    DEVICE_UNAVAILABLE = 46,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    CONTEXT_IS_DESTROYED = 709,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_UNJOINED = 904,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,

    MODE_GLOBAL = 0, /* of captures, and of threads */
    MODE_RELAXED = 2
};

#define DEVICES_MAX 8

/* ---- Its state: one lock for all of it ---- */

struct memory {
    struct memory *next;
    uintptr_t address;     /* what the user has */
    unsigned char *inside; /* where it can be accessed; pinned memory: the same */
    size_t n;
    int device;      /* -1: pinned */
    bool registered; /* pinned, and the user's */
    int owner;       /* the GPU in whose context it was allocated */
    uint64_t number;
};

struct capture {
    struct capture *next;
    struct stream *origin;
    int mode;
    pid_t thread;
    bool spoiled, forked; /* forked: another stream has joined */
};

struct stream {
    struct stream *next;
    int device;
    struct work *first, **last;
    long queued, done; /* works */
    bool running;      /* a thread is in its first work */
    bool blocking;     /* the default stream waits for it */
    struct capture *capture;
    bool background;   /* a thread of ours runs what it has, up to `wanted` */
    long wanted;
};

struct event {
    struct event *next;    /* of all, also of those that a reset has destroyed */
    struct stream *stream; /* NULL: not recorded */
    long after;            /* when this number of works of the stream are done */
    int hold;              /* how many there had been before it was recorded */
    struct capture *capture; /* it is part of a graph */
    int device, life;
};

struct work {
    struct work *next;
    void (*kernel)(void *arg); /* NULL: a copy, or a wait */
    void *arg;
    bool is_long;             /* the lock is not held while the kernel runs */
    unsigned char *to, *from; /* a copy; without from: zeros */
    size_t n;
    struct event wait;
    int fault; /* the GPU that fails, from 1 on */
};

struct context {
    int device, retained;
    int n_events;
    int life;     /* how often it was destroyed */
    bool is_dead; /* and not retained since */
    int failed;   /* what all calls return */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* a work is done */
static struct memory *memories;
static struct stream *streams, *lost;    /* lost: the GPU was reset */
static struct capture *captures, *ended; /* ended: an event may point to it */
static struct event *events;
static struct stream defaults[DEVICES_MAX];
static struct context primaries[DEVICES_MAX];
static int n_events, n_holds;
static atomic_int n_calls;
static uint64_t n_allocated;
static bool is_ready, held;
static __thread bool in_kernel;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static __thread struct context *stack[16];
static __thread int depth;
static __thread int thread_mode;

static int number(const char *name, int fallback)
{
    const char *text = getenv(name);

    return text && *text ? atoi(text) : fallback;
}

static int devices(void)
{
    int n = number("STANDIN_CUDA_DEVICES", 2);

    return n < DEVICES_MAX ? n : DEVICES_MAX;
}

/* Is this the call that is to fail? */
static bool fails(const char *function)
{
    const char *fail = getenv("STANDIN_CUDA_FAIL"),
               *colon = fail ? strchr(fail, ':') : NULL;

    if (!fail)
        n_calls = 0;
    if (!colon || strncmp(fail, function, (size_t)(colon - fail)) != 0 ||
        function[colon - fail] != '\0')
        return false;
    return ++n_calls == atoi(colon + 1) || atoi(colon + 1) == 0;
}

static struct context *current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

/* What the GPU of the current context has to say to any call. */
static int condition(void)
{
    const struct context *c = current();

    return !c ? INVALID_CONTEXT : c->is_dead ? CONTEXT_IS_DESTROYED : c->failed;
}

/* What most functions begin with. */
#define ENTER(needs_context)                                                           \
    if (fails(__func__))                                                               \
        return ILLEGAL_ADDRESS;                                                        \
    if ((needs_context) && condition() != SUCCESS)                                     \
        return condition();

/* Calls that are unsafe while a graph is captured. The lock is not held. */
static bool is_unsafe(void)
{
    bool spoils = false;

    pthread_mutex_lock(&lock);
    for (struct capture *c = captures; c && thread_mode != MODE_RELAXED; c = c->next)
        if (c->mode != MODE_RELAXED &&
            (c->thread == gettid() ||
             (c->mode == MODE_GLOBAL && thread_mode == MODE_GLOBAL)))
            c->spoiled = spoils = true;
    pthread_mutex_unlock(&lock);
    return spoils;
}

#define ENTER_UNSAFE                                                                   \
    ENTER(true)                                                                        \
    if (is_unsafe())                                                                   \
        return CAPTURE_UNSUPPORTED;

static void log_line(const char *word, int n)
{
    const char *path = getenv("STANDIN_CUDA_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (f && n < 0)
        fprintf(f, "%s %d\n", word, (int)getpid());
    else if (f)
        fprintf(f, "%s %d %d\n", word, (int)getpid(), n);
    if (f)
        fclose(f);
}

static void call_line(const char *what)
{
    const char *path = getenv("STANDIN_CUDA_CALLS");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "%s %s\n", what, gettid() == getpid() ? "main" : "other");
    fclose(f);
}

static __attribute__((constructor)) void opened(void)
{
    for (int i = 0; i < DEVICES_MAX; i++) {
        defaults[i].device = primaries[i].device = i;
        defaults[i].last = &defaults[i].first;
    }
    log_line("open", -1);
}

static __attribute__((destructor)) void closed(void)
{
    if (is_ready)
        log_line("left", standin_count());
}

/* ---- Memory ---- */

static struct memory *memory_find(uintptr_t p, size_t n)
{
    struct memory *m = memories;

    while (m &&
           (p < m->address || p - m->address >= m->n || n > m->n - (p - m->address)))
        m = m->next;
    return m;
}

#define ARENA ((size_t)1 << 30)

/* The next n addresses of a device; 0: there are none. */
static uintptr_t address_take(size_t n)
{
    static uintptr_t next, end;
    size_t room = n < ARENA ? ARENA : n;
    void *arena;

    next = (next + 7) / 8 * 8;
    if (next == 0 || n > end - next) {
        arena = mmap(NULL, room, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena == MAP_FAILED)
            return 0;
        next = (uintptr_t)arena;
        end = next + room;
    }
    next += n;
    return next - n;
}

static int memory_add(size_t n, int device, uintptr_t *address)
{
    struct memory *m = calloc(1, sizeof *m);
    void *in = MAP_FAILED;
    uintptr_t out = 0;

    if (m && n > 0)
        in = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (in != MAP_FAILED)
        out = device < 0 ? (uintptr_t)in : address_take(n);
    if (out == 0) {
        if (in != MAP_FAILED)
            munmap(in, n);
        free(m);
        return OUT_OF_MEMORY;
    }
    memset(in, 0xa5, n);
    *m = (struct memory){memories,          out,          in, n, device, false,
                         current()->device, ++n_allocated};
    memories = m;
    *address = m->address;
    return SUCCESS;
}

/* The address of a device is not used again. */
static int memory_remove(uintptr_t address, bool pinned)
{
    struct memory **at = &memories, *m;

    while (*at && ((*at)->address != address || ((*at)->device < 0) != pinned ||
                   (*at)->registered))
        at = &(*at)->next;
    m = *at;
    if (!m)
        return INVALID_VALUE;
    *at = m->next;
    munmap(m->inside, m->n);
    free(m);
    return SUCCESS;
}

/* Memory that the user has already. */
static int memory_register(void *p, size_t n)
{
    struct memory *m = calloc(1, sizeof *m);
    uintptr_t begin = (uintptr_t)p;

    for (const struct memory *o = memories; o; o = o->next)
        if (begin < o->address + o->n && o->address < begin + n) {
            free(m);
            return ALREADY_REGISTERED;
        }
    if (!m)
        return OUT_OF_MEMORY;
    *m = (struct memory){memories,          begin,        p, n, -1, true,
                         current()->device, ++n_allocated};
    memories = m;
    return SUCCESS;
}

static int memory_unregister(const void *p)
{
    struct memory **at = &memories, *m;

    while (*at && (!(*at)->registered || (*at)->inside != p))
        at = &(*at)->next;
    m = *at;
    if (!m)
        return NOT_REGISTERED;
    *at = m->next;
    free(m);
    return SUCCESS;
}

/* ---- Streams: nothing runs before something waits for it ---- */

static void work_run(struct work *w);

static void stream_run(struct stream *s, long until)
{
    while (s->done < until) {
        struct work *w = s->first;

        if (s->running) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        s->first = w->next;
        if (!s->first)
            s->last = &s->first;
        s->running = true;
        work_run(w);
        s->running = false;
        s->done++;
        pthread_cond_broadcast(&changed);
        free(w);
    }
}

static void kernel_run(const struct work *w)
{
    if (w->is_long)
        pthread_mutex_unlock(&lock);
    else
        in_kernel = true;
    w->kernel(w->arg);
    in_kernel = false;
    if (w->is_long)
        pthread_mutex_lock(&lock);
}

static void work_run(struct work *w)
{
    if (w->wait.stream)
        stream_run(w->wait.stream, w->wait.after);
    if (w->n > 0 && w->from)
        memcpy(w->to, w->from, w->n);
    else if (w->n > 0)
        memset(w->to, 0, w->n);
    if (w->kernel)
        kernel_run(w);
    if (w->fault)
        primaries[w->fault - 1].failed = ILLEGAL_ADDRESS;
}

static struct stream *stream_busy(void)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->done < s->queued)
            return s;
    for (int i = 0; i < DEVICES_MAX; i++)
        if (defaults[i].done < defaults[i].queued)
            return &defaults[i];
    return NULL;
}

static void all_run(void)
{
    struct stream *s;

    while ((s = stream_busy()))
        stream_run(s, s->queued);
}

static void *background_run(void *stream)
{
    struct stream *s = stream;

    pthread_mutex_lock(&lock);
    while (s->done < s->wanted)
        stream_run(s, s->wanted);
    s->background = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Let it run, up to there, while this thread continues. */
static void stream_start(struct stream *s, long until)
{
    pthread_t thread;

    if (until > s->wanted)
        s->wanted = until;
    if (s->background || s->done >= s->wanted)
        return;
    s->background = true;
    if (pthread_create(&thread, NULL, background_run, s) != 0)
        abort();
    pthread_detach(thread);
}

/* The capture of a stream for which the default stream of the GPU would wait. */
static struct capture *capture_implied(int device)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->blocking && s->capture && s->device == device)
            return s->capture;
    return NULL;
}

/* NULL: it is none of the current GPU's. */
static struct stream *stream_of(void *handle)
{
    struct stream *s = streams;

    if (!handle)
        return &defaults[current()->device];
    for (const struct stream *l = lost; l; l = l->next)
        if (l == handle)
            abort();
    while (s && s != handle)
        s = s->next;
    return s && s->device == current()->device ? s : NULL;
}

static int work_add(void *stream, struct work work)
{
    struct stream *s = stream_of(stream);
    struct work *w = s ? malloc(sizeof *w) : NULL;

    if (!s)
        return INVALID_HANDLE;
    if (!w)
        return OUT_OF_MEMORY;
    if (!stream && capture_implied(s->device)) {
        capture_implied(s->device)->spoiled = true;
        free(w);
        return CAPTURE_IMPLICIT;
    }
    if (work.wait.capture && !s->capture) {
        s->capture = work.wait.capture;
        s->capture->forked = true;
    }
    if (s->capture) { /* a node of the graph */
        free(w);
        return SUCCESS;
    }
    *w = work;
    *s->last = w;
    s->last = &w->next;
    s->queued++;
    return SUCCESS;
}

static int copy_add(void *stream, uintptr_t to, bool to_pinned, uintptr_t from,
                    size_t n)
{
    struct memory *t = memory_find(to, n), *f = memory_find(from, n);

    if (!t || !f || (t->device < 0) != to_pinned || (f->device < 0) == to_pinned ||
        (t->device >= 0 ? t : f)->device != current()->device)
        return INVALID_VALUE;
    return work_add(stream, (struct work){.to = t->inside + (to - t->address),
                                          .from = f->inside + (from - f->address),
                                          .n = n});
}

/* ---- What tests have beyond CUDA ---- */

API int standin_launch(void *stream, void (*kernel)(void *arg), void *arg)
{
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    rc = work_add(stream, (struct work){.kernel = kernel, .arg = arg});
    pthread_mutex_unlock(&lock);
    return rc;
}

API int standin_launch_long(void *stream, void (*kernel)(void *arg), void *arg)
{
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    rc = work_add(stream, (struct work){.kernel = kernel, .arg = arg, .is_long = true});
    pthread_mutex_unlock(&lock);
    return rc;
}

API int standin_fault(void *stream)
{
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    rc = work_add(stream, (struct work){.fault = current()->device + 1});
    pthread_mutex_unlock(&lock);
    return rc;
}

static void streams_lose(int device)
{
    for (struct stream **at = &streams, *s; (s = *at);) {
        if (s->device != device) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = lost;
        lost = s;
    }
}

static void memory_lose(int device)
{
    for (struct memory **at = &memories, *m; (m = *at);) {
        if (m->owner != device) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        if (!m->registered)
            munmap(m->inside, m->n);
        free(m);
    }
}

API void standin_reset(int device)
{
    struct stream *d = &defaults[device];

    pthread_mutex_lock(&lock);
    streams_lose(device);
    memory_lose(device);
    d->done = d->queued; /* what is queued is not done */
    d->first = NULL;
    d->last = &d->first;
    n_events -= primaries[device].n_events;
    primaries[device] = (struct context){
        .device = device, .life = primaries[device].life + 1, .is_dead = true};
    pthread_mutex_unlock(&lock);
}

API void standin_start(void *stream)
{
    struct stream *s = streams;

    pthread_mutex_lock(&lock);
    while (s && s != stream)
        s = s->next;
    if (s)
        stream_start(s, s->queued);
    pthread_mutex_unlock(&lock);
}

API int standin_device(void)
{
    return current() ? current()->device : -1;
}

API void *standin_memory(uint64_t at, size_t n, int device)
{
    struct memory *m;
    void *inside = NULL;

    pthread_mutex_lock(&lock);
    m = memory_find((uintptr_t)at, n);
    if (m && m->device == device)
        inside = m->inside + (at - m->address);
    pthread_mutex_unlock(&lock);
    return inside;
}

API void *standin_inside(uint64_t device)
{
    struct memory *m = in_kernel ? memory_find((uintptr_t)device, 1) : NULL;

    if (!m)
        abort();
    return m->inside + (device - m->address);
}

API int standin_hold(int hold)
{
    pthread_mutex_lock(&lock);
    held = hold != 0;
    n_holds += held;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

API int standin_count(void)
{
    int n = n_events;

    for (const struct memory *m = memories; m; m = m->next)
        n++;
    for (const struct stream *s = streams; s; s = s->next)
        n++;
    for (int i = 0; i < DEVICES_MAX; i++)
        n += primaries[i].retained;
    return n;
}

/* ---- The library, GPUs, contexts ---- */

API int cuInit(unsigned int flags)
{
    ENTER(false)
    is_ready = true;
    return flags != 0 ? INVALID_VALUE : devices() > 0 ? SUCCESS : NO_DEVICE;
}

API int cuDriverGetVersion(int *version)
{
    ENTER(false)
    *version = number("STANDIN_CUDA_VERSION", 12040);
    return SUCCESS;
}

API int cuDeviceGetCount(int *n)
{
    ENTER(false)
    *n = devices();
    return SUCCESS;
}

API int cuGetErrorName(int error, const char **name)
{
    *name = error == ILLEGAL_ADDRESS        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == CONTEXT_IS_DESTROYED ? "CUDA_ERROR_CONTEXT_IS_DESTROYED"
            : error == DEVICE_UNAVAILABLE   ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
                                            : "CUDA_ERROR_OTHER";
    return SUCCESS;
}

API int cuGetErrorString(int error, const char **text)
{
    *text =
        error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "other";
    return SUCCESS;
}

API int cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER(false)
    if (device < 0 || device >= devices())
        return INVALID_DEVICE;
    if (number("STANDIN_CUDA_SILENT", 0))
        for (;;)
            pause();
    if (number("STANDIN_CUDA_BUSY", 0))
        return DEVICE_UNAVAILABLE;
    primaries[device].retained++;
    primaries[device].is_dead = false;
    *context = &primaries[device];
    return SUCCESS;
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    ENTER(false)
    primaries[device].retained--;
    return SUCCESS;
}

API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER(false)
    *flags = 0;
    *active = primaries[device].retained > 0;
    return SUCCESS;
}

static int first_device(void)
{
    const char *first = getenv("STANDIN_CUDA_FIRST");

    return number(first && strcmp(first, "visible") == 0 ? "CUDA_VISIBLE_DEVICES"
                                                         : "STANDIN_CUDA_FIRST",
                  0);
}

API int cuDeviceGetPCIBusId(char *place, int size, int device)
{
    ENTER(false)
    if (device < 0 || device >= devices())
        return INVALID_DEVICE;
    snprintf(place, (size_t)size, "0000:%02x:00.0",
             (unsigned)(device + first_device()));
    return SUCCESS;
}

API int cuCtxPushCurrent_v2(void *context)
{
    ENTER(false)
    if (depth == sizeof stack / sizeof stack[0])
        abort();
    stack[depth++] = context;
    return SUCCESS;
}

API int cuCtxPopCurrent_v2(void **context)
{
    ENTER(false)
    if (depth == 0)
        return INVALID_CONTEXT;
    *context = stack[--depth];
    return SUCCESS;
}

API int cuCtxGetCurrent(void **context)
{
    *context = current();
    return SUCCESS;
}

API int cuCtxSetCurrent(void *context)
{
    if (depth == 0)
        depth = 1;
    stack[depth - 1] = context;
    return SUCCESS;
}

/* ---- Memory ---- */

API int cuMemAlloc_v2(uint64_t *p, size_t n)
{
    uintptr_t address;
    int rc;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    rc = memory_add(n, current()->device, &address);
    pthread_mutex_unlock(&lock);
    if (rc == SUCCESS)
        *p = address;
    return rc;
}

API int cuMemFree_v2(uint64_t p)
{
    int rc;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    all_run();
    rc = memory_remove((uintptr_t)p, false);
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuMemHostAlloc(void **p, size_t n, unsigned int flags)
{
    uintptr_t address;
    int rc;

    (void)flags;
    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    rc = memory_add(n, -1, &address);
    pthread_mutex_unlock(&lock);
    if (rc == SUCCESS)
        *p = (void *)address;
    return rc;
}

API int cuMemFreeHost(void *p)
{
    int rc;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    all_run();
    rc = memory_remove((uintptr_t)p, true);
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuMemHostRegister_v2(void *p, size_t n, unsigned int flags)
{
    int rc;

    call_line("pin");
    ENTER_UNSAFE
    if (flags != 1 || !p || n == 0)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    rc = memory_register(p, n);
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuMemHostUnregister(void *p)
{
    int rc;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    rc = memory_unregister(p);
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuPointerGetAttribute(void *value, int attribute, uint64_t p)
{
    struct memory *m;
    int rc = SUCCESS;

    ENTER(false)
    pthread_mutex_lock(&lock);
    m = memory_find((uintptr_t)p, 1);
    if (!m)
        rc = INVALID_VALUE;
    else if (attribute == 1) /* the context */
        *(void **)value = m->device < 0 ? NULL : &primaries[m->device];
    else if (attribute == 2) /* the type of memory: 1, host, or 2, device */
        *(unsigned int *)value = m->device < 0 ? 1 : 2;
    else if (attribute == 7)
        *(uint64_t *)value = m->number;
    else if (attribute == 9) /* the number of the GPU */
        *(int *)value = m->device;
    else if (attribute == 11) /* where the allocation begins, and its size */
        *(uint64_t *)value = m->address;
    else if (attribute == 12)
        *(size_t *)value = m->n;
    else
        rc = INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- Streams, copies, events ---- */

API int cuStreamCreate(void **stream, unsigned int flags)
{
    struct stream *s;

    ENTER(true)
    if (flags > 1)
        return INVALID_VALUE;
    s = calloc(1, sizeof *s);
    if (!s)
        return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    s->device = current()->device;
    s->blocking = flags == 0;
    s->last = &s->first;
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *stream = s;
    return SUCCESS;
}

API int cuStreamDestroy_v2(void *stream)
{
    struct stream **at, *s;

    ENTER(true)
    pthread_mutex_lock(&lock);
    all_run();
    while ((s = stream_of(stream)) && s->background)
        pthread_cond_wait(&changed, &lock);
    at = &streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    free(s);
    pthread_mutex_unlock(&lock);
    return s ? SUCCESS : INVALID_HANDLE;
}

API int cuStreamSynchronize(void *stream)
{
    struct stream *s;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    s = stream_of(stream);
    if (s)
        stream_run(s, s->queued);
    pthread_mutex_unlock(&lock);
    return s ? condition() : INVALID_HANDLE;
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream)
{
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    call_line("copy");
    rc = copy_add(stream, (uintptr_t)to, true, (uintptr_t)from, n);
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream)
{
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    rc = copy_add(stream, (uintptr_t)to, false, (uintptr_t)from, n);
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream)
{
    struct memory *m;
    int rc = INVALID_VALUE;

    ENTER(true)
    pthread_mutex_lock(&lock);
    m = memory_find((uintptr_t)to, n);
    if (m && m->device == current()->device && value == 0)
        rc = work_add(stream,
                      (struct work){.to = m->inside + (to - m->address), .n = n});
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuStreamGetCtx(void *stream, void **context)
{
    struct stream *s;

    ENTER(true)
    pthread_mutex_lock(&lock);
    s = streams;
    while (s && s != stream)
        s = s->next;
    if (s || !stream)
        *context = &primaries[s ? s->device : current()->device];
    pthread_mutex_unlock(&lock);
    return s || !stream ? SUCCESS : INVALID_HANDLE;
}

/* ---- Captures ---- */

API int cuThreadExchangeStreamCaptureMode(int *mode)
{
    int before = thread_mode;

    ENTER(false)
    thread_mode = *mode;
    *mode = before;
    return SUCCESS;
}

API int cuStreamBeginCapture_v2(void *stream, int mode)
{
    struct capture *c = calloc(1, sizeof *c);
    struct stream *s;

    ENTER(true)
    pthread_mutex_lock(&lock);
    s = stream ? stream_of(stream) : NULL;
    if (s && c) {
        *c = (struct capture){
            .next = captures, .origin = s, .mode = mode, .thread = gettid()};
        captures = s->capture = c;
    }
    pthread_mutex_unlock(&lock);
    if (!s)
        free(c);
    return s ? SUCCESS : INVALID_HANDLE;
}

/* Streams that have joined would have to be joined with the origin: none does that
 * here. */
API int cuStreamEndCapture(void *stream, void **graph)
{
    struct capture **at = &captures, *c;
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    while (*at && (*at)->origin != stream)
        at = &(*at)->next;
    c = *at;
    if (c) {
        *at = c->next;
        c->next = ended;
        ended = c;
        for (struct stream *s = streams; s; s = s->next)
            if (s->capture == c)
                s->capture = NULL;
    }
    rc = !c           ? INVALID_HANDLE
         : c->spoiled ? CAPTURE_INVALIDATED
         : c->forked  ? CAPTURE_UNJOINED
                      : SUCCESS;
    *graph = rc == SUCCESS ? stream : NULL;
    pthread_mutex_unlock(&lock);
    return rc;
}

API int cuStreamIsCapturing(void *stream, int *status)
{
    struct stream *s;
    int rc;

    ENTER(true)
    pthread_mutex_lock(&lock);
    s = stream_of(stream);
    rc = !s                                      ? INVALID_HANDLE
         : !stream && capture_implied(s->device) ? CAPTURE_IMPLICIT
                                                 : SUCCESS;
    *status = !s || !s->capture ? 0 : s->capture->spoiled ? 2 : 1;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- Events ---- */

API int cuEventCreate(void **event, unsigned int flags)
{
    struct event *e;

    (void)flags;
    ENTER(true)
    e = calloc(1, sizeof *e);
    if (!e)
        return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    e->device = current()->device;
    e->life = current()->life;
    e->next = events;
    events = e;
    n_events++;
    current()->n_events++;
    pthread_mutex_unlock(&lock);
    *event = e;
    return SUCCESS;
}

/* Was it lost in a reset of its GPU? */
static bool is_lost(const struct event *e)
{
    return e->life != primaries[e->device].life;
}

API int cuEventDestroy_v2(void *event)
{
    struct event *e = event, **at = &events;

    ENTER(true)
    if (is_lost(e))
        abort();
    pthread_mutex_lock(&lock);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    n_events--;
    primaries[e->device].n_events--;
    pthread_mutex_unlock(&lock);
    free(e);
    return SUCCESS;
}

API int cuEventRecord(void *event, void *stream)
{
    struct event *e = event;
    struct capture *implied;
    struct stream *s;

    ENTER(true)
    if (is_lost(e))
        return CONTEXT_IS_DESTROYED;
    pthread_mutex_lock(&lock);
    s = stream_of(stream);
    implied = s && !stream ? capture_implied(s->device) : NULL;
    if (implied)
        implied->spoiled = true;
    else if (s)
        *e = (struct event){e->next,    s,         s->queued, n_holds,
                            s->capture, e->device, e->life};
    pthread_mutex_unlock(&lock);
    return implied ? CAPTURE_IMPLICIT : s ? SUCCESS : INVALID_HANDLE;
}

API int cuStreamWaitEvent(void *stream, void *event, unsigned int flags)
{
    struct event *e = event;
    int rc;

    ENTER(true)
    if (flags != 0)
        return INVALID_VALUE;
    if (is_lost(e))
        return CONTEXT_IS_DESTROYED;
    pthread_mutex_lock(&lock);
    rc = work_add(stream, (struct work){.wait = *e});
    pthread_mutex_unlock(&lock);
    return rc;
}

/* What a query of, or a wait for, this event returns in any case, or 0. */
static int event_condition(const struct event *e)
{
    if (is_lost(e))
        return CONTEXT_IS_DESTROYED;
    if (!e->capture)
        return SUCCESS;
    e->capture->spoiled = true;
    return CAPTURED_EVENT;
}

API int cuEventSynchronize(void *event)
{
    struct event *e = event;
    int rc;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    while (held && e->hold == n_holds && gettid() != getpid())
        pthread_cond_wait(&released, &lock);
    rc = event_condition(e);
    if (rc == SUCCESS && e->stream)
        stream_run(e->stream, e->after);
    pthread_mutex_unlock(&lock);
    return rc != SUCCESS ? rc : condition();
}

API int cuEventQuery(void *event)
{
    struct event *e = event;
    int rc;

    ENTER_UNSAFE
    pthread_mutex_lock(&lock);
    rc = event_condition(e);
    if (rc == SUCCESS && e->stream && e->stream->done < e->after) {
        stream_start(e->stream, e->after);
        rc = NOT_READY;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}
