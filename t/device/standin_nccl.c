/*
 * standin_nccl.c - a stand-in for libnccl.so.2, for tests on machines without cards: the
 * functions that raytrain uses, between processes of one machine, over the memory and the
 * streams of the stand-in for CUDA (standin_cuda.c).
 *
 * It is no NCCL: it shows nothing about the real library, but that calls follow its rules. The
 * ranks of a communicator meet in a file, which the unique id names. A collective is a kernel:
 * nothing happens before something waits for the stream, on any of the ranks; then the others
 * run theirs, too, as cards would. It combines in the order of the ranks, in the type of the
 * numbers, and makes a mean by dividing first. As NCCL between cards of a node, it does not
 * notice that a rank is gone: a kernel waits until the communicator is aborted.
 *
 * What NCCL takes for undefined ends the process, with a line on standard error: memory or a
 * stream of another card, calls without or with another context, a communicator that was
 * destroyed or aborted, ranks whose calls differ, a destroy while work is queued.
 *
 * Environment, read at each call, but not in threads, beside which it may change:
 *   STANDIN_NCCL_LOG=FILE      append "open PID" when it is loaded, and "left PID N" when the
 *                              process exits: N communicators are still there
 *   STANDIN_NCCL_DIR=DIR       where the files are; /dev/shm by default
 *   STANDIN_NCCL_VERSION=N     22809 by default
 *   STANDIN_NCCL_FAIL=NAME:K   the K-th call of this function since this was set returns 2
 *   STANDIN_NCCL_BREAK=K       the K-th collective since this was set breaks the communicator:
 *                              it is not done, and the asynchronous error of all ranks is 2
 *   STANDIN_NCCL_DIE=RANK      this rank kills itself when it makes a communicator
 *   STANDIN_NCCL_NOTICE=1      a rank that is gone becomes the asynchronous error 6; read when
 *                              a communicator is made, as for ncclCommGetAsyncError
 *   NCCL_COMM_BLOCKING=0       as for NCCL: calls go on after they have returned
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dlfcn.h>

#include "standin_cuda.h"
#include "util/half.h"

#define API __attribute__((visibility("default")))
/* The library has no header here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { SUCCESS = 0, SYSTEM_ERROR = 2, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { INT8 = 0, INT64 = 4, FLOAT16 = 6, FLOAT32 = 7, FLOAT64 = 8, BFLOAT16 = 9 };
enum { SUM = 0, MAX = 2, MIN = 3, AVG = 4 };
enum kind { ALLREDUCE, REDUCE, BROADCAST, ALLGATHER };

#define RANKS_MAX      16
#define CHUNK          ((size_t)64 << 10)
#define CALLS_MAX      64 /* in a group */
#define POLL_US        100
#define POLLS_BLOCKING 3

struct id {
    char internal[128];
};

/* What ranks must agree on. */
struct op {
    enum kind kind;
    int type, combine, root;
    size_t n;
};

/* ---- What the ranks share ---- */

struct shared {
    int size; /* 0: no rank has joined */
    atomic_int joined, broken;
    atomic_long demand; /* some rank runs its kernel of this number */
    struct {
        atomic_long said; /* how far it is: a number that only grows */
        atomic_int left;  /* by a destroy */
        struct op op;
        unsigned char data[CHUNK];
    } ranks[RANKS_MAX];
};

struct comm {
    struct comm *next;
    bool is_live, ending;
    bool notices, look_fails;
    atomic_bool aborted;
    int rank, size, card, fd;
    struct shared *shared;
    void *stream;                      /* of the latest collective */
    atomic_long queued, started, done; /* kernels */
    long said;
    atomic_int pending; /* looks until a call is done */
    pthread_t helper;
};

struct call {
    struct comm *comm;
    struct op op;
    uint64_t from, to;
};

/* A kernel: the calls of a group. */
struct kernel {
    struct comm *comm;
    long number;
    bool breaks;
    int n;
    struct call calls[CALLS_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct comm *comms; /* also those that are gone: so that their use shows */
static atomic_int n_calls, n_collectives;
static __thread int depth;
static __thread bool group_failed;
static __thread struct kernel *group;
static __thread void *group_stream;

static struct {
    int (*launch)(void *, void (*)(void *), void *);
    void (*start)(void *);
    int (*card)(void);
    void *(*memory)(uint64_t, size_t, int);
} cuda;

static void misuse(const char *what)
{
    fprintf(stderr, "standin_nccl: %s\n", what);
    abort();
}

static int number(const char *name, int fallback)
{
    const char *text = getenv(name);

    return text && *text ? atoi(text) : fallback;
}

/* Is this the call that is to fail? */
static bool fails(const char *function)
{
    const char *fail = getenv("STANDIN_NCCL_FAIL"),
               *colon = fail ? strchr(fail, ':') : NULL;

    if (!fail)
        n_calls = 0;
    if (!colon || strncmp(fail, function, (size_t)(colon - fail)) != 0 ||
        function[colon - fail] != '\0')
        return false;
    return ++n_calls == atoi(colon + 1);
}

static bool breaks(void)
{
    int at = number("STANDIN_NCCL_BREAK", 0);

    if (at == 0)
        n_collectives = 0;
    return at > 0 && ++n_collectives == at;
}

static void log_line(const char *word, int n)
{
    const char *path = getenv("STANDIN_NCCL_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (f && n < 0)
        fprintf(f, "%s %d\n", word, (int)getpid());
    else if (f)
        fprintf(f, "%s %d %d\n", word, (int)getpid(), n);
    if (f)
        fclose(f);
}

static void *symbol(void *object, const char *name)
{
    void *found = object ? dlsym(object, name) : NULL;

    if (!found)
        misuse("libcuda.so.1 is not the stand-in");
    return found;
}

static __attribute__((constructor)) void opened(void)
{
    log_line("open", -1);
}

static __attribute__((destructor)) void closed(void)
{
    int n = 0;

    for (struct comm *c = comms; c; c = c->next)
        n += c->is_live;
    log_line("left", n);
}

static void cuda_find(void)
{
    void *object = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    *(void **)&cuda.launch = symbol(object, "standin_launch_long");
    *(void **)&cuda.start = symbol(object, "standin_start");
    *(void **)&cuda.card = symbol(object, "standin_card");
    *(void **)&cuda.memory = symbol(object, "standin_memory");
}

/* ---- Meeting the other ranks ---- */

static void nap(void)
{
    usleep(POLL_US);
}

/* A rank locks a byte of the file as long as it lives. */
static bool is_gone(const struct comm *c, int rank)
{
    struct flock f = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};

    if (rank == c->rank || atomic_load(&c->shared->ranks[rank].left))
        return false;
    return fcntl(c->fd, F_OFD_GETLK, &f) == 0 && f.l_type == F_UNLCK;
}

/* Wait for all ranks to come as far as this one. False: the communicator is aborted. */
static bool meet(struct comm *c)
{
    struct shared *s = c->shared;

    atomic_store(&s->ranks[c->rank].said, ++c->said);
    for (int r = 0; r < c->size; r++)
        while (atomic_load(&s->ranks[r].said) < c->said || atomic_load(&s->broken)) {
            if (atomic_load(&c->aborted))
                return false;
            nap();
        }
    return !atomic_load(&c->aborted);
}

/* ---- Kernels ---- */

static size_t width(int type)
{
    switch (type) {
    case INT8:
        return 1;
    case FLOAT16:
    case BFLOAT16:
        return 2;
    case FLOAT32:
        return 4;
    case INT64:
    case FLOAT64:
        return 8;
    default:
        misuse("a type that is not known");
        return 0;
    }
}

static double combine(double a, double b, int op)
{
    return op == MAX ? (a > b ? a : b) : op == MIN ? (a < b ? a : b) : a + b;
}

static double element(const unsigned char *p, int type, size_t i)
{
    uint16_t half;
    float f;
    double d;

    if (type == FLOAT64) {
        memcpy(&d, p + i * 8, 8);
        return d;
    }
    if (type == FLOAT32) {
        memcpy(&f, p + i * 4, 4);
        return (double)f;
    }
    memcpy(&half, p + i * 2, 2);
    (type == FLOAT16 ? float16_widen : bfloat16_widen)(&f, &half, 1);
    return (double)f;
}

/* In the precision of the type. */
static double rounded(double x, int type, unsigned char *to)
{
    float f = (float)x;
    uint16_t half;

    if (type == FLOAT64) {
        memcpy(to, &x, 8);
        return x;
    }
    if (type == FLOAT32) {
        memcpy(to, &f, 4);
        return (double)f;
    }
    (type == FLOAT16 ? float16_narrow : bfloat16_narrow)(&half, &f, 1);
    memcpy(to, &half, 2);
    return element(to, type, 0);
}

static void integers_combine(const struct comm *c, const struct op *op,
                             unsigned char *to, size_t n)
{
    if (op->combine == AVG)
        misuse("a mean of integers");
    for (size_t i = 0; i < n; i++) {
        int64_t all = 0, x;

        for (int r = 0; r < c->size; r++) {
            memcpy(&x, c->shared->ranks[r].data + i * 8, 8);
            if (r == 0)
                all = x;
            else if (op->combine == SUM)
                all += x;
            else if ((op->combine == MAX) == (x > all))
                all = x;
        }
        memcpy(to + i * 8, &all, 8);
    }
}

static void elements_combine(const struct comm *c, const struct op *op,
                             unsigned char *to, size_t n)
{
    const size_t w = width(op->type);

    if (op->type == INT64) {
        integers_combine(c, op, to, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double all = 0;

        for (int r = 0; r < c->size; r++) {
            double x = element(c->shared->ranks[r].data, op->type, i);

            if (op->combine == AVG)
                x = rounded(x / c->size, op->type, to + i * w);
            all = rounded(r == 0 ? x : combine(all, x, op->combine), op->type,
                          to + i * w);
        }
    }
}

static void ops_compare(const struct comm *c, const struct op *op)
{
    for (int r = 0; r < c->size; r++) {
        const struct op *other = &c->shared->ranks[r].op;

        if (other->kind != op->kind || other->type != op->type ||
            other->combine != op->combine || other->root != op->root ||
            other->n != op->n)
            misuse("the ranks make different calls");
    }
}

static unsigned char *memory_of(const struct call *call, uint64_t p, size_t n)
{
    unsigned char *inside = cuda.memory(p, n, call->comm->card);

    if (!inside)
        misuse("this is no memory of the communicator's card, or it was freed");
    return inside;
}

/* What this rank sends and gets, in all. */
static size_t bytes_from(const struct call *call)
{
    return call->op.n * width(call->op.type);
}

static size_t bytes_to(const struct call *call)
{
    return bytes_from(call) *
           (call->op.kind == ALLGATHER ? (size_t)call->comm->size : 1);
}

static bool sends(const struct call *call)
{
    return call->op.kind != BROADCAST || call->op.root == call->comm->rank;
}

static bool gets(const struct call *call)
{
    return call->op.kind != REDUCE || call->op.root == call->comm->rank;
}

/* n bytes, from `at` on, are in the ranks' chunks. */
static void chunk_get(const struct call *call, unsigned char *to, size_t at, size_t n)
{
    const struct op *op = &call->op;
    struct shared *s = call->comm->shared;

    if (op->kind == BROADCAST)
        memcpy(to + at, s->ranks[op->root].data, n);
    else if (op->kind == ALLGATHER)
        for (int r = 0; r < call->comm->size; r++)
            memcpy(to + (size_t)r * bytes_from(call) + at, s->ranks[r].data, n);
    else
        elements_combine(call->comm, op, to + at, n / width(op->type));
}

static bool call_run(const struct call *call)
{
    struct comm *c = call->comm;
    unsigned char *from =
        sends(call) ? memory_of(call, call->from, bytes_from(call)) : NULL;
    unsigned char *to = gets(call) ? memory_of(call, call->to, bytes_to(call)) : NULL;

    c->shared->ranks[c->rank].op = call->op;
    if (!meet(c))
        return false;
    ops_compare(c, &call->op);
    for (size_t at = 0, n; at < bytes_from(call); at += n) {
        n = bytes_from(call) - at < CHUNK ? bytes_from(call) - at : CHUNK;
        if (from)
            memcpy(c->shared->ranks[c->rank].data, from + at, n);
        if (!meet(c))
            return false;
        if (to)
            chunk_get(call, to, at, n);
        if (!meet(c))
            return false;
    }
    return true;
}

static void kernel_run(void *arg)
{
    struct kernel *k = arg;
    struct comm *c = k->comm;
    long demand = atomic_load(&c->shared->demand);

    atomic_store(&c->started, k->number);
    while (demand < k->number &&
           !atomic_compare_exchange_weak(&c->shared->demand, &demand, k->number))
        continue;
    if (k->breaks)
        atomic_store(&c->shared->broken, SYSTEM_ERROR);
    for (int i = 0; i < k->n && !atomic_load(&c->aborted); i++)
        if (!call_run(&k->calls[i]))
            break;
    atomic_store(&c->done, k->number);
    free(k);
}

/* A thread of each communicator: it runs this rank's kernels when another rank waits for them,
 * and notices that ranks are gone. */
static void *helper_run(void *arg)
{
    struct comm *c = arg;

    while (!__atomic_load_n(&c->ending, __ATOMIC_SEQ_CST)) {
        long demand = atomic_load(&c->shared->demand);

        if (atomic_load(&c->started) < demand && atomic_load(&c->queued) >= demand)
            cuda.start(__atomic_load_n(&c->stream, __ATOMIC_SEQ_CST));
        for (int r = 0; c->notices && r < c->size; r++)
            if (is_gone(c, r))
                atomic_store(&c->shared->broken, REMOTE_ERROR);
        usleep(1000);
    }
    return NULL;
}

/* ---- Communicators ---- */

API int ncclGetVersion(int *version)
{
    *version = number("STANDIN_NCCL_VERSION", 22809);
    return SUCCESS;
}

API const char *ncclGetErrorString(int result)
{
    return result == SYSTEM_ERROR ? "unhandled system error"
           : result == REMOTE_ERROR
               ? "remote process exited or there was a network error"
               : "other";
}

API const char *ncclGetLastError(void *comm)
{
    return comm ? "" : "of the stand-in";
}

API int ncclGetUniqueId(struct id *id)
{
    static int n;
    const char *dir = getenv("STANDIN_NCCL_DIR");
    int fd;

    if (fails(__func__))
        return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s/standin-nccl-%d-%d",
             dir ? dir : "/dev/shm", (int)getpid(), n++);
    fd = open(id->internal, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0)
        misuse("no file for a communicator");
    close(fd);
    return SUCCESS;
}

static void comm_join(struct comm *c, const char *path)
{
    struct flock f = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = c->rank, .l_len = 1};

    c->fd = open(path, O_RDWR | O_CLOEXEC);
    if (c->fd < 0)
        misuse("a unique id that no process has made, or that was used before");
    if (fcntl(c->fd, F_OFD_SETLK, &f) < 0)
        misuse("two ranks have the same number");
    c->shared =
        mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    if (c->shared == MAP_FAILED)
        misuse("no memory for a communicator");
    c->shared->size = c->size;
    atomic_fetch_add(&c->shared->joined, 1);
    while (atomic_load(&c->shared->joined) < c->size)
        nap();
    if (c->shared->size != c->size)
        misuse("ranks take the communicator for one of another size");
    if (c->rank == 0)
        unlink(path);
}

static int started(struct comm *c)
{
    if (number("NCCL_COMM_BLOCKING", 1))
        return SUCCESS;
    atomic_store(&c->pending, POLLS_BLOCKING);
    return IN_PROGRESS;
}

API int ncclCommInitRank(void **comm, int size, struct id id, int rank)
{
    struct comm *c;

    cuda_find();
    if (fails(__func__))
        return SYSTEM_ERROR;
    c = calloc(1, sizeof *c);
    if (!c || rank < 0 || rank >= size || size > RANKS_MAX || cuda.card() < 0)
        misuse("a communicator without a context, or of a wrong size");
    *c =
        (struct comm){.is_live = true, .rank = rank, .size = size, .card = cuda.card()};
    if (number("STANDIN_NCCL_DIE", -1) == rank)
        kill(getpid(), SIGKILL);
    c->notices = number("STANDIN_NCCL_NOTICE", 0);
    c->look_fails = fails("ncclCommGetAsyncError");
    comm_join(c, id.internal);
    if (pthread_create(&c->helper, NULL, helper_run, c) != 0)
        misuse("no thread");
    pthread_mutex_lock(&lock);
    c->next = comms;
    comms = c;
    pthread_mutex_unlock(&lock);
    *comm = c;
    return started(c);
}

static struct comm *live(void *comm)
{
    struct comm *c;

    pthread_mutex_lock(&lock);
    c = comms;
    while (c && c != comm)
        c = c->next;
    pthread_mutex_unlock(&lock);
    if (!c || !c->is_live)
        misuse("a communicator that is not there, or not any more");
    return c;
}

static void comm_end(struct comm *c)
{
    __atomic_store_n(&c->ending, true, __ATOMIC_SEQ_CST);
    pthread_join(c->helper, NULL);
    c->is_live = false;
    close(c->fd);
}

API int ncclCommDestroy(void *comm)
{
    struct comm *c = live(comm);

    if (cuda.card() != c->card)
        misuse("destroyed with another context");
    if (atomic_load(&c->done) < atomic_load(&c->queued))
        misuse("destroyed while work is queued");
    atomic_store(&c->shared->ranks[c->rank].left, 1);
    comm_end(c);
    munmap(c->shared, sizeof *c->shared);
    return SUCCESS;
}

/* Its kernels may still look at what the ranks share. */
API int ncclCommAbort(void *comm)
{
    struct comm *c = live(comm);

    atomic_store(&c->aborted, true);
    comm_end(c);
    return SUCCESS;
}

API int ncclCommGetAsyncError(void *comm, int *error)
{
    struct comm *c = live(comm);

    if (c->look_fails)
        return SYSTEM_ERROR;
    *error = atomic_load(&c->shared->broken);
    if (*error == SUCCESS && atomic_load(&c->pending) > 0 &&
        atomic_fetch_sub(&c->pending, 1) > 1)
        *error = IN_PROGRESS;
    return SUCCESS;
}

/* ---- Collectives ---- */

static int launch(struct kernel *k, void *stream)
{
    struct comm *c = k->comm;

    k->number = atomic_load(&c->queued) + 1;
    k->breaks = breaks();
    __atomic_store_n(&c->stream, stream, __ATOMIC_SEQ_CST);
    if (cuda.launch(stream, kernel_run, k) != SUCCESS)
        misuse("a stream of another card, or that is not there");
    atomic_store(&c->queued, k->number);
    return started(c);
}

API int ncclGroupStart(void)
{
    if (fails(__func__))
        return SYSTEM_ERROR;
    depth++;
    return SUCCESS;
}

API int ncclGroupEnd(void)
{
    struct kernel *k = group;
    bool failed = fails(__func__) || group_failed;

    if (depth == 0)
        misuse("the end of a group that has not begun");
    if (--depth > 0)
        return SUCCESS;
    group = NULL;
    group_failed = false;
    if (failed) {
        free(k);
        return SYSTEM_ERROR;
    }
    return k ? launch(k, group_stream) : SUCCESS;
}

static void call_check(const struct call *call)
{
    if (cuda.card() != call->comm->card)
        misuse("a collective with another context");
    if (atomic_load(&call->comm->pending) > 0)
        misuse("a call while another one is in progress");
    if (call->op.root < 0 || call->op.root >= call->comm->size)
        misuse("a root that is no rank");
    if (sends(call))
        memory_of(call, call->from, bytes_from(call));
    if (gets(call))
        memory_of(call, call->to, bytes_to(call));
}

static int collective(const char *name, void *comm, void *stream, struct op op,
                      const void *from, void *to)
{
    struct call call = {live(comm), op, (uintptr_t)from, (uintptr_t)to};
    bool single = depth == 0;

    call_check(&call);
    if (fails(name)) {
        group_failed = !single;
        return SYSTEM_ERROR;
    }
    if (!group)
        group = calloc(1, sizeof *group);
    if (!group || group->n == CALLS_MAX || (group->comm && group->comm != call.comm) ||
        (group->n > 0 && group_stream != stream))
        misuse("a group of too many calls, or of different communicators or streams");
    group->comm = call.comm;
    group->calls[group->n++] = call;
    group_stream = stream;
    if (!single)
        return SUCCESS;
    depth = 1;
    return ncclGroupEnd();
}

API int ncclAllReduce(const void *from, void *to, size_t n, int type, int op,
                      void *comm, void *stream)
{
    return collective(__func__, comm, stream, (struct op){ALLREDUCE, type, op, 0, n},
                      from, to);
}

API int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root,
                   void *comm, void *stream)
{
    return collective(__func__, comm, stream, (struct op){REDUCE, type, op, root, n},
                      from, to);
}

API int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                      void *comm, void *stream)
{
    return collective(__func__, comm, stream, (struct op){BROADCAST, type, 0, root, n},
                      from, to);
}

API int ncclAllGather(const void *from, void *to, size_t n, int type, void *comm,
                      void *stream)
{
    return collective(__func__, comm, stream, (struct op){ALLGATHER, type, 0, 0, n},
                      from, to);
}
