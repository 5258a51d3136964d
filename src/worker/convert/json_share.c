/* json_share.c - broadcasts a JSON value as text. */
#include "convert/json_share.h"

#include <stdlib.h>
#include <string.h>

int json_share(struct comm *all, json_t **value, struct error *err)
{
    void *text = NULL;
    size_t n = 0;
    int rc = 0;

    if (all->rank == 0 && *value) {
        text = json_dumps(*value, JSON_COMPACT);
        n = text ? strlen(text) : 0;
        rc = text ? 0 : error_no_memory(err);
    }
    rc = comm_agree(all, rc, err);
    if (rc == 0)
        rc = all->ops->bcast(all, &n, sizeof n, 0, err);
    if (rc == 0 && n > 0)
        rc = comm_bcast_alloc(all, &text, n, 0, err);
    if (rc == 0 && n > 0) {
        if (all->rank != 0)
            *value = json_loadb(text, n, 0, NULL);
        rc = comm_agree(all, *value ? 0 : error_no_memory(err), err);
    }
    free(text);
    return rc;
}
