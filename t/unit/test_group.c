/*
 * test_group.c - collectives of memory on GPUs, with the stand-ins for CUDA and for
 * NCCL (t/device): each rank is a process with a GPU of its own, unless it says
 * otherwise. The numbers, and their order with the caller's work; without a group;
 * failures, and ranks that are gone.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/group.h"
#include "process_comm.h"
#include "raytrain.h"
#include "scratch.h"
#include "util/half.h"

#define RANKS 3

/* What a rank finds wrong ends it. */
#define CHECK(x)                                                                       \
    do {                                                                               \
        if (!(x)) {                                                                    \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #x);                          \
            _exit(1);                                                                  \
        }                                                                              \
    } while (0)
#define CHECK_OK(x, err)                                                               \
    do {                                                                               \
        if ((x) != 0) {                                                                \
            fprintf(stderr, "# line %d: %s: %s\n", __LINE__, #x, (err).text);          \
            _exit(1);                                                                  \
        }                                                                              \
    } while (0)

/* ---- The stand-ins, as the user's own calls see them ---- */

#define NCCL    "libnccl.so.2"
#define WITHOUT "empty/libnccl.so.2" /* an NCCL of the machine is not found then */

static int (*primary_retain)(void **, int), (*primary_release)(int);
static int (*primary_state)(int, unsigned *, int *);
static int (*set_current)(void *), (*synchronize)(void *);
static int (*mem_alloc)(uint64_t *, size_t), (*mem_free)(uint64_t);
static int (*launch)(void *, void (*)(void *), void *), (*count)(void);
static void *(*inside)(uint64_t);

static void *library(const char *name)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    void *object;

    snprintf(path, sizeof path, "%s/t/device/%s", build ? build : ".", name);
    object = dlopen(path, RTLD_NOW);
    if (!object)
        fprintf(stderr, "# %s\n", dlerror());
    CHECK(object);
    return object;
}

static void find(void *object, const char *name, void *place)
{
    void *symbol = dlsym(object, name);

    CHECK(symbol);
    memcpy(place, &symbol, sizeof symbol);
}

/* GPU 0 of a process is GPU `first` of the machine. A library that is loaded is found
 * by its name, wherever it is. nccl: a file in t/device, or NULL. */
static void standins_load(int first, const char *nccl)
{
    char number[16];
    void *object, *context;

    snprintf(number, sizeof number, "%d", first);
    setenv("STANDIN_CUDA_FIRST", number, 1);
    object = library("libcuda.so.1");
    find(object, "cuDevicePrimaryCtxRetain", &primary_retain);
    find(object, "cuDevicePrimaryCtxRelease_v2", &primary_release);
    find(object, "cuDevicePrimaryCtxGetState", &primary_state);
    find(object, "cuCtxSetCurrent", &set_current);
    find(object, "cuMemAlloc_v2", &mem_alloc);
    find(object, "cuMemFree_v2", &mem_free);
    find(object, "cuStreamSynchronize", &synchronize);
    find(object, "standin_launch", &launch);
    find(object, "standin_count", &count);
    find(object, "standin_inside", &inside);
    if (nccl)
        library(nccl);
    CHECK(primary_retain(&context, 0) == 0 && set_current(context) == 0);
}

static void nothing_left(void)
{
    device_end();
    CHECK(primary_release(0) == 0);
    CHECK(count() == 0);
}

static void *device_alloc(size_t n)
{
    uint64_t p;

    CHECK(mem_alloc(&p, n) == 0);
    return (void *)(uintptr_t)p;
}

static void device_free(void *p)
{
    CHECK(mem_free((uintptr_t)p) == 0);
}

/* A kernel of the caller: copy bytes to the GPU, or from there. */
struct move {
    void *device, *host;
    size_t n;
    bool out;
};

static void move_run(void *arg)
{
    struct move *m = arg;
    void *p = inside((uintptr_t)m->device);

    memcpy(m->out ? m->host : p, m->out ? p : m->host, m->n);
    free(m->out ? NULL : m->host);
    free(m);
}

static void move_queue(void *device, void *host, size_t n, bool out)
{
    struct move *m = malloc(sizeof *m);

    *m = (struct move){device, host, n, out};
    if (!out) {
        m->host = malloc(n + 1);
        memcpy(m->host, host, n);
    }
    CHECK(launch(NULL, move_run, m) == 0);
}

/* Queued on the default stream, which is not waited for. */
static void put(void *device, void *host, size_t n)
{
    move_queue(device, host, n, false);
}

/* The bytes as a kernel after all that is queued sees them. */
static void look(void *device, void *host, size_t n)
{
    move_queue(device, host, n, true);
    CHECK(synchronize(NULL) == 0);
}

/* ---- A group ---- */

static struct device_group_env env_of(struct comm *comm)
{
    return (struct device_group_env){.comm = comm, .device = RAYTRAIN_CUDA};
}

static struct device_group *group_new(struct comm *comm)
{
    struct device_group_env env = env_of(comm);
    struct device_group *g;
    struct error why = {0}, err = {0};

    CHECK_OK(device_group_create(&env, &g, &why, &err), err);
    if (!g)
        fprintf(stderr, "# %s\n", why.text);
    CHECK(g);
    return g;
}

/* All ranks have the same bytes. */
static void same_on_all(struct comm *comm, const void *bytes, size_t n)
{
    char *all = malloc(n * (size_t)comm->size);
    struct error err;

    CHECK_OK(comm->ops->allgather(comm, bytes, n, all, &err), err);
    for (int r = 0; r < comm->size; r++)
        CHECK(memcmp(all + n * (size_t)r, bytes, n) == 0);
    free(all);
}

/* ---- Numbers ---- */

static const raytrain_dtype dtypes[] = {RAYTRAIN_FLOAT32, RAYTRAIN_FLOAT64,
                                        RAYTRAIN_FLOAT16, RAYTRAIN_BFLOAT16,
                                        RAYTRAIN_INT64};
static const raytrain_op ops[] = {RAYTRAIN_SUM, RAYTRAIN_MEAN, RAYTRAIN_MAX,
                                  RAYTRAIN_MIN};

/* Small integers, which all types have; different ranks have the largest ones. */
static double number_of(int rank, size_t i)
{
    return (double)((i * 7 + (size_t)rank * (i % 5 + 1) * 11) % 40) - 10;
}

static double expected(int size, size_t i, raytrain_op op)
{
    double all = number_of(0, i);

    for (int r = 1; r < size; r++) {
        double x = number_of(r, i);

        all = op == RAYTRAIN_MAX   ? fmax(all, x)
              : op == RAYTRAIN_MIN ? fmin(all, x)
                                   : all + x;
    }
    return op == RAYTRAIN_MEAN ? all / size : all;
}

static void number_set(void *data, size_t i, raytrain_dtype dtype, double x)
{
    float f = (float)x;

    if (dtype == RAYTRAIN_FLOAT64)
        ((double *)data)[i] = x;
    else if (dtype == RAYTRAIN_INT64)
        ((int64_t *)data)[i] = (int64_t)x;
    else if (dtype == RAYTRAIN_FLOAT32)
        ((float *)data)[i] = f;
    else if (dtype == RAYTRAIN_FLOAT16)
        float16_narrow((uint16_t *)data + i, &f, 1);
    else
        bfloat16_narrow((uint16_t *)data + i, &f, 1);
}

static double number_get(const void *data, size_t i, raytrain_dtype dtype)
{
    float f;

    if (dtype == RAYTRAIN_FLOAT64)
        return ((const double *)data)[i];
    if (dtype == RAYTRAIN_INT64)
        return (double)((const int64_t *)data)[i];
    if (dtype == RAYTRAIN_FLOAT32)
        return (double)((const float *)data)[i];
    if (dtype == RAYTRAIN_FLOAT16)
        float16_widen(&f, (const uint16_t *)data + i, 1);
    else
        bfloat16_widen(&f, (const uint16_t *)data + i, 1);
    return (double)f;
}

static double tolerance(raytrain_dtype dtype)
{
    return dtype == RAYTRAIN_BFLOAT16 ? 0.6 : dtype == RAYTRAIN_FLOAT16 ? 0.08 : 1e-4;
}

static void numbers_check(const void *got, size_t from, size_t to, int size,
                          raytrain_dtype dtype, raytrain_op op)
{
    for (size_t i = from; i < to; i++)
        if (fabs(number_get(got, i, dtype) - expected(size, i, op)) >
            tolerance(dtype)) {
            fprintf(stderr, "# element %zu of type %s, op %d: %f\n", i,
                    raytrain_dtype_name(dtype), op, number_get(got, i, dtype));
            _exit(1);
        }
}

static void *numbers_new(int rank, size_t n, raytrain_dtype dtype)
{
    void *data = malloc(n * raytrain_dtype_size(dtype) + 1);

    for (size_t i = 0; i < n; i++)
        number_set(data, i, dtype, number_of(rank, i));
    return data;
}

/* In two spans, with an empty one between. */
static void allreduce_case(struct device_group *g, struct comm *comm,
                           raytrain_dtype dtype, raytrain_op op, size_t n)
{
    size_t width = raytrain_dtype_size(dtype), half = n / 2;
    char *device = device_alloc(n * width);
    void *data = numbers_new(comm->rank, n, dtype);
    const struct device_span spans[] = {
        {device, half}, {NULL, 0}, {device + half * width, n - half}};
    struct error err = {0};

    put(device, data, n * width);
    CHECK_OK(device_group_begin(g, &err), err);
    CHECK_OK(device_group_allreduce(g, spans, 3, dtype, op, &err), err);
    CHECK_OK(device_group_end(g, &err), err);
    look(device, data, n * width);
    numbers_check(data, 0, n, comm->size, dtype, op);
    same_on_all(comm, data, n * width);
    free(data);
    device_free(device);
}

static int allreduces(struct comm *comm, struct comm *node, void *arg)
{
    struct device_group *g;
    struct error err = {0};

    (void)node;
    (void)arg;
    standins_load(comm->rank, NCCL);
    g = group_new(comm);
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++)
        for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
            if (dtypes[t] != RAYTRAIN_INT64 || ops[o] != RAYTRAIN_MEAN)
                allreduce_case(g, comm, dtypes[t], ops[o], 20001);
    CHECK(device_group_allreduce(g, NULL, 0, RAYTRAIN_INT64, RAYTRAIN_MEAN, &err) < 0 &&
          err.code == RAYTRAIN_EINVAL);
    CHECK(device_group_allreduce(g, NULL, 0, RAYTRAIN_INT32, RAYTRAIN_SUM, &err) < 0 &&
          err.code == RAYTRAIN_EINVAL);
    CHECK_OK(device_group_check(g, &err), err);
    device_group_destroy(g);
    nothing_left();
    return 0;
}

static void ranks_run(int n, process_body body, void *arg)
{
    char here[4096];

    assert_non_null(getcwd(here, sizeof here));
    setenv("STANDIN_NCCL_DIR", here, 1);
    assert_int_equal(process_comm_run(n, n, body, arg), 0);
    assert_int_equal(scratch_count("."), 0);
}

static void all_ranks_get_the_numbers_of_all_in_the_callers_order(void **state)
{
    (void)state;
    ranks_run(RANKS, allreduces, NULL);
    ranks_run(1, allreduces, NULL);
}

static void so_it_is_with_calls_that_do_not_block(void **state)
{
    (void)state;
    setenv("NCCL_COMM_BLOCKING", "0", 1);
    ranks_run(2, allreduces, NULL);
    unsetenv("NCCL_COMM_BLOCKING");
}

/* ---- Parts, copies ---- */

#define N 50000

/* A number of calls of a rank, for parts that ReduceScatter and AllGather fit. */
#define WINDOW_CALLS 4

static void parts_case(struct device_group *g, struct comm *comm, const size_t cuts[])
{
    size_t bytes[PROCESS_COMM_MAX + 1];
    float *data = numbers_new(comm->rank, N, RAYTRAIN_FLOAT32);
    float *device = device_alloc(N * sizeof(float));
    struct error err = {0};

    CHECK(cuts[comm->size] == N);
    for (int r = 0; r <= comm->size; r++)
        bytes[r] = cuts[r] * sizeof(float);

    put(device, data, N * sizeof(float));
    CHECK_OK(device_group_begin(g, &err), err);
    CHECK_OK(device_group_reduce_parts(g, device, cuts, RAYTRAIN_FLOAT32, RAYTRAIN_MEAN,
                                       &err),
             err);
    CHECK_OK(device_group_end(g, &err), err);
    look(device, data, N * sizeof(float));
    numbers_check(data, cuts[comm->rank], cuts[comm->rank + 1], comm->size,
                  RAYTRAIN_FLOAT32, RAYTRAIN_MEAN);
    CHECK_OK(device_group_begin(g, &err), err);
    CHECK_OK(device_group_allgather_parts(g, device, bytes, &err), err);
    CHECK_OK(device_group_end(g, &err), err);
    look(device, data, N * sizeof(float));
    numbers_check(data, 0, N, comm->size, RAYTRAIN_FLOAT32, RAYTRAIN_MEAN);
    same_on_all(comm, data, N * sizeof(float));
    free(data);
    device_free(device);
}

static void copies_case(struct device_group *g, struct comm *comm)
{
    const size_t each = 70001, all = each * (size_t)comm->size;
    unsigned char *device = device_alloc(all), *mine = device_alloc(each);
    unsigned char *data = malloc(all);
    struct error err = {0};

    memset(data, comm->rank + 1, all);
    put(device, data, all);
    put(mine, data, each);
    CHECK_OK(device_group_begin(g, &err), err);
    CHECK_OK(device_group_broadcast(g, device, all, 1, &err), err);
    CHECK_OK(device_group_broadcast(g, NULL, 0, 1, &err), err);
    CHECK_OK(device_group_end(g, &err), err);
    look(device, data, all);
    for (size_t i = 0; i < all; i++)
        CHECK(data[i] == 2);
    CHECK_OK(device_group_begin(g, &err), err);
    CHECK_OK(device_group_allgather(g, mine, each, device, &err), err);
    CHECK_OK(device_group_end(g, &err), err);
    look(device, data, all);
    for (size_t i = 0; i < all; i++)
        CHECK(data[i] == i / each + 1);
    free(data);
    device_free(mine);
    device_free(device);
}

static int parts_and_copies(struct comm *comm, struct comm *node, void *arg)
{
    static const size_t none[] = {0, 17, 17, N}; /* rank 1 has none */
    struct device_group *g, *other;
    struct error err = {0};

    (void)node;
    (void)arg;
    standins_load(comm->rank, NCCL);
    g = group_new(comm);
    other = group_new(comm);
    parts_case(g, comm, none);
    copies_case(other, comm);
    CHECK_OK(device_group_wait(g, &err), err);
    device_group_destroy(g);
    parts_case(other, comm, none);
    device_group_destroy(other);
    nothing_left();
    return 0;
}

static void each_rank_gets_its_part_and_then_those_of_all(void **state)
{
    (void)state;
    ranks_run(RANKS, parts_and_copies, NULL);
}

/* The calls of NCCL that this rank makes for parts of these sizes, by both
 * collectives. */
static int parts_calls(struct device_group *g, struct comm *comm, const size_t cuts[])
{
    int (*calls)(void) = NULL;
    int before;

    find(library(NCCL), "standin_nccl_calls", &calls);
    before = calls();
    parts_case(g, comm, cuts);
    return calls() - before;
}

/* Equal parts; cuts near to those of equal parts, on both sides of them; far from them;
 * and so that all but two ranks have none. */
static int calls_counted(struct comm *comm, struct comm *node, void *arg)
{
    static const int shift[] = {0, 300, -1, 255, -17, 8, -900, 4};
    const size_t size = (size_t)comm->size;
    size_t even[PROCESS_COMM_MAX + 1], near[PROCESS_COMM_MAX + 1],
        far[PROCESS_COMM_MAX + 1], few[PROCESS_COMM_MAX + 1];
    struct device_group *g;

    (void)node;
    (void)arg;
    for (size_t r = 0; r <= size; r++) {
        even[r] = N / size * r;
        near[r] = r < size ? (size_t)((long)even[r] + shift[r]) : N;
        far[r] = r < size ? N / (2 * size) * r : N;
        few[r] = r == 0 ? 0 : r < size ? 11 : N;
    }
    standins_load(comm->rank, NCCL);
    g = group_new(comm);
    CHECK(N % size == 0 && parts_calls(g, comm, even) == 2);
    CHECK(parts_calls(g, comm, near) <= 2 * WINDOW_CALLS);
    CHECK(parts_calls(g, comm, far) <= 2 * WINDOW_CALLS);
    CHECK(parts_calls(g, comm, few) <= 2 * WINDOW_CALLS);
    device_group_destroy(g);
    nothing_left();
    return 0;
}

static void the_number_of_calls_does_not_depend_on_that_of_the_ranks(void **state)
{
    (void)state;
    setenv("STANDIN_CUDA_DEVICES", "8", 1);
    ranks_run(2, calls_counted, NULL);
    ranks_run(4, calls_counted, NULL);
    ranks_run(8, calls_counted, NULL);
    unsetenv("STANDIN_CUDA_DEVICES");
}

/* The host is not waited for: a wait sees that the ranks come late. */
static int late(struct comm *comm, struct comm *node, void *arg)
{
    struct device_group *g;
    float *device, data[4] = {1, 2, 3, 4};
    struct device_span span = {NULL, 4};
    struct error err = {0};

    (void)node;
    (void)arg;
    standins_load(comm->rank, NCCL);
    g = group_new(comm);
    span.data = device = device_alloc(sizeof data);
    put(device, data, sizeof data);
    CHECK_OK(comm->ops->barrier(comm, &err), err);
    if (comm->rank > 0)
        CHECK_OK(comm->ops->barrier(comm, &err), err); /* rank 0 has queued its part */
    CHECK_OK(device_group_begin(g, &err), err);
    CHECK_OK(device_group_allreduce(g, &span, 1, RAYTRAIN_FLOAT32, RAYTRAIN_SUM, &err),
             err);
    CHECK_OK(device_group_end(g, &err), err);
    if (comm->rank == 0)
        CHECK_OK(comm->ops->barrier(comm, &err), err);
    CHECK_OK(device_group_wait(g, &err), err);
    look(device, data, sizeof data);
    CHECK(data[3] > 4.0f * (float)comm->size - 0.5f);
    device_free(device);
    device_group_destroy(g);
    nothing_left();
    return 0;
}

static void the_host_does_not_wait_for_other_ranks(void **state)
{
    (void)state;
    ranks_run(RANKS, late, NULL);
}

/* ---- No group ---- */

struct refusal {
    const char *says; /* on every rank */
    int shared;       /* the number of GPUs; 0: enough */
    int host;         /* a rank without a GPU, or -1 */
    int without;      /* a rank whose library has no functions, or -1 */
    int version[RANKS];
    bool opens; /* the library is opened */
};

static int refused(struct comm *comm, struct comm *node, void *arg)
{
    const struct refusal *f = arg;
    struct device_group_env env = env_of(comm);
    struct device_group *g = (struct device_group *)arg;
    struct error why = {0}, err = {0};
    char number[16];

    (void)node;
    snprintf(number, sizeof number, "%d", f->version[comm->rank]);
    if (f->version[comm->rank])
        setenv("STANDIN_NCCL_VERSION", number, 1);
    setenv("STANDIN_NCCL_LOG", "log", 1);
    standins_load(f->shared ? comm->rank % f->shared : comm->rank,
                  !f->opens                  ? NULL
                  : comm->rank == f->without ? WITHOUT
                                             : NCCL);
    if (comm->rank == f->host)
        env.device = RAYTRAIN_HOST;
    CHECK_OK(device_group_create(&env, &g, &why, &err), err);
    CHECK(!g && why.code == RAYTRAIN_ENOTSUP);
    if (!strstr(why.text, f->says))
        fprintf(stderr, "# %s\n", why.text);
    CHECK(strstr(why.text, f->says));
    CHECK_OK(device_groups_check(&err), err);
    nothing_left();
    return 0;
}

static void refusal_case(struct refusal f)
{
    int opened = 0, c;
    FILE *log;

    assert_int_equal(process_comm_run(RANKS, RANKS, refused, &f), 0);
    log = fopen("log", "r");
    while (log && (c = getc(log)) != EOF)
        opened += c == 'p'; /* "open" */
    if (log)
        fclose(log);
    unlink("log");
    assert_int_equal(opened, f.opens ? RANKS - (f.without >= 0) : 0);
}

static void ranks_that_share_a_device_or_have_none_get_no_group(void **state)
{
    (void)state;
    refusal_case((struct refusal){
        "ranks 0 and 2 share GPU 0000:00:00.0", 2, -1, -1, {0}, false});
    refusal_case((struct refusal){"rank 1 has no GPU", 0, 1, -1, {0}, false});
}

static void without_the_library_on_a_rank_there_is_no_group(void **state)
{
    (void)state;
    refusal_case((struct refusal){"libnccl.so.2 has no nccl", 0, -1, 1, {0}, true});
}

static void old_and_different_libraries_get_no_group(void **state)
{
    (void)state;
    refusal_case((struct refusal){
        "libnccl.so.2 is NCCL 2.8: update it to 2.10", 0, -1, -1, {0, 0, 2804}, true});
    refusal_case((struct refusal){
        "libnccl.so.2 is NCCL 2.9: update it to 2.10", 0, -1, -1, {20908, 0, 0}, true});
    refusal_case(
        (struct refusal){"different versions of libnccl.so.2: 21003, up to 22809",
                         0,
                         -1,
                         -1,
                         {0, 21003, 0},
                         true});
}

/* ---- Failures ---- */

static void broken_check(struct device_group *g, struct error *err)
{
    const struct device_span none = {NULL, 0};

    CHECK(device_group_check(g, err) < 0 && err->code == RAYTRAIN_ECOMM);
    CHECK(device_groups_check(err) < 0 && err->code == RAYTRAIN_ECOMM);
    CHECK(device_group_begin(g, err) < 0 && err->code == RAYTRAIN_ECOMM);
    CHECK(device_group_allreduce(g, &none, 1, RAYTRAIN_INT64, RAYTRAIN_SUM, err) < 0 &&
          err->code == RAYTRAIN_ECOMM);
    CHECK(device_group_wait(g, err) < 0 && err->code == RAYTRAIN_ECOMM);
}

static int sum_queue(struct device_group *g, float *device, struct error *err)
{
    struct device_span span = {device, 4};
    float data[4] = {1, 2, 3, 4};

    put(device, data, sizeof data);
    return device_group_begin(g, err) < 0 ||
                   device_group_allreduce(g, &span, 1, RAYTRAIN_FLOAT32, RAYTRAIN_SUM,
                                          err) < 0
               ? -1
               : device_group_end(g, err);
}

/* How the second of three collectives ends. */
enum fate { BREAKS, LEAVES, ABORTS };

static int failing(struct comm *comm, struct comm *node, void *arg)
{
    const enum fate fate = *(const enum fate *)arg;
    const bool wait_inside = comm->rank == 0; /* the others: in the driver */
    struct device_group *g;
    float *device, data[4];
    struct error err = {0};

    (void)node;
    if (fate == BREAKS && comm->rank == 1)
        setenv("STANDIN_NCCL_BREAK", "3", 1); /* the first was a trial */
    if (fate == LEAVES)
        setenv("STANDIN_NCCL_NOTICE", "1", 1);
    standins_load(comm->rank, NCCL);
    g = group_new(comm);
    device = device_alloc(4 * sizeof(float));
    CHECK_OK(sum_queue(g, device, &err), err);
    look(device, data, sizeof data);
    CHECK(data[0] > (float)comm->size - 0.5f);
    CHECK_OK(comm->ops->barrier(comm, &err), err);
    if (fate == LEAVES && comm->rank == 1)
        _exit(0);
    if ((fate != ABORTS || comm->rank != 1) && sum_queue(g, device, &err) < 0)
        CHECK(err.code == RAYTRAIN_ECOMM); /* another rank was quicker */
    if (fate == ABORTS)
        device_groups_abort();
    if (wait_inside)
        CHECK(device_group_wait(g, &err) < 0 && err.code == RAYTRAIN_ECOMM);
    look(device, data, sizeof data); /* returns */
    CHECK(device_fetch(RAYTRAIN_CUDA, 0, device, data, sizeof data, &err) < 0 &&
          err.code == RAYTRAIN_ECOMM);
    broken_check(g, &err);
    if (fate == LEAVES && !strstr(err.text, "remote process exited"))
        CHECK(!err.text[0]);
    if (fate == ABORTS && !strstr(err.text, "aborted on this rank"))
        CHECK(!err.text[0]);
    device_free(device);
    device_group_destroy(g);
    nothing_left();
    return 0;
}

static void an_asynchronous_error_ends_waits_on_all_ranks(void **state)
{
    enum fate fate = BREAKS;

    (void)state;
    ranks_run(RANKS, failing, &fate);
}

static void so_does_a_rank_that_is_gone_if_the_library_notices(void **state)
{
    enum fate fate = LEAVES;

    (void)state;
    ranks_run(RANKS, failing, &fate);
}

static void an_abort_ends_waits_on_this_rank(void **state)
{
    enum fate fate = ABORTS;

    (void)state;
    ranks_run(RANKS, failing, &fate);
}

/* During a call of the library. */
static void others_look(void *arg, double waited_s)
{
    struct error err = {0};

    (void)waited_s;
    CHECK_OK(device_groups_check(&err), err);
    device_groups_abort();
    *(bool *)arg = true;
}

static int going_on(struct comm *comm, struct comm *node, void *arg)
{
    struct device_group *g;
    struct error err = {0};
    bool looked = false;
    float *device;

    (void)node;
    (void)arg;
    alarm(20);
    standins_load(comm->rank, NCCL);
    g = group_new(comm);
    device = device_alloc(4 * sizeof(float));
    setenv("STANDIN_NCCL_LONG", "1", 1);
    comm->waiting = others_look;
    comm->waiting_arg = &looked;
    CHECK(sum_queue(g, device, &err) < 0 && err.code == RAYTRAIN_ECOMM && looked);
    comm->waiting = NULL;
    CHECK(strstr(err.text, "aborted on this rank"));
    device_group_destroy(g);
    device_free(device);
    nothing_left();
    return 0;
}

static void a_call_that_goes_on_delays_no_other_thread_and_is_aborted(void **state)
{
    (void)state;
    setenv("NCCL_COMM_BLOCKING", "0", 1);
    ranks_run(1, going_on, NULL);
    unsetenv("NCCL_COMM_BLOCKING");
}

/* All functions of NCCL that raytrain calls, but those that cannot fail. */
static const char *const functions[] = {
    "ncclCommInitRankConfig:1", "ncclGetUniqueId:1",
    "ncclAllReduce:1",          "ncclReduce:1",
    "ncclBroadcast:1",          "ncclAllGather:1",
    "ncclReduceScatter:1",      "ncclGroupStart:1",
    "ncclGroupEnd:1",           "ncclCommGetAsyncError:1"};

static int all_calls(struct device_group *g, void *device, struct error *err)
{
    const void *other = (char *)device + 32;
    const struct device_span span = {device, 4};
    const size_t cuts[] = {0, 2, 2, 4}, bytes[] = {0, 8, 8, 16};

    return device_group_begin(g, err) < 0 ||
                   device_group_allreduce(g, &span, 1, RAYTRAIN_FLOAT32, RAYTRAIN_SUM,
                                          err) < 0 ||
                   device_group_reduce_parts(g, device, cuts, RAYTRAIN_FLOAT32,
                                             RAYTRAIN_SUM, err) < 0 ||
                   device_group_allgather_parts(g, device, bytes, err) < 0 ||
                   device_group_broadcast(g, device, 16, 0, err) < 0 ||
                   device_group_allgather(g, other, 4, device, err) < 0 ||
                   device_group_end(g, err) < 0 || device_group_wait(g, err) < 0
               ? -1
               : 0;
}

static int each_fails(struct comm *comm, struct comm *node, void *arg)
{
    struct device_group_env env = env_of(comm);
    const char *function = arg;
    struct device_group *g;
    struct error why = {0}, err = {0};
    void *device;
    int rc;

    (void)node;
    standins_load(comm->rank, NCCL);
    device = device_alloc(64);
    setenv("STANDIN_NCCL_FAIL", function, 1);
    rc = device_group_create(&env, &g, &why, &err);
    if (rc == 0) {
        CHECK(g);
        rc = all_calls(g, device, &err);
        CHECK(device_group_check(g, NULL) < 0);
    }
    CHECK(rc < 0 && err.code == RAYTRAIN_ECOMM);
    if (!strstr(err.text, "returned 2, unhandled system error"))
        fprintf(stderr, "# %s: %s\n", function, err.text);
    CHECK(strstr(err.text, "returned 2, unhandled system error"));
    device_group_destroy(g);
    device_free(device);
    nothing_left();
    return 0;
}

static void a_failure_of_the_library_is_reported_and_leaves_nothing(void **state)
{
    char here[4096], name[64];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    setenv("STANDIN_NCCL_DIR", here, 1);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        snprintf(name, sizeof name, "%s", functions[i]);
        assert_int_equal(process_comm_run(RANKS, RANKS, each_fails, name), 0);
    }
}

/* What goes wrong while a group is made, on rank 1 if it is of one rank. */
struct trouble {
    const char *variable, *value;
    bool one;           /* it is of one rank */
    const char *says;   /* on every rank */
    const char *other;  /* on the other ranks; NULL: not looked at */
    const char *blocks; /* a version of NCCL whose communicators block */
};

/* Storage that is slow. */
static void announce_slowly(void *arg)
{
    ++*(int *)arg;
    usleep(3200 * 1000);
}

static void absent_not_asked(void *arg, char list[RANK_LIST_MAX])
{
    (void)list;
    *(int *)arg = -1;
}

/* A thread is inside of the library, and keeps the GPU. */
static void kept_check(void)
{
    unsigned flags;
    int active;

    device_end();
    CHECK(primary_release(0) == 0);
    CHECK(primary_state(0, &flags, &active) == 0 && active);
}

static void troubled_check(const struct trouble *t, const struct comm *comm,
                           const struct error *err)
{
    if (err->code != RAYTRAIN_ECOMM || !strstr(err->text, t->says) ||
        (t->other && comm->rank != 1 && strncmp(err->text, t->other, strlen(t->other))))
        fprintf(stderr, "# %s: %s\n", t->variable, err->text);
    CHECK(err->code == RAYTRAIN_ECOMM && strstr(err->text, t->says));
    if (t->other && comm->rank != 1)
        CHECK(strncmp(err->text, t->other, strlen(t->other)) == 0);
}

static int troubled(struct comm *comm, struct comm *node, void *arg)
{
    struct device_group_env env = env_of(comm);
    const struct trouble *t = arg;
    struct device_group *g;
    struct error why = {0}, err = {0};
    bool lost = false;
    int announced = 0;

    (void)node;
    env.limit_s = 1;
    env.lost = &lost;
    if (!t->one && !t->blocks) {
        env.announce = announce_slowly;
        env.absent = absent_not_asked;
        env.absent_arg = &announced;
    }
    if (t->blocks)
        setenv("STANDIN_NCCL_VERSION", t->blocks, 1);
    if (!t->one || comm->rank == 1)
        setenv(t->variable, t->value, 1);
    standins_load(comm->rank, NCCL);
    CHECK(device_group_create(&env, &g, &why, &err) < 0 && !g && !lost);
    troubled_check(t, comm, &err);
    CHECK_OK(device_groups_check(&err), err);
    CHECK(announced == (env.announce != NULL));
    if (t->blocks)
        kept_check();
    else
        nothing_left();
    return 0;
}

static void trouble_case(struct trouble t)
{
    char here[4096];

    assert_non_null(getcwd(here, sizeof here));
    setenv("STANDIN_NCCL_DIR", here, 1);
    assert_int_equal(process_comm_run(RANKS, RANKS, troubled, &t), 0);
}

static void a_rank_that_fails_ends_the_wait_of_the_others(void **state)
{
    (void)state;
    trouble_case((struct trouble){"STANDIN_NCCL_FAIL", "ncclCommInitRankConfig:1", true,
                                  "ncclCommInitRankConfig of libnccl.so.2 returned 2",
                                  "rank 1: ", NULL});
    trouble_case((struct trouble){"STANDIN_NCCL_FAIL", "ncclAllReduce:1", true,
                                  "ncclAllReduce of libnccl.so.2 returned 2",
                                  "rank 1: ", NULL});
}

/* Those of other ranks have a number of their own. */
static void the_reason_is_that_of_the_rank_which_failed_first(void **state)
{
    (void)state;
    setenv("STANDIN_NCCL_NOTICE", "1", 1);
    trouble_case((struct trouble){"STANDIN_NCCL_FAIL", "ncclAllReduce:1", true,
                                  "ncclAllReduce of libnccl.so.2 returned 2",
                                  "rank 1: ", NULL});
    unsetenv("STANDIN_NCCL_NOTICE");
    setenv("STANDIN_NCCL_RESULT", "6", 1);
    setenv("STANDIN_NCCL_FAIL", "ncclCommInitRankConfig:1", 1);
    trouble_case((struct trouble){"STANDIN_NCCL_RESULT", "2", true,
                                  "ncclCommInitRankConfig of libnccl.so.2 returned 2",
                                  "rank 1: ", NULL});
    unsetenv("STANDIN_NCCL_FAIL");
    unsetenv("STANDIN_NCCL_RESULT");
}

/* ---- Failures of one rank beside the library ---- */

static int share_badly(void *arg, void *id, size_t n, struct error *err)
{
    struct comm *comm = arg;
    int rc = comm->ops->bcast(comm, id, n, 0, err);

    return comm->rank == 1 ? error_set(err, RAYTRAIN_ECOMM, "no number for NCCL") : rc;
}

/* The thread of this process that starts that many threads cannot start the last
 * one. */
static int threads_before_none;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (!real)
        find(RTLD_NEXT, "pthread_create", &real);
    if (gettid() == getpid() && threads_before_none > 0 && --threads_before_none == 0)
        return EAGAIN;
    return real(thread, attr, run, arg);
}

enum lack { NO_ID, NO_THREAD, NO_WATCH };

static int lacking(struct comm *comm, struct comm *node, void *arg)
{
    const enum lack lack = *(const enum lack *)arg;
    const char *says = lack == NO_ID ? "no number for NCCL" : "cannot start a thread";
    struct device_group_env env = env_of(comm);
    struct device_group *g;
    struct error why = {0}, err = {0};

    (void)node;
    env.limit_s = 20;
    if (lack == NO_ID)
        env.share = share_badly;
    env.share_arg = comm;
    if (comm->rank == 1 && lack != NO_ID)
        threads_before_none = lack == NO_THREAD ? 1 : 2;
    standins_load(comm->rank, NCCL);
    CHECK(device_group_create(&env, &g, &why, &err) < 0 && !g);
    if (!strstr(err.text, says))
        fprintf(stderr, "# %s\n", err.text);
    CHECK(strstr(err.text, says));
    CHECK(comm->rank == 1 || strncmp(err.text, "rank 1: ", 8) == 0);
    CHECK_OK(device_groups_check(&err), err);
    nothing_left();
    return 0;
}

static void what_one_rank_lacks_fails_on_all(void **state)
{
    char here[4096];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    setenv("STANDIN_NCCL_DIR", here, 1);
    for (enum lack lack = NO_ID; lack <= NO_WATCH; lack++)
        assert_int_equal(process_comm_run(RANKS, RANKS, lacking, &lack), 0);
}

/* ---- Time ---- */

static void compute(void *arg)
{
    (void)arg;
    usleep(1500 * 1000);
}

static int busy(struct comm *comm, struct comm *node, void *arg)
{
    struct device_group_env env = env_of(comm);
    struct device_group *g;
    struct error why = {0}, err = {0};

    (void)node;
    (void)arg;
    env.limit_s = 1;
    standins_load(comm->rank, NCCL);
    if (comm->rank == 1)
        CHECK(launch(NULL, compute, NULL) == 0);
    CHECK_OK(device_group_create(&env, &g, &why, &err), err);
    CHECK(g);
    device_group_destroy(g);
    nothing_left();
    return 0;
}

static void work_that_the_caller_has_queued_does_not_count(void **state)
{
    (void)state;
    ranks_run(RANKS, busy, NULL);
}

static void a_rank_that_does_not_connect_is_given_up_by_all(void **state)
{
    (void)state;
    trouble_case((struct trouble){"STANDIN_NCCL_AWAY", "1", false,
                                  "has not connected the GPUs of the ranks within 1 s",
                                  NULL, NULL});
    trouble_case((struct trouble){"STANDIN_NCCL_AWAY", "1", false,
                                  "has not connected the GPUs of the ranks within 1 s",
                                  NULL, "21203"});
}

static void devices_that_compute_a_wrong_sum_get_no_group(void **state)
{
    (void)state;
    trouble_case((struct trouble){"STANDIN_NCCL_CORRUPT", "1", true,
                                  "gave 7 instead of 6 on the GPU of rank 1",
                                  "rank 1: ", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(all_ranks_get_the_numbers_of_all_in_the_callers_order),
        SCRATCH(so_it_is_with_calls_that_do_not_block),
        SCRATCH(each_rank_gets_its_part_and_then_those_of_all),
        SCRATCH(the_number_of_calls_does_not_depend_on_that_of_the_ranks),
        SCRATCH(the_host_does_not_wait_for_other_ranks),
        SCRATCH(ranks_that_share_a_device_or_have_none_get_no_group),
        SCRATCH(without_the_library_on_a_rank_there_is_no_group),
        SCRATCH(old_and_different_libraries_get_no_group),
        SCRATCH(an_asynchronous_error_ends_waits_on_all_ranks),
        SCRATCH(so_does_a_rank_that_is_gone_if_the_library_notices),
        SCRATCH(an_abort_ends_waits_on_this_rank),
        SCRATCH(a_failure_of_the_library_is_reported_and_leaves_nothing),
        SCRATCH(a_rank_that_fails_ends_the_wait_of_the_others),
        SCRATCH(a_rank_that_does_not_connect_is_given_up_by_all),
        SCRATCH(devices_that_compute_a_wrong_sum_get_no_group),
        SCRATCH(the_reason_is_that_of_the_rank_which_failed_first),
        SCRATCH(a_call_that_goes_on_delays_no_other_thread_and_is_aborted),
        SCRATCH(what_one_rank_lacks_fails_on_all),
        SCRATCH(work_that_the_caller_has_queued_does_not_count),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
