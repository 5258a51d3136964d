/* comm_self, rows for ranks, and comm_agree() over a pretended group: see struct puppet. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "thread_comm.h"

static void self_reduces_to_itself(void **state)
{
    static const struct {
        enum comm_type type;
        enum comm_op op;
        int rc;
    } table[] = {
        {COMM_FLOAT32, COMM_SUM, 0},       {COMM_FLOAT32, COMM_MAX, 0},
        {COMM_FLOAT64, COMM_MIN, 0},       {COMM_INT64, COMM_SUM, 0},
        {COMM_STAT, COMM_SUM, 0},          {COMM_STAT, COMM_MIN, -1},
        {COMM_STAT, COMM_MAX, -1},         {(enum comm_type)99, COMM_SUM, -1},
        {COMM_INT64, (enum comm_op)7, -1},
    };
    struct error err;
    struct comm *c = comm_self_create(&err);

    (void)state;
    assert_non_null(c);
    assert_int_equal(c->rank, 0);
    assert_int_equal(c->size, 1);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct comm_stat x[2] = {{1, 2, 3}, {4, 5, 6}}, same[2];
        struct comm_request *req = NULL;
        bool done = false;

        memcpy(same, x, sizeof x);
        assert_int_equal(c->ops->allreduce(c, x, 2, table[i].type, table[i].op, &err),
                         table[i].rc);
        assert_memory_equal(x, same, sizeof x);
        assert_int_equal(c->ops->iallreduce(c, COMM_HOST, x, 2, table[i].type,
                                            table[i].op, &req, &err),
                         table[i].rc);
        if (table[i].rc < 0) {
            assert_int_equal(err.code, RAYTRAIN_EINVAL);
            assert_null(req);
            continue;
        }
        assert_non_null(req);
        assert_int_equal(c->ops->test(c, &req, &done, &err), 0);
        assert_true(done);
        assert_null(req);
    }
    comm_free(c);
    comm_free(NULL);
}

static void memory_of_a_device_is_refused(void **state)
{
    struct comm *c = comm_self_create(NULL);
    struct comm_request *req = NULL;
    struct error err = {0};
    void *data = NULL;
    float x = 1;

    (void)state;
    assert_true(comm_reaches(c, COMM_HOST));
    assert_false(comm_reaches(c, COMM_CUDA));
    assert_int_equal(
        c->ops->iallreduce(c, COMM_CUDA, &x, 1, COMM_FLOAT32, COMM_SUM, &req, &err),
        -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(err.text, "memory of a CUDA device"));
    assert_null(req);
    assert_int_equal(c->ops->alloc(c, COMM_PLACES, 4, &data, &err), -1);
    assert_non_null(strstr(err.text, "unknown kind"));
    assert_null(data);
    comm_free(c);
}

static void self_copies(void **state)
{
    struct error err;
    struct comm *c = comm_self_create(&err), *d, *node;
    char out[4] = "";
    void *all;
    size_t size = 9;
    struct comm_file file;

    (void)state;
    assert_non_null(c);
    assert_int_equal(c->ops->allgather(c, "abc", 4, out, &err), 0);
    assert_string_equal(out, "abc");
    assert_int_equal(c->ops->allgather(c, NULL, 0, NULL, &err), 0);
    assert_int_equal(c->ops->gatherv(c, "xyz", 4, &all, &size, 0, &err), 0);
    assert_string_equal(all, "xyz");
    assert_int_equal(size, 4);
    free(all);
    assert_int_equal(c->ops->gatherv(c, NULL, 0, &all, &size, 0, &err), 0);
    assert_non_null(all);
    assert_int_equal(size, 0);
    free(all);
    assert_int_equal(c->ops->gatherv(c, "x", 1, &all, &size, 1, &err), -1);
    assert_null(all);
    assert_int_equal(c->ops->bcast(c, out, 4, 0, &err), 0);
    assert_int_equal(c->ops->bcast(c, out, 4, 1, &err), -1);
    assert_int_equal(c->ops->sendrecv(c, "abc", 4, 0, out, 4, 0, &err), 0);
    assert_string_equal((char *)out, "abc");
    assert_int_equal(c->ops->sendrecv(c, "abc", 4, 1, out, 4, 0, &err), -1);
    assert_int_equal(c->ops->sendrecv(c, "abc", 4, 0, out, 4, -1, &err), -1);
    assert_int_equal(c->ops->bcast(c, out, 4, -1, &err), -1);
    assert_int_equal(c->ops->alloc(c, COMM_HOST, 100, &all, &err), 0);
    assert_int_equal((uintptr_t)all % 64, 0);
    assert_true(((char *)all)[0] == 0 && ((char *)all)[99] == 0);
    assert_int_equal(c->ops->memory_file(c, all, &file, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_int_equal(c->ops->alloc(c, COMM_HOST, SIZE_MAX - 10, &all, &err), -1);
    assert_int_equal(c->ops->alloc(c, COMM_HOST, 0, &all, &err), 0);
    assert_int_equal(c->ops->barrier(c, &err), 0);
    assert_int_equal(c->ops->dup(c, &d, &err), 0);
    assert_int_equal(c->ops->split_node(c, &node, &err), 0);
    comm_free(c);
    assert_int_equal(d->size, 1);
    assert_int_equal(node->rank, 0);
    comm_free(d);
    comm_free(node);
}

/* One rank of a group that exists only as the answers its collectives will give. */
struct puppet {
    struct comm comm;
    int64_t first;      /* what the reduction yields */
    const void *spoken; /* what the root broadcasts if it is another rank */
    size_t n_spoken;
    char heard[8192]; /* what this rank broadcast as root */
    int n_bcast, root;
    bool reduce_fails, bcast_fails;
};

static int puppet_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                            enum comm_op op, struct error *err)
{
    struct puppet *p = (struct puppet *)c;

    assert_int_equal(n, 1);
    assert_int_equal(type, COMM_INT64);
    assert_int_equal(op, COMM_MIN);
    if (p->reduce_fails)
        return error_set(err, RAYTRAIN_ECOMM, "line is dead");
    if (p->first < *(int64_t *)buf)
        *(int64_t *)buf = p->first;
    return 0;
}

static int puppet_bcast(struct comm *c, void *buf, size_t n, int root,
                        struct error *err)
{
    struct puppet *p = (struct puppet *)c;

    p->n_bcast++;
    p->root = root;
    if (p->bcast_fails)
        return error_set(err, RAYTRAIN_ECOMM, "line is dead");
    if (root == c->rank) {
        assert_true(n <= sizeof p->heard);
        memcpy(p->heard, buf, n);
        p->n_spoken = n;
    } else {
        assert_int_equal(n, p->n_spoken);
        memcpy(buf, p->spoken, n);
    }
    return 0;
}

static const struct comm_ops puppet_ops = {
    .name = "puppet",
    .allreduce = puppet_allreduce,
    .bcast = puppet_bcast,
};

static struct puppet puppet_make(int rank, int size, int64_t first)
{
    struct puppet p = {.comm = {.ops = &puppet_ops, .rank = rank, .size = size},
                       .first = first};

    return p;
}

static void ranks_agree_if_all_succeed(void **state)
{
    struct puppet p = puppet_make(1, 3, 3);
    struct error err;

    (void)state;
    assert_int_equal(comm_agree(&p.comm, 0, &err), 0);
    assert_int_equal(p.n_bcast, 0);
}

static void ranks_agree_on_the_lowest_failure(void **state)
{
    struct puppet one = puppet_make(1, 3, 3), two = puppet_make(2, 3, 1);
    struct puppet zero = puppet_make(0, 3, 1);
    struct error err;

    (void)state;
    error_set(&err, RAYTRAIN_ESTORAGE, "disk is full");
    assert_int_equal(comm_agree(&one.comm, -1, &err), -1);
    assert_string_equal(err.text, "disk is full");
    assert_int_equal(one.root, 1);

    /* a higher rank that failed as well also reports rank 1 */
    two.spoken = one.heard;
    two.n_spoken = one.n_spoken;
    error_set(&err, RAYTRAIN_EINVAL, "my own trouble");
    assert_int_equal(comm_agree(&two.comm, -1, &err), -1);
    assert_string_equal(err.text, "rank 1: disk is full");
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);

    zero.spoken = one.heard;
    zero.n_spoken = one.n_spoken;
    err.text[0] = '\0';
    assert_int_equal(comm_agree(&zero.comm, 0, &err), -1);
    assert_string_equal(err.text, "rank 1: disk is full");
    assert_int_equal(comm_agree(&zero.comm, 0, NULL), -1);
}

static void ranks_agree_on_a_failure_without_a_message(void **state)
{
    struct puppet one = puppet_make(1, 2, 2), zero = puppet_make(0, 2, 1);
    struct error err;

    (void)state;
    assert_int_equal(comm_agree(&one.comm, -1, NULL), -1);
    zero.spoken = one.heard;
    zero.n_spoken = one.n_spoken;
    assert_int_equal(comm_agree(&zero.comm, 0, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EFAILED);
    assert_non_null(strstr(err.text, "rank 1: "));
}

static void agreeing_fails_if_communication_fails(void **state)
{
    struct error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct puppet p = puppet_make(0, 2, 1);

        p.reduce_fails = i == 0;
        p.bcast_fails = i == 1;
        assert_int_equal(comm_agree(&p.comm, 0, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECOMM);
        /* this rank's own reason is the better one */
        error_set(&err, RAYTRAIN_ESTORAGE, "disk is full");
        assert_int_equal(comm_agree(&p.comm, -1, &err), -1);
        assert_string_equal(err.text, "disk is full");
    }
}

static void a_single_rank_agrees_with_itself(void **state)
{
    struct error err;
    struct comm *c = comm_self_create(&err);

    (void)state;
    assert_non_null(c);
    assert_int_equal(comm_agree(c, 0, &err), 0);
    error_set(&err, RAYTRAIN_EINVAL, "mine");
    assert_int_equal(comm_agree(c, -1, &err), -1);
    assert_string_equal(err.text, "mine");
    comm_free(c);
}

static int row_get(struct comm *comm, void *arg)
{
    struct error err;
    void *mine = NULL;
    char want[8];
    int rc = comm_scatter(comm, comm->rank == 0 ? arg : NULL, sizeof want, &mine, &err);

    memset(want, 'a' + comm->rank, sizeof want);
    rc |= !mine || memcmp(mine, want, sizeof want) != 0;
    free(mine);
    return rc;
}

static void each_rank_gets_its_own_row(void **state)
{
    char rows[THREAD_COMM_MAX][8];
    int rc[THREAD_COMM_MAX];

    (void)state;
    for (int r = 0; r < THREAD_COMM_MAX; r++)
        memset(rows[r], 'a' + r, sizeof rows[r]);
    for (int n = 1; n <= THREAD_COMM_MAX; n++) {
        thread_comm_run(n, row_get, rows, rc);
        for (int r = 0; r < n; r++)
            assert_int_equal(rc[r], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_reduces_to_itself),
        cmocka_unit_test(memory_of_a_device_is_refused),
        cmocka_unit_test(self_copies),
        cmocka_unit_test(ranks_agree_if_all_succeed),
        cmocka_unit_test(ranks_agree_on_the_lowest_failure),
        cmocka_unit_test(ranks_agree_on_a_failure_without_a_message),
        cmocka_unit_test(agreeing_fails_if_communication_fails),
        cmocka_unit_test(a_single_rank_agrees_with_itself),
        cmocka_unit_test(each_rank_gets_its_own_row),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
