/* shared_storage.h - what the other nodes see when one node changes files. */
#ifndef RAYTRAIN_PROBE_SHARED_STORAGE_H
#define RAYTRAIN_PROBE_SHARED_STORAGE_H

#include <jansson.h>

#include "comm/comm.h"
#include "wireup/wireup.h"

/*
 * COLLECTIVE, in the directory dir, which all ranks see. *seen, on the first rank of
 * each node, is a new object: what it sees at once of changes that rank 0 has made:
 *
 *   {"appears": a new file, "absent": one that it had looked for before, "grows": the
 *    new size of a file, "changes": bytes that have changed, "renamed": another file
 *    under a name, "flock", "fcntl": a lock of rank 0 (true: it is respected, false: it
 *    is not, or why locks fail), "same_page": what this node wrote to a page to which
 *    other nodes wrote is still there}
 */
int shared_storage_try(struct comm *comm, const struct world *world, const char *dir,
                       json_t **seen, struct error *err);

#endif
