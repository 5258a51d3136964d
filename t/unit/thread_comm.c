#include "config.h"

#include "thread_comm.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What the ranks of one group share. A collective is: everyone leaves a pointer, wait,
 * read the others', wait. */
struct group {
    pthread_barrier_t barrier;
    int size;
    int users; /* of a group of split: its ranks that have not freed it */
    void *buf[THREAD_COMM_MAX];
    size_t n[THREAD_COMM_MAX];
    /* Messages on their way: one at most from each rank to each. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct message {
        const void *data; /* NULL: none */
        size_t n;
    } mail[THREAD_COMM_MAX][THREAD_COMM_MAX];
};

struct rank {
    struct comm comm; /* first */
    struct group *group;
    int (*body)(struct comm *comm, void *arg);
    void *arg;
    int rc;
};

static struct group *group_of(struct comm *c)
{
    return ((struct rank *)(void *)c)->group;
}

static void group_wait(struct group *g)
{
    pthread_barrier_wait(&g->barrier);
}

static void double_combine(double *a, double b, enum comm_op op)
{
    if (op == COMM_SUM)
        *a += b;
    else if ((op == COMM_MIN && b < *a) || (op == COMM_MAX && b > *a))
        *a = b;
}

static void int_combine(int64_t *a, int64_t b, enum comm_op op)
{
    if (op == COMM_SUM)
        *a += b;
    else if ((op == COMM_MIN && b < *a) || (op == COMM_MAX && b > *a))
        *a = b;
}

static void stat_combine(struct comm_stat *a, const struct comm_stat *b)
{
    a->sum += b->sum;
    double_combine(&a->min, b->min, COMM_MIN);
    double_combine(&a->max, b->max, COMM_MAX);
}

static int thread_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                            enum comm_op op, struct error *err)
{
    struct group *g = group_of(c);
    size_t bytes = n * comm_type_size(type);
    char *sum = malloc(bytes + 1);

    if (!sum || (type != COMM_INT64 && type != COMM_FLOAT64 && type != COMM_STAT))
        abort();
    (void)err;
    g->buf[c->rank] = buf;
    group_wait(g);
    memcpy(sum, g->buf[0], bytes);
    for (int r = 1; r < g->size; r++)
        for (size_t i = 0; i < n; i++) {
            if (type == COMM_INT64)
                int_combine((int64_t *)(void *)sum + i, ((int64_t *)g->buf[r])[i], op);
            else if (type == COMM_STAT)
                stat_combine((struct comm_stat *)(void *)sum + i,
                             (struct comm_stat *)g->buf[r] + i);
            else
                double_combine((double *)(void *)sum + i, ((double *)g->buf[r])[i], op);
        }
    group_wait(g);
    memcpy(buf, sum, bytes);
    free(sum);
    return 0;
}

static int thread_bcast(struct comm *c, void *buf, size_t n_bytes, int root,
                        struct error *err)
{
    struct group *g = group_of(c);

    (void)err;
    g->buf[c->rank] = buf;
    g->n[c->rank] = n_bytes;
    group_wait(g);
    if (g->n[root] != n_bytes)
        abort(); /* the ranks are not in the same collective */
    if (c->rank != root && n_bytes > 0)
        memcpy(buf, g->buf[root], n_bytes);
    group_wait(g);
    return 0;
}

static int thread_allgather(struct comm *c, const void *send, size_t n_bytes,
                            void *recv, struct error *err)
{
    struct group *g = group_of(c);

    (void)err;
    g->buf[c->rank] = (void *)send;
    group_wait(g);
    for (int r = 0; r < g->size; r++)
        memcpy((char *)recv + (size_t)r * n_bytes, g->buf[r], n_bytes);
    group_wait(g);
    return 0;
}

static int thread_allgather_parts(struct comm *c, const struct comm_parts parts[],
                                  size_t n, struct error *err)
{
    struct group *g = group_of(c);

    (void)err;
    for (size_t i = 0; i < n; i++) {
        const size_t *cuts = parts[i].cuts;

        g->buf[c->rank] = parts[i].data;
        g->n[c->rank] = cuts[c->size];
        group_wait(g);
        for (int r = 0; r < g->size; r++) {
            if (g->n[r] != cuts[c->size])
                abort(); /* the ranks are not in the same collective */
            if (r != c->rank && cuts[r + 1] > cuts[r])
                memcpy((char *)parts[i].data + cuts[r], (char *)g->buf[r] + cuts[r],
                       cuts[r + 1] - cuts[r]);
        }
        group_wait(g);
    }
    return 0;
}

static int thread_gatherv(struct comm *c, const void *send, size_t n_bytes, void **recv,
                          size_t *sizes, int root, struct error *err)
{
    struct group *g = group_of(c);
    size_t total = 0;

    (void)err;
    g->buf[c->rank] = (void *)send;
    g->n[c->rank] = n_bytes;
    group_wait(g);
    *recv = NULL;
    if (c->rank == root) {
        char *to;

        for (int r = 0; r < g->size; r++)
            total += g->n[r];
        *recv = to = malloc(total + 1);
        for (int r = 0; r < g->size; r++) {
            sizes[r] = g->n[r];
            if (g->n[r] > 0)
                memcpy(to, g->buf[r], g->n[r]);
            to += g->n[r];
        }
    }
    group_wait(g);
    return 0;
}

static int thread_sendrecv(struct comm *c, const void *send, size_t n_send, int to,
                           void *recv, size_t n_recv, int from, struct error *err)
{
    struct group *g = group_of(c);
    struct message *mine = to < 0 ? NULL : &g->mail[c->rank][to];
    struct message *theirs = from < 0 ? NULL : &g->mail[from][c->rank];

    (void)err;
    pthread_mutex_lock(&g->lock);
    if (mine) {
        if (mine->data)
            abort();
        *mine = (struct message){send ? send : "", n_send};
        pthread_cond_broadcast(&g->changed);
    }
    while (theirs && !theirs->data)
        pthread_cond_wait(&g->changed, &g->lock);
    if (theirs) {
        if (theirs->n != n_recv)
            abort();
        if (n_recv > 0)
            memcpy(recv, theirs->data, n_recv);
        theirs->data = NULL;
        pthread_cond_broadcast(&g->changed);
    }
    while (mine && mine->data)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return 0;
}

static int thread_barrier(struct comm *c, struct error *err)
{
    (void)err;
    group_wait(group_of(c));
    return 0;
}

static int thread_split(struct comm *c, bool in, struct comm **out, struct error *err);

static int thread_dup(struct comm *c, struct comm **out, struct error *err)
{
    return thread_split(c, true, out, err);
}

static void thread_free(struct comm *c)
{
    struct group *g = group_of(c);
    int left;

    if (g->users == 0)
        return; /* the group of thread_comm_run */
    pthread_mutex_lock(&g->lock);
    left = --g->users;
    pthread_mutex_unlock(&g->lock);
    if (left == 0) {
        pthread_barrier_destroy(&g->barrier);
        free(g);
    }
    free((void *)c);
}

static const struct comm_ops THREAD_OPS = {
    .name = "threads",
    .allreduce = thread_allreduce,
    .bcast = thread_bcast,
    .allgather = thread_allgather,
    .allgather_parts = thread_allgather_parts,
    .gatherv = thread_gatherv,
    .sendrecv = thread_sendrecv,
    .barrier = thread_barrier,
    .dup = thread_dup,
    .split = thread_split,
    .free = thread_free,
};

static struct group *group_make(int size)
{
    struct group *g = calloc(1, sizeof *g);

    if (!g || pthread_barrier_init(&g->barrier, NULL, (unsigned)size) != 0)
        abort();
    g->size = g->users = size;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    return g;
}

/* The lowest rank that is in makes the group. */
static int thread_split(struct comm *c, bool in, struct comm **out, struct error *err)
{
    struct group *g = group_of(c), *made = NULL;
    struct rank *mine = NULL;
    int rank = 0, size = 0, first = -1;

    (void)err;
    g->n[c->rank] = in;
    group_wait(g);
    for (int r = 0; r < g->size; r++) {
        if (g->n[r] && first < 0)
            first = r;
        rank += r < c->rank && g->n[r];
        size += g->n[r] ? 1 : 0;
    }
    if (c->rank == first)
        g->buf[first] = made = group_make(size);
    group_wait(g);
    if (in) {
        mine = calloc(1, sizeof *mine);
        if (!mine)
            abort();
        mine->comm = (struct comm){.ops = &THREAD_OPS, .rank = rank, .size = size};
        mine->group = made ? made : g->buf[first];
    }
    group_wait(g);
    *out = mine ? &mine->comm : NULL;
    return 0;
}

static void *rank_main(void *arg)
{
    struct rank *r = arg;

    r->rc = r->body(&r->comm, r->arg);
    return NULL;
}

void thread_comm_run(int n, int (*body)(struct comm *comm, void *arg), void *arg,
                     int *rc)
{
    struct rank ranks[THREAD_COMM_MAX];
    pthread_t threads[THREAD_COMM_MAX];
    struct group g = {.size = n,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};

    if (n < 1 || n > THREAD_COMM_MAX ||
        pthread_barrier_init(&g.barrier, NULL, (unsigned)n) != 0)
        abort();
    for (int r = n - 1; r >= 0; r--) {
        ranks[r] = (struct rank){.comm = {.ops = &THREAD_OPS, .rank = r, .size = n},
                                 .group = &g,
                                 .body = body,
                                 .arg = arg};
        if (r > 0 && pthread_create(&threads[r], NULL, rank_main, &ranks[r]) != 0)
            abort();
    }
    rank_main(&ranks[0]);
    for (int r = 1; r < n; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; rc && r < n; r++)
        rc[r] = ranks[r].rc;
    pthread_barrier_destroy(&g.barrier);
}
