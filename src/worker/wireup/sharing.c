/* sharing.c - puts, fences and gets values of PMIx. */
#include "wireup/sharing.h"

#include <stdlib.h>
#include <string.h>

#define BLOB_MARK 'r'

static int pmix_fail(struct error *err, const char *what, pmix_status_t rc)
{
    return error_set(err, RAYTRAIN_ECOMM, "%s: %s", what, PMIx_Error_string(rc));
}

int sharing_put(const char *key, const void *data, size_t n, struct error *err)
{
    char *marked = malloc(n + 1);
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t rc;

    if (!marked)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to share %zu bytes", n);
    marked[0] = BLOB_MARK;
    if (n > 0)
        memcpy(marked + 1, data, n);
    value.data.bo.bytes = marked;
    value.data.bo.size = n + 1;
    rc = PMIx_Put(PMIX_GLOBAL, key, &value);
    free(marked);
    return rc == PMIX_SUCCESS ? 0 : pmix_fail(err, "PMIx_Put", rc);
}

int sharing_fence(const pmix_proc_t *ranks, size_t n, struct error *err)
{
    pmix_info_t collect;
    bool yes = true;
    pmix_status_t rc = PMIx_Commit();

    if (rc != PMIX_SUCCESS)
        return pmix_fail(err, "PMIx_Commit", rc);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    rc = PMIx_Fence(ranks, n, &collect, 1);
    PMIX_INFO_DESTRUCT(&collect);
    return rc == PMIX_SUCCESS ? 0 : pmix_fail(err, "PMIx_Fence", rc);
}

/* First what this process can see, if the node's data are in shared memory; then what
 * the server of this node has. Never beyond the node: the fence has collected the data
 * here. */
static pmix_status_t value_get(const pmix_proc_t *peer, const char *key,
                               pmix_value_t **value)
{
    static const char *const how[] = {PMIX_OPTIONAL, PMIX_IMMEDIATE};
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    bool yes = true;

    for (int i = 0; i < 2 && rc != PMIX_SUCCESS; i++) {
        pmix_info_t info;

        PMIX_INFO_LOAD(&info, how[i], &yes, PMIX_BOOL);
        rc = PMIx_Get(peer, key, &info, 1, value);
        PMIX_INFO_DESTRUCT(&info);
    }
    return rc;
}

int sharing_get(const pmix_proc_t *peer, const char *key, char **data, size_t *n,
                struct error *err)
{
    pmix_value_t *value = NULL;
    pmix_status_t rc;
    const pmix_byte_object_t *bo;

    *data = NULL;
    rc = value_get(peer, key, &value);
    if (rc != PMIX_SUCCESS)
        return error_set(err, RAYTRAIN_ECOMM, "PMIx has no '%s' of rank %d: %s", key,
                         (int)peer->rank, PMIx_Error_string(rc));
    bo = &value->data.bo;
    if (value->type != PMIX_BYTE_OBJECT || bo->size < 1 || bo->bytes[0] != BLOB_MARK) {
        error_set(err, RAYTRAIN_ECOMM, "PMIx: '%s' of rank %d is damaged", key,
                  (int)peer->rank);
    } else {
        *n = bo->size - 1;
        *data = malloc(bo->size);
        if (*data)
            memcpy(*data, bo->bytes + 1, *n);
        else
            error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", *n);
    }
    PMIX_VALUE_RELEASE(value);
    return *data ? 0 : -1;
}
