/*
 * table_share.h - one rank of a node reads a format, and all of them use its table.
 * Every rank opens plain files; it opens memory through /proc/PID/fd, which needs
 * neither a name nor a socket, and exists as long as a process has it open.
 */
#ifndef RAYTRAIN_TABLE_TABLE_SHARE_H
#define RAYTRAIN_TABLE_TABLE_SHARE_H

#include "comm/comm.h"
#include "table/table.h"

/*
 * COLLECTIVE over node (NULL: this process is alone). Rank 0 passes its table and the
 * outcome of opening it, the others an empty table. Afterwards every rank has the
 * table, or every rank has the same error and an empty table.
 */
int table_share(struct table *t, int rc, struct comm *node, struct error *err);

/*
 * COLLECTIVE over all, which are on several nodes. RAYTRAIN_ESTORAGE on all of them if
 * their tables do not have the same columns, and the same rows in the same files.
 */
int table_compare(const struct table *t, struct comm *all, struct error *err);

#endif
