/* chain_share.c - broadcasts a fitted chain as the bytes of chain_pack.c. */
#include "preprocess/chain_share.h"

#include <stdlib.h>

#include "preprocess/chain_pack.h"

int chain_share(struct chain *chain, int rc, struct comm *comm, struct error *err)
{
    void *bytes = NULL;
    size_t n = 0;

    if (comm->size > 1 && comm->rank == 0 && rc == 0)
        rc = chain_pack(chain, &bytes, &n, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && comm->size > 1)
        rc = comm->ops->bcast(comm, &n, sizeof n, 0, err);
    if (rc == 0 && comm->size > 1)
        rc = comm_bcast_alloc(comm, &bytes, n, 0, err);
    if (rc == 0 && comm->rank > 0)
        rc = chain_unpack(chain, bytes, n, err);
    free(bytes);
    return comm_agree(comm, rc, err);
}
