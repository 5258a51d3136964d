/* rounds.c - the fences, and what their values say of each rank. */
#include "config.h"

#include "wireup/rounds.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wireup/node_channel.h"
#include "wireup/sharing.h"
#include "wireup/wireup_impl.h"

/* The first byte of a rank that does not end; else it is an enum rounds_end. */
#define CONTINUES 'x'

struct rounds {
    struct wireup *w;
    struct node_channel *node; /* NULL: there is one node, and nothing to exchange */
    int *leaders;              /* in the order of nodes */
    unsigned n;                /* rounds so far; the same on all ranks */
    pthread_mutex_t lock;
    pthread_cond_t left;
    bool inside; /* the thread of a leader's server is in an exchange */
    bool ended;
};

int rounds_open(struct wireup *w, struct rounds **out, struct error *err)
{
    struct rounds *r = calloc(1, sizeof *r);

    *out = NULL;
    if (!r)
        return error_no_memory(err);
    r->w = w;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->left, NULL);
    r->leaders = wireup_leaders_find(w);
    if (!r->leaders) {
        rounds_close(r);
        return error_no_memory(err);
    }
    if (w->world.n_nodes > 1 && node_channel_open(w, &r->node, err) < 0) {
        rounds_close(r);
        return -1;
    }
    *out = r;
    return 0;
}

void rounds_close(struct rounds *r)
{
    if (!r)
        return;
    node_channel_close(r->node);
    pthread_cond_destroy(&r->left);
    pthread_mutex_destroy(&r->lock);
    free(r->leaders);
    free(r);
}

/* ---- One round ---- */

static void rounds_key(const struct rounds *r, char key[PMIX_MAX_KEYLEN + 1])
{
    snprintf(key, PMIX_MAX_KEYLEN + 1, "raytrain-round.%u", r->n);
}

/* r->n is the number of this round until all of its values have been taken. */
static int round_make(struct rounds *r, char state, const char *data, size_t n,
                      struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1], *value = malloc(n + 1);
    int rc;

    if (!value)
        return error_no_memory(err);
    value[0] = state;
    if (n > 0)
        memcpy(value + 1, data, n);
    rounds_key(r, key);
    rc = sharing_put(key, value, n + 1, err);
    free(value);
    return rc == 0 ? wireup_blobs_share(r->w, err) : -1;
}

/* What a rank has given in this round: its state, and the rest. */
static int value_take(struct rounds *r, int rank, char *state, FILE *rest,
                      struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1], *value;
    size_t n;

    rounds_key(r, key);
    if (wireup_blob_get(r->w, rank, key, &value, &n, err) < 0)
        return -1;
    *state = n > 0 ? value[0] : CONTINUES;
    if (rest && n > 1)
        fwrite(value + 1, 1, n - 1, rest);
    free(value);
    return 0;
}

/* ---- Exchanges ---- */

static int leaders_take(struct rounds *r, FILE *out, struct error *err)
{
    for (int node = 0; node < r->w->world.n_nodes; node++) {
        char state;

        if (value_take(r, r->leaders[node], &state, out, err) < 0)
            return -1;
        if (state != CONTINUES)
            return error_set(err, RAYTRAIN_ECOMM,
                             "the attempt has ended on another node during a fence of "
                             "PMIx");
    }
    return 0;
}

static int exchange_make(struct rounds *r, const char *data, size_t n, char **all,
                         size_t *n_all, struct error *err)
{
    FILE *out = open_memstream(all, n_all);
    int rc;

    if (!out)
        return error_no_memory(err);
    node_channel_send(r->node, r->n);
    rc = round_make(r, CONTINUES, data, n, err);
    if (rc == 0)
        rc = leaders_take(r, out, err);
    r->n++;
    if (fclose(out) != 0 && rc == 0)
        rc = error_no_memory(err);
    if (rc < 0) {
        free(*all);
        *all = NULL;
    }
    return rc;
}

static bool exchange_enter(struct rounds *r)
{
    bool may;

    pthread_mutex_lock(&r->lock);
    may = !r->ended;
    r->inside = may;
    pthread_mutex_unlock(&r->lock);
    return may;
}

static void exchange_leave(struct rounds *r)
{
    pthread_mutex_lock(&r->lock);
    r->inside = false;
    pthread_cond_signal(&r->left);
    pthread_mutex_unlock(&r->lock);
}

int rounds_exchange(void *arg, const char *data, size_t n, char **all, size_t *n_all,
                    struct error *err)
{
    struct rounds *r = arg;
    int rc;

    *all = NULL;
    *n_all = 0;
    if (!exchange_enter(r))
        return error_set(err, RAYTRAIN_ECOMM, "the attempt has ended");
    rc = exchange_make(r, data, n, all, n_all, err);
    exchange_leave(r);
    return rc;
}

int rounds_fd(const struct rounds *r)
{
    return r->node && r->w->world.local_rank != 0 ? node_channel_fd(r->node) : -1;
}

/* This rank may have made the round already, when it ended an attempt. */
int rounds_join(struct rounds *r, struct error *err)
{
    unsigned number;

    if (!node_channel_receive(r->node, &number) || number != r->n)
        return 0;
    if (round_make(r, CONTINUES, NULL, 0, err) < 0)
        return -1;
    r->n++;
    return 0;
}

/* ---- The end ---- */

static int states_take(struct rounds *r, bool *all_end, bool *clean, struct error *err)
{
    *all_end = *clean = true;
    for (int rank = 0; *all_end && rank < r->w->world.size; rank++) {
        char state;

        if (value_take(r, rank, &state, NULL, err) < 0)
            return -1;
        *all_end = state != CONTINUES;
        *clean = *clean && state == ROUNDS_END_CLEAN;
    }
    return 0;
}

/* The exchange that this rank's thread may be in is completed by the others, which
 * end. */
static void exchanges_stop(struct rounds *r)
{
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    while (r->inside)
        pthread_cond_wait(&r->left, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

int rounds_end(struct rounds *r, enum rounds_end mine, bool *clean, struct error *err)
{
    bool all_end = false;
    int rc = 0;

    exchanges_stop(r);
    while (rc == 0 && !all_end) {
        rc = round_make(r, (char)mine, NULL, 0, err);
        if (rc == 0)
            rc = states_take(r, &all_end, clean, err);
        r->n++;
    }
    return rc;
}

void rounds_resume(struct rounds *r)
{
    pthread_mutex_lock(&r->lock);
    r->ended = false;
    pthread_mutex_unlock(&r->lock);
}
