#include "config.h"

#include "process_comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOT_BYTES ((size_t)1 << 20)
#define LIMIT_S    60

/* A collective is: each rank leaves its bytes in its slot, wait, read the others', wait. */
struct group {
    pthread_barrier_t barrier;
    struct {
        size_t n;
        char bytes[SLOT_BYTES];
    } slots[PROCESS_COMM_MAX];
    /* Of iallreduce: how many each rank has started, and the numbers of the last two. */
    struct {
        atomic_long n;
        int64_t value[2];
    } started[PROCESS_COMM_MAX];
};

struct rank {
    struct comm comm; /* first */
    struct group *group;
};

static struct group *group_of(struct comm *c)
{
    return ((struct rank *)(void *)c)->group;
}

static void leave(struct comm *c, const void *bytes, size_t n)
{
    struct group *g = group_of(c);

    if (n > SLOT_BYTES)
        abort();
    g->slots[c->rank].n = n;
    if (n > 0)
        memcpy(g->slots[c->rank].bytes, bytes, n);
    pthread_barrier_wait(&g->barrier);
}

static void done(struct comm *c)
{
    pthread_barrier_wait(&group_of(c)->barrier);
}

static int64_t combine(int64_t a, int64_t b, enum comm_op op)
{
    if (op == COMM_SUM)
        return a + b;
    return (op == COMM_MIN) == (b < a) ? b : a;
}

static int process_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                             enum comm_op op, struct error *err)
{
    struct group *g = group_of(c);
    int64_t *out = buf;

    (void)err;
    if (type != COMM_INT64)
        abort();
    leave(c, buf, n * sizeof *out);
    for (int r = 0; r < c->size; r++) {
        const int64_t *in = (const int64_t *)(void *)g->slots[r].bytes;

        for (size_t i = 0; i < n; i++)
            out[i] = r == 0 ? in[i] : combine(out[i], in[i], op);
    }
    done(c);
    return 0;
}

struct comm_request {
    int64_t *buf;
    long number;
    enum comm_op op;
};

/* One number; one at a time. */
static int process_iallreduce(struct comm *c, enum comm_place place, void *buf,
                              size_t n, enum comm_type type, enum comm_op op,
                              struct comm_request **req, struct error *err)
{
    struct group *g = group_of(c);
    long number = atomic_load(&g->started[c->rank].n) + 1;

    (void)err;
    if (place != COMM_HOST || type != COMM_INT64 || n != 1)
        abort();
    *req = malloc(sizeof **req);
    **req = (struct comm_request){buf, number, op};
    g->started[c->rank].value[number % 2] = *(int64_t *)buf;
    atomic_store(&g->started[c->rank].n, number);
    return 0;
}

static int process_test(struct comm *c, struct comm_request **req, bool *done,
                        struct error *err)
{
    struct group *g = group_of(c);
    const struct comm_request *q = *req;

    (void)err;
    *done = true;
    for (int r = 0; r < c->size; r++)
        *done = *done && atomic_load(&g->started[r].n) >= q->number;
    for (int r = 0; *done && r < c->size; r++)
        *q->buf = r == 0 ? g->started[r].value[q->number % 2]
                         : combine(*q->buf, g->started[r].value[q->number % 2], q->op);
    if (*done) {
        free(*req);
        *req = NULL;
    }
    return 0;
}

static int process_bcast(struct comm *c, void *buf, size_t n, int root,
                         struct error *err)
{
    struct group *g = group_of(c);

    (void)err;
    leave(c, buf, c->rank == root ? n : 0);
    if (g->slots[root].n != n)
        abort(); /* the ranks are not in the same collective */
    if (n > 0)
        memcpy(buf, g->slots[root].bytes, n);
    done(c);
    return 0;
}

static int process_allgather(struct comm *c, const void *send, size_t n, void *recv,
                             struct error *err)
{
    (void)err;
    leave(c, send, n);
    for (int r = 0; r < c->size; r++)
        memcpy((char *)recv + (size_t)r * n, group_of(c)->slots[r].bytes, n);
    done(c);
    return 0;
}

static int process_gatherv(struct comm *c, const void *send, size_t n, void **recv,
                           size_t *sizes, int root, struct error *err)
{
    struct group *g = group_of(c);
    char *to = NULL;

    (void)err;
    leave(c, send, n);
    *recv = NULL;
    if (c->rank == root)
        *recv = to = malloc((size_t)c->size * SLOT_BYTES);
    for (int r = 0; to && r < c->size; r++) {
        sizes[r] = g->slots[r].n;
        memcpy(to, g->slots[r].bytes, sizes[r]);
        to += sizes[r];
    }
    done(c);
    return 0;
}

static int process_barrier(struct comm *c, struct error *err)
{
    (void)err;
    done(c);
    return 0;
}

static const struct comm_ops PROCESS_OPS = {
    .name = "processes",
    .allreduce = process_allreduce,
    .iallreduce = process_iallreduce,
    .test = process_test,
    .bcast = process_bcast,
    .allgather = process_allgather,
    .gatherv = process_gatherv,
    .barrier = process_barrier,
};

/* A group of n, in memory that children inherit. */
static void group_init(struct group *g, int n)
{
    pthread_barrierattr_t attr;

    if (pthread_barrierattr_init(&attr) != 0 ||
        pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(&g->barrier, &attr, (unsigned)n) != 0)
        abort();
    pthread_barrierattr_destroy(&attr);
}

static void rank_main(int rank, int n, int per_node, struct group *groups,
                      process_body body, void *arg)
{
    int node = rank / per_node, first = node * per_node;
    struct rank all = {.comm = {.ops = &PROCESS_OPS, .rank = rank, .size = n},
                       .group = &groups[0]};
    struct rank own = {.comm = {.ops = &PROCESS_OPS,
                                .rank = rank - first,
                                .size = n - first < per_node ? n - first : per_node},
                       .group = &groups[1 + node]};

    alarm(LIMIT_S);
    _exit(body(&all.comm, &own.comm, arg));
}

int process_comm_run(int n, int per_node, process_body body, void *arg)
{
    size_t bytes = (1 + PROCESS_COMM_MAX) * sizeof(struct group);
    struct group *groups = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pid_t pids[PROCESS_COMM_MAX];
    int status, failed = 0;

    if (groups == MAP_FAILED || n < 1 || n > PROCESS_COMM_MAX)
        abort();
    group_init(&groups[0], n);
    for (int first = 0, node = 0; first < n; first += per_node, node++)
        group_init(&groups[1 + node], n - first < per_node ? n - first : per_node);
    for (int r = 0; r < n; r++) {
        pids[r] = fork();
        if (pids[r] < 0)
            abort();
        if (pids[r] == 0)
            rank_main(r, n, per_node, groups, body, arg);
    }
    for (int r = 0; r < n; r++)
        if (waitpid(pids[r], &status, 0) != pids[r] || status != 0)
            failed++;
    munmap(groups, bytes);
    return failed;
}
