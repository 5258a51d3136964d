/* task_group.c - how the tasks meet, by exchanges of the wireup; and the PMIx server of
 * the workers of this node. */
#include "config.h"

#include "task/task_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/worker_variables.h"
#include "util/secret.h"

/* The first byte of what a leader gives: the variables, or a message, follow. */
enum start { START_WELL = 'v', START_FAILED = 'e' };

struct task_group {
    struct wireup *wireup;
    struct rounds *rounds;
    char secret[SECRET_TEXT_MAX];
};

const struct world *task_group_world(const struct task_group *g)
{
    return wireup_world(g->wireup);
}

/* A process that knows the secret can join the workers. */
static int secret_share(struct task_group *g, struct error *err)
{
    void *secret = NULL;
    size_t n = 0;
    int rc = 0;

    if (task_group_world(g)->rank == 0)
        rc = secret_make(g->secret, err);
    if (rc == 0)
        rc = wireup_exchange(g->wireup, "secret", g->secret, strlen(g->secret), err);
    if (rc == 0)
        rc = wireup_peer_get(g->wireup, 0, "secret", &secret, &n, err);
    if (rc == 0 && n != sizeof g->secret - 1)
        rc = error_set(err, RAYTRAIN_ECOMM, "rank 0 has sent a secret of %zu bytes", n);
    if (rc == 0)
        memcpy(g->secret, secret, n);
    free(secret);
    return rc;
}

int task_group_open(int expected_size, struct task_group **out, struct error *err)
{
    struct task_group *g = calloc(1, sizeof *g);

    *out = NULL;
    if (!g)
        return error_no_memory(err);
    if (wireup_init(expected_size, &g->wireup, err) == 0 && secret_share(g, err) == 0 &&
        rounds_open(g->wireup, &g->rounds, err) == 0) {
        *out = g;
        return 0;
    }
    task_group_close(g);
    return -1;
}

void task_group_close(struct task_group *g)
{
    if (!g)
        return;
    wireup_finalize(g->wireup);
    rounds_close(g->rounds);
    free(g);
}

/* ---- The beginning ---- */

static int server_start(struct task_group *g, int attempt, char **block, size_t *n,
                        struct error *err)
{
    char nspace[sizeof "raytrain--" + SECRET_TEXT_MAX + 12], *lists;
    size_t n_lists;
    int rc;

    *block = NULL;
    *n = 0;
    rounds_resume(g->rounds);
    snprintf(nspace, sizeof nspace, "raytrain-%s-%d", g->secret, attempt);
    if (wireup_server_start_child(g->wireup, nspace, rounds_exchange, g->rounds, &lists,
                                  &n_lists, err) < 0)
        return -1;
    rc = worker_variables_pack(lists, n_lists, task_group_world(g)->local_size, block,
                               n, err);
    free(lists);
    return rc;
}

/* What this rank gives: a leader the variables of its node, another rank nothing. */
static int variables_share(struct task_group *g, int attempt, struct error *err)
{
    char *block = NULL, *given;
    struct error why = {0};
    size_t n = 0;
    int rc = 0;

    if (task_group_world(g)->local_rank != 0)
        return wireup_exchange(g->wireup, "variables", NULL, 0, err);
    if (server_start(g, attempt, &block, &n, &why) < 0)
        n = strlen(why.text);
    given = malloc(n + 1);
    if (given) {
        given[0] = block ? START_WELL : START_FAILED;
        memcpy(given + 1, block ? block : why.text, n);
    }
    rc = wireup_exchange(g->wireup, "variables", given, given ? n + 1 : 0, err);
    free(given);
    free(block);
    return rc;
}

int task_group_begin(struct task_group *g, int attempt, char ***variables,
                     struct error *err)
{
    const struct world *world = task_group_world(g);
    void *got = NULL;
    const char *given;
    size_t n;
    int rc = variables_share(g, attempt, err);

    *variables = NULL;
    if (rc == 0)
        rc = wireup_peer_get(g->wireup, wireup_leader(g->wireup), "variables", &got, &n,
                             err);
    given = got;
    if (rc == 0 && n > 1 && given[0] == START_WELL)
        rc = worker_variables_unpack(given + 1, n - 1, world->local_rank, variables,
                                     err);
    else if (rc == 0)
        rc = error_set(err, RAYTRAIN_ECOMM, "the PMIx server of this node: %.*s",
                       n > 1 ? (int)(n - 1) : 0, n > 1 ? given + 1 : "");
    free(got);
    return rc;
}

/* ---- The end ---- */

int task_group_fd(const struct task_group *g)
{
    return rounds_fd(g->rounds);
}

int task_group_take_part(struct task_group *g, struct error *err)
{
    return rounds_join(g->rounds, err);
}

int task_group_end(struct task_group *g, enum rounds_end mine, bool *clean,
                   struct error *err)
{
    if (rounds_end(g->rounds, mine, clean, err) < 0)
        return -1;
    (void)wireup_server_stop_child(g->wireup);
    return 0;
}
