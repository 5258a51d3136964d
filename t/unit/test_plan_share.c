/* test_plan_share.c - each rank gets the parts of the plan that it needs, in their
 * order, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/plan.h"
#include "checkpoint/plan_share.h"
#include "thread_comm.h"

#define RANKS   8
#define TENSORS 50 /* the last of each five is replicated, the others are cut */

/* In the order of the table: all parts of a tensor, one a rank. */
static void plan_fill(struct plan *plan)
{
    plan->parts = calloc(TENSORS * RANKS, sizeof *plan->parts);
    plan->ranks = calloc(TENSORS * RANKS, sizeof *plan->ranks);
    if (!plan->parts || !plan->ranks)
        abort();
    for (uint64_t t = 0; t < TENSORS; t++) {
        bool replicated = t % 5 == 4;

        for (int r = 0; r < (replicated ? 1 : RANKS); r++) {
            plan->parts[plan->n_parts] =
                (struct part){.tensor = t, .first_hash = plan->n_hashes, .n_hashes = 1};
            plan->ranks[plan->n_parts++] = replicated ? -1 : r;
            plan->n_hashes++;
        }
    }
}

/* Whether `rank` needs what rank `owner` has of a tensor: for some tensors, its
 * neighbour's part. */
static bool needs(int rank, int owner, uint64_t tensor)
{
    return owner < 0 || owner == rank ||
           (tensor % 3 == 0 && rank == (owner + 1) % RANKS);
}

/* Some of them twice, and its own: that changes nothing. */
static int needs_fill(const struct plan *plan, struct part_needs *list)
{
    for (uint64_t p = 0; p < plan->n_parts; p++)
        for (int r = 0; r < RANKS; r++)
            for (uint64_t twice = 0; twice <= p % 2; twice++)
                if (needs(r, plan->ranks[p], plan->parts[p].tensor) &&
                    part_needs_add(list, p, r) < 0)
                    return -1;
    return 0;
}

static int rank_share(struct comm *comm, void *arg)
{
    struct plan whole = {0}, sent = {0}, mine = {0};
    struct part_needs list = {0};
    struct error err = {0};
    size_t at = 0;
    int rc = 0;

    (void)arg;
    plan_fill(&whole);
    if (comm->rank == 0) {
        sent = whole;
        rc = needs_fill(&whole, &list);
    }
    if (rc == 0)
        rc = plan_share(&sent, &list, comm, &mine, &err);
    for (size_t p = 0; rc == 0 && p < whole.n_parts; p++) {
        if (!needs(comm->rank, whole.ranks[p], whole.parts[p].tensor))
            continue;
        if (at == mine.n_parts || mine.ranks[at] != whole.ranks[p] ||
            memcmp(&mine.parts[at], &whole.parts[p], sizeof whole.parts[p]) != 0)
            rc = -1;
        at++;
    }
    if (at != mine.n_parts || mine.n_hashes != whole.n_hashes)
        rc = -1;
    part_needs_clear(&list);
    plan_clear(&mine);
    plan_clear(&whole);
    return rc;
}

static void a_rank_gets_what_it_needs_and_no_more(void **state)
{
    int rc[RANKS];

    (void)state;
    thread_comm_run(RANKS, rank_share, NULL, rc);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(rc[r], 0);
}

static int empty_share(struct comm *comm, void *arg)
{
    const struct plan none = {0};
    const struct part_needs nothing = {0};
    struct plan mine = {0};
    struct error err = {0};
    int rc = plan_share(&none, &nothing, comm, &mine, &err);

    (void)arg;
    rc = rc == 0 && mine.n_parts == 0 ? 0 : -1;
    plan_clear(&mine);
    return rc;
}

static void a_plan_may_be_empty(void **state)
{
    int rc[3];

    (void)state;
    thread_comm_run(3, empty_share, NULL, rc);
    for (int r = 0; r < 3; r++)
        assert_int_equal(rc[r], 0);
    thread_comm_run(1, empty_share, NULL, rc);
    assert_int_equal(rc[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_gets_what_it_needs_and_no_more),
        cmocka_unit_test(a_plan_may_be_empty),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
