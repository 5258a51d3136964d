/*
 * heartbeats.h - the heartbeats of an attempt, "heartbeats" in its log directory: for
 * each node a line of HEARTBEAT_BYTES, "COUNT UNIX-TIME PID NODE" and blanks, which its
 * next heartbeat replaces. All zeros: nothing was written.
 *
 * It is one file, so that shared storage has few files to open however many nodes there
 * are: a node opens it once, and the launcher reads many lines each time that it opens
 * it. The launcher creates it in full size, and sparse, before the workers start. No page
 * of storage has bytes of two nodes (see rank_status.h).
 */
#ifndef RAYTRAIN_PROTOCOL_HEARTBEATS_H
#define RAYTRAIN_PROTOCOL_HEARTBEATS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

#define HEARTBEATS_FILE       "heartbeats"
#define HEARTBEAT_BYTES       128
#define HEARTBEATS_NODE_BYTES 65536
#define HEARTBEAT_NAME_MAX    64 /* of a node; the rest of a longer name is cut */

/* The launcher: create the file for this number of nodes. */
int heartbeats_create(const char *log_dir, size_t nodes, struct error *err);

/* Write the heartbeat of the node with this index, and send it to the storage. -1 and
 * errno. */
int heartbeats_write(int fd, size_t place, unsigned long count, const char *node);

/* Read the line of this index; false: there is none yet. */
bool heartbeats_read(int fd, size_t place, char line[HEARTBEAT_BYTES + 1]);
/* The node of a line, possibly cut; false: it is not a heartbeat. */
bool heartbeats_node(const char *line, char node[HEARTBEAT_NAME_MAX + 1]);

#endif
