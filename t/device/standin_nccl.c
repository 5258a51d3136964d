/*
 * standin_nccl.c - a stand-in for libnccl.so.2, for tests on machines without GPUs: the
 * functions that raytrain uses, between processes of one machine, over the memory and
 * the streams of the stand-in for CUDA (standin_cuda.c).
 *
 * It is no NCCL: it shows nothing about the real library, but that calls follow its
 * rules. The ranks of a communicator meet in a file, which the unique id names. A
 * collective is a kernel: nothing happens before something waits for the stream, on any
 * of the ranks; then the others run theirs, too, as GPUs would. It combines in the
 * order of the ranks, in the type of the numbers, and makes a mean by dividing first.
 * As NCCL between GPUs of a node, it does not notice that a rank is gone: a kernel
 * waits until the communicator is aborted.
 *
 * What NCCL takes for undefined ends the process, with a line on standard error: memory
 * or a stream of another GPU, calls without or with another context, a communicator
 * that was destroyed or aborted, ranks whose calls differ, a destroy while work is
 * queued, buffers that overlap and are not "in place" as its user guide defines that.
 *
 * Communicators that do not block follow nccl.h and src/init.cc of NCCL 2.14 to 2.30: a
 * config of another size is taken up to that size, with its version; the communicator
 * is there when ncclCommInitRankConfig() returns ncclInProgress, a thread continues,
 * and ncclCommAbort() ends that at any point. NCCL has no limit of time for it.
 *
 * Environment, read at each call, but not in threads, beside which it may change:
 *   STANDIN_NCCL_LOG=FILE      append "open PID" when it is loaded, and when the process exits
 *                              "left PID N": N communicators are still there, and "calls PID N
 *                              NAME" for each kind of collective that it has called
 *   STANDIN_NCCL_DIR=DIR       where the files are; the working directory by default
 *   STANDIN_NCCL_VERSION=N     22809 by default
 *   STANDIN_NCCL_FAIL=NAME:K   the K-th call of this function since this was set returns 2
 *   STANDIN_NCCL_RESULT=N      what ncclCommInitRankConfig() returns then instead of 2
 *   STANDIN_NCCL_LONG=1        a call that does not block continues until it is aborted
 *   STANDIN_NCCL_BREAK=K       the K-th collective since this was set breaks the communicator:
 *                              it is not done, and the asynchronous error of all ranks is 2
 *   STANDIN_NCCL_DIE=RANK      this rank kills itself when it makes a communicator
 *   STANDIN_NCCL_STUCK=RANK    this rank stops (SIGSTOP) when it makes a communicator
 *   STANDIN_NCCL_AWAY=RANK     this rank's communicator does not connect to those of the others
 *   STANDIN_NCCL_CORRUPT=1     sums over the ranks are wrong, as by GPUs that cannot copy from
 *                              each other
 *   STANDIN_NCCL_NOTICE=1      a rank that is gone becomes the asynchronous error 6; read when
 *                              a communicator is made, as for ncclCommGetAsyncError
 *   NCCL_COMM_BLOCKING=0, =1   as for NCCL: all communicators do not block, or all do
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

enum {
    SUCCESS = 0,
    SYSTEM_ERROR = 2,
    INVALID_ARGUMENT = 4,
    REMOTE_ERROR = 6,
    IN_PROGRESS = 7
};
enum {
    INT8 = 0,
    UINT8 = 1,
    INT64 = 4,
    FLOAT16 = 6,
    FLOAT32 = 7,
    FLOAT64 = 8,
    BFLOAT16 = 9
};
enum { SUM = 0, MAX = 2, MIN = 3, AVG = 4 };
enum kind {
    ALLREDUCE,
    REDUCE,
    BROADCAST,
    ALLGATHER,
    REDUCE_SCATTER,
    SEND,
    RECV,
    KINDS
};

static const char *const kind_names[KINDS] = {
    "ncclAllReduce",     "ncclReduce", "ncclBroadcast", "ncclAllGather",
    "ncclReduceScatter", "ncclSend",   "ncclRecv"};

#define RANKS_MAX      16
#define CHUNK          ((size_t)64 << 10)
#define MAIL           ((size_t)4 << 10)
#define CALLS_MAX      64 /* in a group */
#define POLL_US        100
#define POLLS_BLOCKING 3

struct id {
    char internal[128];
};

/* ncclConfig_t of 2.14; later versions have more behind it. */
struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

/* What ranks must agree on. */
struct op {
    enum kind kind;
    int type, combine;
    int root; /* or the other rank of a message */
    size_t n;
};

/* ---- What the ranks share ---- */

struct shared {
    int size; /* 0: no rank has joined */
    atomic_int joined, broken;
    struct {
        atomic_long said;   /* how far it is: a number that only grows */
        atomic_int left;    /* by a destroy */
        atomic_int running; /* a kernel, which may wait for others */
        struct op op;
        unsigned char data[CHUNK];
    } ranks[RANKS_MAX];
    struct {
        atomic_int full;
        struct op op;
        unsigned char data[MAIL];
    } mail[RANKS_MAX][RANKS_MAX]; /* from, to */
};

struct comm {
    struct comm *next;
    bool is_live, ending;
    bool notices, look_fails, corrupts, away;
    bool blocks;
    atomic_bool aborted, connected;
    int rank, size, device, fd;
    char path[128];
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
static atomic_int n_calls, n_collectives, n_of_kind[KINDS];
static __thread int depth;
static __thread bool group_failed;
static __thread struct kernel *group;
static __thread void *group_stream;

static struct {
    int (*launch)(void *, void (*)(void *), void *);
    void (*start)(void *);
    int (*device)(void);
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

static void calls_log(int kind, int n)
{
    const char *path = getenv("STANDIN_NCCL_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "calls %d %d %s\n", (int)getpid(), n, kind_names[kind]);
    fclose(f);
}

/* For tests in the same process. */
API int standin_nccl_calls(void)
{
    int n = 0;

    for (int k = 0; k < KINDS; k++)
        n += atomic_load(&n_of_kind[k]);
    return n;
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
    for (int k = 0; k < KINDS; k++)
        if (atomic_load(&n_of_kind[k]) > 0)
            calls_log(k, atomic_load(&n_of_kind[k]));
}

static void cuda_find(void)
{
    void *object = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    *(void **)&cuda.launch = symbol(object, "standin_launch_long");
    *(void **)&cuda.start = symbol(object, "standin_start");
    *(void **)&cuda.device = symbol(object, "standin_device");
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
    case UINT8:
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

static void bytes_combine(const struct comm *c, const struct op *op, unsigned char *to,
                          size_t skip, size_t n)
{
    if (op->combine != SUM)
        misuse("an operation that the stand-in has not for bytes");
    for (size_t i = 0; i < n; i++) {
        to[i] = 0;
        for (int r = 0; r < c->size; r++)
            to[i] = (unsigned char)(to[i] + c->shared->ranks[r].data[skip + i]);
    }
}

static void integers_combine(const struct comm *c, const struct op *op,
                             unsigned char *to, size_t skip, size_t n)
{
    if (op->combine == AVG)
        misuse("a mean of integers");
    for (size_t i = 0; i < n; i++) {
        int64_t all = 0, x;

        for (int r = 0; r < c->size; r++) {
            memcpy(&x, c->shared->ranks[r].data + skip + i * 8, 8);
            if (r == 0)
                all = x;
            else if (op->combine == SUM)
                all += x;
            else if ((op->combine == MAX) == (x > all))
                all = x;
        }
        all += c->corrupts;
        memcpy(to + i * 8, &all, 8);
    }
}

/* n elements, from byte `skip` of the ranks' chunks on. */
static void elements_combine(const struct comm *c, const struct op *op,
                             unsigned char *to, size_t skip, size_t n)
{
    const size_t w = width(op->type);

    if (op->type == INT64 || w == 1) {
        (w == 1 ? bytes_combine : integers_combine)(c, op, to, skip, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double all = 0;

        for (int r = 0; r < c->size; r++) {
            double x = element(c->shared->ranks[r].data + skip, op->type, i);

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
    unsigned char *inside = cuda.memory(p, n, call->comm->device);

    if (!inside)
        misuse("this is not memory of the communicator's GPU, or it was freed");
    return inside;
}

/* What this rank sends and gets, in all. */
static size_t bytes_each(const struct call *call)
{
    return call->op.n * width(call->op.type);
}

static size_t bytes_from(const struct call *call)
{
    return bytes_each(call) *
           (call->op.kind == REDUCE_SCATTER ? (size_t)call->comm->size : 1);
}

static size_t bytes_to(const struct call *call)
{
    return bytes_each(call) *
           (call->op.kind == ALLGATHER ? (size_t)call->comm->size : 1);
}

static bool is_message(const struct call *call)
{
    return call->op.kind == SEND || call->op.kind == RECV;
}

static bool sends(const struct call *call)
{
    return call->op.kind == BROADCAST ? call->op.root == call->comm->rank
                                      : call->op.kind != RECV;
}

static bool gets(const struct call *call)
{
    return call->op.kind == REDUCE ? call->op.root == call->comm->rank
                                   : call->op.kind != SEND;
}

/* What of a chunk is this rank's. */
static void chunk_scatter(const struct call *call, unsigned char *to, size_t at,
                          size_t n)
{
    size_t begin = (size_t)call->comm->rank * bytes_each(call),
           end = begin + bytes_each(call), from = at > begin ? at : begin,
           until = at + n < end ? at + n : end;

    if (from < until)
        elements_combine(call->comm, &call->op, to + (from - begin), from - at,
                         (until - from) / width(call->op.type));
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
    else if (op->kind == REDUCE_SCATTER)
        chunk_scatter(call, to, at, n);
    else
        elements_combine(call->comm, op, to + at, 0, n / width(op->type));
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

/* Advance a message: *done bytes of it are done. */
static void message_run(const struct call *call, size_t *done)
{
    struct comm *c = call->comm;
    const bool out = call->op.kind == SEND;
    const int from = out ? c->rank : call->op.root, to = out ? call->op.root : c->rank;
    const size_t rest = bytes_each(call) - *done, n = rest < MAIL ? rest : MAIL;
    unsigned char *memory =
        memory_of(call, out ? call->from : call->to, bytes_each(call)) + *done;

    if (n == 0 || atomic_load(&c->shared->mail[from][to].full) == out)
        return;
    if (out) {
        c->shared->mail[from][to].op = call->op;
        memcpy(c->shared->mail[from][to].data, memory, n);
    } else {
        if (c->shared->mail[from][to].op.n != call->op.n ||
            c->shared->mail[from][to].op.type != call->op.type)
            misuse("what is sent is not what is received");
        memcpy(memory, c->shared->mail[from][to].data, n);
    }
    atomic_store(&c->shared->mail[from][to].full, out);
    *done += n;
}

/* Advance all messages of a group at the same time. */
static void messages_run(const struct kernel *k)
{
    struct comm *c = k->comm;
    size_t done[CALLS_MAX] = {0};
    bool left = true;

    while (left && !atomic_load(&c->aborted)) {
        left = false;
        for (int i = 0; i < k->n && !atomic_load(&c->shared->broken); i++)
            message_run(&k->calls[i], &done[i]);
        for (int i = 0; i < k->n; i++)
            left = left || done[i] < bytes_each(&k->calls[i]);
        if (left)
            nap();
    }
}

static void kernel_run(void *arg)
{
    struct kernel *k = arg;
    struct comm *c = k->comm;

    atomic_store(&c->started, k->number);
    atomic_store(&c->shared->ranks[c->rank].running, 1);
    if (k->breaks)
        atomic_store(&c->shared->broken, SYSTEM_ERROR);
    if (is_message(&k->calls[0]))
        messages_run(k);
    else
        for (int i = 0; i < k->n && !atomic_load(&c->aborted); i++)
            if (!call_run(&k->calls[i]))
                break;
    atomic_store(&c->shared->ranks[c->rank].running, 0);
    atomic_store(&c->done, k->number);
    free(k);
}

/* Does another rank run a kernel, and this one has some but runs none? */
static bool is_awaited(const struct comm *c)
{
    if (atomic_load(&c->shared->ranks[c->rank].running) ||
        atomic_load(&c->started) >= atomic_load(&c->queued))
        return false;
    for (int r = 0; r < c->size; r++)
        if (atomic_load(&c->shared->ranks[r].running))
            return true;
    return false;
}

/* Connect to the other ranks. False: the communicator was aborted before all were
 * there. */
static bool comm_join(struct comm *c)
{
    while (c->away)
        if (nap(), atomic_load(&c->aborted))
            return false;
    atomic_fetch_add(&c->shared->joined, 1);
    while (atomic_load(&c->shared->joined) < c->size)
        if (nap(), atomic_load(&c->aborted))
            return false;
    if (c->shared->size != c->size)
        misuse("ranks take the communicator for one of another size");
    if (c->rank == 0)
        unlink(c->path);
    return true;
}

/* A thread of each communicator: it runs this rank's kernels when another rank waits
 * for them, and notices that ranks are gone. */
static void *helper_run(void *arg)
{
    struct comm *c = arg;

    if (!comm_join(c))
        return NULL;
    atomic_store(&c->connected, true);
    while (!__atomic_load_n(&c->ending, __ATOMIC_SEQ_CST)) {
        if (is_awaited(c))
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
    const char *dir = getenv("STANDIN_NCCL_DIR");
    int fd;

    if (fails(__func__))
        return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s/standin-nccl-XXXXXX",
             dir ? dir : ".");
    fd = mkostemp(id->internal, O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0)
        misuse("no file for a communicator");
    close(fd);
    return SUCCESS;
}

/* Map what the ranks share; of the file, this rank locks its byte. */
static void comm_open(struct comm *c, const char *path)
{
    struct flock f = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = c->rank, .l_len = 1};

    snprintf(c->path, sizeof c->path, "%s", path);
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
}

static int started(struct comm *c)
{
    if (c->blocks)
        return SUCCESS;
    atomic_store(&c->pending,
                 number("STANDIN_NCCL_LONG", 0) ? INT_MAX : POLLS_BLOCKING);
    return IN_PROGRESS;
}

/* What happens to this rank, whose number is known now. */
static void rank_faults(struct comm *c)
{
    if (number("STANDIN_NCCL_DIE", -1) == c->rank)
        kill(getpid(), SIGKILL);
    if (number("STANDIN_NCCL_STUCK", -1) == c->rank)
        kill(getpid(), SIGSTOP);
    c->away = number("STANDIN_NCCL_AWAY", -1) == c->rank;
    c->corrupts = number("STANDIN_NCCL_CORRUPT", 0);
    c->notices = number("STANDIN_NCCL_NOTICE", 0);
    c->look_fails = fails("ncclCommGetAsyncError");
}

static int comm_make(void **comm, int size, const struct id *id, int rank, bool blocks)
{
    struct comm *c = calloc(1, sizeof *c);

    if (!c || rank < 0 || rank >= size || size > RANKS_MAX || cuda.device() < 0)
        misuse("a communicator without a context, or of a wrong size");
    *c = (struct comm){.is_live = true,
                       .rank = rank,
                       .size = size,
                       .device = cuda.device(),
                       .blocks = number("NCCL_COMM_BLOCKING", blocks)};
    rank_faults(c);
    comm_open(c, id->internal);
    if (pthread_create(&c->helper, NULL, helper_run, c) != 0)
        misuse("no thread");
    pthread_mutex_lock(&lock);
    c->next = comms;
    comms = c;
    pthread_mutex_unlock(&lock);
    *comm = c;
    while (c->blocks && !atomic_load(&c->connected))
        nap();
    return started(c);
}

API int ncclCommInitRank(void **comm, int size, struct id id, int rank)
{
    cuda_find();
    return fails(__func__) ? SYSTEM_ERROR : comm_make(comm, size, &id, rank, true);
}

API int ncclCommInitRankConfig(void **comm, int size, struct id id, int rank,
                               struct config *config)
{
    cuda_find();
    if (config->magic != 0xcafebeef || config->size < sizeof *config ||
        config->version < 21400 || (config->blocking != 0 && config->blocking != 1))
        return INVALID_ARGUMENT;
    return fails(__func__) ? number("STANDIN_NCCL_RESULT", SYSTEM_ERROR)
                           : comm_make(comm, size, &id, rank, config->blocking);
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

    if (cuda.device() != c->device)
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
    if (*error == SUCCESS && !atomic_load(&c->connected))
        *error = IN_PROGRESS;
    else if (*error == SUCCESS && atomic_load(&c->pending) > 0 &&
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
        misuse("a stream of another GPU, or that is not there");
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

/* Where the two are in place, what is sent is at this byte of what is received;
 * negative: what is received is in what is sent. */
static ptrdiff_t place_of(const struct call *call)
{
    ptrdiff_t mine = (ptrdiff_t)bytes_each(call) * call->comm->rank;

    return call->op.kind == ALLGATHER        ? mine
           : call->op.kind == REDUCE_SCATTER ? -mine
                                             : 0;
}

static bool overlaps(const struct call *call)
{
    return call->from < call->to + bytes_to(call) &&
           call->to < call->from + bytes_from(call);
}

static void call_check(const struct call *call)
{
    if (sends(call) && gets(call) && overlaps(call) &&
        (ptrdiff_t)(call->from - call->to) != place_of(call))
        misuse("buffers that overlap, and are not in place");
    if (is_message(call) && call->op.root == call->comm->rank)
        misuse("a message to the same rank");
    if (cuda.device() != call->comm->device)
        misuse("a collective with another context");
    if (atomic_load(&call->comm->pending) > 0)
        misuse("a call while another one is in progress");
    if (call->op.root < 0 || call->op.root >= call->comm->size)
        misuse("a root that is not a rank");
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
    atomic_fetch_add(&n_of_kind[op.kind], 1);
    if (!group)
        group = calloc(1, sizeof *group);
    if (group && group->n > 0 && is_message(&group->calls[0]) != is_message(&call))
        misuse("a group of collectives and messages, which raytrain does not make");
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

API int ncclReduceScatter(const void *from, void *to, size_t n, int type, int op,
                          void *comm, void *stream)
{
    return collective(__func__, comm, stream,
                      (struct op){REDUCE_SCATTER, type, op, 0, n}, from, to);
}

API int ncclSend(const void *from, size_t n, int type, int peer, void *comm,
                 void *stream)
{
    return collective(__func__, comm, stream, (struct op){SEND, type, 0, peer, n}, from,
                      NULL);
}

API int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream)
{
    return collective(__func__, comm, stream, (struct op){RECV, type, 0, peer, n}, NULL,
                      to);
}
