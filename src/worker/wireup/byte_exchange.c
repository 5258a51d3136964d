/* byte_exchange.c - bytes of each rank for all others, by PMIx. */
#include "config.h"

#include "wireup/wireup_impl.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wireup/sharing.h"

#define EXCHANGE_MAX ((size_t)64 * 1024)

int wireup_blobs_share(struct wireup *w, struct error *err)
{
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, w->me.nspace, PMIX_RANK_WILDCARD);
    return sharing_fence(&all, 1, err);
}

int wireup_blob_get(struct wireup *w, int rank, const char *key, char **data, size_t *n,
                    struct error *err)
{
    pmix_proc_t peer;

    PMIX_LOAD_PROCID(&peer, w->me.nspace, (pmix_rank_t)rank);
    return sharing_get(&peer, key, data, n, err);
}

static struct exchanged *exchanged_find(struct wireup *w, const char *key)
{
    for (struct exchanged *x = w->exchanged; x; x = x->next)
        if (strcmp(x->key, key) == 0)
            return x;
    return NULL;
}

static struct exchanged *exchanged_add(struct wireup *w, const char *key)
{
    size_t n = strlen(key) + 1;
    struct exchanged *x = calloc(1, sizeof *x + n);

    if (!x)
        return NULL;
    memcpy(x->key, key, n);
    x->next = w->exchanged;
    w->exchanged = x;
    return x;
}

static int exchange_key(char name[PMIX_MAX_KEYLEN + 1], const char *key, unsigned time,
                        struct error *err)
{
    int n = snprintf(name, PMIX_MAX_KEYLEN + 1, "raytrain.%u.%s", time, key);

    if (n < 0 || n > PMIX_MAX_KEYLEN)
        return error_set(err, RAYTRAIN_EINVAL, "an exchange's key is too long");
    return 0;
}

int wireup_exchange(struct wireup *w, const char *key, const void *data, size_t n,
                    struct error *err)
{
    char name[PMIX_MAX_KEYLEN + 1];
    struct exchanged *x = exchanged_find(w, key);

    if (n > EXCHANGE_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "an exchange of %zu bytes; at most %zu are possible", n,
                         EXCHANGE_MAX);
    if (!x)
        x = exchanged_add(w, key);
    if (!x)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to exchange '%s'", key);
    if (exchange_key(name, key, x->times, err) < 0 ||
        sharing_put(name, data, n, err) < 0 || wireup_blobs_share(w, err) < 0)
        return error_prefix(err, "exchange of '%s' between workers", key);
    x->times++;
    return 0;
}

int wireup_peer_get(struct wireup *w, int rank, const char *key, void **data, size_t *n,
                    struct error *err)
{
    const struct exchanged *x = exchanged_find(w, key);
    char name[PMIX_MAX_KEYLEN + 1], *bytes;

    *data = NULL;
    *n = 0;
    if (rank < 0 || rank >= w->world.size)
        return error_set(err, RAYTRAIN_EINVAL, "there is no rank %d of %d", rank,
                         w->world.size);
    if (!x || x->times == 0)
        return error_set(err, RAYTRAIN_ENOTFOUND, "'%s' has not been exchanged", key);
    if (exchange_key(name, key, x->times - 1, err) < 0 ||
        wireup_blob_get(w, rank, name, &bytes, n, err) < 0)
        return -1;
    *data = bytes;
    return 0;
}
