/*
 * worker_variables.h - the variables of the workers of a node, which the PMIx server of
 * the node gives, as one block of bytes: what all have in common is in it once.
 *
 * A list is strings "NAME=VALUE", each with its NUL, and an empty one. A block is the
 * list of common variables, and then a list for each worker.
 */
#ifndef RAYTRAIN_TASK_WORKER_VARIABLES_H
#define RAYTRAIN_TASK_WORKER_VARIABLES_H

#include <stddef.h>

#include "util/error.h"

/* lists: of n_workers workers, one after the other (child_server.h). *block is
 * malloc'ed. */
int worker_variables_pack(const char *lists, size_t n, int n_workers, char **block,
                          size_t *n_block, struct error *err);
/* Those of worker `mine`, up to a NULL, malloc'ed: argv_free(). RAYTRAIN_ECOMM if the
 * block has none for it. */
int worker_variables_unpack(const char *block, size_t n, int mine, char ***variables,
                            struct error *err);

#endif
