/*
 * storage_facts.h - what a directory for runs can do, tried by one process: the calls on
 * which raytrain relies, in a file that is removed afterwards.
 */
#ifndef RAYTRAIN_SITE_STORAGE_FACTS_H
#define RAYTRAIN_SITE_STORAGE_FACTS_H

#include <jansson.h>
#include <stddef.h>

/*
 *   {"path", "type": "ext4", "nfs", ..., "size", "free": bytes, "inodes_free": -1 if the
 *    file system does not count them, "read_only": bool,
 *    "create", "write", "sync", "rename", "fcntl", "flock": true, or why it fails,
 *    "write_bytes_s", "sync_s": of a page}
 *
 * What could not be tried, because a step before it failed, is missing. dir exists;
 * n_bytes are written to see how fast that is. New; NULL without memory.
 */
json_t *storage_facts(const char *dir, size_t n_bytes);

/* The name of the type of path's file system: "ext4", or "0x..." for unknown ones. */
void storage_type(const char *path, char type[32]);

#endif
